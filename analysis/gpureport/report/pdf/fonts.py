"""The fonts that documents bring along."""

import base64
from collections.abc import Callable
from pathlib import Path

from gpureport.data import data_dir
from gpureport.report.figures.svg import PAGE_FONT

_FONTS = (
    (PAGE_FONT, 400, "Inter-Regular.ttf"),
    (PAGE_FONT, 600, "Inter-SemiBold.ttf"),
    ("gpureport mono", 400, "JetBrainsMono-Regular.ttf"),
)
FILES = tuple(file for _, _, file in _FONTS)
PAGE_FILES = {weight: file for family, weight, file in _FONTS if family == PAGE_FONT}
"""Of the page's own font, by weight."""


def with_fonts(html: str, address: Callable[[str], str]) -> str:
    """Put the style rules that bring the shipped fonts where the head has a place for them.

    *address* says where a font file is found.
    """
    rule = '@font-face{{font-family:"{}";font-weight:{};src:url({})}}\n'
    rules = (rule.format(family, weight, address(file)) for family, weight, file in _FONTS)
    return html.replace("/* fonts */", "".join(rules), 1)


def data_uri(file: str) -> str:
    """Return a font file as an address that holds all of it."""
    return f"data:font/ttf;base64,{base64.b64encode(font_file(file).read_bytes()).decode()}"


def font_file(file: str) -> Path:
    """Return where a font file is."""
    return data_dir("templates") / "fonts" / file
