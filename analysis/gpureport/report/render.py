"""Render reports as HTML and PDF; nothing is fetched."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from gpureport.compare.records import Comparison
from gpureport.data import data_dir
from gpureport.files import remove_files, write_files
from gpureport.glossary import terms
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report import Paper, documents, forecast
from gpureport.report.comparison import figures as comparison_figures
from gpureport.report.comparison import sentences as comparison_sentences
from gpureport.report.comparison import tables as comparison_tables
from gpureport.report.curves import curves
from gpureport.report.figures.chart import Chart, chart_json
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.theme import FACES
from gpureport.report.pdf import pdf, pdf_problem
from gpureport.report.processes import started
from gpureport.report.run.numbers import families
from gpureport.report.run.page_one import figure_table, first_figure, page_one
from gpureport.report.run.sweeps import curve_pictures, selections
from gpureport.report.text import sentences, tables, words

if TYPE_CHECKING:
    from jinja2 import Environment
Content = Mapping[str, object]
"""Variables of the templates."""

_SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "charts.js", "screen.js")
REPORT = "report.html.j2"
COMPARISON = "comparison"
"""Stem of the files of a comparison."""
_CHAPTERS = ("appendix", "caches", "conditions", "efficiency", "published", "trust", "whole_device", "work")
"""Modules of the package ``run`` that the templates call."""
_TEXT = re.compile(r"<(?P<tag>head|script|code)\b.*?</(?P=tag)>|<[^>]*>|(?P<text>[^<]+)", re.DOTALL)
"""What of a page has no line breaks of ours, and its texts."""
_JOINT = re.compile(r"(?<=/)(?!s\b)(?=\w)|(?<=\w{20}_)(?=\w)|(?<=\w{30})(?=\w)")
"""Where a name may be broken: after its family, but not within a rate; and a long word."""
_WHOLE = re.compile(r"\b(?=[\w-]{1,24}(?![\w-]))(?=[\w-]*\d|[\w-]+/s\b)\w+(?:-\w+)+(?:/s\b)?")
"""Names, dates and units with hyphens, at which they are not broken."""


def write_filled(
    template: str, content: Content, directory: Path, *, with_pdf: bool, paper: Paper, name: str, data: str = ""
) -> list[Path]:
    """Write the documents of a *template* (:func:`documents`) and remove earlier ones; return the paths.

    No PDF is written if WeasyPrint cannot make one (:func:`gpureport.report.pdf.pdf_problem`). *data*: also write it as
    a JSON file. All files are written, or none.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    html_file, pdf_file = documents(directory, name)
    content, pages = {**content, "file_name": name}, _Pages(template)
    made = None
    if with_pdf and not pdf_problem():  # first: while it is laid out, the figures of the page are drawn
        html, figures = pages.with_images(pages.text({**content, "printed": True}))
        made = started(partial(pdf, paper=paper, figures=figures), html)
    files: dict[Path, str | bytes] = {html_file.with_suffix(".json"): data} if data else {}
    files[html_file] = pages.with_figures(pages.text(content))
    if made:
        files[pdf_file] = made()
    write_files(files)
    if not made:
        remove_files(pdf_file)  # an old one must not stay if no new one is written
    return list(files)


