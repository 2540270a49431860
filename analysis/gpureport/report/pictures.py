"""Which figure shows which sweeps, with its caption."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gpureport.findings.advice import shape_of
from gpureport.records.keys import PointKey
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction
from gpureport.records.report import Clock
from gpureport.report.figures import cases, shapes, sizes, traces
from gpureport.report.figures.panels import in_figures
from gpureport.report.run.curves import Curve
from gpureport.report.text.captions import case_caption, shape_caption, size_caption, trace_caption

R = TypeVar("R", Prediction | None, Observation | None)
Kind = Literal["sizes", "shapes", "cases", "traces"]
_FEWEST = 3  # shapes that make a curve or a map


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it."""

    svg: str
    caption: str


def kind_of(curve: Curve) -> Kind:
    """Return the kind of figure that shows a curve."""
    if curve.key.sweep == "frames":
        return "traces"
    if curve.is_work_group:
        return _kind_of_search(curve)
    return "cases" if curve.axis.quantity == "case" else "sizes"


def _kind_of_search(curve: Curve) -> Kind:
    """Rows of one dimension are a curve, powers of two in two dimensions a map, others and few shapes bars."""
    found = [shape_of(point.point) for point in curve.points]
    known = [shape for shape in found if shape is not None]
    if len(known) < len(found) or len(set(known)) < _FEWEST or any(len(shape) > 2 for shape in known):
        return "cases"
    if all(len(shape) == 1 for shape in known):
        return "sizes"
    return "shapes" if all(side & (side - 1) == 0 for shape in known for side in shape) else "cases"


def pictures(members: Sequence[Curve], clocks: Sequence[Clock] = ()) -> tuple[Figure, ...]:
    """Draw sweeps of one kind, those that have anything to draw, in as many figures as it takes.

    *clocks* are those of the run: a trace's caption says whether they changed.
    """
    kind = kind_of(members[0]) if members else "sizes"
    if kind == "traces":
        found = [trace for curve in members for trace in traces.traces(curve, curve.key.variant)]
        groups = in_figures(found, traces.MOST_PANELS)
        return tuple(Figure(traces.trace_figure(group), trace_caption(group, clocks)) for group in groups)
    drawn = [_by_size(curve) if kind == "sizes" and curve.is_work_group else curve for curve in members]
    drawn = [curve for curve in drawn if any(p.value > 0 and (kind != "sizes" or p.point.x > 0) for p in curve.points)]
    return tuple(_figure(kind, part, first=not number) for number, part in enumerate(_parts(kind, drawn)))


def _parts(kind: Kind, drawn: Sequence[Curve]) -> Sequence[Sequence[Curve]]:
    if kind != "cases":
        return list(in_figures(drawn, sizes.MOST_PANELS if kind == "sizes" else shapes.MOST_PANELS))
    parts: list[list[Curve]] = []
    rows = cases.MOST_ROWS
    for curve in drawn:
        rows += len(cases.case_labels(curve))
        if rows > cases.MOST_ROWS:
            parts.append([])
            rows = len(cases.case_labels(curve))
        parts[-1].append(curve)
    return parts


def _figure(kind: Kind, part: Sequence[Curve], *, first: bool) -> Figure:
    """Draw one figure; only the first of a section says what its shades mean."""
    titles = [curve.key.variant for curve in part]
    if kind == "cases":
        return Figure(cases.case_figure(part, titles), case_caption(part))
    if kind == "shapes":
        return Figure(
            shapes.shape_figure(part, titles), shape_caption(part) if first else f"As above: {', '.join(titles)}."
        )
    return Figure(sizes.size_figure(part, titles), size_caption(part))


def _by_size(curve: Curve) -> Curve:
    """Let the x of a search over one dimension be the size of the work-group, not the shape's index."""
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
