"""PDFs from a separate process, and its errors."""

import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader

from gpureport.errors import GpuReportError
from gpureport.report.pdf import pages
from gpureport.report.pdf.typesetting import HERE, Manuscript, Typesetter, pdf, typesetter

PAGE = Manuscript(
    '<html lang="en"><head><title>x</title></head><body><ul><li>one</li></ul>{}'
    '<img src="picture:0" alt="drawn" /></body></html>',
    ['<svg xmlns="http://www.w3.org/2000/svg"><text x="0" y="9">drawn</text></svg>'],
)


@pytest.fixture
def separate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Typesetter]:
    """Return a separate process, as in a command that has not loaded WeasyPrint."""
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "weasyprint")
        process = typesetter()
        made = process.__enter__()
    yield made
    process.__exit__(None, None, None)


def test_a_separate_process_makes_several_pdfs(separate: Typesetter) -> None:
    """It reports no problem."""
    assert separate is not HERE
    assert separate.problem() is None
    assert separate.pdf(PAGE, "a4").startswith(b"%PDF")
    assert separate.pdf(PAGE, "letter").startswith(b"%PDF")


def test_a_process_that_ends_is_reported(separate: Typesetter) -> None:
    """In one sentence."""
    with pytest.raises(GpuReportError, match="the process that makes the PDF ended before"):
        separate.pdf(Manuscript(None), "a4")  # type: ignore[arg-type]


def test_missing_space_for_temporary_files_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In one sentence; the process itself prints nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delitem(sys.modules, "weasyprint")
    with typesetter() as made:
        assert made.problem() is None
        (folder,) = tmp_path.iterdir()
        folder.rmdir()
        with pytest.raises(
            GpuReportError, match=r"^the PDF cannot be made: temporary files cannot be written \(No such"
        ):
            made.pdf(Manuscript(PAGE.html.replace("</head>", "<style>/* fonts */</style></head>"), PAGE.pictures), "a4")
    assert capfd.readouterr().err == ""


def test_a_process_that_has_loaded_weasyprint_makes_the_pdf() -> None:
    """A separate process would have to load it again."""
    with typesetter() as made:
        assert made is HERE


@pytest.mark.parametrize("text", ["plain", "an&nbsp;entity of HTML", "<p>never closed"])
def test_both_parsers_give_the_same_page(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Pages that are not XML are read as HTML; untested versions of WeasyPrint use their own parser."""
    page = Manuscript(PAGE.html.format(text), PAGE.pictures)
    texts = [_page(page)]
    monkeypatch.setattr(pages, "KNOWN", False)
    texts.append(_page(page))

    assert texts[0] == texts[1]
    assert {"•", "drawn"} <= set(texts[0].split())


def _page(page: Manuscript) -> str:
    (read,) = PdfReader(BytesIO(pdf(page))).pages
    return read.extract_text()
