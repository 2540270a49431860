"""The chapter on the whole device: transfers, power and energy."""

from collections.abc import Sequence

from gpureport import units
from gpureport.findings.whole_device import TRANSFERS, link_under_load, slow_link
from gpureport.predict.energy import predicted_energy_j
from gpureport.records.curves import Position
from gpureport.records.measurement import PowerLoad
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import power_chart
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table

_DIRECTIONS = {"to_device": "host to device", "to_host": "device to host", "both_ways": "both directions"}


def answers(report: Report) -> tuple[str, ...]:
    """Return the sentences on the link, and on missing sensors of power."""
    return paragraphs(
        "whole_device",
        link=report.device.host_link if any(each.key.family == "transfer" for each in report.predictions) else None,
        assumed=report.device.link is None,
        under_load=link_under_load(report),
        slow=slow_link(report),
        missing=report.energy.missing if report.energy else "",
    )


def power_pictures(report: Report) -> tuple[Picture, ...]:
    """Draw the trace of power and clocks, if there is one."""
    caption = "Power and core clock while the kernels ran, with the name of each load at its start."
    readings = [reading for load in (report.energy.loads if report.energy else ()) for reading in load.readings]
    traced = any(reading.power_w or reading.clock_hz for reading in readings)  # some sensors only count energy
    return (Picture(power_chart(report.energy), caption),) if report.energy and traced else ()


def transfer_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List prediction and measurement of the transfers of each kind of memory; only predictions without any."""
    rows = (
        (
            f"{_DIRECTIONS[curve.key.sweep]}, {TRANSFERS[curve.key.workload]}",
            *_cells(curve, "plateau"),
            *_cells(curve, "n90"),
        )
        for curve in found
        if curve.key.workload in TRANSFERS and report.device.host_link.kind != "shared"
    )
    columns = ("transfer", "predicted", "measured", "ratio", "n90 predicted", "n90 measured", "n90 ratio")
    kept = [0, 1, 4] if all(curve.observation is None for curve in found) else range(len(columns))
    return Table(tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows))


def _cells(curve: CurveRecords, position: Position) -> tuple[str, str, str]:
    if f := next((pair.main for pair in curve.pairs if pair.main.position == position), None):
        return (
            units.format_interval(f.predicted, f.predicted_low, f.predicted_high, f.unit),
            units.format_interval(f.observed, f.ci_low, f.ci_high, f.unit),
            units.UNKNOWN if f.ratio is None else f"{f.verdict.mark} {units.format_ratio(f.ratio)}",
        )
    found = next((f for f in curve.features(measured=False) if f.position == position), None)
    text = units.format_interval(found.value, found.ci_low, found.ci_high, found.unit) if found else units.UNKNOWN
    return text, units.UNKNOWN, units.UNKNOWN


def energy_table(report: Report) -> Table:
    """List power, clocks and energy of each load."""
    limit = (report.energy and report.energy.limit_w) or report.device.board_power_w
    return Table.of(_load_row(report, load, limit) for load in (report.energy.loads if report.energy else ()))


def _load_row(report: Report, load: PowerLoad, limit: float | None) -> dict[str, str]:
    per = f"J/{load.unit}"
    predicted = predicted_energy_j(report.device, load.name) if load.unit else None
    warm = [reading.temperature_c for reading in load.readings if reading.temperature_c is not None]
    why = dict.fromkeys(reason for reading in load.readings for reason in reading.throttle_reasons or ())
    return {
        "load": load.name,
        "power": load.skipped or units.format_value(load.power_w, "W"),
        "of the limit": units.format_percent(load.power_w / limit) if load.power_w and limit else units.UNKNOWN,
        "core clock": units.format_frequency(load.clock_hz),
        "°C": units.format_number(max(warm), ".0f") if warm else units.UNKNOWN,
        "rate": units.format_value(load.rate, f"{load.unit}/s") if load.rate else units.UNKNOWN,
        "energy": units.format_value(load.energy_per_work_j, per) if load.energy_per_work_j else units.UNKNOWN,
        "predicted": units.format_interval(predicted.value, *predicted.ends, per) if predicted else "not predicted",
        "throttle": ", ".join(why) or units.UNKNOWN,
    }
