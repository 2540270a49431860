"""Figures of sweeps with their titles and captions: in chapters the typical and the most deviating ones."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Literal, NamedTuple

from gpureport.grouping import grouped, in_figures
from gpureport.records.curves import SweepKey
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.figures import sweeps
from gpureport.report.figures.chart import Label
from gpureport.report.figures.picture import Picture
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.words import family_name, with_names

Kind = Literal["sizes", "cases"]
_TYPICAL = ("working_set", "work_items")
_MOST: dict[Kind, int] = {"sizes": 3, "cases": 2}
"""The most deviating curves of a chapter, by kind of figure."""


def kind_of(curve: CurveRecords) -> Kind:
    """Return the kind of figure for a curve."""
    return "cases" if curve.axis.quantity == "case" else "sizes"


class Selection(NamedTuple):
    """The curves of one chapter; *left_out* is the number of deviating ones that only the appendix shows."""

    typical: tuple[CurveRecords, ...] = ()
    deviating: tuple[CurveRecords, ...] = ()
    left_out: int = 0

    @property
    def shown(self) -> tuple[CurveRecords, ...]:
        """All curves that the chapter draws."""
        return (*self.typical, *self.deviating)


def selection(drawn: Sequence[CurveRecords]) -> Selection:
    """Select curves: as typical, the one of each family with most compared features that all agree.

    Only sweeps over sizes are typical; without observations all agree. Of each kind, the most severe deviations are
    drawn.
    """
    astray = tuple(curve for curve in drawn if curve.astray)
    agreeing = (curve for curve in drawn if curve.axis.quantity in _TYPICAL and curve not in astray)
    typical = (
        max(members, key=_weight) for members in grouped((curve.key.family, curve) for curve in agreeing).values()
    )
    worst = {
        curve.key
        for kind, members in grouped((kind_of(curve), curve) for curve in astray).items()
        for curve in sorted(members, key=lambda curve: min(pair.urgency for pair in curve.astray))[: _MOST[kind]]
    }
    deviating = tuple(curve for curve in astray if curve.key in worst)
    return Selection(tuple(typical), deviating, len(astray) - len(deviating))


def selections(report: Report, found: Sequence[CurveRecords]) -> dict[str, Selection]:
    """Return the curves of each chapter, by its anchor; none of transfers within memory that device and host share."""
    shared = report.device.host_link.kind == "shared"
    drawn = (curve for curve in filter(is_drawn, found) if not (shared and curve.key.family == "transfer"))
    of = grouped((_chapter_of(curve), curve) for curve in drawn)
    return {anchor: selection(curves) for anchor, curves in of.items()}


def _chapter_of(curve: CurveRecords) -> str:
    if curve.key.family == "transfer":
        return "device"
    return {"working_set": "caches", "work_items": "work", "case": "limits"}[curve.axis.quantity]


def is_drawn(curve: CurveRecords) -> bool:
    """Whether a curve has observations or was only predicted: skipped sweeps and searches of shapes are not drawn."""
    return not curve.is_work_group and (curve.measurement is None or curve.observation is not None)


def _weight(curve: CurveRecords) -> tuple[bool, int, int]:
    """Sort key of typical curves: observed, then the number of cliffs and tapers, then that of points."""
    features = sum(pair.main.feature != "rate" for pair in curve.features_found)
    return curve.observation is not None, features, len(curve.points)


def sweep_notes(report: Report, members: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Return notes on the sweeps of one kind: skipped ones, and conditions of published ones."""
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
        published=with_names((c.key.variant, conditions[str(c.key)]) for c in members if str(c.key) in conditions),
    )


def other_curves(report: Report, found: Sequence[CurveRecords], shown: Container[SweepKey]) -> tuple[Picture, ...]:
    """Draw the sweeps of a family that no chapter shows, but no agreeing cases."""
    others = (
        curve
        for curve in filter(is_drawn, found)
        if curve.key not in shown and (kind_of(curve) != "cases" or curve.astray)
    )
    return curve_pictures(report, others)


def curve_pictures(report: Report, found: Iterable[CurveRecords]) -> tuple[Picture, ...]:
    """Draw the curves that have points, the same kinds of sweeps together."""
    pictures: list[Picture] = []
    for kind, members in grouped((kind_of(curve), curve) for curve in found).items():
        drawn = [c for c in members if any(p.value > 0 and (kind != "sizes" or p.point.x > 0) for p in c.points)]
        chart, titles = sweeps.case_chart if kind == "cases" else sweeps.size_chart, panel_titles(report, members)
        for part in in_figures(drawn, sweeps.MOST_PANELS[kind]):
            caption = curve_caption(part, cases=kind == "cases")
            pictures.append(Picture(chart(part, [titles[curve.key] for curve in part]), caption))
    return tuple(pictures)


def section_title(members: Sequence[CurveRecords]) -> str:
    """Name sweeps of one kind: the quantity and the axis."""
    first = members[0]
    name = first.key.sweep_name.capitalize()
    against = "" if first.axis.quantity == "case" else f" against {first.axis.label}"
    return f"{name}: {_value_name(members)}{against}"


def panel_titles(report: Report, members: Sequence[CurveRecords]) -> dict[SweepKey, Label]:
    """Return the identifier of each sweep with the title of its workload, and alone.

    Of members of one family, its name, which the block's title has, is left out. Several sweeps of a variant have
    their names.
    """
    counts = Counter((key.workload, axis.quantity) for key, axis in {(p.key, p.axis) for p in report.predictions})
    families = {curve.key.family for curve in members}
    alike = len(families) == 1
    family = family_name(report, *families) if alike else ""
    found: dict[SweepKey, Label] = {}
    for curve in members:
        info = report.workloads.get(curve.key.workload)
        several = counts[curve.key.workload, curve.axis.quantity] > 1
        same = info is not None and info.title == curve.key.variant  # a source of the user
        title = info.title.removeprefix(family).lstrip(" ,:") if info and not same else ""
        name = curve.key.variant if alike or same else curve.key.workload
        name += f", {curve.key.sweep_name}" if several else ""
        found[curve.key] = (f"{name}: {title[:1].upper()}{title[1:]}", name) if title else name
    return found


def _value_name(members: Sequence[CurveRecords]) -> str:
    labels = {curve.metric.label for curve in members}
    first = members[0].metric
    return first.label if len(labels) == 1 else "rates" if first.kind == "rate" else "times"


def curve_caption(curves: Sequence[CurveRecords], *, cases: bool) -> str:
    """Say what the marks and lines of curves over sizes, or of separate cases, stand for."""
    seen = seen_word(curves) if any(curve.observation for curve in curves) else ""
    known = {kind: any(getattr(curve, kind) for curve in curves) for kind in ("specification", "calibrated")}
    return text("curve_caption", cases=cases, seen=seen, **known)
