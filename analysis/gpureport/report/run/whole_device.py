"""The chapter on the whole device: transfers, power and energy."""

from collections.abc import Iterator, Sequence

from gpureport.findings.whole_device import link_under_load, peer_rate, predicted_energy_j, slow_link
from gpureport.records.curves import Position
from gpureport.records.finding import Finding
from gpureport.records.measurement import IDLE, PowerLoad
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.chart import Picture
from gpureport.report.figures.runs import power_chart
from gpureport.report.run.sweeps import Block
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_frequency, format_interval, format_percent, format_ratio, format_value

_WAYS = {
    "pinned": "pinned (device time)",
    "pageable": "ordinary memory (host time)",
    "mapped": "mapped buffer (host time)",
    "devices": "one context (host time)",
}
DIRECTIONS = {
    "to_device": "host to device",
    "to_host": "device to host",
    "both_ways": "both directions",
    "to_peer": "device to second device",
    "from_peer": "second device to device",
}


def answers(report: Report) -> tuple[str, ...]:
    """Return the sentences on transfers, link and power."""
    rates = {
        finding.key.sweep: finding
        for finding in reversed(report.findings)
        if finding.key.workload == "transfer/pinned" and finding.basis == "specification"
        if finding.position == "plateau" and finding.observed
    }
    energy = report.energy
    loads = [load for load in energy.loads if load.name != IDLE and load.power_w] if energy else []
    return paragraphs(
        "whole_device",
        rates=[(name, rates[sweep]) for sweep, name in DIRECTIONS.items() if sweep in rates and sweep != "both_ways"],
        link=report.device.host_link if any(each.key.family == "transfer" for each in report.predictions) else None,
        assumed=report.device.link is None,
        under_load=link_under_load(report),
        slow=slow_link(report),
        peer_rate=peer_rate(report),
        missing=energy.missing if energy else "",
        idle=energy.load(IDLE) if energy else None,
        most=max(loads, key=lambda load: load.power_w or 0.0, default=None),
        limit=_power_limit_w(report),
    )


def _power_limit_w(report: Report) -> float | None:
    return (report.energy and report.energy.limit_w) or report.device.board_power_w


def blocks(report: Report, found: Sequence[CurveRecords]) -> Iterator[Block]:
    """Yield the tables of transfers and of energy, and the trace of power and clocks."""
    caption = "Power and core clock while the kernels ran, with the name of each load at its begin."
    traced = report.energy and any(load.readings for load in report.energy.loads)
    figures = (Picture(power_chart(report.energy), caption),) if report.energy and traced else ()
    yield Block.of("transfers", table=transfer_table(found))
    yield Block.of("energy", figures, energy_table(report))


def transfer_table(found: Sequence[CurveRecords]) -> Table:
    """List specification, prediction and measurement of the transfers of each kind of memory."""
    curves = {(c.key.variant, c.key.sweep): c for c in found if c.key.family == "transfer"}
    rows = (
        (
            f"{DIRECTIONS[sweep]}, {_WAYS[variant]}",
            *_cells(curve, "plateau"),
            *_cells(curve, "n90")[:2],
            *_smallest(curves, curve),
        )
        for (variant, sweep), curve in curves.items()
        if variant != "latency"
    )
    seen = ("predicted", "measured")
    columns = ("transfer", *seen, "ratio", *(f"n90 {how}" for how in seen), *(f"4 B {how}" for how in seen))
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def _cells(curve: CurveRecords, position: Position) -> tuple[str, str, str]:
    """Write a value of a curve: predicted, measured, and their ratio; only predicted if nothing was compared."""
    pair = next((pair.main for pair in curve.pairs if pair.main.position == position), None)
    if pair is not None:
        return _pair(pair)
    found = next((f for f in curve.features(measured=False) if f.position == position), None)
    text = format_interval(found.value, found.ci_low, found.ci_high, found.unit, "predicted") if found else UNKNOWN
    return text, UNKNOWN, UNKNOWN


def _pair(finding: Finding) -> tuple[str, str, str]:
    ratio = UNKNOWN if finding.ratio is None else f"{finding.verdict.mark} {format_ratio(finding.ratio)}"
    return (
        format_interval(finding.predicted, finding.predicted_low, finding.predicted_high, finding.unit, "predicted"),
        format_interval(finding.observed, finding.ci_low, finding.ci_high, finding.unit, "measured"),
        ratio,
    )


def _smallest(curves: dict[tuple[str, str], CurveRecords], curve: CurveRecords) -> tuple[str, str]:
    """Return the predicted and the measured time of 4 B; copies between devices have it in their own curve."""
    if curve.key.variant == "devices":
        of = (curve.specification, curve.observation)
        predicted, measured = (next((p.time_s for p in each.points), None) if each else None for each in of)
        return format_value(predicted, "s"), format_value(measured, "s")
    latency = curves.get(("latency", "smallest"))
    if latency is None or curve.key.sweep == "both_ways":
        return UNKNOWN, UNKNOWN
    label = f"{curve.key.variant}, {'to device' if curve.key.sweep == 'to_device' else 'to host'}"
    pair = next((pair.main for pair in latency.pairs if pair.main.level.name == label), None)
    if pair is not None:
        return _pair(pair)[:2]
    points = latency.specification.points if latency.specification else ()
    value = next((point.value for point in points if point.point.label == label), None)
    return format_value(value, "s"), UNKNOWN


def energy_table(report: Report) -> Table:
    """List power, clocks and energy of each load."""
    energy = report.energy
    columns = ("load", "power", "of the limit", "core clock", "°C", "rate", "energy", "predicted", "throttle")
    limit = _power_limit_w(report)
    rows = (_load_row(report, load, limit) for load in (energy.loads if energy else ()))
    return Table(columns, tuple(rows), frozenset(columns[1:-1]))


def _load_row(report: Report, load: PowerLoad, limit: float | None) -> tuple[str, ...]:
    per = f"J/{load.unit}"
    predicted = predicted_energy_j(report.device, load.name) if load.unit else None
    warm = [reading.temperature_c for reading in load.readings if reading.temperature_c is not None]
    why = dict.fromkeys(reason for reading in load.readings for reason in reading.throttle_reasons or ())
    return (
        load.name,
        load.skipped or format_value(load.power_w, "W"),
        format_percent(load.power_w / limit) if load.power_w and limit else UNKNOWN,
        format_frequency(load.clock_hz),
        f"{max(warm):.0f}" if warm else UNKNOWN,
        format_value(load.rate, f"{load.unit}/s") if load.rate else UNKNOWN,
        format_value(load.energy_per_work_j, per) if load.energy_per_work_j else UNKNOWN,
        format_interval(predicted.value, predicted.low, predicted.high, per, "predicted")
        if predicted
        else "not predicted",
        ", ".join(why) or UNKNOWN,
    )
