"""``gpureport render``."""

from pathlib import Path

from gpureport.cli.console import out
from gpureport.cli.options import refuse_overwriting, writable_directory
from gpureport.report.document import Report, load_report


def render_report(source: Path, output: Path | None, no_pdf: bool, force: bool) -> int:
    """Write the documents of a stored report."""
    report = load_report(source)
    directory = writable_directory(output or (source if source.is_dir() else source.parent))
    if output is not None:
        for name in ("report.html", *(() if no_pdf else ("report.pdf",))):
            refuse_overwriting(directory / name, force=force)
    written = write_documents(report, directory, no_pdf=no_pdf)
    out().print("Written: " + ", ".join(str(path) for path in written), soft_wrap=True)
    return 0


def write_documents(report: Report, directory: Path, *, no_pdf: bool) -> list[Path]:
    """Write HTML and, unless unwanted, PDF."""
    from gpureport.report.render import write_report

    return write_report(report, directory, pdf=not no_pdf)
