"""Pictures of a page: what draws them, and their SVG text, drawn in parallel processes."""

import re
from io import StringIO
from typing import NamedTuple
from xml.etree import ElementTree as ET

from gpureport.errors import GpuReportError
from gpureport.report.figures.chart import Chart, described, stacks
from gpureport.report.figures.draw import draw
from gpureport.report.figures.theme import theme

_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_DECIMALS = re.compile(r"(\.\d)\d+")
"""More decimals than a page needs, in points."""
_COMMANDS = re.compile(r"\s*([MLCQz])\s*")
_FAMILIES = "'Inter', 'DejaVu Sans'"
_NAMES = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
_UNUSED = {f"{{{_NAMES['']}}}{tag}" for tag in ("metadata", "style")}


class Picture(NamedTuple):
    """A figure with its caption."""

    chart: Chart
    caption: str

    @property
    def description(self) -> str:
        """What the figure shows, for those who cannot see it."""
        return " ".join(f"{described(stack)}." for stack in stacks(self.chart))

    def svg(self, number: int = 0) -> str:
        """Return the figure as an SVG element with its description as its title; *number* is its own on the page.

        Raises:
            GpuReportError: matplotlib cannot read its settings.
        """
        try:
            import matplotlib as mpl
        except UnicodeDecodeError:
            raise GpuReportError("the file matplotlibrc is not UTF-8; save it as UTF-8, or remove it") from None

        with theme(), mpl.rc_context({"svg.hashsalt": str(number)}):
            text = StringIO()
            draw(self.chart).savefig(text, format="svg", metadata=_NO_METADATA)
        return _described(text.getvalue(), self.description)


def _described(svg: str, text: str) -> str:
    """Return the element of an SVG file with only what is drawn, and *text* as its title for screen readers."""
    for prefix, name in _NAMES.items():
        ET.register_namespace(prefix, name)
    root = ET.fromstring(svg)  # noqa: S314 - our own
    for parent in root.iter():
        drawn = (child for child in parent if child.get("style") != "fill: none")  # with fill or stroke
        parent[:] = [child for child in drawn if child.tag not in _UNUSED]
    for element in root.iter():
        if "d" in element.attrib:
            element.set("d", _COMMANDS.sub(r"\1", _DECIMALS.sub(r"\1", element.attrib["d"])))
        if element.tag == f"{{{_NAMES['']}}}g":
            element.attrib.pop("id", None)  # figures of one page have the same
        element.attrib.update(_declarations(element.attrib.pop("style", "")))
        element.text, element.tail = (element.text or "").strip() or None, None
    title = ET.Element("title")
    title.text = text
    root.insert(0, title)
    root.attrib.update({"role": "img", "stroke-linejoin": "round", "font-family": _FAMILIES})
    return ET.tostring(root, encoding="unicode")


def _declarations(style: str) -> dict[str, str]:
    """Return the declarations of a style as attributes, which page layout reads faster; all texts have one font."""
    pairs = (declaration.partition(":") for declaration in style.split(";") if declaration.strip())
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip() != "font-family"}
