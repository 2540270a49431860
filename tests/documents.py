"""Documents as text: HTML reduced to headings, sentences, rows, captions and texts of figures, one to a line."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from statistics import fmean

FOLDER = Path(__file__).parent / "golden"
"""The golden texts."""
_PREFIXES = {"li": "- ", "dt": "", "dd": "  : ", "caption": "Caption: ", "figcaption": "Caption: ", "title": "Title: "}
_BLOCKS = {*_PREFIXES, *(f"h{level}" for level in range(1, 7)), "p", "tr", "text"}
_IGNORED = {"style", "script", "select"}
_VOID = {"br", "wbr", "meta", "link", "img", "path", "use"}
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z△✗○“\d])")
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
_SHAPES = ("path", "use", "image")
_VALUE = re.compile(r"[△!]? ?\d[\d.,]*(?: (?:[kMGT]i?)?(?:B|s|ns|µs|ms|[a-z]+)?(?:/s)?\b)?")
_MASKS = ((re.compile(r"\bgpureport \d+\.\d+[\w.+-]*"), "gpureport VERSION"),)
_NOW = ((re.compile(r"\b\d+ [A-Z]\w+ 20\d\d, \d\d:\d\d UTC"), "DATE"),)


class _Reducer(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._text: list[str] = []
        self._cells: list[str] = []
        self._drawn: list[str] = []
        self._shapes = Counter[str]()
        self._open: list[str] = []
        self._block = ""
        self._ignored = ""
        self._size = ""
        self._colours = Counter[str]()
        self._places: dict[bool, list[tuple[float, float]]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in _IGNORED:
            self._ignored = "chart" if attributes.get("type") == "application/json" else tag
        elif tag in _BLOCKS or tag in ("th", "td", "svg"):
            self._flush()
            self._block = tag
        if tag == "td" and "title" not in attributes and "verdict off" in attributes.get("class", ""):
            self._text.append("! ")
        if tag == "meta" and (name := attributes.get("name", "")) in ("description", "keywords"):
            self.lines.append(f"Meta {name}: {attributes['content']}")
        if "aria-label" in attributes:
            self.lines.append(f"[{attributes['aria-label']}]")
        if tag == "svg":
            self._size = " x ".join(f"{float(length):.0f}" for length in attributes["viewbox"].split()[2:])
            self._places = {False: [], True: []}
            self._colours.clear()
        if "svg" in self._open:
            self._draw(tag, attributes)
        if tag == "br":
            self._text.append(" / ")
        if tag not in _VOID:
            self._open.append(tag)

    def _draw(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _SHAPES:
            self._shapes[tag] += 1
        self._colours.update(colour for name in ("fill", "stroke") if "#" in (colour := attributes.get(name, "")))
        places = attributes.get("d") or f"{attributes.get('x', '')} {attributes.get('y', '')}"
        numbers = [float(number) for number in _NUMBERS.findall(places)]
        self._places[tag == "text"] += zip(numbers[::2], numbers[1::2], strict=False)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        while self._open and self._open.pop() != tag:
            pass
        if tag in _IGNORED:
            self._ignored = ""
        elif tag in _BLOCKS or tag in ("th", "td"):
            self._flush()
        if tag == "tr":
            self.lines.append(f"| {' | '.join(self._cells)} |")
            self._cells = []
        elif tag == "svg":
            counts = [f"{self._shapes[name]} {name}" for name in _SHAPES if self._shapes[name]]
            counts += [f"{number} {colour}" for colour, number in sorted(self._colours.items())]
            around = " and ".join(_middle(places) for places in self._places.values() if places)
            self.lines.append(f"Drawing ({self._size} around {around}: {', '.join(counts)}): {' · '.join(self._drawn)}")
            self._drawn = []
            self._shapes.clear()

    def handle_data(self, data: str) -> None:
        if self._ignored == "chart":
            self.lines += map(_chart, json.loads(data)) if data.startswith('[{"alt') else ["Data."]
        elif not self._ignored:
            self._text.append(data)

    def _flush(self) -> None:
        text, block = " ".join("".join(self._text).split()), self._block
        self._text, self._block = [], ""
        if block in ("th", "td"):
            self._cells.append(text)
        elif not text:
            return
        elif "tr" in self._open or block == "tr":
            self._cells.append(text)
        elif block == "text" or (block == "title" and "svg" in self._open):
            self._drawn += [text] if block == "text" else []
        elif re.fullmatch(r"h\d", block):
            self.lines.append(f"{'#' * int(block[1])} {text}")
        else:
            first, *others = _SENTENCES.split(text)
            self.lines += [f"{_PREFIXES.get(block, '')}{first}", *(f"  {sentence}" for sentence in others)]


def _middle(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{fmean(axis):.1f}" for axis in zip(*places, strict=True))


def _chart(stack: Mapping[str, object]) -> str:
    """Return a line on the charts of a stack: what they show, and how many points and marks each panel has."""
    panels = stack["panels"]
    assert isinstance(panels, list)
    counts = (
        f"{panel['y'].get('scale', 'linear')} by {panel['x'].get('scale', 'linear')}, "
        f"{sum(len(each['x']) for each in panel.get('series', ()))} points, {len(panel.get('marks', ()))} marks"
        for panel in panels
    )
    return f"Chart: {stack['alt']} ({'; '.join(counts)})"


def reduced(html: str, *, dated: bool = False) -> list[str]:
    """Return the lines of a page without the version of the package, and without the time if it is *dated* now."""
    reducer = _Reducer()
    reducer.feed(html)
    reducer.close()
    return masked(reducer.lines, dated=dated)


def masked(lines: Sequence[str], *, dated: bool = False) -> list[str]:
    """Replace the version of the package, and of texts that are *dated* now the time."""
    found = "\n".join(line.rstrip() for line in lines)
    for pattern, text in (*_MASKS, *(_NOW if dated else ())):
        found = pattern.sub(text, found)
    return found.split("\n")


def pattern(line: str) -> str:
    """Return a line without its values."""
    return _VALUE.sub("#", line)


def unshared(lines: Sequence[str], known: Mapping[str, str], key: Callable[[str], str] = str) -> list[str]:
    """Replace runs of lines that other documents also contain by their number; the glossary has any number of terms.

    Args:
        lines: of a document.
        known: the document that contains the *key* of a line.
        key: what of a line is compared.
    """
    shown = []
    for document, run in groupby(lines, key=lambda line: known.get(key(line))):
        texts = list(run)
        shown += [f"… {'' if document == 'glossary' else f'{len(texts)} '}as in {document}"] if document else texts
    return shown


def difference(name: str, lines: Sequence[str]) -> str:
    """Return a unified diff from the golden text of *name* to *lines*; empty if they are equal."""
    path = FOLDER / f"{name}.txt"
    golden = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return "\n".join(difflib.unified_diff(golden, lines, f"golden/{name}.txt", "now", n=1, lineterm=""))


def renew(name: str, lines: Sequence[str]) -> None:
    """Write *lines* as the golden text of *name*."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
