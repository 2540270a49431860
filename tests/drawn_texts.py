"""Texts of a drawn figure, and those that leave it or overlap, by the widths of the shipped font."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree as ET

from fontTools.ttLib import TTFont

from gpureport.data import data_dir
from gpureport.report.figures.chart import Chart
from gpureport.report.figures.draw import draw

_SHIFTS = {"start": 0.0, "middle": 0.5, "end": 1.0}


class Drawn(NamedTuple):
    """A text, its size in points, whether it is slanted, and its box: left, top, right, bottom."""

    text: str
    size: float
    slanted: bool
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Drawn") -> bool:
        """Return whether two boxes have more than a little in common."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 1.4 and min(self.bottom, other.bottom) - max(self.top, other.top) > 1.4


@cache
def _width(text: str) -> float:
    """Return the width at a size of 1."""
    font = TTFont(data_dir("templates") / "fonts" / "Inter-Regular.ttf")
    names, widths = font.getBestCmap(), font["hmtx"]
    return sum(widths[names[ord(each)]][0] if ord(each) in names else 1000 for each in text) / font["head"].unitsPerEm


def drawn_texts(svg: str) -> Iterator[Drawn]:
    """Yield the texts of a figure, which must be well-formed."""
    for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314
        text, size = element.text or "", float(element.get("font-size", 7))
        width = _width(text) * size
        shift = _SHIFTS[element.get("text-anchor", "start")] * width
        across, up = (-shift, width - shift), (-0.36 * size, 0.36 * size)  # of capitals
        x, y, turned = float(element.get("x", 0)), float(element.get("y", 0)) - 0.36 * size, 0.0
        if place := element.get("transform"):
            (x, y), turned = map(float, place[10 : place.index(")")].split()), float(place.split("(")[2][:-1])
        if turned == -90:
            across, up = up, (-across[1], -across[0])
        yield Drawn(text, size, turned not in (0, -90), x + across[0], y + up[0], x + across[1], y + up[1])


def faults(chart: Chart) -> list[str]:
    """Draw a chart and describe each text that leaves it, each pair that overlaps, and each text below 7 pt."""
    svg = draw(chart)
    texts = list(drawn_texts(svg))
    width, height = map(float, ET.fromstring(svg).attrib["viewBox"].split()[2:])  # noqa: S314
    upright = [each for each in texts if not each.slanted]  # the box of others is larger
    inside = (min(each.left, each.top, width - each.right, height - each.bottom) > -1.4 for each in upright)
    outside = [f"outside: {each.text}" for each, known in zip(upright, inside, strict=True) if not known]
    overlapping = [f"{a.text} overlaps {b.text}" for a, b in combinations(upright, 2) if a.overlaps(b)]
    return [*outside, *overlapping, *(f"small: {each.text}" for each in texts if each.size < 7)]
