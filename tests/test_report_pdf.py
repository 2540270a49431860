"""Errors of PDFs; the pages are tested with the documents."""

import tempfile
from pathlib import Path

import pytest

from gpureport.errors import GpuReportError
from gpureport.report.pdf import pdf
from gpureport.report.render import render_html
from tests.make_report import make_report


def test_missing_space_for_temporary_files_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In one sentence: WeasyPrint unpacks the fonts of a page to a temporary folder."""
    html = render_html(make_report(families=1))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))

    with pytest.raises(GpuReportError, match=r"^the PDF cannot be made: temporary files cannot be written \(No such"):
        pdf(html)
