"""``gpureport render``, and the documents of a run."""

from collections.abc import Sequence
from pathlib import Path

from gpureport.cli.console import note, print_line
from gpureport.cli.options import refuse_overwriting, writable_directory
from gpureport.cli.progress import ProgressBar
from gpureport.report.document import Report, load_report


def render_report(source: Path, output: Path | None, no_pdf: bool, force: bool) -> int:
    """Write the documents of a stored report, which itself stays as it is."""
    report = load_report(source)
    directory = writable_directory(output or (source if source.is_dir() else source.parent))
    refuse_overwriting_documents(directory, no_pdf=no_pdf, force=force)
    print_written(write_documents(report, directory, no_pdf=no_pdf))
    return 0


def refuse_overwriting_documents(directory: Path, *, no_pdf: bool, force: bool) -> None:
    """Raise unless the documents may be written to *directory*.

    Raises:
        InputError: one exists and *force* is not set.
    """
    from gpureport.report.render import documents

    for path in documents(directory, pdf=not no_pdf):
        refuse_overwriting(path, force=force)


def write_documents(report: Report, directory: Path, *, no_pdf: bool) -> list[Path]:
    """Write HTML and PDF; no PDF if it is unwanted, or if the system lacks Pango, which a note then says."""
    from gpureport.report.render import pdf_problem, write_report

    problem = None if no_pdf else pdf_problem()
    if problem:
        note(f"gpureport: {problem}")
    with ProgressBar("writing the report"):
        return write_report(report, directory, pdf=not (no_pdf or problem))


def print_written(files: Sequence[Path]) -> None:
    """Say where the files are."""
    print_line("Written: " + ", ".join(map(str, files)))
