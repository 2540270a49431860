"""Render reports as HTML and PDF; nothing is fetched."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import remove_files, write_file
from gpureport.findings.advice import advise
from gpureport.findings.key_figures import MeasuredRates
from gpureport.findings.whole_device import slow_link
from gpureport.glossary import terms
from gpureport.records.finding import Verdict
from gpureport.records.report import Report, report_stem
from gpureport.report import Paper
from gpureport.report.curves import curves
from gpureport.report.figures.chart import Chart, chart_json
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.theme import FACES
from gpureport.report.pdf import pdf, pdf_problem
from gpureport.report.prediction import forecast
from gpureport.report.processes import started
from gpureport.report.run import (
    appendix,
    caches,
    compiled,
    conditions,
    efficiency,
    entry,
    published,
    trust,
    unexpected,
    work,
)
from gpureport.report.run.chapters import chapters, first_figure, selections
from gpureport.report.run.numbers import families
from gpureport.report.run.page_one import page_one
from gpureport.report.text import sentences, tables, words
from gpureport.report.text.sentences import paragraphs, text
from gpureport.spec.models import Device
from gpureport.text import sentence, shorten

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Content = Mapping[str, object]
"""Variables of the templates."""

_SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "charts.js", "screen.js")
_REPORT = "report.html.j2"
_MANY = 6
"""Other processes would take longer to start than to draw fewer pictures."""
_LONG_NAME = 60
_TEXT = re.compile(
    r"<(?P<tag>head|script|pre|code)\b.*?</(?P=tag)>|<[^>]*>|(?P<text>[^<]+)",
    re.DOTALL,
)
"""What of a page has no line breaks of ours, and its texts."""
_JOINT = re.compile(r"(?<=[_/])(?!s\b)(?=\w)")
"""Where a name may be broken, but not a rate."""
_FEWEST_SHAPES = 3  # points of a published sweep over shapes that count as a search


Others = Sequence[MeasuredRates]
"""The findings of kept reports of the same model, for page one."""


def write_report(
    report: Report,
    directory: Path,
    *,
    with_pdf: bool = True,
    paper: Paper = "a4",
    name: str = "report",
    others: Others = (),
    entry: Device | None = None,
) -> list[Path]:
    """Write the documents of *report* to *directory*: :func:`documents`, without the JSON file.

    Values of the device's entry that earlier reports lack are those of the current *entry*.

    No PDF is written if WeasyPrint cannot make one (:func:`gpureport.report.pdf.pdf_problem`).

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made; the files before it are there.
    """
    content = _content(report, others, entry)
    return write_filled(_REPORT, content, directory, with_pdf=with_pdf, paper=paper, name=name, appendix=True)


def write_filled(
    template: str,
    content: Content,
    directory: Path,
    *,
    with_pdf: bool = True,
    paper: Paper = "a4",
    name: str = "report",
    appendix: bool = False,
) -> list[Path]:
    """Write the documents of a *template* and remove earlier ones; returns and raises as :func:`write_report`.

    With *appendix*, the template has appendices, which get a PDF of their own.
    """
    html_file, *pdf_files = documents(directory, name, appendix=appendix)
    parts = ("page", "body", "appendix")[: 2 + appendix if with_pdf else 1]  # everything (HTML), and those of the PDFs
    texts, pictures = _texts(template, [{**content, "file_name": name, "part": part} for part in parts])
    drawing: Drawing = {}
    _begin(texts[-1], pictures, drawing)  # the longest first: while it is laid out, the figures of others are drawn
    pages = texts[1:] if with_pdf and not pdf_problem() else []
    remove_files(*pdf_files)  # an old one must not stay if no new one is written
    made = []
    for page in reversed(pages):
        _begin(page, pictures, drawing)
        made.append(started(_pdf, (*_with_images(page, pictures, drawing), paper)))
    _begin(texts[0], pictures, drawing)
    write_file(html_file, _with_figures(texts[0], drawing))
    for file, content_of in zip(pdf_files, reversed(made), strict=False):
        write_file(file, content_of())
    return [html_file, *pdf_files[: len(pages)]]


def _pdf(page: tuple[str, Mapping[str, str], Paper]) -> bytes:
    html, figures, paper = page
    return pdf(html, paper, figures)


def documents(directory: Path, name: str = "report", *, appendix: bool = False) -> tuple[Path, ...]:
    """Return the paths that :func:`write_filled` writes: HTML, PDF, and with *appendix* its PDF."""
    pdf_names = (name, f"{name}-appendix") if appendix else (name,)
    return directory / f"{name}.html", *(directory / f"{each}.pdf" for each in pdf_names)


def documents_of(file: Path) -> tuple[Path, ...]:
    """Return the paths of the documents next to a report's JSON *file*, with the same stem.

    Raises:
        InputError: the file has the name of a document.
    """
    found = documents(file.parent, report_stem(file), appendix=True)
    if file in found:
        raise InputError(f"{file}: this is the name of a document; rename the report to {file.stem}.json")
    return found


def render_html(report: Report, others: Others = (), entry: Device | None = None) -> str:
    """Return the document as one HTML file that contains styles, fonts, figures and a short script."""
    (html,) = filled(_REPORT, {**_content(report, others, entry), "file_name": "report"})
    return html


def filled(template: str, content: Content) -> tuple[str, ...]:
    """Return the page of a template with its *content*, see :func:`rendered`."""
    return rendered(template, [{**content, "part": "page"}])


def rendered(template: str, contents: Sequence[Content]) -> tuple[str, ...]:
    """Return a template with each of *contents*; each figure is drawn once."""
    texts, pictures = _texts(template, contents)
    drawing: Drawing = {}
    for page in texts:
        _begin(page, pictures, drawing)
    return tuple(_with_figures(page, drawing) for page in texts)


Drawing = dict[str, Callable[[], str]]
"""What waits for the SVG text of each figure, by its place."""


def _texts(template: str, contents: Sequence[Content]) -> tuple[list[str], Mapping[str, Picture]]:
    """Return a template with each of *contents*, and the pictures by their places in these texts."""
    pictures: dict[str, Picture] = {}

    def placed(picture: Picture) -> "Markup":
        pictures[str(id(picture))] = picture
        return _place(id(picture))

    found = environment(placed).get_template(template)
    return [typeset(found.render(content)) for content in contents], pictures


def _begin(page: str, pictures: Mapping[str, Picture], drawing: Drawing) -> None:
    start = started if len(pictures) >= _MANY else partial
    for place in _PLACE.findall(page):
        if place not in drawing:
            drawing[place] = cache(start(_drawn, (len(drawing), pictures[place])))


def _drawn(numbered: tuple[int, Picture]) -> str:
    number, picture = numbered
    return picture.svg(number)


def _with_figures(text: str, drawing: Drawing) -> str:
    return _printable(_PLACE.sub(lambda place: drawing[place[1]](), text))


def _with_images(text: str, pictures: Mapping[str, Picture], drawing: Drawing) -> tuple[str, Mapping[str, str]]:
    """Return a page with images in place of figures, and the figures by the names that these images have."""
    from markupsafe import Markup

    image = Markup('<img src="figure:{}" alt="{}" />')
    html = _PLACE.sub(lambda place: image.format(place[1], pictures[place[1]].description), text)
    return _printable(html), {place: _printable(drawing[place]()) for place in _PLACE.findall(text)}


def _printable(text: str) -> str:
    """Replace control characters, those that change the text's direction, and "x" between numbers."""
    return _BY.sub(words.TIMES, _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text))


