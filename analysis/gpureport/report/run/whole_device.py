"""The chapter on the whole device: transfers, power and energy."""

from collections.abc import Sequence
from functools import partial

from gpureport.findings.whole_device import link_problem, link_under_load, path_between_devices, predicted_energy_j
from gpureport.records.energy import IDLE, Energy, PowerLoad
from gpureport.records.features import Position
from gpureport.records.finding import Finding
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.energy import power_figure
from gpureport.report.figures.picture import Picture
from gpureport.report.run.sweep_blocks import Block
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_frequency, format_interval, format_percent, format_ratio, format_value

_WAYS = {
    "pinned": "pinned (device time)",
    "pageable": "ordinary memory (host time)",
    "mapped": "mapped buffer (host time)",
    "devices": "one context (host time)",
}
_DIRECTIONS = {
    "to_device": "host to device",
    "to_host": "device to host",
    "both_ways": "both directions",
    "to_peer": "device to second device",
    "from_peer": "second device to device",
}
_CAPTION = (
    "Large transfers: median rate of the largest sizes. n90: smallest transfer with 90 % of this rate. 4 B: time of "
    "the smallest transfer for the host, from the call to the arrival of the data."
)
_ENERGY_CAPTION = (
    "Each kernel ran back to back for half a second or more. °C: highest temperature. Throttle: why the clock was not "
    "higher. Power includes idle power; its scope is that of the "
    "sensor. Predicted: half of the listed power limit / the listed rate. No documented model gives the share of the "
    "limit that a kernel draws; it is assumed to lie between a quarter and all of it."
)


def answers(report: Report) -> tuple[str, ...]:
    """Return the sentences on transfers, link and power."""
    texts = [*_transfers(report), *_link(report)]
    if report.energy is not None:
        texts += _power(report, report.energy)
    return tuple(texts)


def _link(report: Report) -> list[str]:
    if not any(each.key.family == "transfer" for each in report.predictions):
        return []
    link, there = report.device.host_link, link_under_load(report)
    if link.kind == "shared":
        return ["Device and host share their memory, so that a transfer is a copy by one core of the host."]
    seen = f"; it ran as {there} while data were transferred" if there else ""
    assumed = " (assumed: the entry lists none)" if report.device.link is None else ""
    others = filter(None, (link_problem(report), path_between_devices(report)))
    return [f"The link to the host is {link}{assumed}{seen}.", *others]


def _transfers(report: Report) -> list[str]:
    rates = {
        name: next((f for f in _findings(report, "pinned", name) if f.position == "plateau" and f.observed), None)
        for name in ("to_device", "to_host")
    }
    texts = [
        f"{format_value(found.observed, found.unit)} {_DIRECTIONS[name]} (predicted: "
        f"{format_value(found.predicted, found.unit)})"
        for name, found in rates.items()
        if found
    ]
    return [f"Pinned memory is transferred at {' and '.join(texts)}."] if texts else []


def _findings(report: Report, variant: str, sweep: str) -> list[Finding]:
    return [
        finding
        for finding in report.findings
        if (finding.key.family, finding.key.variant, finding.key.sweep) == ("transfer", variant, sweep)
        and finding.basis == "specification"
    ]


def _power(report: Report, energy: Energy) -> list[str]:
    if energy.missing:
        return [energy.missing]
    idle, loads = energy.load(IDLE), [load for load in energy.loads if load.name != IDLE and load.power_w]
    limit = energy.limit_w or report.device.board_power_w
    texts = []
    if idle:
        texts.append(f"The idle device draws {format_value(idle.power_w, 'W')} while a program has it open.")
    if loads:
        most = max(loads, key=lambda load: load.power_w or 0.0)
        share = f", {format_percent((most.power_w or 0.0) / limit)} of the limit" if limit else ""
        texts.append(f"Of the measured kernels, {most.name} draws the most: {format_value(most.power_w, 'W')}{share}.")
    return texts


def blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the tables of transfers and of energy, and the trace of power and clocks."""
    transfers, energy = transfer_table(found), energy_table(report)
    caption = "Power and core clock while the kernels ran, with the name of each load at its begin."
    traced = report.energy and any(load.readings for load in report.energy.loads)
    figures = (Picture(partial(power_figure, report.energy), caption),) if report.energy and traced else ()
    made = (
        Block("transfers", "Transfers", table=transfers, caption=_CAPTION),
        Block("energy", "Power and energy", figures, energy, _ENERGY_CAPTION),
    )
    return [block for block in made if block.table and block.table.rows]


def transfer_table(found: Sequence[CurveRecords]) -> Table:
    """List specification, prediction and measurement of the transfers of each kind of memory."""
    curves = {(c.key.variant, c.key.sweep): c for c in found if c.key.family == "transfer"}
    rows = []
    for (variant, sweep), curve in curves.items():
        if variant != "latency":
            rows.append(
                (f"{_DIRECTIONS[sweep]}, {_WAYS[variant]}", *_large(curve), *_n90(curve), *_smallest(curves, curve))
            )
    columns = (
        "transfer",
        "predicted",
        "measured",
        "ratio",
        "n90 predicted",
        "n90 measured",
        "4 B predicted",
        "4 B measured",
    )
    return Table(columns, tuple(rows), frozenset(columns[1:]))


def _large(curve: CurveRecords) -> tuple[str, str, str]:
    pair = next((pair.main for pair in curve.pairs if pair.main.position == "plateau"), None)
    if pair is None:
        return _predicted(curve, "plateau"), UNKNOWN, UNKNOWN
    return _pair(pair)


def _n90(curve: CurveRecords) -> tuple[str, str]:
    pair = next((pair.main for pair in curve.pairs if pair.main.position == "n90"), None)
    if pair is not None:
        return _pair(pair)[:2]
    return _predicted(curve, "n90"), UNKNOWN


def _predicted(curve: CurveRecords, position: Position) -> str:
    features = curve.specification.features if curve.specification else ()
    found = next((f for f in features if f.position == position), None)
    return format_interval(found.value, found.ci_low, found.ci_high, found.unit, "predicted") if found else UNKNOWN


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
    columns = (
        "load",
        "power",
        "of the limit",
        "core clock",
        "°C",
        "rate",
        "energy",
        "predicted",
        "throttle",
    )
    if energy is None:
        return Table(columns, ())
    limit = energy.limit_w or report.device.board_power_w
    rows = tuple(_load_row(report, load, limit) for load in energy.loads)
    return Table(columns, rows, frozenset(columns[1:-1]))


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
