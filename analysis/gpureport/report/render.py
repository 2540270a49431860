"""From a report to HTML and PDF: the templates filled in, and nothing fetched."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import remove_files, write_file
from gpureport.findings.advice import advise
from gpureport.records.report import Report
from gpureport.report import Paper
from gpureport.report.figures.anchors import started
from gpureport.report.figures.style import brief, shorten
from gpureport.report.figures.svg import described
from gpureport.report.pdf.fonts import data_uri, with_fonts
from gpureport.report.pdf.typesetting import HERE, PICTURE, Manuscript, Typesetter, layout, pdf
from gpureport.report.pictures import Figure, kind_of
from gpureport.report.run import answers, appendix, compiled, conditions, statements, trust, unexpected
from gpureport.report.run.blocks import first_figure
from gpureport.report.run.chapters import chapters
from gpureport.report.run.curves import curves
from gpureport.report.run.numbers import by_kind, families, places, wrong_variants
from gpureport.report.text import tables, words
from gpureport.report.text.captions import legend
from gpureport.text import sentence
from gpureport.units import (
    format_bandwidth,
    format_bytes,
    format_frequency,
    format_measured,
    format_predicted,
    format_ratio,
    format_value,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from weasyprint.document import Document

Content = Mapping[str, object]
"""What the templates name."""

_REPORT = "report.html.j2"
_LONG_NAME = 60
_LONG_PART = 18  # characters of a number that stay on one line
_FEWEST_SHAPES = 3  # of a published search, which may be no search at all


def write_report(
    report: Report,
    directory: Path,
    typesetter: Typesetter | None = HERE,
    paper: Paper = "a4",
    *,
    name: str = "report",
) -> list[Path]:
    """Write the documents of *report* to *directory*: :func:`documents`, never its JSON file.

    There is no PDF without a *typesetter*, or if that has a problem.

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made; the files before it are there.
    """
    return write_filled(_REPORT, _content(report), directory, typesetter, name=name, paper=paper)


def write_filled(
    template: str,
    content: Content,
    directory: Path,
    typesetter: Typesetter | None,
    *,
    name: str = "report",
    paper: Paper = "a4",
) -> list[Path]:
    """Write the documents of a *template* in place of all earlier ones; returns and raises as :func:`write_report`."""
    html, pdf = documents(directory, name)
    filled = _filled(template, content)
    remove_files(pdf)  # an earlier one, should this one not be made
    write_file(html, filled.on_screen())
    if typesetter is None or typesetter.problem():
        return [html]
    write_file(pdf, typesetter.pdf(filled.on_paper(), paper))
    return [html, pdf]


def documents(directory: Path, name: str = "report") -> tuple[Path, Path]:
    """Return the files that :func:`write_report` writes."""
    return directory / f"{name}.html", directory / f"{name}.pdf"


def documents_of(file: Path) -> tuple[Path, Path]:
    """Return the documents that belong beside a report's JSON *file*, named after it.

    Raises:
        InputError: the file has the name of one of them.
    """
    found = documents(file.parent, file.stem)
    if file in found:
        raise InputError(f"{file}: is the name of a document; call the report {file.stem}.json")
    return found


def render_html(report: Report) -> str:
    """Return the whole document as one HTML file: styles, fonts, figures and a few lines of script inside."""
    return _filled(_REPORT, _content(report)).on_screen()


def render_pdf(report: Report) -> bytes:
    """Return the whole document as a tagged PDF (PDF/UA-1).

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded.
    """
    return pdf(_filled(_REPORT, _content(report)).on_paper())


def render_pages(report: Report, paper: Paper = "a4") -> "Document":
    """Return the whole document laid out on pages.

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded.
    """
    return layout(_filled(_REPORT, _content(report)).on_paper(), paper)


@dataclass(frozen=True)
class _Filled:
    """A template filled in, with a place for each figure."""

    html: str
    figures: Sequence[Figure]

    def on_screen(self) -> str:
        """Return it with the figures in the page itself, where browsers give them the page's fonts."""
        inside = [described(figure.svg, _clean(figure.caption)) for figure in self.figures]
        return with_fonts(_PLACE.sub(lambda place: inside[int(place[1])], self.html), data_uri)

    def on_paper(self) -> Manuscript:
        """Return it with addresses for the figures."""
        # Elements of a word each take WeasyPrint a sixth of its time; characters say as well where a line may break.
        html = _UNBROKEN.sub(lambda found: _unbroken(found[1]), self.html.replace("<wbr>", "\u200b"))
        return Manuscript(_SCRIPT.sub("", html), [started(figure.svg) for figure in self.figures])


