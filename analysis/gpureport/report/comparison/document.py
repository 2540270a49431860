"""HTML and PDF documents of a comparison of machines."""

from pathlib import Path

from gpureport.compare.records import Comparison
from gpureport.report import Paper
from gpureport.report.render import write_filled

NAME = "comparison"
"""Stem of the files."""


def write_comparison(
    comparison: Comparison, directory: Path, name: str = NAME, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write *comparison* as HTML and PDF with this *name*, and as JSON if it is the usual one; return their paths.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    data = f"{comparison.model_dump_json(indent=1)}\n" if name == NAME else ""
    facts = {"comparison": comparison}
    return write_filled("comparison.html.j2", facts, directory, with_pdf=with_pdf, paper=paper, name=name, data=data)
