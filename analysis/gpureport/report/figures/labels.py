"""Texts of figures in a PDF, drawn as whole lines.

WeasyPrint lays out every letter of an SVG text separately, since SVG can move and rotate each. That takes a tenth of
the time for a report. These figures need neither, so a custom element draws each text like a line of the page.
"""

from math import inf
from typing import Any

from weasyprint.css.properties import INITIAL_VALUES
from weasyprint.draw.text import draw_emojis, draw_first_line
from weasyprint.matrix import Matrix
from weasyprint.svg import TAGS
from weasyprint.svg.text import Style, TextBox
from weasyprint.text.line_break import split_first_line

_ELEMENT = "label"


def quick(svg_text: str) -> str:
    """Return a figure whose texts WeasyPrint draws as whole lines."""
    TAGS[_ELEMENT] = _draw
    return svg_text.replace("<text ", f"<{_ELEMENT} ").replace("</text>", f"</{_ELEMENT}>")


def _draw(svg: Any, node: Any, font_size: float) -> None:  # noqa: ANN401 - WeasyPrint has no annotations
    """Draw a text as :func:`weasyprint.svg.text.text` does, without SVG's placement of single letters."""
    style = Style(INITIAL_VALUES)
    style.font_config = svg.font_config
    style["font_family"] = [name.strip("\"' ") for name in node.get("font-family", "sans-serif").split(",")]
    style["font_weight"] = int(node.get("font-weight", 400))
    style["font_size"] = font_size
    x, y = float(node.get("x")), float(node.get("y"))
    line, _, _, _, _, baseline = split_first_line(node.text, style, svg.context, inf, 0)
    svg.stream.push_state()
    fill, stroke = svg.set_graphical_state(node, font_size)
    svg.stream.begin_text()
    line.reactivate(style)
    svg.fill_stroke(fill, stroke, text=True)
    box = TextBox(line, style)
    box.baseline = baseline
    emojis = draw_first_line(svg.stream, box, "none", "none", Matrix(a=1, d=-1, e=x, f=y))
    svg.stream.end_text()
    svg.stream.pop_state()
    draw_emojis(svg.stream, style, x, y, emojis)
