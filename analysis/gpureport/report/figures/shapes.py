"""The figure of searches over two-dimensional work-groups: one map per variant."""

from collections.abc import Sequence
from math import ceil, sqrt

from gpureport.findings.advice import shape_of
from gpureport.report.figures.canvas import Ink, Pen
from gpureport.report.figures.marks import Point
from gpureport.report.figures.panels import Panel, Scale, panels
from gpureport.report.figures.style import INK, MUTED, OBSERVED, PREDICTED, TINY_PT, binary_ticks, mixed
from gpureport.report.run.curves import CurveRecords
from gpureport.units import format_percent

MOST_PANELS = 8

_COLUMNS = 4
_HALF = sqrt(2)  # half a cell, on a scale of powers of two
_SHADES = 12
_PLOT_IN, _HEAD_IN = 1.3, 0.22


def rated(curve: CurveRecords) -> dict[tuple[int, int], float]:
    """Return the rate of each shape (x, y) as a share of the best; observed, or else predicted."""
    record = curve.observation or curve.prediction
    points: Sequence[Point] = record.points if record else ()
    rates = {_sides(point): _rate(curve, point) for point in points if point.value > 0}
    best = max(rates.values(), default=1.0)
    return {shape: rate / best for shape, rate in rates.items()}


def _sides(point: Point) -> tuple[int, int]:
    shape = shape_of(point.point) or (1,)
    return shape[0], shape[1] if len(shape) > 1 else 1


def _rate(curve: CurveRecords, point: Point) -> float:
    return point.value if curve.metric.kind == "rate" else 1 / point.value


def shape_figure(curves: Sequence[CurveRecords], titles: Sequence[str]) -> str:
    """Draw the rate of every shape as a share of the best; each curve must have a point with a value above 0."""
    shares = [rated(curve) for curve in curves]
    x, y = (_sides_scale([shape[side] for rates in shares for shape in rates]) for side in (0, 1))
    names = ("work-group size in x", "work-group size in y")
    canvas, found = panels(titles, _COLUMNS, _PLOT_IN, _HEAD_IN, x, y, names)
    for panel, curve, rates in zip(found, curves, shares, strict=True):
        _draw(panel, curve, rates)
    return canvas.drawn()


def _sides_scale(sides: Sequence[int]) -> Scale:
    """Return a scale over powers of two, wide enough for whole cells."""
    low, high = min(sides) / _HALF, max(sides) * _HALF
    ticks = tuple(binary_ticks(low, high, 6))
    return Scale(low, high, ticks, tuple(f"{tick:g}" for tick in ticks))


def _draw(panel: Panel, curve: CurveRecords, rates: dict[tuple[int, int], float]) -> None:
    colour = OBSERVED if curve.observation else PREDICTED
    for (x, y), share in rates.items():
        low, high = panel.at(x / _HALF, y / _HALF), panel.at(x * _HALF, y * _HALF)
        shade = Ink(mixed(colour, 0.08 + 0.92 * (ceil(share * _SHADES) / _SHADES) ** 2), order=2)
        panel.canvas.rectangle(low, (high[0] - 0.006, high[1] - 0.006), shade)
    best, worst = max(rates, key=lambda shape: rates[shape]), min(rates, key=lambda shape: rates[shape])
    place = panel.at(*best)
    panel.canvas.segment(place, place, Pen(INK, 3.5, order=4, round=True))
    if curve.observation and curve.prediction and curve.prediction.points:
        x, y = _sides(max(curve.prediction.points, key=lambda point: _rate(curve, point)))
        low, high = panel.at(x / _HALF, y / _HALF), panel.at(x * _HALF, y * _HALF)
        panel.canvas.line((low, (high[0], low[1]), high, (low[0], high[1]), low), Pen(PREDICTED, 1.0, order=3))
    text = f"slowest {worst[0]} x {worst[1]}: {format_percent(rates[worst])}"
    place = (panel.right_in, panel.top_in - 0.06)
    panel.canvas.text(place, text, size_pt=TINY_PT, colour=MUTED, ha="right", clear=True)
