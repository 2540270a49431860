"""The look of all figures: colours, sizes, and texts that fit."""

from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import log
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np

from gpureport.report.figures.chart import Role
from gpureport.text import printable

WIDTH_PT = 493.2  # text width of an A4 page with 18 mm margins
FONT_PT = 7.5
SMALL_PT = 7.0

COLOURS: Mapping[Role, str] = {
    "predicted": "#0072B2",
    "observed": "#D55E00",
    "green": "#009E73",
    "pink": "#CC79A7",
    "amber": "#E69F00",
    "ink": "#222222",
    "muted": "#666666",
    "faint": "#DDDDDD",
}
"""Okabe & Ito, "Color Universal Design" (2008): distinct with every kind of colour blindness. ``screen.css`` has the
same names."""
_CONTRAST = 4.6  # of text; a little above the requirement, because colours are rounded
_SHADES = 21

FONT = "Inter"
"""Family of the shipped fonts; the page's style sheet contains them under the same name."""


class Shade(NamedTuple):
    """A colour of heat maps."""

    paint: str
    luminance: float


def _parts(colour: str) -> tuple[float, ...]:
    """Return red, green and blue from 0 to 1."""
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _luminance(parts: Sequence[float]) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _hex(parts: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)


def readable(colour: str) -> str:
    """Return *colour*, darkened until text on white has the contrast that WCAG 2 requires (4.5)."""
    parts = _parts(colour)
    while 1.05 / (_luminance(parts) + 0.05) < _CONTRAST:
        parts = tuple(0.97 * part for part in parts)
    return _hex(parts)


INKS: Mapping[Role, str] = {role: readable(colour) for role, colour in COLOURS.items()}
"""Colours of texts."""


@cache
def shades(reach: float) -> tuple[Shade, ...]:
    """Return the colours of a heat map: of ratios from orange to blue, of shares (*reach* 0) from pale to dark."""
    ends = ["observed", "#F4F4F4", "predicted"] if reach else ["#F2EAE6", "#A63B00"]
    known = np.array([_parts(COLOURS.get(end, end)) for end in ends])  # type: ignore[call-overload]
    at = np.linspace(0, len(ends) - 1, _SHADES)
    found = np.column_stack([np.interp(at, range(len(ends)), column) for column in known.T])
    return tuple(Shade(_hex(parts), _luminance(parts)) for parts in found.tolist())


def shade(value: float, reach: float) -> Shade:
    """Return the colour of a ratio, *reach* and more being the darkest one, or of a share."""
    share = 0.5 + log(value) / log(reach) / 2 if reach else value
    return shades(reach)[round(min(max(share, 0.0), 1.0) * (_SHADES - 1))]


def width_of(text: str, size_pt: float = SMALL_PT) -> float:
    """Estimate the width of a text in points by its letters; rather too large than too small."""
    return size_pt * sum(map(_ems, text))


def fitted(text: str, width_pt: float, size_pt: float = SMALL_PT) -> str:
    """Cut a name to a width, with blanks for unprintable characters."""
    text = printable(text)
    if width_of(text, size_pt) <= width_pt:
        return text
    ends = list(accumulate(map(_ems, text)))
    return f"{text[: bisect(ends, width_pt / size_pt - 1)]}…"


def first_fitting(texts: Sequence[str], width_pt: float, size_pt: float = SMALL_PT) -> str:
    """Return the first of *texts* (at least one) that fits in a width, or else the end of the last.

    Identifiers of one family differ at their ends.
    """
    fits = (printable(text) for text in texts if width_of(text, size_pt) <= width_pt)
    return next(fits, "") or f"…{fitted(texts[-1][::-1], width_pt, size_pt).rstrip('…')[::-1]}"


def _ems(character: str) -> float:
    if character in "WMwm@%" or east_asian_width(character) in "WF":
        return 1.05
    return 0.72 if character.isupper() else 0.55
