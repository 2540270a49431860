"""Which curves the chapters show: deviating ones, and a typical one of each family. The appendix shows the others."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpureport.report.grouping import grouped
from gpureport.report.pictures import kind_of
from gpureport.report.run.curves import CurveRecords


@dataclass(frozen=True)
class Selection:
    """The curves of one chapter."""

    typical: tuple[CurveRecords, ...] = ()
    deviating: tuple[CurveRecords, ...] = ()
    others: tuple[CurveRecords, ...] = ()


def selection(curves: Iterable[CurveRecords]) -> Selection:
    """Select curves: as typical, the one of each family and kind of figure with most compared features that all agree.

    Without observations all curves agree. Flat searches for work-groups and separate cases are never typical.
    """
    drawn = tuple(curves)
    deviating = tuple(curve for curve in drawn if deviates(curve))
    typical = []
    kinds = grouped(((curve.key.family, kind_of(curve)), curve) for curve in drawn)
    for (_, kind), members in kinds.items():
        agreeing = [curve for curve in members if curve not in deviating and not curve.is_flat]
        if agreeing and kind != "cases":
            typical += [max(agreeing, key=_weight)]
    shown = {curve.key for curve in (*typical, *deviating)}
    return Selection(tuple(typical), deviating, tuple(curve for curve in drawn if curve.key not in shown))


def deviates(curve: CurveRecords) -> bool:
    """Whether a feature of the curve is not as predicted."""
    return any(not group.main.main.verdict.as_predicted for group in curve.groups)


def _weight(curve: CurveRecords) -> tuple[bool, int, int]:
    """Sort key of typical curves: observed, then the number of cliffs and tapers, then that of points."""
    features = sum(group.main.main.feature != "rate" for group in curve.groups)
    return curve.observation is not None, features, len(curve.points)
