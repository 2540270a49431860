"""Style of all figures: colours, sizes, ticks."""

import math
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from unicodedata import east_asian_width

from gpureport.text import printable

WIDTH_IN = 6.85  # text width of an A4 page with 18 mm margins
FONT_PT = 7.5
SMALL_PT = 7.0
TINY_PT = 7.0

# Okabe & Ito, "Color Universal Design" (2008): distinct with every kind of colour blindness.
PREDICTED = "#0072B2"
OBSERVED = "#D55E00"
ACCENTS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, MUTED, FAINT = "#222222", "#666666", "#DDDDDD"
TIMES = " \N{MULTIPLICATION SIGN} "
_CONTRAST = 4.6  # of text; a little above the requirement, because colours are rounded
DASHED = (0, (4, 2))
"""Style of lines of the specification: dashes in line widths."""


def text_in(text: str, size_pt: float = TINY_PT) -> float:
    """Estimate the width of a text in inches: 0.55 em per character."""
    return 0.55 * size_pt / 72 * len(text)


def needed_in(text: str, size_pt: float = TINY_PT) -> float:
    """Estimate the width of a name in inches by its letters; rather too large than too small."""
    return size_pt / 72 * sum(map(_ems, text))


def fitted(text: str, width_in: float, size_pt: float = TINY_PT) -> str:
    """Cut a name to *width_in* inches, with blanks for unprintable characters."""
    text = printable(text)
    if needed_in(text, size_pt) <= width_in:
        return text
    ends = list(accumulate(map(_ems, text)))
    return f"{text[: bisect(ends, width_in * 72 / size_pt - 1)]}…"


def first_fitting(texts: Sequence[str], width_in: float, size_pt: float = TINY_PT) -> str:
    """Return the first of *texts* (at least one) that fits in *width_in* inches, or else the end of the last.

    Identifiers of one family differ at their ends.
    """
    fits = (printable(text) for text in texts if needed_in(text, size_pt) <= width_in)
    return next(fits, "") or f"…{fitted(texts[-1][::-1], width_in, size_pt).rstrip('…')[::-1]}"


def _ems(character: str) -> float:
    if character in "WMwm@%" or east_asian_width(character) in "WF":
        return 1.05
    return 0.72 if character.isupper() else 0.55


@cache
def readable(colour: str) -> str:
    """Return *colour*, darkened until text on white has the contrast that WCAG 2 requires (4.5)."""
    from seaborn.utils import relative_luminance

    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    while 1.05 / (relative_luminance(tuple(parts)) + 0.05) < _CONTRAST:
        parts = [0.97 * part for part in parts]
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def decimal_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return at most *most* round numbers within *low* … *high*: 1-2-5, or powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        candidates = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(candidates) <= most:
            return candidates
    return candidates[:: math.ceil(len(candidates) / most)]


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most *most* multiples of a round number within *low* … *high*, *low* < *high*."""
    decade = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (decade * factor for factor in (1, 2, 2.5, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [number * step for number in range(first, last + 1)]


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move *positions* at least *gap* apart, with the same order and mean."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, int]] = []  # mean, members; overlapping blocks merge (isotonic regression)
    for index in order:
        mean, count = positions[index], 1
        while blocks and mean - blocks[-1][0] < gap * (count + blocks[-1][1]) / 2:
            other, members = blocks.pop()
            mean, count = (mean * count + other * members) / (count + members), count + members
        blocks.append((mean, count))
    placed = [mean + gap * (i - (count - 1) / 2) for mean, count in blocks for i in range(count)]
    result = [0.0] * len(positions)
    for index, position in zip(order, placed, strict=True):
        result[index] = position
    return result
