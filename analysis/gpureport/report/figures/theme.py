"""The look of all figures: seaborn's theme with the shipped fonts, and sheets as wide as a page's text."""

import logging
import math
import warnings
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from unicodedata import east_asian_width

import numpy as np

from gpureport.data import data_dir
from gpureport.text import printable
from gpureport.units import abbreviated, format_bytes, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    CapStyle = Literal["butt", "round"]

WIDTH_IN = 6.85  # text width of an A4 page with 18 mm margins
FONT_PT = 7.5
SMALL_PT = 7.0

# Okabe & Ito, "Color Universal Design" (2008): distinct with every kind of colour blindness.
PREDICTED = "#0072B2"
OBSERVED = "#D55E00"
ACCENTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, MUTED, FAINT = "#222222", "#666666", "#DDDDDD"
TIMES = " \N{MULTIPLICATION SIGN} "
_CONTRAST = 4.6  # of text; a little above the requirement, because colours are rounded
DASHED = (0, (4, 2))
"""Style of lines of the specification: dashes in line widths."""

FONT = "Inter"
"""Family of the shipped fonts; the page's style sheet contains them under the same name."""
_FILES = ("Inter-Regular.ttf", "Inter-SemiBold.ttf")
_FEWEST_TICKS = 2
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SETTINGS = {
    "font.family": [FONT, "DejaVu Sans"],
    "font.size": SMALL_PT,
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

STRIP_IN, BETWEEN_IN = 0.4, 0.06
"""Height of the panel, and of the gap above it."""
_LEAST_REACH = 1.3  # of the axis, above and below 1
_TICKS = ((1.5, 1.2), (2.5, 1.5), (9.0, 2.0), (math.inf, 5.0))  # the outer ticks, by the reach of the axis
_LEAST_ROOM = 1.35  # from 1 to the edge of the axis / from 1 to its outer ticks

Pairs = Sequence[tuple[float, float]]
"""Pairs of x and y, all above 0."""


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
    rows: Sequence[tuple[float, float]],
    columns: int = 1,
    *,
    count: int | None = None,
    margins: Margins = MARGINS,
    gap_in: float = 0.15,
) -> "tuple[Figure, list[Axes]]":
    """Return a figure as wide as the page's text, and its axes, row by row.

    Args:
        rows: space above each row (the first: in addition to the upper margin) and its height, in inches.
        columns: number of columns, all equally wide.
        count: number of axes; by default, all rows are full.
        margins: space around all axes.
        gap_in: space between columns, in inches.
    """
    from matplotlib.figure import Figure

    height = margins.top + margins.bottom + sum(gap + size for gap, size in rows)
    width = (WIDTH_IN - margins.left - margins.right - gap_in * (columns - 1)) / columns
    figure, below = Figure(figsize=(WIDTH_IN, height)), height - margins.top
    axes: list[Axes] = []
    for gap, size in rows:
        below -= gap + size
        axes += [
            panel(figure, margins.left + column * (width + gap_in), below, width, size)
            for column in range(columns)
            if count is None or len(axes) + column < count
        ]
    return figure, axes


def panel(figure: "Figure", left_in: float, below_in: float, width_in: float, height_in: float) -> "Axes":
    """Add axes to *figure* so far from its left and lower edges, and of this size."""
    width, height = figure.get_size_inches()
    return figure.add_axes((left_in / width, below_in / height, width_in / width, height_in / height))


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
    widths = [min(needed_in(name) + 0.3, each) for name, _ in names]
    top = 1 - 0.02 / figure.get_figheight()
    for (name, colour), x in zip(names, accumulate(widths, initial=left_in), strict=False):
        figure.text(x / WIDTH_IN, top, fitted(f"● {name}", each - 0.05), color=readable(colour), va="top")


def size_format(unit: str) -> Callable[[float], str]:
    """Return how ticks write sizes: bytes as such, counts as powers of two (``2¹⁰``)."""
    if unit == "B":
        return format_bytes
    return lambda value: "2" + str(round(math.log2(value))).translate(_SUPERSCRIPTS)


def binary_axis(axis: "Axes", text: Callable[[float], str], most: int = 9) -> None:
    """Make the x axis logarithmic with powers of two, written by *text*, at most *most* of them."""
    from matplotlib.ticker import LogLocator

    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=most))
    axis.xaxis.minorticks_off()
    axis.xaxis.set_major_formatter(lambda value, _: text(value))


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
    axis.annotate(label, (0, 1), (-2, 7), "axes fraction", "offset points", ha="right", va="center")