def write_comparison(
    comparison: Comparison, directory: Path, name: str = COMPARISON, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write *comparison* as :func:`write_filled` with this *name*, and as JSON if it is the usual one."""
    data = f"{comparison.model_dump_json(indent=1)}\n" if name == COMPARISON else ""
    facts = {"comparison": comparison}
    return write_filled("comparison.html.j2", facts, directory, with_pdf=with_pdf, paper=paper, name=name, data=data)


class _Pages:
    """The pages of a template; other processes draw their figures, each once."""

    def __init__(self, template: str) -> None:
        self._template = environment(self._placed).get_template(template)
        self._drawings: dict[Picture, Callable[[], str]] = {}

    def text(self, content: Content) -> str:
        """Return a page with a placeholder for each figure."""
        return typeset(self._template.render(content))

    def with_figures(self, text: str) -> str:
        drawings = list(self._drawings.values())
        return _printable(_PLACE.sub(lambda place: drawings[int(place[1])](), text))

    def with_images(self, text: str) -> tuple[str, Mapping[str, str]]:
        """Return a page with images in place of figures, and the figures by the names that these images have."""
        image = Markup('<img src="figure:{}" alt="{}" />')
        drawn = list(self._drawings.items())
        html = _PLACE.sub(lambda place: image.format(place[1], drawn[int(place[1])][0].description), text)
        return _printable(html), {place: _printable(drawn[int(place)][1]()) for place in _PLACE.findall(text)}

    def _placed(self, picture: Picture) -> Markup:
        """Return a placeholder, which other text cannot contain, because it is escaped."""
        if picture not in self._drawings:
            self._drawings[picture] = cache(started(picture.svg, len(self._drawings)))
        return Markup("<!--picture {}-->").format(list(self._drawings).index(picture))


def _printable(text: str) -> str:
    """Replace control characters, those that change the text's direction, and "x" between numbers."""
    return _BY.sub(words.TIMES, _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text))


def typeset(html: str) -> str:
    """Allow line breaks within names in the texts of a page, but not between values and their units."""
    return _TEXT.sub(lambda found: _typeset(found["text"]) if found["text"] else found[0], html)


def _typeset(text: str) -> str:
    return _WHOLE.sub(r'<span class="whole">\g<0></span>', _JOINT.sub("<wbr>", tables.unbroken(text)))


_PLACE = re.compile(r"<!--picture (\d+)-->")
_BY = re.compile(r"(?<=\d)[ \xa0]x[ \xa0](?=\d)")
"""The sign of shapes and factors in names and labels, which records and the terminal write in ASCII."""
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def content(report: Report) -> Content:
    """Return the variables of the template of a report."""
    found = curves(report)
    chosen = selections(report, found)
    shown = {curve.key for each in chosen.values() for curve in each.shown}
    return {
        "report": report,
        "device": report.device,
        "page_one": page_one(report, found),
        "overview": first_figure(report, found),
        "found": found,
        "chosen": chosen,
        "families": families(report, found, shown),
    }


def environment(place: Callable[[Picture], object] = str) -> "Environment":
    """Return the environment of pages, that of sentences with autoescaping; *place* makes what stands for a picture."""
    env = sentences.environment(autoescape=True)
    env.globals.update({name: import_module(f"gpureport.report.run.{name}") for name in _CHAPTERS})
    env.globals.update(
        fonts=_fonts(),
        style=_style,
        hash=lambda script: f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        scripts=_SCRIPTS,
        printed=False,
        terms=terms,
        tables=tables,
        comparison_figures=comparison_figures,
        comparison_sentences=comparison_sentences,
        comparison_tables=comparison_tables,
        curve_pictures=curve_pictures,
        figure_table=figure_table,
        forecast=forecast,
        paragraphs=sentences.paragraphs,
        text=sentences.text,
        off=Verdict.OFF,
    )
    env.filters.update(picture=place, chart_data=_chart_data, readable_time=readable_time)
    return env


def _chart_data(chart: Chart) -> Markup:
    return Markup(f'<script type="application/json">{chart_json(chart)}</script>')  # noqa: S704 - its texts are escaped


def _fonts() -> Markup:
    rule = '@font-face{{font-family:"{}";font-weight:{};src:url(data:font/ttf;base64,{})}}\n'
    folder = data_dir("templates") / "fonts"
    files = ((*font, base64.b64encode((folder / file).read_bytes()).decode()) for *font, file in FACES)
    return Markup("".join(rule.format(*font) for font in files))  # noqa: S704 - our own files


@cache
def _style(name: str) -> Markup:
    return Markup((data_dir("templates") / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def readable_time(text: str) -> str:
    """Write an ISO 8601 time as ``21 November 2026, 09:30 UTC``."""
    time = datetime.fromisoformat(text)
    return f"{time.day} {time:%B %Y, %H:%M UTC}"  # Windows pads days of strftime
