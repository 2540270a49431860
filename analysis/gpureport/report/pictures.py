"""The figures of sweeps, with captions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeVar

from gpureport.findings.advice import shape_of
from gpureport.records.keys import PointKey, SweepKey
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction
from gpureport.records.report import Clock
from gpureport.report.curves import CurveRecords
from gpureport.report.figures import cases, shapes, sizes, traces
from gpureport.report.figures.charts import Chart, sweep_charts, trace_charts
from gpureport.report.figures.picture import Picture
from gpureport.report.grouping import in_figures
from gpureport.report.text.captions import case_caption, shape_caption, size_caption, trace_caption

R = TypeVar("R", Prediction | None, Observation | None)
Kind = Literal["sizes", "shapes", "cases", "traces"]
_FEWEST = 3  # shapes of a curve or a map


def kind_of(curve: CurveRecords) -> Kind:
    """Return the kind of figure for a curve."""
    if curve.key.sweep == "frames":
        return "traces"
    if curve.is_work_group:
        return _kind_of_search(curve)
    return "cases" if curve.axis.quantity == "case" else "sizes"


def _kind_of_search(curve: CurveRecords) -> Kind:
    """Choose a curve for one-dimensional shapes, a map for two-dimensional powers of two, or else bars."""
    found = [shape_of(point.point) for point in curve.points]
    known = [shape for shape in found if shape is not None]
    if len(known) < len(found) or len(set(known)) < _FEWEST or any(len(shape) > 2 for shape in known):
        return "cases"
    if all(len(shape) == 1 for shape in known):
        return "sizes"
    return "shapes" if all(side & (side - 1) == 0 for shape in known for side in shape) else "cases"


def pictures(
    members: Sequence[CurveRecords],
    clocks: Sequence[Clock] = (),
    titles: Mapping[SweepKey, Sequence[str]] | None = None,
) -> tuple[Picture, ...]:
    """Draw the sweeps of one kind that have points, in one or more figures.

    Args:
        members: the sweeps.
        clocks: those of the run, for the captions of traces.
        titles: for each sweep its titles, the longest first; default: the variant.
    """
    kind = kind_of(members[0]) if members else "sizes"
    named = {curve.key: (titles or {}).get(curve.key, (curve.key.variant,)) for curve in members}
    if kind == "traces":
        found = [trace for curve in members for trace in traces.traces(curve, curve.key.variant)]
        groups = in_figures(found, traces.MOST_PANELS)
        return tuple(
            Picture(partial(traces.trace_figure, group), trace_caption(group, clocks), trace_charts(group))
            for group in groups
        )
    drawn = [_by_size(curve) if kind == "sizes" and curve.is_work_group else curve for curve in members]
    drawn = [curve for curve in drawn if any(p.value > 0 and (kind != "sizes" or p.point.x > 0) for p in curve.points)]
    return tuple(
        replace(_figure(kind, part, named, first=not number), charts=_charts(kind, part, named))
        for number, part in enumerate(_parts(kind, drawn))
    )


def _parts(kind: Kind, drawn: Sequence[CurveRecords]) -> Sequence[Sequence[CurveRecords]]:
    if kind != "cases":
        return list(in_figures(drawn, sizes.MOST_PANELS if kind == "sizes" else shapes.MOST_PANELS))
    parts: list[list[CurveRecords]] = []
    rows = cases.MOST_ROWS
    for curve in drawn:
        rows += len(cases.case_labels(curve))
        if rows > cases.MOST_ROWS:
            parts.append([])
            rows = len(cases.case_labels(curve))
        parts[-1].append(curve)
    return parts


def _figure(
    kind: Kind, part: Sequence[CurveRecords], named: Mapping[SweepKey, Sequence[str]], *, first: bool
) -> Picture:
    """Draw one figure; only the first map of a section has the full caption."""
    titles = [named[curve.key] for curve in part]
    drawn = [replace(curve, measurement=None) for curve in part]  # samples are not drawn, and other processes get less
    if kind == "cases":
        return Picture(partial(cases.case_figure, drawn, titles), case_caption(part))
    if kind == "shapes":
        return Picture(
            partial(shapes.shape_figure, drawn, titles),
            shape_caption(part) if first else f"{', '.join(each[-1] for each in titles)}; shades and marks as above.",
        )
    return Picture(partial(sizes.size_figure, drawn, titles), size_caption(part))


def _charts(kind: Kind, part: Sequence[CurveRecords], named: Mapping[SweepKey, Sequence[str]]) -> tuple[Chart, ...]:
    """Return the data of a figure's charts; maps have none."""
    return () if kind == "shapes" else sweep_charts(part, [named[c.key][0] for c in part], cases=kind == "cases")


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
    points = (p.model_copy(update={"point": _at_its_size(p.point)}) for p in record.points)
    return record.model_copy(update={"points": tuple(points)})


def _at_its_size(point: PointKey) -> PointKey:
    return point.model_copy(update={"x": float((shape_of(point) or (0,))[0])})
