"""HTML and PDF documents of a comparison of machines."""

from pathlib import Path

from gpureport.compare.records import Comparison
from gpureport.report import Paper
from gpureport.report.render import write_filled

NAME = "comparison"
"""Stem of the files."""
FILE_NAME = f"{NAME}.json"


def write_comparison(
    comparison: Comparison, directory: Path, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write *comparison* as JSON, and its documents, all named :data:`NAME`; return their paths.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    data = f"{comparison.model_dump_json(indent=1)}\n"
    return write_pages(comparison, directory, NAME, with_pdf=with_pdf, paper=paper, data=data)


def write_pages(
    comparison: Comparison, directory: Path, name: str, *, with_pdf: bool = True, paper: Paper = "a4", data: str = ""
) -> list[Path]:
    """Write HTML and PDF of *comparison*, as :func:`.write_filled`; *name* is the stem of their names."""
    facts = {"comparison": comparison}
    return write_filled("comparison.html.j2", facts, directory, with_pdf=with_pdf, paper=paper, name=name, data=data)
