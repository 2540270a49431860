"""Bounding boxes of a figure's texts, by the metrics of the shipped fonts."""

from functools import cache
from xml.etree import ElementTree as ET

from PIL import ImageFont

from gpureport.data import data_dir

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edges."""

_SCALE = 100  # Pillow measures in whole pixels


def boxes(svg: str) -> list[tuple[str, Box]]:
    """Return the texts of a figure with their bounding boxes, in points from the upper left corner."""
    texts = (element for element in ET.fromstring(svg) if element.tag.endswith("text"))  # noqa: S314
    return [(element.text or "", _box(element)) for element in texts]


def size_pt(svg: str) -> tuple[float, float]:
    """Return width and height of a figure."""
    _, _, width, height = ET.fromstring(svg).attrib["viewBox"].split()  # noqa: S314
    return float(width), float(height)


def _box(element: ET.Element) -> Box:
    size = float(element.attrib["font-size"])
    font, text = _font(element.get("font-weight", "400")), element.text or ""
    left, top, right, bottom = (edge * size / _SCALE for edge in font.getbbox(text, anchor="ls"))
    width = font.getlength(text) * size / _SCALE
    start = {"middle": -0.5, "end": -1.0}.get(element.get("text-anchor", ""), 0.0) * width
    x, y = float(element.attrib["x"]), float(element.attrib["y"])
    if "transform" not in element.attrib:
        return x + start + left, y + top, x + start + right, y + bottom
    words = element.attrib["transform"].removeprefix("rotate(").removesuffix(")").split()
    turn, across, up = map(float, words)
    assert turn == -90
    start, drop = x - across + start, y - up
    return across + drop + top, up - start - right, across + drop + bottom, up - start - left


@cache
def _font(weight: str) -> ImageFont.FreeTypeFont:
    name = {"400": "Inter-Regular.ttf", "600": "Inter-SemiBold.ttf"}[weight]
    return ImageFont.truetype(str(data_dir("templates") / "fonts" / name), _SCALE)