def typeset(html: str) -> str:
    """Allow line breaks within names in the texts of a page, but not between values and their units."""
    return _TEXT.sub(
        lambda found: _JOINT.sub("<wbr>", tables.unbroken(found["text"])) if found["text"] else found[0], html
    )


def _place(number: int) -> "Markup":
    """Return the placeholder of a picture; other text cannot contain it, because it is escaped."""
    from markupsafe import Markup

    return Markup("<!--picture {}-->").format(number)


_PLACE = re.compile(r"<!--picture (\d+)-->")
_BY = re.compile(r"(?<=\d)[ \xa0]x[ \xa0](?=\d)")
"""The sign of shapes and factors in names and labels, which records and the terminal write in ASCII."""
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def _content(report: Report, others: Others, entry: Device | None) -> Content:
    found = curves(report)
    chosen = selections(report, found)
    shown = {curve.key for each in chosen.values() for curve in each.shown}
    incomplete = report.incomplete
    searched = (o for o in report.observations if o.key not in incomplete)
    advice = advise(o for o in searched if not report.publication or len(o.points) >= _FEWEST_SHAPES)
    wrong = (m for m in report.measurements if m.verification and not m.verification.passed)
    return {
        "report": report,
        "device": report.device,
        "short_name": shorten(report.device.name, _LONG_NAME),
        "long_name": len(report.device.name) > _LONG_NAME,
        "created": readable_time(report.created_at),
        "wrong": list({m.key.workload: m.key.variant for m in wrong}.values()),
        "load": conditions.load_sentences(report),
        "slow_link": text("slow_link", slow=slow_link(report)),
        "restarts": sentence(text("restarts", report=report)),
        "failures": [sentence(failure) for failure in paragraphs("failures", report=report)],
        "glossary": terms(),
        "page_one": page_one(report, found, others, entry),
        "overview": first_figure(report, found),
        "chapters": chapters(report, found, chosen, advice),
        "families": families(report, found, shown),
        "numbers": {
            "ceilings": report.only_predicted and forecast.ceilings_table(report.device),
            "forecast": report.only_predicted and forecast.outlook_table(report.predictions),
            "kernels": efficiency.limits_table(report, found),
            "cliffs-by-kernel": caches.cliff_table(report, found),
            "cache-details": caches.details_table(report),
            "searches": tables.advice_table(advice),
            "resident-groups": work.residency_table(report),
        },
        "appendices": appendix.titles(report),
        "runtime": report.machine.opencl.runtime if report.machine else "",
    }