def value_ticks(
    axis: "XAxis | YAxis", ends: tuple[float, float], scale: tuple[float, str], *, logarithmic: bool, most: int = 5
) -> str:
    """Set round ticks between *ends*, divided by *scale* (:func:`gpureport.units.scale_of`); return their unit."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    ticks = decimal_ticks(*ends, most) if logarithmic else []
    steps = [1, 2, 2.5, 5, 10] if logarithmic else None
    axis.set_major_locator(FixedLocator(ticks) if len(ticks) >= _FEWEST_TICKS else MaxNLocator(most, steps=steps))
    axis.minorticks_off()
    divisor, label = scale
    axis.set_major_formatter(lambda value, _: f"{value / divisor:.6g}")
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
    place = {"transform": axis.transAxes, "va": "center", "ha": ha}
    style = {"size": size_pt, "color": colour, "weight": weight}
    axis.text(x, 1 + above_in / inches(axis)[1], text, fontdict={**style, **place})


def place_across(axis: "Axes", x: float) -> float:
    """Return the place of *x* as a share of the width of the axes."""
    across, _ = (axis.transData + axis.transAxes.inverted()).transform((x, 1))
    return float(across)


def name_at_edge(axis: "Axes", text: str, left_in: float) -> None:
    """Write the name of the y axis upright at the left edge of the sheet, *left_in* from the axes.

    A name that is longer than the axis ends above it.
    """
    width, height = inches(axis)
    is_long = "\n" not in text and text_in(text) > height
    axis.text(
        (0.07 - left_in) / width,
        0.06 / height if is_long else 0.5,
        text,
        transform=axis.transAxes,
        rotation=90,
        ha="left",
        va="bottom" if is_long else "center",
    )


def write_title(axis: "Axes", text: str, above_in: float, *, x: float = 0.0) -> None:
    """Write the title of a panel, see :func:`write_above`."""
    write_above(axis, text, above_in, x=x, size_pt=FONT_PT, weight=600)


def text_in(text: str, size_pt: float = SMALL_PT) -> float:
    """Estimate the width of a text in inches: 0.55 em per character."""
    return 0.55 * size_pt / 72 * len(text)


def needed_in(text: str, size_pt: float = SMALL_PT) -> float:
    """Estimate the width of a name in inches by its letters; rather too large than too small."""
    return size_pt / 72 * sum(map(_ems, text))


def fitted(text: str, width_in: float, size_pt: float = SMALL_PT) -> str:
    """Cut a name to *width_in* inches, with blanks for unprintable characters."""
    text = printable(text)
    if needed_in(text, size_pt) <= width_in:
        return text
    ends = list(accumulate(map(_ems, text)))
    return f"{text[: bisect(ends, width_in * 72 / size_pt - 1)]}…"


def first_fitting(texts: Sequence[str], width_in: float, size_pt: float = SMALL_PT) -> str:
    """Return the first of *texts* (at least one) that fits in *width_in* inches, or else the end of the last.

    Identifiers of one family differ at their ends.
    """
    fits = (printable(text) for text in texts if needed_in(text, size_pt) <= width_in)
    return next(fits, "") or f"…{fitted(texts[-1][::-1], width_in, size_pt).rstrip('…')[::-1]}"


def _ems(character: str) -> float:
    if character in "WMwm@%" or east_asian_width(character) in "WF":
        return 1.05
    return 0.72 if character.isupper() else 0.55


@cache
def readable(colour: str) -> str:
    """Return *colour*, darkened until text on white has the contrast that WCAG 2 requires (4.5)."""
    from seaborn.utils import relative_luminance

    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    while 1.05 / (relative_luminance(tuple(parts)) + 0.05) < _CONTRAST:
        parts = [0.97 * part for part in parts]
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def decimal_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return at most *most* round numbers within *low* … *high*: 1-2-5, or powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        candidates = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(candidates) <= most:
            return candidates
    return candidates[:: math.ceil(len(candidates) / most)]


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move *positions* at least *gap* apart, with the same order and mean."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, int]] = []  # mean, members; overlapping blocks merge (isotonic regression)
    for index in order:
        mean, count = positions[index], 1
        while blocks and mean - blocks[-1][0] < gap * (count + blocks[-1][1]) / 2:
            other, members = blocks.pop()
            mean, count = (mean * count + other * members) / (count + members), count + members
        blocks.append((mean, count))
    placed = [mean + gap * (i - (count - 1) / 2) for mean, count in blocks for i in range(count)]
    result = [0.0] * len(positions)
    for index, position in zip(order, placed, strict=True):
        result[index] = position
    return result


def interpolated(points: Pairs) -> Callable[[float], float]:
    """Return y as a function of x, interpolated on logarithmic axes; *points* (at least one) are ascending in x."""
    x, y = np.log(np.array(points)).T
    return lambda at: float(np.exp(np.interp(np.log(at), x, y)))


def ratio_axis(axis: "Axes", ratios: Mapping[str, Pairs], most_reach: float = 4.0) -> None:
    """Scale the y axis to *ratios* by colour, which have their x; arrows show those beyond a factor of *most_reach*."""
    from matplotlib.ticker import FixedLocator

    reach = max([_LEAST_REACH, *(1.05 * max(y, 1 / y) for pairs in ratios.values() for _, y in pairs)])
    reach = min(reach, most_reach)
    near = next(near for most, near in _TICKS if reach < most)
    reach = max(reach, near**_LEAST_ROOM)
    axis.set_yscale("log")
    axis.set_ylim(1 / reach, reach)
    axis.yaxis.set_major_locator(FixedLocator([1 / near, 1, near]))
    axis.yaxis.set_major_formatter("{x:.2g}")
    axis.yaxis.minorticks_off()
    for colour, pairs in ratios.items():
        arrows(axis, [x for x, y in pairs if y > reach], reach, "^", colour)
        arrows(axis, [x for x, y in pairs if y < 1 / reach], 1 / reach, "v", colour)
