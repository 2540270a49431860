"""Figures of sweeps: in chapters the typical and the most deviating ones."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gpureport.findings.advice import shape_of
from gpureport.grouping import grouped, in_figures
from gpureport.records.curves import Observation, Points, SweepKey
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.report.curves import FLAT, CurveRecords
from gpureport.report.figures import sweeps
from gpureport.report.figures.picture import Picture
from gpureport.report.text.captions import case_caption, panel_titles, shape_caption, size_caption, small_caption
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.words import with_names

R = TypeVar("R", Prediction | None, Observation | None)
Kind = Literal["sizes", "shapes", "cases", "traces"]
_TYPICAL = ("working_set", "work_items")
_FEWEST = 3  # shapes of a curve or a map
_MOST: dict[Kind, int] = {"sizes": 3, "shapes": 4, "cases": 2, "traces": 4}
"""The most deviating curves of a chapter, by kind of figure."""


def kind_of(curve: CurveRecords) -> Kind:
    """Return the kind of figure for a curve.

    Searches for work-groups: a curve for one-dimensional shapes, a map for two-dimensional powers of two, or else bars.
    """
    if curve.key.sweep == "frames":
        return "traces"
    if not curve.is_work_group:
        return "cases" if curve.axis.quantity == "case" else "sizes"
    found = [shape_of(point.point) for point in curve.points]
    known = [shape for shape in found if shape is not None]
    if len(known) < len(found) or len(set(known)) < _FEWEST or any(len(shape) > 2 for shape in known):
        return "cases"
    if all(len(shape) == 1 for shape in known):
        return "sizes"
    return "shapes" if all(side & (side - 1) == 0 for shape in known for side in shape) else "cases"


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

    Only sweeps over sizes, and maps of shapes if none deviates, are typical; without observations all agree. Of each
    kind, the most severe deviations are drawn; searches for one-dimensional work-groups, which a table lists, are not.
    """
    drawn = tuple(filter(is_drawn, curves))
    astray = tuple(curve for curve in drawn if curve.astray)
    maps_deviate = any(kind_of(curve) == "shapes" for curve in astray)
    typical = []
    for (_, kind), members in grouped(((curve.key.family, kind_of(curve)), curve) for curve in drawn).items():
        telling = [c for c in members if c.axis.quantity in _TYPICAL or (kind == "shapes" and not maps_deviate)]
        agreeing = [curve for curve in telling if curve not in astray and not curve.is_flat]
        if agreeing:
            typical.append(max(agreeing, key=_weight))
    worst = {
        curve.key
        for kind, members in grouped((kind_of(curve), curve) for curve in astray).items()
        if not (kind == "sizes" and members[0].is_work_group)
        for curve in sorted(members, key=lambda curve: min(pair.urgency for pair in curve.astray))[: _MOST[kind]]
    }
    deviating = tuple(curve for curve in astray if curve.key in worst)
    return Selection(tuple(typical), deviating, len(astray) - len(deviating))


def is_drawn(curve: CurveRecords) -> bool:
    """Whether a curve has observations or was only predicted: skipped sweeps are not drawn."""
    return curve.measurement is None or curve.observation is not None


def _weight(curve: CurveRecords) -> tuple[bool, int, int]:
    """Sort key of typical curves: observed, then the number of cliffs and tapers, then that of points."""
    features = sum(pair.main.feature != "rate" for pair in curve.features_found)
    return curve.observation is not None, features, len(curve.points)


def sweep_notes(report: Report, members: Sequence[CurveRecords], shown: Container[SweepKey]) -> tuple[str, ...]:
    """Return notes on the sweeps of one kind: skipped or flat ones, and conditions of published ones."""
    known_skips = {f"{info.family}/{info.variant}": info.skipped for info in report.workloads.values()}
    skipped = (
        (c.key.variant, c.measurement.skipped)
        for c in members
        if c.measurement and c.measurement.skipped and c.measurement.skipped != known_skips.get(c.key.workload)
    )
    conditions = report.publication.conditions if report.publication else {}
    return paragraphs(
        "other_curves",
        skipped=with_names(skipped),
        flat=[c.key.variant for c in filter(is_drawn, members) if c.key not in shown and c.is_work_group and c.is_flat],
        within=FLAT - 1,
        published=with_names((c.key.variant, conditions[str(c.key)]) for c in members if str(c.key) in conditions),
    )


