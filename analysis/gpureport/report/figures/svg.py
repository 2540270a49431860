"""How a figure becomes SVG text that can stand in an HTML page, in the fonts that the page brings."""

import hashlib
import io
import logging
import re
import warnings
from collections.abc import Callable
from functools import cache, wraps
from html import escape
from typing import TYPE_CHECKING, Any, ParamSpec

from gpureport.data import data_dir
from gpureport.report.figures.style import FONT_PT, INK, MUTED, SMALL_PT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")

PAGE_FONT = "gpureport sans"
"""The name under which the page's style sheet brings the font that the figures are laid out with."""

_FAMILIES = ["Inter", "DejaVu Sans"]  # the second comes with matplotlib, and has what the first lacks


def svg(draw: "Callable[P, Figure]") -> Callable[P, str]:
    """Make a function that draws a figure return it as SVG text, the same text for the same input."""

    @wraps(draw)
    def render(*args: P.args, **kwargs: P.kwargs) -> str:
        from matplotlib import rc_context

        with rc_context(_settings()), warnings.catch_warnings():
            # A name in a script that neither font has: boxes are drawn, and the text of the page tells.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = draw(*args, **kwargs)
            file = io.StringIO()
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        return _inline(file.getvalue())

    return render


@cache
def _settings() -> Any:  # noqa: ANN401 - matplotlib types its settings as a union of literals
    """Return the matplotlib settings, with the shipped fonts made known to it."""
    import seaborn as sns
    from matplotlib import font_manager

    # The second family lacks some weights of the first; it is there for glyphs only.
    logging.getLogger(font_manager.__name__).setLevel(logging.ERROR)
    for path in sorted((data_dir("templates") / "fonts").glob("Inter-*.ttf")):
        font_manager.fontManager.addfont(path)
    return {
        **sns.axes_style("ticks"),
        "svg.hashsalt": "gpureport",
        "svg.fonttype": "none",
        "path.simplify": False,  # it would drop dots, which are segments without length
        "text.parse_math": False,
        "font.family": _FAMILIES,
        "font.size": FONT_PT,
        "axes.labelsize": FONT_PT,
        "axes.linewidth": 0.6,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": SMALL_PT,
        "ytick.labelsize": SMALL_PT,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "xtick.minor.bottom": False,
        "ytick.minor.left": False,
        "legend.frameon": False,
        "legend.fontsize": SMALL_PT,
        "lines.linewidth": 1.2,
        "lines.solid_capstyle": "butt",
        "figure.facecolor": "white",
    }


def _inline(document: str) -> str:
    """Turn matplotlib's SVG file into an element that a page's style sheets and other figures leave alone.

    Styles become attributes (layout engines read them faster, and page-wide style rules go), and ids become unique.
    """
    text = document[document.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = _ungrouped(re.sub(r'<g id="[^"]*"', "<g", text))
    text = re.sub(r'style="([^"]*)"', _attributes, text)
    text = text.replace(", ".join(map(repr, _FAMILIES)), f"'{PAGE_FONT}', sans-serif")
    text = text.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    prefix = hashlib.sha256(text.encode()).hexdigest()[:8]
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<0>{prefix}-", text)


def _ungrouped(text: str) -> str:
    """Leave out groups without attributes: they are half of all elements."""
    groups: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] == "</g>":
            return tag[0] if groups.pop() else ""
        groups.append(tag[0] != "<g>")
        return tag[0] if groups[-1] else ""

    return re.sub(r"<g\b[^>]*>|</g>", kept, text)


def _attributes(style: re.Match[str]) -> str:
    pairs = (declaration.split(":", maxsplit=1) for declaration in style[1].split(";") if ":" in declaration)
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, value in pairs)


def described(svg_text: str, caption: str) -> str:
    """Return the element with *caption* as its title, which is what a reader who cannot see it gets."""
    opening, rest = svg_text.split(">", maxsplit=1)
    return f'{opening} role="img"><title>{escape(caption)}</title>{rest}'
