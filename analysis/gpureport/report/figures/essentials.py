"""The figure of page one: latency and read bandwidth by working set with the caches, and throughput by work-items."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.predict.occupancy import resident_work_items
from gpureport.records.curves import CurveFeature, Observation
from gpureport.records.prediction import Prediction
from gpureport.report.curves import CurveRecords, is_certain_n90, reading_units
from gpureport.report.figures.marks import (
    FeatureMark,
    draw_marks,
    feature_marks,
    label_line,
    label_plateaus,
    place,
    plateaus,
)
from gpureport.report.figures.sizes import drawable
from gpureport.report.figures.theme import (
    ACCENTS,
    DASHED,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TIMES,
    WIDTH_IN,
    binary_axis,
    dots,
    fitted,
    inches,
    panel,
    place_across,
    readable,
    text_in,
    value_axis,
    write_above,
)
from gpureport.report.grouping import grouped
from gpureport.spec.models import Cache, Device
from gpureport.units import format_bytes, format_percent, format_range, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FAMILIES = len(ACCENTS)
"""Families that are drawn, the first ones."""

_LATENCY, _BANDWIDTH = ("memory", ("latency",)), ("memory", ("read_private", "read"))
"""Family and variants of the microbenchmarks of caches."""
_HEIGHT_IN, _TOP_IN, _FOOT_IN = 2.1, 0.2, 0.37
_LEFT_IN, _CACHES_IN, _WORK_LEFT_IN, _NAMES_IN = 0.6, 3.32, 0.52, 1.24
_MARKS_IN, _BETWEEN_IN = 0.12, 0.06
_APART_IN = 0.06  # between names of caches
_ROW_IN = 0.13
_FULL = 0.9  # share of the peak at n90
_MOST_SHARE = 1.35


@dataclass(frozen=True)
class WorkLine:
    """Throughput of a family's fastest variant by work-items, relative to the peak that its n90 refers to."""

    name: str
    kernel: str
    """The variant."""
    items: NDArray[np.float64]
    """Work-items, shape (n,), ascending."""
    shares: NDArray[np.float64]
    """Throughput / peak, shape (n,)."""
    observed: bool
    n90: float
    certain: bool
    """Whether *n90* gets a mark: its interval is narrow, and the sweep does not begin near it."""
    predicted: float | None
    """The predicted n90, if *n90* is observed."""


@dataclass(frozen=True)
class Essentials:
    """What the figure of page one shows; at least one curve."""

    latency: tuple[CurveRecords, ...]
    bandwidth: tuple[CurveRecords, ...]
    caches: tuple[Cache, ...]
    compute_units: int
    work: tuple[WorkLine, ...]
    resident: int | None
    """Work-items that a GPU can keep resident at once, according to its entry."""


def essentials(found: Iterable[CurveRecords], name: Callable[[str], str], device: Device) -> Essentials | None:
    """Return what the figure shows, if there is anything; *name* returns the name of a family.

    Empty kernels have no line, because they do no work, and transfers none, because they have no work-items. If
    anything was observed, curves that were only predicted have none.
    """
    curves = [curve for curve in found if not (curve.is_work_group or curve.is_transfer)]
    curves = [curve for curve in curves if curve.observation] or curves
    latency, bandwidth = (_of(curves, *which) for which in (_LATENCY, _BANDWIDTH))
    lines = grouped(
        (curve.key.family, curve)
        for curve in curves
        if curve.key.family != "launch" and curve.metric.kind == "rate" and _n90(curve)
    )
    work = tuple(_work_line(name(family), of) for family, of in lines.items())[:MOST_FAMILIES]
    if not (latency or bandwidth or work):
        return None
    return Essentials(latency, bandwidth, device.caches, device.compute_units, work, resident_work_items(device))


def _of(curves: Iterable[CurveRecords], family: str, variants: Sequence[str]) -> tuple[CurveRecords, ...]:
    """Return the sweeps of *variants* over working sets, without samples, which are not drawn."""
    return tuple(
        replace(curve, measurement=None)
        for curve in curves
        if curve.key.family == family and curve.key.variant in variants and curve.axis.quantity == "working_set"
        if drawable(curve.points)
    )


def _record(curve: CurveRecords) -> Observation | Prediction | None:
    """Return the observation, or else the prediction from the specification."""
    return curve.observation or curve.specification or curve.calibrated


def _n90(curve: CurveRecords) -> CurveFeature | None:
    """Return the n90 of a curve, if it is within the sweep."""
    record = _record(curve)
    found = (f for f in (record.features if record else ()) if f.position == "n90")
    return next((f for f in found if record and place(f.value, f.unit, record.points)), None)


def _best(curve: CurveRecords) -> float:
    """Return the best value of the record that is drawn."""
    record = _record(curve)
    return max(point.value for point in record.points) if record and record.points else 0.0


