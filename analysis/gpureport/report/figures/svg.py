"""SVG elements of figures, for an HTML page whose style sheet has the fonts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

PAGE_FONT = "Inter"
"""Name of the figures' font in the page's style sheet."""

Attributes = Mapping[str, str | float | None]
"""Values by name; ``None`` is omitted."""


def sheet(width_pt: float, height_pt: float, elements: Iterable[str]) -> str:
    """Return *elements* as one SVG image."""
    size: Attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {_number(width_pt)} {_number(height_pt)}",
        "width": f"{_number(width_pt)}pt",
        "height": f"{_number(height_pt)}pt",
        "font-family": f"{PAGE_FONT}, sans-serif",
        "stroke-linejoin": "round",
    }
    return f"<svg{_attributes(size)}>{''.join(elements)}</svg>"


def path(lines: Iterable[Sequence[tuple[float, float]]], attributes: Attributes, closed: bool) -> str:
    """Return one element of all *lines*."""
    return f'<path d="{"".join(_drawn(line, closed) for line in lines if line)}"{_attributes(attributes)}/>'


def _drawn(line: Sequence[tuple[float, float]], closed: bool) -> str:
    places = [f"{_number(x)} {_number(y)}" for x, y in line]
    if not closed and len(set(places)) == 1:
        return f"M{places[0]}h0"  # round ends make it a dot
    return f"M{'L'.join(places)}{'Z' * closed}"


def text(place: tuple[float, float], content: str, attributes: Attributes, *, drop: float, upright: bool) -> str:
    """Return a line of text with its baseline *drop* below *place*, or to the right of *place* if *upright*."""
    x, y = (_number(value) for value in place)
    turn = {"transform": f"rotate(-90 {x} {y})"} if upright else {}
    where = {"x": x, "y": _number(place[1] + drop), **turn}
    return f"<text{_attributes({**where, **attributes})}>{escape(content, quote=False)}</text>"


def described(svg_text: str, caption: str) -> str:
    """Return the element with *caption* as its title, for screen readers."""
    opening, rest = svg_text.split(">", maxsplit=1)
    return f'{opening} role="img"><title>{escape(caption)}</title>{rest}'


def _attributes(named: Attributes) -> str:
    known = {name: value for name, value in named.items() if value is not None}
    texts = ((name, value if isinstance(value, str) else f"{value:g}") for name, value in known.items())
    return "".join(f' {name}="{escape(value)}"' for name, value in texts)


def _number(value: float) -> str:
    """Format a coordinate to a hundredth of a point, without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
