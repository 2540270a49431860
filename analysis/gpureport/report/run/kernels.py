"""Kernels of the user: what limits each, where its rate changes, and which changes would make it faster."""

from collections.abc import Iterable, Iterator, Sequence

from gpureport.records.curves import CurveFeature
from gpureport.records.finding import Advice, SourceAccess
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user
from gpureport.report.run.efficiency import Limit, bottleneck_of, limits, occupancy_of
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import kernel_name
from gpureport.units import (
    UNKNOWN,
    format_bytes,
    format_percent,
    format_ratio,
    format_time,
    format_value,
    precise_percent,
)

_MOST = 12
"""Changes, or accesses, of all kernels that a table lists."""
MOST_TOLD = 4
"""The most kernels with sentences; the table has all."""


def answers(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Say for each kernel what limits it, and the change with the largest gain."""
    first = {each.workload: each for each in reversed(report.advice)}
    return [
        text("own", report=report, limit=limit, advice=first.get(limit.key.workload))
        for limit in limits(of_user(report, found), report.device.compute_units)
    ]


def contents(report: Report, found: Sequence[CurveRecords]) -> dict[str, Table]:
    """Return the table of kernels, that of accesses by source line, and that of changes with their gains."""
    own = of_user(report, found)
    return {
        "kernels": Table.of(_row(report, limit, own) for limit in limits(own, report.device.compute_units)),
        "accesses": accesses_table(report),
        "advice": advice_table(report),
    }


def accesses_table(report: Report) -> Table:
    """Return the accesses that cost most, in the order of the source."""
    costly = sorted(report.accesses, key=lambda each: -max(each.unit_s, each.memory_s))[:_MOST]
    return Table.of(
        {
            "kernel": _kernel_of(report, each),
            "line": str(each.line),
            "source": each.text,
            "access": text("access", access=each),
            "per wave": text("wave_access", access=each),
            "traffic": format_percent(each.traffic_share),
            "load/store unit": format_time(each.unit_s),
            "memory": format_time(each.memory_s),
        }
        for each in sorted(costly, key=lambda each: (each.workload, each.line))
    )


def advice_table(report: Report) -> Table:
    """Return the changes with the largest gains."""
    gains = (
        (_kernel_of(report, each), each.change, f"{format_ratio(each.gain)} times as fast")
        for each in sorted(report.advice, key=lambda each: -each.gain)[:_MOST]
    )
    return Table(("kernel", "change", "predicted gain"), tuple(gains))


def _row(report: Report, limit: Limit, own: Iterable[CurveRecords]) -> dict[str, str]:
    curves = [curve for curve in own if curve.key.workload == limit.key.workload]
    return {
        "kernel": kernel_name(report, limit.key),
        "rate": format_value(limit.value, limit.unit),
        "bottleneck": bottleneck_of(limit),
        "efficiency": precise_percent(limit.efficiency),
        "cliffs": ", ".join(map(_cliff, _features(curves, "midpoint"))) or UNKNOWN,
        "n90": next((format_value(f.value, "") for f in _features(curves, "n90")), UNKNOWN),
        "best work-group": next((_best(curve) for curve in curves if curve.is_work_group), UNKNOWN),
        "occupancy": occupancy_of(limit),
    }


def _cliff(feature: CurveFeature) -> str:
    at = format_bytes(feature.value)
    return at if feature.level.is_unexplained else f"{feature.level} {at}"


def _features(curves: Iterable[CurveRecords], position: str) -> Iterator[CurveFeature]:
    for curve in curves:
        record = curve.observation or curve.prediction
        if record and not curve.is_work_group:
            yield from (feature for feature in record.features if feature.position == position)


def _best(curve: CurveRecords) -> str:
    seen = curve.observation.points if curve.observation else ()
    expected = curve.prediction.points if curve.prediction else ()
    values = {each.point.label: each.value for each in (seen or expected)}
    return max(values, key=values.__getitem__, default=UNKNOWN)


def _kernel_of(report: Report, advice: Advice | SourceAccess) -> str:
    """Name the kernel of an *advice* or access; by its identifier if the report does not describe it."""
    info = report.workloads.get(advice.workload)
    return kernel_name(report, info) if info else advice.workload
