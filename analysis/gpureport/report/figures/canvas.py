"""A sheet measured in inches, on which everything of one look becomes one element of the page.

A page of small multiples drawn axes by axes has thousands of elements, and layout engines take them one by one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Literal

from gpureport.report.figures.style import FONT_PT, INK, WIDTH_IN, new_figure, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.path import Path

Place = tuple[float, float]
"""Inches from the left and from the lower edge."""


@dataclass(frozen=True)
class Pen:
    """How a line looks; *order* says what lies on what."""

    colour: str
    width_pt: float
    dashes: tuple[float, ...] = ()
    alpha: float = 1.0
    order: float = 2.0
    round: bool = False


@dataclass(frozen=True)
class Ink:
    """How an area looks."""

    colour: str
    alpha: float = 1.0
    order: float = 1.0


class Canvas:
    """Collects lines, areas and texts, and draws them at the end."""

    def __init__(self, height_in: float) -> None:
        """Start an empty sheet, as wide as the text."""
        self.height_in = height_in
        self._lines: dict[Pen, tuple[list[float], list[float]]] = {}
        self._areas: dict[Ink, list[tuple[Place, ...]]] = {}
        self._figure = new_figure(height_in)
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, WIDTH_IN)
        self._axes.set_ylim(0, height_in)

    def line(self, places: Iterable[Place], pen: Pen) -> None:
        """Draw a line through *places*."""
        across, up = self._lines.setdefault(pen, ([], []))
        for x, y in (*places, (nan, nan)):
            across.append(x)
            up.append(y)

    def segment(self, start: Place, end: Place, pen: Pen) -> None:
        """Draw a straight line; without length and with round ends it is a dot."""
        self.line((start, end), pen)

    def area(self, corners: Iterable[Place], ink: Ink) -> None:
        """Fill what lies within *corners*."""
        self._areas.setdefault(ink, []).append(tuple(corners))

    def rectangle(self, low: Place, high: Place, ink: Ink) -> None:
        """Fill the rectangle between two opposite corners."""
        self.area((low, (high[0], low[1]), high, (low[0], high[1])), ink)

    def text(
        self,
        place: Place,
        text: str,
        *,
        size_pt: float = FONT_PT,
        colour: str = INK,
        ha: Literal["left", "center", "right"] = "left",
        va: Literal["bottom", "center", "center_baseline", "top"] = "center_baseline",
        weight: int = 400,
        rotation: float = 0,
    ) -> None:
        """Write one line of text."""
        style = {"fontsize": size_pt, "color": colour, "ha": ha, "va": va, "weight": weight, "rotation": rotation}
        self._axes.text(*place, printable(text), **style)  # type: ignore[arg-type]

    def drawn(self) -> "Figure":
        """Draw all that was collected."""
        from matplotlib.patches import PathPatch

        for ink, areas in self._areas.items():
            patch = PathPatch(_outline(areas), facecolor=ink.colour, alpha=ink.alpha, linewidth=0, zorder=ink.order)
            patch.set_clip_on(False)
            self._axes.add_artist(patch)
        for pen, (across, up) in self._lines.items():
            self._axes.plot(
                across,
                up,
                color=pen.colour,
                linewidth=pen.width_pt,
                linestyle=(0, pen.dashes) if pen.dashes else "-",
                alpha=pen.alpha,
                zorder=pen.order,
                solid_capstyle="round" if pen.round else "butt",
                clip_on=False,
            )
        return self._figure


def _outline(areas: Sequence[tuple[Place, ...]]) -> "Path":
    """Return all *areas* as one path."""
    from matplotlib.path import Path

    vertices = [place for corners in areas for place in (*corners, corners[0])]
    codes = [code for corners in areas for code in (Path.MOVETO, *(Path.LINETO,) * (len(corners) - 1), Path.CLOSEPOLY)]
    return Path(vertices, codes)
