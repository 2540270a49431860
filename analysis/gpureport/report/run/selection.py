"""Curves that a chapter shows: the largest deviations, and a typical one of each family. Others are in the appendix."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpureport.report.curves import CurveRecords
from gpureport.report.grouping import grouped
from gpureport.report.pictures import Kind, kind_of

_MOST: dict[Kind, int] = {"sizes": 15, "shapes": 8, "cases": 6, "traces": 4}
"""The most deviating curves of a chapter, by kind of figure."""


@dataclass(frozen=True)
class Selection:
    """The curves of one chapter; *left_out* is the number of deviating ones that only the appendix shows."""

    typical: tuple[CurveRecords, ...] = ()
    deviating: tuple[CurveRecords, ...] = ()
    left_out: int = 0

    @property
    def shown(self) -> tuple[CurveRecords, ...]:
        """All curves that the chapter draws."""
        return (*self.typical, *self.deviating)


def selection(curves: Iterable[CurveRecords]) -> Selection:
    """Select curves: as typical, the one of each family and kind of figure with most compared features that all agree.

    Without observations all curves agree. Flat searches for work-groups and separate cases are never typical.
    """
    drawn = tuple(curves)
    astray = tuple(curve for curve in drawn if deviates(curve))
    typical = []
    kinds = grouped(((curve.key.family, kind_of(curve)), curve) for curve in drawn)
    for (_, kind), members in kinds.items():
        agreeing = [curve for curve in members if curve not in astray and not curve.is_flat]
        if agreeing and kind != "cases":
            typical += [max(agreeing, key=_weight)]
    worst = {curve.key for curve in _worst(astray)}
    deviating = tuple(curve for curve in astray if curve.key in worst)
    return Selection(tuple(typical), deviating, len(astray) - len(deviating))


def deviates(curve: CurveRecords) -> bool:
    """Whether a feature of the curve is not as predicted."""
    return any(not group.main.main.verdict.as_predicted for group in curve.groups)


def _worst(astray: Iterable[CurveRecords]) -> Iterable[CurveRecords]:
    """Yield the curves with the most severe deviations, at most :data:`_MOST` of each kind."""
    for kind, members in grouped((kind_of(curve), curve) for curve in astray).items():
        severe = sorted(members, key=lambda curve: min(group.main.urgency for group in curve.groups))
        yield from severe[: _MOST[kind]]


def _weight(curve: CurveRecords) -> tuple[bool, int, int]:
    """Sort key of typical curves: observed, then the number of cliffs and tapers, then that of points."""
    features = sum(group.main.main.feature != "rate" for group in curve.groups)
    return curve.observation is not None, features, len(curve.points)
