"""Boxes outside their page or table cell, in a document that WeasyPrint has laid out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weasyprint.document import Document
    from weasyprint.formatting_structure.boxes import Box

_SLACK = 0.5
_SHOWN = ("TextBox", "TableBox", "InlineReplacedBox", "BlockReplacedBox")


def strays(document: "Document") -> Iterator[tuple[int, "Box"]]:
    """Yield the page number and the box of everything outside the margins or outside its cell."""
    for number, page in enumerate(document.pages, start=1):
        root = page._page_box
        for box in boxes(root):
            kind, right = type(box).__name__, page.width - root.margin_right
            if kind in _SHOWN and not (
                box.position_x >= root.margin_left - _SLACK
                and box.position_x + box.width <= right + _SLACK
                and box.position_y + box.height <= page.height
            ):
                yield number, box
            if kind == "TableCellBox":
                edge = box.position_x + box.border_width() + _SLACK
                texts = (inner for inner in boxes(box) if type(inner).__name__ == "TextBox")
                yield from ((number, text) for text in texts if text.position_x + text.width > edge)


def boxes(box: "Box") -> Iterator["Box"]:
    """Yield a box and all boxes inside it."""
    yield box
    for child in getattr(box, "children", ()):
        yield from boxes(child)