def other_curves(report: Report, found: Sequence[CurveRecords], shown: Container[SweepKey]) -> tuple[Picture, ...]:
    """Draw the sweeps of a family that no chapter shows, in small panels, but no agreeing cases and flat searches."""
    others = (
        curve
        for curve in filter(is_drawn, found)
        if curve.key not in shown and not (curve.is_work_group and curve.is_flat)
        if kind_of(curve) != "cases" or curve.astray
    )
    return curve_pictures(report, others, small=True)


def curve_pictures(report: Report, found: Iterable[CurveRecords], *, small: bool = False) -> tuple[Picture, ...]:
    """Draw curves, the same kinds of sweeps together; in *small* panels, which have details on screens only."""
    kinds = grouped(((kind_of(c), *((c.axis.label, c.value_unit) if small else ())), c) for c in found)
    titles = (panel_titles(report, members) for members in kinds.values())
    return tuple(
        p for members, names in zip(kinds.values(), titles, strict=True) for p in pictures(members, names, small)
    )


def pictures(
    members: Sequence[CurveRecords], titles: Mapping[SweepKey, Sequence[str]] | None = None, small: bool = False
) -> tuple[Picture, ...]:
    """Draw the sweeps of one kind that have points; *titles* of each, the longest first, are by default the variant."""
    kind = kind_of(members[0]) if members else "sizes"
    named = {curve.key: (titles or {}).get(curve.key, (curve.key.variant,)) for curve in members}
    if kind == "traces":
        found = [trace for curve in members for trace in sweeps.traces(curve, curve.key.variant)]
        groups = in_figures(found, sweeps.MOST_TRACES)
        return tuple(Picture(sweeps.trace_chart(group), text("trace_caption", traces=group)) for group in groups)
    drawn = [_by_size(curve) if kind == "sizes" and curve.is_work_group else curve for curve in members]
    drawn = [curve for curve in drawn if any(p.value > 0 and (kind != "sizes" or p.point.x > 0) for p in curve.points)]
    parts = sweeps.in_charts(drawn, kind, small=small)
    return tuple(_picture(kind, part, [named[curve.key] for curve in part], small=small) for part in parts)


def _picture(kind: Kind, part: Sequence[CurveRecords], titles: Sequence[Sequence[str]], *, small: bool) -> Picture:
    if kind == "shapes":
        return Picture(sweeps.shape_chart(part, titles), shape_caption(part))
    if kind == "cases":
        return Picture(sweeps.case_chart(part, titles), case_caption(part))
    whole = sweeps.size_chart(part, titles)
    if not small:
        return Picture(whole, size_caption(part))
    signs = (
        min(curve.astray, key=lambda pair: pair.urgency).main.verdict.mark + " " if curve.astray else ""
        for curve in part
    )
    short = [(f"{sign}{each[-1]}",) for sign, each in zip(signs, titles, strict=True)]
    return Picture(sweeps.small_chart(part, short), small_caption(part), whole)


def _by_size(curve: CurveRecords) -> CurveRecords:
    """Return a one-dimensional search with work-group sizes as x instead of indices."""
    return replace(
        curve,
        specification=_moved(curve.specification),
        calibrated=_moved(curve.calibrated),
        observation=_moved(curve.observation),
    )


def _moved(record: R) -> R:
    if record is None:
        return record
    keys = (p.point.model_copy(update={"x": float((shape_of(p.point) or (0,))[0])}) for p in record.points)
    points = (p.model_copy(update={"point": key}) for p, key in zip(record.points, keys, strict=True))
    return record.model_copy(update={"points": Points(points)})
