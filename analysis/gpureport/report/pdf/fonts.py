"""Fonts shipped with documents."""

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
"""Files of the page's font by weight."""


def with_fonts(html: str, address: Callable[[str], str]) -> str:
    """Insert the style rules of the shipped fonts at the placeholder in the head.

    *address* returns the URL of a font file.
    """
    rule = '@font-face{{font-family:"{}";font-weight:{};src:url({})}}\n'
    rules = (rule.format(family, weight, address(file)) for family, weight, file in _FONTS)
    return html.replace("/* fonts */", "".join(rules), 1)


def data_uri(file: str) -> str:
    """Return a font file as a data URL."""
    return f"data:font/ttf;base64,{base64.b64encode(font_file(file).read_bytes()).decode()}"


def font_file(file: str) -> Path:
    """Return the path of a font file."""
    return data_dir("templates") / "fonts" / file
