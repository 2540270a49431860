"""The look of all figures: seaborn's theme with the shipped fonts, and sheets as wide as a page's text."""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gpureport.data import data_dir
from gpureport.report.figures.style import (
    FAINT,
    FONT_PT,
    INK,
    MUTED,
    SMALL_PT,
    WIDTH_IN,
    decimal_ticks,
    fitted,
    linear_ticks,
    needed_in,
    readable,
    text_in,
)
from gpureport.units import abbreviated, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    CapStyle = Literal["butt", "round"]

FONT = "Inter"
"""Family of the shipped fonts; the page's style sheet contains them under the same name."""
_FILES = ("Inter-Regular.ttf", "Inter-SemiBold.ttf")
_FEWEST_TICKS = 2
_SETTINGS = {
    "font.family": [FONT, "DejaVu Sans"],
    "font.size": FONT_PT,
    "text.color": INK,
    "text.parse_math": False,  # names may contain dollar signs
    "axes.titlesize": FONT_PT,
    "axes.titleweight": 600,
    "axes.titlelocation": "left",
    "axes.labelsize": FONT_PT,
    "axes.linewidth": 0.6,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.4,
    "xtick.labelsize": SMALL_PT,
    "ytick.labelsize": SMALL_PT,
    "xtick.major.size": 0,  # the grid shows the ticks, with fewer elements
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.major.pad": 5.0,
    "ytick.major.pad": 2.0,
    "xtick.minor.bottom": False,
    "ytick.minor.left": False,
    "lines.linewidth": 0.9,
    "path.simplify": False,  # it drops lines without length from long paths: dots
    "svg.fonttype": "none",  # text stays text
}


@contextmanager
def theme() -> Iterator[None]:
    """Make figures that are drawn and saved within this context look alike."""
    import matplotlib as mpl
    import seaborn as sns

    _register_fonts()
    # Seaborn's style contains only its own settings, so both are needed.
    settings: dict[Any, Any] = {**sns.axes_style("ticks"), **_SETTINGS}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # pages have fallback fonts
        yield


@cache
def _register_fonts() -> None:
    from matplotlib.font_manager import fontManager

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # fallback fonts lack some weights
    for name in _FILES:
        fontManager.addfont(data_dir("templates") / "fonts" / name)


class Margins(NamedTuple):
    """Inches between axes and the edges of the sheet."""

    left: float = 0.85
    right: float = 0.15
    top: float = 0.25
    bottom: float = 0.4


MARGINS = Margins()


def sheet(
    rows: Sequence[tuple[float, float]], columns: int = 1, *, margins: Margins = MARGINS, gap_in: float = 0.15
) -> "tuple[Figure, list[list[Axes]]]":
    """Return a figure as wide as the page's text, and its axes by row and column.

    Args:
        rows: space above each row (the first: in addition to the upper margin) and its height, in inches.
        columns: number of columns, all equally wide.
        margins: space around all axes.
        gap_in: space between columns, in inches.
    """
    from matplotlib.figure import Figure

    height = margins.top + margins.bottom + sum(gap + size for gap, size in rows)
    width = (WIDTH_IN - margins.left - margins.right - gap_in * (columns - 1)) / columns
    figure = Figure(figsize=(WIDTH_IN, height))
    top = height - margins.top
    axes = []
    for gap, size in rows:
        top -= gap + size
        lefts = (margins.left + column * (width + gap_in) for column in range(columns))
        axes.append([figure.add_axes((x / WIDTH_IN, top / height, width / WIDTH_IN, size / height)) for x in lefts])
    return figure, axes


def dots(axis: "Axes", x: "ArrayLike", y: "ArrayLike", colour: str, size_pt: float = 2.4) -> None:
    """Draw a dot at each (x, y), as one path: page layout takes time for every element.

    A dot is a line without length that has round ends.
    """
    bars(axis, x, y, y, colour, size_pt, solid_capstyle="round")


def bars(
    axis: "Axes",
    x: "ArrayLike",
    low: "ArrayLike",
    high: "ArrayLike",
    colour: str,
    width_pt: float = 0.6,
    solid_capstyle: "CapStyle" = "butt",
    alpha: float = 1.0,
) -> None:
    """Draw a vertical line from *low* to *high* at each *x* (shape (n,) each), as one path."""
    gap = np.full(np.shape(x), np.nan)
    along, up = np.column_stack([x, x, gap]).ravel(), np.column_stack([low, high, gap]).ravel()
    axis.plot(along, up, color=colour, linewidth=width_pt, alpha=alpha, solid_capstyle=solid_capstyle, zorder=3)