def _work_line(name: str, of: Sequence[CurveRecords]) -> WorkLine:
    """Return the line of the fastest of a family's curves (at least one), all with an n90; best with a certain one."""
    same = [curve for curve in of if curve.value_unit == of[0].value_unit]
    certain = [curve for curve in same if (known := _n90(curve)) and is_certain_n90(known, curve)]
    fastest = max(certain or same, key=_best)
    record, n90 = _record(fastest), _n90(fastest)
    assert record is not None and n90 is not None  # noqa: S101, PT018 - by the choice of curves
    values = {float(p.point.work_items): p.value for p in record.points if p.value > 0 and p.point.work_items > 0}
    items, shares = (np.array(each) for each in zip(*sorted(values.items()), strict=True))
    at_n90 = np.exp(np.interp(np.log(n90.value), np.log(items), np.log(shares)))
    predicted = fastest.specification.features if fastest.observation and fastest.specification else ()
    return WorkLine(
        name=name,
        kernel=fastest.key.variant,
        items=items,
        shares=_FULL * shares / at_n90,
        observed=fastest.observation is not None,
        n90=n90.value,
        certain=is_certain_n90(n90, fastest),
        predicted=next((f.value for f in predicted if f.position == "n90"), None),
    )


def essentials_figure(drawn: Essentials) -> "Figure":
    """Draw the panels of caches on the left and those of work on the right; one alone gets the whole width."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, _HEIGHT_IN))
    panels = [curves for curves in (drawn.latency, drawn.bandwidth) if curves]
    width = _CACHES_IN if drawn.work else WIDTH_IN - _LEFT_IN - 0.15
    space = _HEIGHT_IN - _TOP_IN - _FOOT_IN - (_MARKS_IN + _BETWEEN_IN) * len(panels)
    for number, of in enumerate(panels):
        height = space / len(panels)
        bottom = _FOOT_IN + (len(panels) - 1 - number) * (height + _MARKS_IN + _BETWEEN_IN)
        axis = panel(figure, _LEFT_IN, bottom, width, height)
        _draw_curves(axis, of, [*drawn.latency, *drawn.bandwidth])
        _draw_caches(axis, drawn, labelled=number == 0)
        _label(axis, of, drawn.compute_units)
        below = number == len(panels) - 1
        axis.tick_params(labelbottom=below)
        axis.set_xlabel("working set (per compute unit for caches of compute units)" if below else "", labelpad=1)
    if drawn.work:
        left = _LEFT_IN + _CACHES_IN + _WORK_LEFT_IN if panels else _LEFT_IN
        width = WIDTH_IN - left - _NAMES_IN - 0.05
        top = _HEIGHT_IN - _TOP_IN - _ROW_IN * len(drawn.work)
        rows = panel(figure, left, top, width, _ROW_IN * len(drawn.work))
        _draw_work(rows, panel(figure, left, _FOOT_IN, width, top - _MARKS_IN - _FOOT_IN), drawn)
    return figure


def _draw_curves(axis: "Axes", curves: Sequence[CurveRecords], every: Sequence[CurveRecords]) -> None:
    """Draw latency or bandwidth: predictions dashed, their transition ranges shaded, observed points and cliffs."""
    marks: list[FeatureMark] = []
    for curve in curves:
        predicted = curve.specification or curve.calibrated
        points = drawable(predicted.points) if predicted else []
        if predicted and points:
            x, y = [p.point.x for p in points], [p.value for p in points]
            axis.plot(x, y, color=PREDICTED, linewidth=0.9, linestyle=DASHED)
            for mark in feature_marks(predicted.features, points):
                axis.axvspan(mark.start, mark.end, color=PREDICTED, alpha=0.12, linewidth=0)
        if curve.observation:
            seen = drawable(curve.observation.points)
            dots(axis, [p.point.x for p in seen], [p.value for p in seen], OBSERVED)
        record = _record(curve)
        marks += _cliffs(record) if record else []
    x = [point.point.x for curve in every for point in drawable(curve.points)]
    binary_axis(axis, format_bytes, 7)
    axis.set_xlim(min(x) / 1.15, max(x) * 1.15)
    first = curves[0]
    value_axis(axis, first.value_unit, zero=False, most=4)
    axis.set_ylabel(first.metric.label, size=SMALL_PT, labelpad=2)
    above = 1 + _MARKS_IN / 2 / inches(axis)[1]
    marks.sort(key=lambda mark: mark.x)
    draw_marks([axis], marks, above, _colour(curves), hollow=not any(curve.observation for curve in curves))


def _colour(curves: Iterable[CurveRecords]) -> str:
    """Return the colour of the records that are drawn."""
    return OBSERVED if any(curve.observation for curve in curves) else PREDICTED


def _label(axis: "Axes", curves: Iterable[CurveRecords], units: int) -> None:
    """Label plateaus; a curve that only some compute units read gets their number instead of values."""
    for curve in curves:
        record, readers = _record(curve), reading_units(curve, units)
        points = drawable(record.points) if record else []
        if record and points and readers < units:
            text = f"only {readers} of {units} units"
            label_line(axis, text, (points[0].point.x, points[-1].point.x), points[0].value, _colour([curve]))
        elif record:
            label_plateaus(axis, plateaus(record.features, points), curve.value_unit, _colour([curve]))


def _cliffs(record: Observation | Prediction) -> list[FeatureMark]:
    """Return the marks of the cliffs of caches, with onset and midpoint as texts."""
    onsets = {each.level: each.value for each in record.features if each.position == "onset"}
    middles = [each for each in record.features if each.position == "midpoint" and not each.level.is_unexplained]
    found = []
    for middle in middles:
        own = [each for each in record.features if each.feature == "cliff" and each.level == middle.level]
        texts, onset = [format_value(middle.value, middle.unit)], onsets.get(middle.level)
        if onset:
            texts.insert(0, format_range((onset, middle.value), middle.unit, joint=", "))
        marks = feature_marks(own, drawable(record.points))
        found += [replace(mark, texts=tuple(texts)) for mark in marks]
    return found


def _draw_caches(axis: "Axes", drawn: Essentials, *, labelled: bool) -> None:
    """Draw a line at the capacity of each cache; above the upper panel its name, right of the one before."""
    low, high = axis.get_xlim()
    width, _ = inches(axis)
    end = -_LEFT_IN
    for cache in sorted(drawn.caches, key=lambda cache: cache.capacity_bytes):
        if not low < cache.capacity_bytes < high:
            continue
        axis.axvline(cache.capacity_bytes, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
        if labelled:
            units = f"{TIMES}{drawn.compute_units} units" if cache.scope == "compute_unit" else ""
            text = f"{cache.name} {format_bytes(cache.capacity_bytes)}{units}"
            half = 1.05 * text_in(text) / 2
            middle = max(place_across(axis, cache.capacity_bytes) * width, end + half)
            end = middle + half + _APART_IN
            write_above(axis, text, _MARKS_IN + 0.08, x=middle / width, weight=600, ha="center")


def _draw_work(rows: "Axes", axis: "Axes", drawn: Essentials) -> None:
    """Draw a line for each family, and above the lines a row for each with its n90, which are often close together."""
    from matplotlib.ticker import FixedLocator

    ends = [items for line in drawn.work for items in line.items[[0, -1]]]
    for each in (axis, rows):
        binary_axis(each, lambda value: format_value(value, ""), 4)
        each.set_xlim(min(ends) / 1.5, max(ends) * 1.5)
        if drawn.resident:
            each.axvline(drawn.resident, color=MUTED, linewidth=0.8, linestyle=(0, (1, 1.5)))
    for line, colour in zip(drawn.work, ACCENTS, strict=False):
        axis.plot(line.items, line.shares, color=colour, linewidth=0.8, linestyle="-" if line.observed else DASHED)
    axis.set_ylim(0, _MOST_SHARE)
    axis.yaxis.set_major_locator(FixedLocator([0, 0.5, _FULL, 1.2]))
    axis.yaxis.set_major_formatter(lambda value, _: format_percent(value))
    axis.set_xlabel("work-items", labelpad=1)
    axis.set_ylabel("throughput", size=SMALL_PT, labelpad=1)
    _draw_n90(rows, drawn.work)
    if drawn.resident:
        text = f"resident at once: {format_value(drawn.resident, '')}"
        write_above(rows, text, 0.07, x=place_across(rows, drawn.resident), weight=600, ha="center")


def _draw_n90(axis: "Axes", lines: Sequence[WorkLine]) -> None:
    """Mark the n90 of each line in a row of its own, with name and value to the right."""
    axis.set_ylim(len(lines), 0)
    axis.set_yticks([])
    axis.tick_params(labelbottom=False)
    axis.spines[["left", "bottom"]].set_visible(False)
    width, _ = inches(axis)
    write_above(axis, "n90", 0.07, x=1 + _NAMES_IN / width, ha="right")
    for row, (line, colour) in enumerate(zip(lines, ACCENTS, strict=False)):
        if line.predicted:
            axis.plot(line.predicted, row + 0.5, "^", color=colour, markersize=4, markerfacecolor="white")
        if line.certain:
            axis.plot((line.predicted or line.n90, line.n90), (row + 0.5,) * 2, color=colour, linewidth=0.7, zorder=1)
            axis.plot(line.n90, row + 0.5, "^", color=colour, markersize=4)
        number = format_value(line.n90, "") if line.certain else "uncertain"
        name = fitted(line.name, _NAMES_IN - text_in(number) - 0.08)
        for text, x, ha in ((name, 0.05, "left"), (number, _NAMES_IN, "right")):
            place = {"transform": axis.get_yaxis_transform(), "ha": ha, "va": "center"}
            axis.text(1 + x / width, row + 0.5, text, fontdict={"color": readable(colour), **place})
