"""PDFs from a page of HTML by WeasyPrint."""

import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING

from gpureport.errors import GpuReportError
from gpureport.files import no_scratch
from gpureport.report import Paper
from gpureport.report.processes import in_parallel

if TYPE_CHECKING:
    from weasyprint.document import Document

_VARIANT = "pdf/ua-1"
_RATE = re.compile(r"(?<=\w)/(?=s(?:[\s<.,;]|\)[\s<.,;]))")


def pdf_problem() -> str | None:
    """Return why WeasyPrint cannot make a PDF here, in a sentence; ``None`` if it can."""
    try:
        with redirect_stdout(StringIO()):  # on failure WeasyPrint prints how to install it
            import weasyprint  # noqa: F401
    except (ImportError, OSError):
        return (
            "no PDF: WeasyPrint cannot load Pango, a system library "
            "(Debian and Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0)"
        )
    return None


def pdf(html: str, paper: Paper = "a4") -> bytes:
    """Return a page as a tagged PDF (PDF/UA-1).

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded, or temporary space or memory is insufficient.
    """
    try:
        made = layout(html, paper).write_pdf(pdf_variant=_VARIANT)
    except OSError as error:
        raise GpuReportError(f"the PDF cannot be made: {no_scratch(error)}") from error
    except MemoryError as error:
        raise GpuReportError("the PDF cannot be made: there is not enough memory") from error
    assert isinstance(made, bytes)  # noqa: S101 - no target was given
    return made


def pdfs(pages: Sequence[str], paper: Paper = "a4") -> list[bytes]:
    """Return the PDF of each page; several are made at once.

    Raises:
        GpuReportError: as for :func:`pdf`.
    """
    return in_parallel(partial(pdf, paper=paper), pages)


def layout(html: str, paper: Paper = "a4") -> "Document":
    """Lay out a page on sheets of paper; only ``data:`` URLs are fetched.

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded.
    """
    problem = pdf_problem()
    if problem:
        raise GpuReportError(problem)
    from weasyprint import CSS, HTML
    from weasyprint.urls import URLFetcher

    text = _RATE.sub("/\u2060", html.replace("<wbr>", "\u200b"))  # characters are faster than elements
    page = HTML(string=text, url_fetcher=URLFetcher(allowed_protocols={"data"}))
    # Style sheets given here are user style sheets, which override the page's own only if they are important.
    return page.render(stylesheets=[CSS(string=f"@page {{ size: {paper} !important }}")], pdf_variant=_VARIANT)
