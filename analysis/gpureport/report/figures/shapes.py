"""The figure of searches over two-dimensional work-groups: one map per variant."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from gpureport.findings.advice import shape_of
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.marks import Point
from gpureport.report.figures.theme import (
    FONT_PT,
    INK,
    PREDICTED,
    SMALL_PT,
    WIDTH_IN,
    Margins,
    first_fitting,
    inches,
    panel,
    sheet,
    write_above,
    write_title,
)
from gpureport.report.grouping import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
"""One row: small figures leave no large gaps at the ends of pages."""

_MARGINS = Margins(left=0.5, right=0.75, top=0.04, bottom=0.36)
_PLOT_IN, _HEAD_IN, _GAP_IN = 1.25, 0.34, 0.3
_KEY_IN = (0.09, 1.1)  # width and height
_MOST_TICKS = 5
_SHADES = 10


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


def shape_figure(curves: Sequence[CurveRecords], titles: Sequence[Sequence[str]]) -> "Figure":
    """Draw the rate of every shape as a share of the best.

    Args:
        curves: at most :data:`MOST_PANELS`; each must have a point with a value above 0.
        titles: for each curve its titles, the longest first.
    """
    shares = [rated(curve) for curve in curves]
    sides = tuple(_powers([shape[side] for rates in shares for shape in rates]) for side in (0, 1))
    figure, axes = sheet([(_HEAD_IN, _PLOT_IN)], MOST_PANELS, count=len(curves), margins=_MARGINS, gap_in=_GAP_IN)
    for axis, curve, rates, known in zip(axes, curves, shares, titles, strict=True):
        _draw(axis, curve, rates, *sides)
        write_title(axis, first_fitting(known, inches(axis)[0] + _GAP_IN - 0.05, 1.1 * FONT_PT), 0.25)
        axis.set_xlabel("work-group size in x", labelpad=1)
    axes[0].set_ylabel("work-group size in y", labelpad=2)
    _draw_key(figure)
    return figure


def _powers(sides: Sequence[int]) -> list[int]:
    """Return the powers of two from the least to the greatest side."""
    return [2**exponent for exponent in range(min(sides).bit_length() - 1, max(sides).bit_length())]


def _colours() -> "list[tuple[float, float, float]]":
    """Return the shades, from the slowest to the fastest."""
    import seaborn as sns

    return list(sns.light_palette("#A63B00", _SHADES + 1))[1:]


def _cell(column: int, row: int) -> list[tuple[float, float]]:
    """Return the corners of a cell, with a gap to its neighbours."""
    low, high = -0.47, 0.47
    return [(column + x, row + y) for x, y in ((low, low), (high, low), (high, high), (low, high), (low, low))]


def _draw(axis: "Axes", curve: CurveRecords, rates: dict[tuple[int, int], float], x: list[int], y: list[int]) -> None:
    """Draw a cell for each shape, those of one shade as one path; mark and name the best and the predicted best."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    shades = grouped((ceil(share * _SHADES), shape) for shape, share in rates.items())
    for shade, colour in enumerate(_colours(), start=1):
        cells = [_cell(x.index(across), y.index(up)) for across, up in shades.get(shade, ())]
        if cells:
            axis.add_patch(PathPatch(Path.make_compound_path(*map(Path, cells)), color=colour, linewidth=0))
    axis.set(xlim=(-0.5, len(x) - 0.5), ylim=(-0.5, len(y) - 0.5))
    for ticks, side in ((axis.set_xticks, x), (axis.set_yticks, y)):
        step = -(-len(side) // _MOST_TICKS)
        ticks(range(0, len(side), step), [str(size) for size in side[::step]])
    axis.grid(visible=False)
    best = max(rates, key=lambda shape: rates[shape])
    lines = [(f"best {best[0]} x {best[1]}", INK)]
    axis.plot(x.index(best[0]), y.index(best[1]), "o", color=INK, markersize=2.5, zorder=3)
    if curve.observation and curve.prediction and curve.prediction.points:
        across, up = _sides(max(curve.prediction.points, key=lambda point: _rate(curve, point)))
        if across in x and up in y:
            axis.plot(x.index(across), y.index(up), "s", color=PREDICTED, markersize=5, markerfacecolor="white")
            lines.append((f"predicted best {across} x {up}", PREDICTED))
    for number, (text, ink) in enumerate(reversed(lines)):
        write_above(axis, text, 0.03 + 0.105 * number, colour=ink)


def _draw_key(figure: "Figure") -> None:
    """Draw the key of the colours at the right edge."""
    width, height = _KEY_IN
    top = figure.get_figheight() - _MARGINS.top - _HEAD_IN
    key = panel(figure, WIDTH_IN - _MARGINS.right + 0.15, top - height, width, height)
    key.barh(range(_SHADES), 1, 1, color=_colours(), linewidth=0)
    key.set(xlim=(0, 1), ylim=(-0.5, _SHADES - 0.5))
    key.yaxis.tick_right()
    key.set_yticks([-0.5, _SHADES / 2 - 0.5, _SHADES - 0.5], ["0", "50 %", "100 %"])
    key.set_xticks([])
    key.set_title("rate /\nbest", size=SMALL_PT, weight=400, pad=6)
    key.grid(visible=False)
    key.spines[:].set_visible(False)
