"""A drawing sheet measured in inches. All shapes with the same style become one SVG element.

Small multiples drawn one by one have thousands of elements, and layout engines process each of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from gpureport.report.figures.style import FONT_PT, INK, WIDTH_IN, printable, text_in
from gpureport.report.figures.svg import Attributes, path, sheet, text

Place = tuple[float, float]
"""Inches from the left edge and from the lower edge."""

Shape = Literal["circle", "square", "up", "down", "left", "right", "diamond"]

_CORNERS: dict[Shape, tuple[Place, ...]] = {
    "square": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    "up": ((-1, -1), (1, -1), (0, 1)),
    "down": ((1, 1), (-1, 1), (0, -1)),
    "left": ((1, -1), (1, 1), (-1, 0)),
    "right": ((-1, 1), (-1, -1), (1, 0)),
    "diamond": ((-1.15, 0), (0, -1.15), (1.15, 0), (0, 1.15)),
}
"""Corners about 1 from the centre, all anticlockwise, so that overlapping shapes stay filled."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_SHARES_LEFT = {"left": 0.0, "center": 0.5, "right": 1.0}
_RISES_EM = {"bottom": -0.21, "center_baseline": 0.37, "center": 0.28, "top": 0.76}
"""Height of each ``va`` above the baseline, in the shipped font."""


@dataclass(frozen=True)
class Pen:
    """Style of a line; *dashes* are in line widths, and higher *order* is drawn on top."""

    colour: str
    width_pt: float
    dashes: tuple[float, ...] = ()
    alpha: float = 1.0
    order: float = 2.0
    round: bool = False

    def attributes(self) -> Attributes:
        """Return the SVG attributes."""
        return {
            "fill": "none",
            "stroke": self.colour,
            "stroke-width": self.width_pt,
            "stroke-dasharray": " ".join(f"{dash * self.width_pt:g}" for dash in self.dashes) or None,
            "stroke-linecap": "round" if self.round else None,
            "stroke-opacity": None if self.alpha == 1 else self.alpha,
        }


@dataclass(frozen=True)
class Ink:
    """Style of an area."""

    colour: str
    alpha: float = 1.0
    order: float = 1.0

    def attributes(self) -> Attributes:
        """Return the SVG attributes."""
        return {"fill": self.colour, "fill-opacity": None if self.alpha == 1 else self.alpha}


_CLEAR = Ink("#FFFFFF", order=0.6)
"""Above a panel's grid, below everything else."""


@dataclass(frozen=True)
class Label:
    """One line of text; *ha* and *va* are the edges at *place*, before upright text is rotated around it."""

    place: Place
    text: str
    size_pt: float
    colour: str
    ha: Literal["left", "center", "right"]
    va: Literal["bottom", "center", "center_baseline", "top"]
    weight: int
    upright: bool


@dataclass
class Canvas:
    """Collects lines, areas and texts on a sheet as wide as the page's text, and draws them at the end."""

    height_in: float
    labels: list[Label] = field(default_factory=list)
    _paths: dict[Pen | Ink, list[tuple[Place, ...]]] = field(default_factory=dict)

    def line(self, places: Iterable[Place], pen: Pen) -> None:
        """Draw a line through *places*."""
        self._paths.setdefault(pen, []).append(tuple(places))

    def segment(self, start: Place, end: Place, pen: Pen) -> None:
        """Draw a straight line; with no length and round ends it is a dot."""
        self.line((start, end), pen)

    def area(self, corners: Iterable[Place], ink: Ink) -> None:
        """Fill the polygon with these *corners*."""
        self._paths.setdefault(ink, []).append(tuple(corners))

    def rectangle(self, low: Place, high: Place, ink: Ink) -> None:
        """Fill the rectangle between two opposite corners."""
        self.area((low, (high[0], low[1]), high, (low[0], high[1])), ink)

    def mark(self, place: Place, shape: Shape, radius_in: float, ink: Ink) -> None:
        """Fill a small *shape* around *place*."""
        if shape == "circle":
            dot = Pen(ink.colour, 2 * 72 * radius_in, alpha=ink.alpha, order=ink.order, round=True)
            self.segment(place, place, dot)
        else:
            self.area([(place[0] + radius_in * x, place[1] + radius_in * y) for x, y in _CORNERS[shape]], ink)

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
        upright: bool = False,
        clear: bool = False,
    ) -> None:
        """Write one line of text; *upright*: rotated to read upwards; *clear*: hide the grid behind horizontal text."""
        if not text.strip():
            return
        if clear:
            width, rise = text_in(text, size_pt), 0.6 * size_pt / 72
            left = place[0] - _SHARES_LEFT[ha] * width
            self.rectangle((left, place[1] - rise), (left + width, place[1] + rise), _CLEAR)
        self.labels.append(Label(place, printable(text), size_pt, colour, ha, va, weight, upright))

    def drawn(self) -> str:
        """Return the drawing as an SVG element, the same for the same input; texts are on top."""
        styles = sorted(self._paths, key=lambda style: style.order)
        paths = (
            path(map(self._svg_places, self._paths[style]), style.attributes(), isinstance(style, Ink))
            for style in styles
        )
        return sheet(72 * WIDTH_IN, 72 * self.height_in, [*paths, *map(self._svg_text, self.labels)])

    def _svg_places(self, places: Iterable[Place]) -> list[Place]:
        """Return *places* in SVG coordinates: in points from the upper edge."""
        return [(72 * x, 72 * (self.height_in - y)) for x, y in places]

    def _svg_text(self, label: Label) -> str:
        ((x, y),) = self._svg_places([label.place])
        attributes: Attributes = {
            "fill": label.colour,
            "font-size": label.size_pt,
            "font-weight": None if label.weight == 400 else label.weight,
            "text-anchor": None if label.ha == "left" else _ANCHORS[label.ha],
        }
        return text((x, y), label.text, attributes, drop=_RISES_EM[label.va] * label.size_pt, upright=label.upright)