def environment(place: Callable[[Picture], object] = str) -> "Environment":
    """Return the Jinja environment of pages: as that of sentences, with autoescaping.

    *place* returns what stands for a picture.
    """
    env = sentences.environment(autoescape=True)
    scripts = [_style(name) for name in _SCRIPTS]
    env.globals.update(
        fonts=_fonts(),
        style=_style,
        hash=_hash,
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
        tables=tables,
        appendix=appendix,
        entry=entry,
        published=published,
        compiled=compiled,
        conditions=conditions,
        words=words,
        unexpected=unexpected,
        trust=trust,
        off=Verdict.OFF,
    )
    env.filters.update(picture=place, chart_data=_chart_data, readable_time=readable_time)
    return env


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _chart_data(chart: Chart) -> "Markup":
    """Return a chart as an element of the page, which browsers do not run; nothing for heat maps."""
    from markupsafe import Markup

    data = chart_json(chart)
    text = f'<script type="application/json">{data}</script>' if data else ""
    return Markup(text)  # noqa: S704 - its texts are escaped


def _fonts() -> "Markup":
    from markupsafe import Markup

    rule = '@font-face{{font-family:"{}";font-weight:{};src:url(data:font/ttf;base64,{})}}\n'
    folder = data_dir("templates") / "fonts"
    files = ((*font, base64.b64encode((folder / file).read_bytes()).decode()) for *font, file in FACES)
    return Markup("".join(rule.format(*font) for font in files))  # noqa: S704 - our own files


def _style(name: str) -> "Markup":
    from markupsafe import Markup

    return Markup((data_dir("templates") / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def readable_time(text: str) -> str:
    """Write an ISO 8601 time as ``21 November 2026, 09:30 UTC``; other text stays unchanged."""
    try:
        return f"{datetime.fromisoformat(text):%-d %B %Y, %H:%M UTC}"
    except ValueError:
        return text