def _filled(template: str, content: Content) -> _Filled:
    from markupsafe import Markup

    figures: list[Figure] = []

    def place(figure: Figure) -> Markup:
        figures.append(figure)
        return Markup('<img src="{}{}" alt="{}" />').format(PICTURE, len(figures) - 1, figure.caption)

    return _Filled(_clean(environment(place).get_template(template).render(content)), figures)


def _clean(text: str) -> str:
    """Return *text* without characters that no page should have: they control, or turn the direction of others."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


_PLACE = re.compile(f'<img src="{PICTURE}([0-9]+)" alt="[^"]*" />')
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_SCRIPT = re.compile("<script>.*?</script>", re.DOTALL)
_UNBROKEN = re.compile(r'<span class="part">([^<]*)</span>')


def _unbroken(text: str) -> str:
    """Return *text* with characters that no line breaks at: no-break spaces, word joiners after slashes.

    Lines do not break before a slash of themselves, not even after a space (Unicode's rule LB13).
    """
    before = "\u200b" if text.startswith("/") else ""
    return before + text.replace(" ", "\u00a0").replace("/", "/\u2060")


def _content(report: Report) -> Content:
    """Draw the figures and gather what the templates name."""
    found = curves(report)
    kinds = by_kind(found)
    numbers = families(report, found, kinds)
    appendices = appendix.titles(report)
    incomplete = report.incomplete
    searched = (o for o in report.observations if o.key not in incomplete)
    advice = advise(o for o in searched if not report.publication or len(o.points) >= _FEWEST_SHAPES)
    return {
        "report": report,
        "device": report.device,
        "short_name": shorten(report.device.name, _LONG_NAME),
        "long_name": len(report.device.name) > _LONG_NAME,
        "created": readable_time(report.created_at),
        "wrong": wrong_variants(report, found),
        "load": conditions.load_sentences(report),
        "restarts": sentence(report.restarts()),
        "failures": [sentence(text) for text in (report.failures(), report.gaps()) if text],
        "verdict": answers.verdict(report),
        "sentences": answers.sentences(report, found),
        "overview": first_figure(report, found),
        "chapters": chapters(report, found, kinds, advice),
        "families": numbers,
        "advice": advice,
        "appendices": appendices,
        "places": places(appendices, numbers),
        "legend": legend(found, bars=any(kind_of(curve) == "cases" for curve in found)),
        "runtime": report.machine.opencl.runtime if report.machine else "",
    }


def environment(picture: Callable[[Figure], "Markup"]) -> "Environment":
    """Return the Jinja environment of the templates: escaping everywhere, undefined names refused.

    *picture* says what stands where a figure belongs.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    env = Environment(
        loader=FileSystemLoader(data_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _style("screen.js")
    env.globals.update(
        style=_style,
        script=script,
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        tables=tables,
        appendix=appendix,
        statements=statements,
        compiled=compiled,
        conditions=conditions,
        words=words,
        unexpected=unexpected,
        trust=trust,
    )
    env.filters.update(
        bandwidth=format_bandwidth,
        bytes=format_bytes,
        frequency=format_frequency,
        ratio=format_ratio,
        value=_value,
        measured=_measured,
        predicted=_predicted,
        picture=picture,
        number=_number,
        breakable=_breakable,
        sentence=sentence,
        shorten=shorten,
    )
    return env


def _style(name: str) -> "Markup":
    """Return a style sheet or script of ours, safe to stand in its element."""
    from markupsafe import Markup

    return Markup((data_dir("templates") / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _value(value: float | None, unit: str) -> str:
    """Write a value for a table, where there is little room."""
    return brief(format_value(value, unit))


def _measured(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    return brief(format_measured(value, low, high, unit))


def _predicted(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    return brief(format_predicted(value, low, high, unit))


def _number(text: str) -> "Markup":
    """Keep a value, and its interval, each on one line, unless that is long: lines break between them."""
    from markupsafe import Markup

    parts = re.split(r" (?=[(±/])|(?<=B) (?=to )", text)
    return Markup(" ").join(map(_part, parts))


def _part(text: str) -> "Markup":
    """Mark up what has a place to break, and should not."""
    from markupsafe import Markup, escape

    breaks = re.search(r"[ /]", text) and len(text) <= _LONG_PART
    return Markup('<span class="part">{}</span>').format(text) if breaks else escape(text)


def _breakable(text: str) -> "Markup":
    """Let lines break within names where they are joined, after ``_`` and ``/``, and not before ``%``."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[_/])(?=\w)", text.replace(" %", "\xa0%").replace("± ", "±\xa0")))


def readable_time(text: str) -> str:
    """Write an ISO 8601 time as people do: ``21 November 2026, 09:30 UTC``; other text stays as it is."""
    try:
        return f"{datetime.fromisoformat(text):%-d %B %Y, %H:%M UTC}"
    except ValueError:
        return text
