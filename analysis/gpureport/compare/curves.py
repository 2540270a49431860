"""Curves of machines over sizes, for the charts of a comparison of a few machines."""

from collections.abc import Iterator, Mapping, Sequence

from gpureport.compare.records import CurvePoint, MachineCurve, SweepCurve
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report

_SIZES = ("working_set", "work_items")


def sweep_curves(report: Report) -> tuple[SweepCurve, ...]:
    """Return the curves of a machine over sizes: as observed, or as predicted if nothing was observed."""
    curves = report.observations or report.specified
    return tuple(curve for each in curves if each.axis.quantity in _SIZES and (curve := _curve(each)).points)


def _curve(record: Observation | Prediction) -> SweepCurve:
    points = sorted((p for p in record.points if p.point.x > 0), key=lambda p: p.point.x)
    return SweepCurve(
        key=record.key,
        axis=record.axis,
        metric=record.metric,
        observed=isinstance(record, Observation),
        points=tuple(
            CurvePoint(p.point.label, p.point.x, p.value, low, high)
            for p in points
            for low, high in [(p.ci_low, p.ci_high) if isinstance(p, ObservedPoint) else (None, None)]
        ),
    )


def common_curves(machines: Mapping[str, Sequence[SweepCurve]]) -> Iterator[MachineCurve]:
    """Yield the curves of sweeps that at least two *machines* have, sweep by sweep, in the order of the machines."""
    by_sweep: dict[str, list[MachineCurve]] = {}
    for machine, curves in machines.items():
        for curve in curves:
            by_sweep.setdefault(str(curve.key), []).append(MachineCurve(machine=machine, **dict(curve)))
    for found in by_sweep.values():
        alike = [curve for curve in found if (curve.metric, curve.axis) == (found[0].metric, found[0].axis)]
        yield from alike if len(alike) > 1 else ()
