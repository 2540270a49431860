"""Texts of a drawn figure that leave it or overlap, by matplotlib's own extents."""

from itertools import combinations
from typing import TYPE_CHECKING

from gpureport.report.figures.draw import draw
from gpureport.report.figures.theme import theme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from gpureport.report.figures.chart import Chart

_SLACK = 1.0  # pixels, at 100 per inch


def faults(chart: "Chart") -> list[str]:
    """Draw a chart and describe each text that leaves it, each pair that overlaps, and each text below 7 pt."""
    from matplotlib.text import Text

    with theme():
        figure = draw(chart)
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if _shown(text)]
        hidden = {id(label) for label in _hidden_labels(figure)}
        boxes = [(text, text.get_window_extent().padded(-_SLACK)) for text in texts if id(text) not in hidden]
        sheet = figure.bbox.padded(2 * _SLACK)
        outside = [
            f"outside: {text.get_text()}"
            for text, box in boxes
            if not (sheet.x0 <= box.x0 and box.x1 <= sheet.x1 and sheet.y0 <= box.y0 and box.y1 <= sheet.y1)
        ]
        overlapping = [
            f"{one.get_text()} overlaps {other.get_text()}"
            for (one, first), (other, second) in combinations(boxes, 2)
            if first.overlaps(second)
        ]
        return [*outside, *overlapping, *(f"small: {t.get_text()}" for t, _ in boxes if t.get_fontsize() < 7)]


def _shown(text: "Text") -> bool:
    return bool(text.get_visible() and text.get_text().strip() and (text.axes is None or text.axes.get_visible()))


def _hidden_labels(figure: "Figure") -> "Iterator[Text]":
    """Yield the labels of ticks beyond the limits of their axis, or of axes without ticks."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if not axes.axison or not low <= tick.get_loc() <= high:
                    yield tick.label1
