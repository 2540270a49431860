"""PDFs from a page of HTML and its pictures by WeasyPrint, in this process or in a separate one."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import TYPE_CHECKING, Any

from gpureport.errors import GpuReportError
from gpureport.files import no_scratch, scratch_folder
from gpureport.report import Paper

if TYPE_CHECKING:
    from weasyprint.document import Document

PICTURE = "picture:"
"""The URL of a picture is this and its number."""
_EXIT_S = 5  # for a failing process to print its error


@dataclass(frozen=True)
class Manuscript:
    """A page of HTML that refers to its SVG pictures by URL, so that these stay outside its parser and style rules."""

    html: str
    pictures: Sequence[str] = ()


@dataclass(frozen=True)
class Typesetter:
    """Makes PDFs."""

    problem: Callable[[], str | None]
    """Returns why it cannot make PDFs, in a sentence; ``None`` if it can."""
    pdf: Callable[[Manuscript, Paper], bytes]


@contextmanager
def typesetter() -> Iterator[Typesetter]:
    """Start a process that loads WeasyPrint, which takes a second, while this process reads and draws.

    If WeasyPrint is already loaded, this process makes the PDFs.
    """
    if "weasyprint" in sys.modules:
        yield HERE
        return
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with scratch_folder() as folder:
        process = context.Process(target=_serve, args=(theirs, str(folder)), daemon=True)
        with _interrupts_ignored():  # by the new process from its start; this process stops it
            process.start()
        theirs.close()
        request = partial(_request, process, ours)
        try:
            yield Typesetter(lambda: request(None), lambda manuscript, paper: request((manuscript, paper)))
        finally:
            process.kill()
            process.join()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _request(process: BaseProcess, connection: Connection, work: object) -> Any:  # noqa: ANN401 - as _serve answers
    """Send work to the process and return its answer.

    Raises:
        GpuReportError: the process answered with this error, or ended without an answer.
    """
    try:
        connection.send(work)
        answer = connection.recv()
    except (EOFError, OSError) as error:
        process.join(_EXIT_S)
        raise GpuReportError("the process that makes the PDF ended before it was made") from error
    if isinstance(answer, GpuReportError):
        raise answer
    return answer


def _serve(parent: Connection, folder: str) -> None:
    """Answer the parent: the problem for ``None``, a PDF for a manuscript and its paper.

    WeasyPrint unpacks fonts to *folder*, which the parent removes.
    """
    tempfile.tempdir = folder
    Thread(target=_end_with_parent, daemon=True).start()
    problem = pdf_problem()
    while True:
        try:
            work = parent.recv()
        except EOFError:
            return
        try:
            parent.send(pdf(*work) if work else problem)
        except GpuReportError as error:
            parent.send(error)


def _end_with_parent() -> None:
    process = parent_process()
    if process:
        process.join()
        os._exit(1)


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


def pdf(manuscript: Manuscript, paper: Paper = "a4") -> bytes:
    """Return it as a tagged PDF (PDF/UA-1).

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded, or temporary space or memory is insufficient.
    """
    try:
        with _without_collector():
            made = layout(manuscript, paper).write_pdf(pdf_variant="pdf/ua-1")
    except OSError as error:
        raise GpuReportError(f"the PDF cannot be made: {no_scratch(error)}") from error
    except MemoryError as error:
        raise GpuReportError("the PDF cannot be made: there is not enough memory") from error
    assert isinstance(made, bytes)  # noqa: S101 - no target was given
    return made


HERE = Typesetter(pdf_problem, pdf)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector: the whole document stays in use until it is written."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def layout(manuscript: Manuscript, paper: Paper = "a4") -> "Document":
    """Lay it out on pages.

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded.
    """
    problem = pdf_problem()
    if problem:
        raise GpuReportError(problem)
    from gpureport.report.pdf import pages

    return pages.layout(manuscript, paper)
