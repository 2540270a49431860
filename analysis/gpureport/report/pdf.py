"""PDFs from a page of HTML by WeasyPrint."""

import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gpureport.data import data_dir
from gpureport.errors import GpuReportError
from gpureport.files import no_scratch
from gpureport.report import Paper
from gpureport.report.figures.theme import FACES
from gpureport.system import of_system

if TYPE_CHECKING:
    from weasyprint.document import Document

_VARIANT = "pdf/ua-1"
_RATE = re.compile(r"(?<=\w)/(?=s(?:[\s<.,;]|\)[\s<.,;]))")
_FACE = '@font-face {{ font-family: "{}"; font-weight: {}; src: url("font:{}") }}'


def pdf_problem() -> str | None:
    """Return why WeasyPrint cannot make a PDF here, in a sentence; ``None`` if it can."""
    try:
        with redirect_stdout(StringIO()):  # on failure WeasyPrint prints how to install it
            import weasyprint  # noqa: F401
    except (ImportError, OSError):
        remedy = of_system(
            linux="Debian and Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0",
            macos="Homebrew: brew install pango",
            windows="MSYS2: pacman -S mingw-w64-ucrt-x86_64-pango",
        )
        return f"no PDF: WeasyPrint cannot load Pango, a system library ({remedy})"
    return None


def pdf(html: str, paper: Paper = "a4", figures: Mapping[str, str] = {}) -> bytes:
    """Return a page as a tagged PDF (PDF/UA-1); *figures* as for :func:`layout`.

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded, or temporary space or memory is insufficient.
    """
    try:
        made = layout(html, paper, figures).write_pdf(pdf_variant=_VARIANT)
    except OSError as error:
        raise GpuReportError(f"the PDF cannot be made: {no_scratch(error)}") from error
    except MemoryError as error:
        raise GpuReportError("the PDF cannot be made: there is not enough memory") from error
    assert isinstance(made, bytes)  # noqa: S101 - no target was given
    return made


def layout(html: str, paper: Paper = "a4", figures: Mapping[str, str] = {}) -> "Document":
    """Lay out a page on sheets of paper.

    Only ``data:`` URLs are fetched, and ``figure:NAME``, the SVG text of one of *figures*: those within a page would be
    parsed as HTML, and get a style for each of their elements.

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded.
    """
    if problem := pdf_problem():
        raise GpuReportError(problem)
    from weasyprint import CSS, HTML
    from weasyprint.text.fonts import FontConfiguration
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    fonts = {file: data_dir("templates") / "fonts" / file for *_, file in FACES}

    class Fetcher(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> URLFetcherResponse:
            parts = urlsplit(url)
            if parts.scheme == "figure":
                return URLFetcherResponse(url, figures[parts.path], {"Content-Type": "image/svg+xml"})
            if parts.scheme == "font":
                return URLFetcherResponse(url, fonts[parts.path].read_bytes())
            return super().fetch(url, headers)

    fetcher, fonts_of_page = Fetcher(allowed_protocols={"data"}), FontConfiguration()
    text = _RATE.sub("/\u2060", html.replace("<wbr>", "\u200b"))  # characters are faster than elements
    # Style sheets given here are user style sheets, which override the page's own only if they are important.
    sheet = f"@page {{ size: {paper} !important }}" + "".join(_FACE.format(*face) for face in FACES)
    css = CSS(string=sheet, url_fetcher=fetcher, font_config=fonts_of_page)
    page = HTML(string=text, url_fetcher=fetcher)
    return page.render(stylesheets=[css], font_config=fonts_of_page, pdf_variant=_VARIANT)
