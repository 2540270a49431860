"""The look of all figures: seaborn's theme with the shipped fonts, colours, and texts that fit."""

import logging
import warnings
from bisect import bisect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import Any
from unicodedata import east_asian_width

from gpureport.data import data_dir
from gpureport.report.figures.chart import Role
from gpureport.text import printable

WIDTH_IN = 6.85  # text width of an A4 page with 18 mm margins
FONT_PT = 7.5
SMALL_PT = 7.0
TITLE_PT = 1.06 * FONT_PT  # as wide as semi-bold

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

FONT = "Inter"
FACES = (
    (FONT, 400, "Inter-Regular.ttf"),
    (FONT, 600, "Inter-SemiBold.ttf"),
    ("gpureport mono", 400, "JetBrainsMono-Regular.ttf"),
)
"""Family, weight and file of the shipped fonts, of which figures use the first family."""
_SETTINGS = {
    "font.family": [FONT, "DejaVu Sans"],
    **dict.fromkeys(("font.size", "xtick.labelsize", "ytick.labelsize"), SMALL_PT),
    "axes.labelsize": FONT_PT,
    "text.color": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "grid.color": COLOURS["faint"],
}
"""Besides those of ``templates/figures.mplstyle``."""


@contextmanager
def theme() -> Iterator[None]:
    """Make figures that are drawn and saved within this context look alike."""
    import matplotlib as mpl
    import seaborn as sns
    from matplotlib import style as styles

    _register_fonts()
    # Seaborn's style contains only its own settings, so all are needed; the defaults replace those of a matplotlibrc.
    style = mpl.rc_params_from_file(data_dir("templates") / "figures.mplstyle", use_default_template=False)
    settings: dict[Any, Any] = {**sns.axes_style("ticks"), **style, **_SETTINGS}
    with styles.context(["default", settings]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # pages have fallback fonts
        yield


@cache
def _register_fonts() -> None:
    from matplotlib.font_manager import fontManager

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # fallback fonts lack some weights
    for family, _, name in FACES:
        if family == FONT:
            fontManager.addfont(data_dir("templates") / "fonts" / name)


def needed_in(text: str, size_pt: float = SMALL_PT) -> float:
    """Estimate the width of a text in inches by its letters; rather too large than too small."""
    return size_pt / 72 * sum(map(_ems, text))


def fitted(text: str, width_in: float, size_pt: float = SMALL_PT) -> str:
    """Cut a name to *width_in* inches, with blanks for unprintable characters."""
    text = printable(text)
    if needed_in(text, size_pt) <= width_in:
        return text
    ends = list(accumulate(map(_ems, text)))
    return f"{text[: bisect(ends, width_in * 72 / size_pt - 1)]}…"


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
