"""Documents of reports, comparisons and predictions, as HTML and PDF."""

from pathlib import Path
from typing import Literal

Paper = Literal["a4", "letter"]
"""Page size of a PDF."""


def documents(directory: Path, name: str = "report") -> tuple[Path, Path]:
    """Return the paths of the documents in a folder: HTML and PDF."""
    return directory / f"{name}.html", directory / f"{name}.pdf"


def documents_of(file: Path) -> tuple[Path, Path]:
    """Return the paths of the documents next to a report's JSON *file*, with the same stem."""
    from gpureport.records.report import report_stem

    return documents(file.parent, report_stem(file))
