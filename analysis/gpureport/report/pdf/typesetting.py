"""From a page of HTML and its pictures to a PDF: by WeasyPrint, here or in a process of its own."""

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
"""Pictures have this and their number for an address."""
_LAST_WORDS_S = 5  # for a process that fails to say why


@dataclass(frozen=True)
class Manuscript:
    """A page of HTML with addresses for its pictures, which are SVG: neither parsed with it nor in its cascade."""

    html: str
    pictures: Sequence[str] = ()


@dataclass(frozen=True)
class Typesetter:
    """Makes PDFs."""

    problem: Callable[[], str | None]
    """What keeps it from making any, in a sentence."""
    pdf: Callable[[Manuscript, Paper], bytes]


@contextmanager
def typesetter() -> Iterator[Typesetter]:
    """Let a process of its own load WeasyPrint, which takes a second, while this one still reads and draws.

    Where it is loaded already, it works here.
    """
    if "weasyprint" in sys.modules:
        yield HERE
        return
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with scratch_folder() as folder:
        process = context.Process(target=_serve, args=(theirs, str(folder)), daemon=True)
        with _interrupts_ignored():  # by the process, from its first step; this one ends it
            process.start()
        theirs.close()
        ask = partial(_ask, process, ours)
        try:
            yield Typesetter(lambda: ask(None), lambda manuscript, paper: ask((manuscript, paper)))
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


def _ask(process: BaseProcess, connection: Connection, work: object) -> Any:  # noqa: ANN401 - as _serve answers
    """Send work to the process and return what it answers.

    Raises:
        GpuReportError: that is its answer, or it has none.
    """
    try:
        connection.send(work)
        answer = connection.recv()
    except (EOFError, OSError) as error:
        process.join(_LAST_WORDS_S)
        raise GpuReportError("the process that makes the PDF ended before it was made") from error
    if isinstance(answer, GpuReportError):
        raise answer
    return answer


def _serve(parent: Connection, folder: str) -> None:
    """Answer what the parent sends: with the problem for ``None``, with a PDF for a manuscript and its paper.

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
    """Return what keeps WeasyPrint from making a PDF here, in a sentence; ``None`` if nothing does."""
    try:
        with redirect_stdout(StringIO()):  # on failure WeasyPrint prints how to install it
            import weasyprint  # noqa: F401
    except (ImportError, OSError):
        return (
            "no PDF: WeasyPrint cannot load Pango, which the system has to provide "
            "(Debian and Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0)"
        )
    return None


def pdf(manuscript: Manuscript, paper: Paper = "a4") -> bytes:
    """Return it as a tagged PDF (PDF/UA-1).

    Raises:
        GpuReportError: WeasyPrint or Pango cannot be loaded, temporary files cannot be written, or memory is too small.
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
    """Keep Python from looking for garbage time and again in a document that stays until it is written."""
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
