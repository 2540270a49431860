"""``gpureport render``, and the documents of a run."""

from collections.abc import Sequence
from pathlib import Path

from gpureport.cli.console import note, print_line
from gpureport.cli.options import refuse_overwriting, writable_directory
from gpureport.cli.progress import ProgressBar
from gpureport.report.document import Report, load_report


def render_report(source: Path, output: Path | None, no_pdf: bool, force: bool) -> int:
    """Write the documents of a stored report."""
    report = load_report(source)
    directory = writable_directory(output or (source if source.is_dir() else source.parent))
    if output is not None:
        for name in ("report.html", *(() if no_pdf else ("report.pdf",))):
            refuse_overwriting(directory / name, force=force)
    print_written(write_documents(report, directory, no_pdf=no_pdf))
    return 0


def write_documents(report: Report, directory: Path, *, no_pdf: bool) -> list[Path]:
    """Write JSON, HTML and PDF; no PDF if it is unwanted, or if the system lacks Pango, which a note then says."""
    from gpureport.report.render import pdf_problem, write_report

    problem = None if no_pdf else pdf_problem()
    if problem:
        note(f"gpureport: {problem}")
    with ProgressBar("writing the report"):
        return write_report(report, directory, pdf=not (no_pdf or problem))


def print_written(files: Sequence[Path]) -> None:
    """Say where the files are."""
    print_line("Written: " + ", ".join(map(str, files)))