def across(
    axis: "Axes",
    y: "ArrayLike",
    low: "ArrayLike",
    high: "ArrayLike",
    colour: str,
    width_pt: float = 0.6,
    alpha: float = 1.0,
) -> None:
    """Draw a horizontal line from *low* to *high* at each *y* (shape (n,) each), as one path."""
    gap = np.full(np.shape(y), np.nan)
    x, up = np.column_stack([low, high, gap]).ravel(), np.column_stack([y, y, gap]).ravel()
    axis.plot(x, up, color=colour, linewidth=width_pt, alpha=alpha, solid_capstyle="butt", zorder=2)


def arrows(axis: "Axes", x: "ArrayLike", y: "ArrayLike", marker: str, colour: str) -> None:
    """Draw arrow heads at the edge of the axes, where lines leave them; *x* or *y* may be one number for all."""
    along, up = np.broadcast_arrays(x, y)
    if along.size:
        axis.plot(along.ravel(), up.ravel(), marker, color=colour, markersize=3, markeredgewidth=0, clip_on=False)


def named(figure: "Figure", names: Sequence[tuple[str, str]], left_in: float = 0.0) -> None:
    """Write each name in its colour after a dot of this colour, side by side at the top of *figure*."""
    each = (WIDTH_IN - left_in) / len(names)
    widths = [min(needed_in(name, SMALL_PT) + 0.3, each) for name, _ in names]
    for (name, colour), x in zip(names, accumulate(widths, initial=left_in), strict=False):
        text = fitted(f"● {name}", each - 0.05, SMALL_PT)
        figure.text(
            x / WIDTH_IN, 1 - 0.02 / figure.get_figheight(), text, color=readable(colour), size=SMALL_PT, va="top"
        )


def binary_axis(axis: "Axes", text: Callable[[float], str], most: int = 9) -> None:
    """Make the x axis logarithmic with powers of two, written by *text*, at most *most* of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=most))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def value_axis(axis: "Axes", unit: str, *, zero: bool, most: int = 5) -> None:
    """Write values of *unit* on the y axis, from *zero* or else logarithmic if they span a factor of five.

    The unit is above the ticks, to the left of the axis.
    """
    low, high = axis.dataLim.y0, axis.dataLim.y1
    logarithmic = not zero and high > 5 * axis.dataLim.minposy
    if logarithmic:
        axis.set_yscale("log")
    ends = low / 1.2 if logarithmic else 0, high * (1.2 if logarithmic else 1.12)
    axis.set_ylim(*ends)
    label = value_ticks(axis.yaxis, ends, scale_of(high, abbreviated(unit)), logarithmic=logarithmic, most=most)
    axis.annotate(
        label,
        (0, 1),
        (-2, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        size=SMALL_PT,
        ha="right",
        va="center",
    )


def value_ticks(
    axis: "XAxis | YAxis", ends: tuple[float, float], scale: tuple[float, str], *, logarithmic: bool, most: int = 5
) -> str:
    """Set round ticks between *ends*, divided by *scale* (:func:`gpureport.units.scale_of`); return their unit."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    low, high = ends
    ticks = decimal_ticks(low, high, most) if logarithmic else []
    if logarithmic and len(ticks) < _FEWEST_TICKS:
        ticks = linear_ticks(low, high, most)
    axis.set_major_locator(FixedLocator(ticks) if logarithmic else MaxNLocator(most))
    axis.set_minor_locator(NullLocator())
    divisor, label = scale
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / divisor:.6g}"))
    return label


def inches(axis: "Axes") -> tuple[float, float]:
    """Return width and height of the axes."""
    box, figure = axis.get_position(), axis.get_figure(root=True)
    width, height = figure.get_size_inches() if figure else (0.0, 0.0)
    return float(box.width * width), float(box.height * height)


def write_above(
    axis: "Axes",
    text: str,
    above_in: float,
    *,
    x: float = 0.0,
    size_pt: float = SMALL_PT,
    colour: str = INK,
    weight: int = 400,
    ha: "Literal['left', 'center', 'right']" = "left",
) -> None:
    """Write a line of text centred *above_in* inches above the axes, at *x* of its width."""
    height = 1 + above_in / inches(axis)[1]
    place = {"transform": axis.transAxes, "va": "center", "ha": ha}
    axis.text(x, height, text, fontdict={"size": size_pt, "color": colour, "weight": weight, **place})


def name_at_edge(axis: "Axes", text: str, left_in: float) -> None:
    """Write the name of the y axis upright at the left edge of the sheet, *left_in* from the axes.

    A name that is longer than the axis ends above it.
    """
    width, height = inches(axis)
    is_long = "\n" not in text and text_in(text, SMALL_PT) > height
    axis.text(
        (0.07 - left_in) / width,
        0.06 / height if is_long else 0.5,
        text,
        transform=axis.transAxes,
        rotation=90,
        size=SMALL_PT,
        ha="left",
        va="bottom" if is_long else "center",
    )


def write_title(axis: "Axes", text: str, above_in: float, *, x: float = 0.0) -> None:
    """Write the title of a panel, see :func:`write_above`."""
    write_above(axis, text, above_in, x=x, size_pt=FONT_PT, weight=600)
