"""PDFs from a process of its own, and what it says when it cannot make one."""

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
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[Typesetter]:
    """A process of its own, as in a command that has not loaded WeasyPrint."""
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "weasyprint")
        process = typesetter()
        made = process.__enter__()
    yield made
    process.__exit__(None, None, None)


def test_a_process_of_its_own_makes_several(apart: Typesetter) -> None:
    """And says that nothing keeps it from that."""
    assert apart is not HERE
    assert apart.problem() is None
    assert apart.pdf(PAGE, "a4").startswith(b"%PDF")
    assert apart.pdf(PAGE, "letter").startswith(b"%PDF")


def test_a_process_that_ends_is_said(apart: Typesetter) -> None:
    """One sentence."""
    with pytest.raises(GpuReportError, match="the process that makes the PDF ended before"):
        apart.pdf(Manuscript(None), "a4")  # type: ignore[arg-type]


def test_a_process_without_room_for_temporary_files_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One sentence, and nothing of its own."""
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


def test_where_weasyprint_is_loaded_it_works_here() -> None:
    """Another process would have to load it again."""
    with typesetter() as made:
        assert made is HERE


@pytest.mark.parametrize("text", ["plain", "an&nbsp;entity of HTML", "<p>never closed"])
def test_pages_come_out_alike_however_they_are_read(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """What is not XML is read as HTML, and a version of WeasyPrint that is not known takes its own ways."""
    page = Manuscript(PAGE.html.format(text), PAGE.pictures)
    ways = [_page(page)]
    monkeypatch.setattr(pages, "KNOWN", False)
    ways.append(_page(page))

    assert ways[0] == ways[1]
    assert {"•", "drawn"} <= set(ways[0].split())


def _page(page: Manuscript) -> str:
    (read,) = PdfReader(BytesIO(pdf(page))).pages
    return read.extract_text()
