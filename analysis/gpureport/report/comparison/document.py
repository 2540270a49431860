"""HTML and PDF documents of a comparison of machines."""

from pathlib import Path

from gpureport.compare.records import Comparison
from gpureport.files import remove_files, write_file
from gpureport.report import Paper, documents
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
    path = directory / FILE_NAME
    remove_files(*documents(directory, NAME))
    write_file(path, f"{comparison.model_dump_json(indent=1)}\n")
    return [path, *write_pages(comparison, directory, NAME, with_pdf=with_pdf, paper=paper)]


def write_pages(
    comparison: Comparison, directory: Path, name: str, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write HTML and PDF of *comparison*; *name* is the stem of their names."""
    facts = {"comparison": comparison}
    return write_filled("comparison.html.j2", facts, directory, with_pdf=with_pdf, paper=paper, name=name)
