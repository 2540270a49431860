"""``gpureport render``, and the HTML and PDF of other commands."""

from collections.abc import Callable, Mapping
from pathlib import Path

from gpureport.cli.app import RenderOptions
from gpureport.cli.console import ProgressBar, note, print_written
from gpureport.cli.shared import open_all, open_database, writing
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.records.report import FILE_NAME, Report, report_file, report_stem
from gpureport.report import Paper, documents
from gpureport.report.processes import prepare
from gpureport.results.opening import is_record, open_report, records_of, refuse_repeated, short_name


def render_reports(options: RenderOptions) -> int:
    """Write HTML and PDF of stored reports, published records, or all valid records of a folder.

    Raises:
        InputError: a source cannot be read, two sources have the same output folder, or a document already exists.
    """
    folders = [records_of(source) or (source,) for source in options.reports]
    files = tuple(file for folder in folders for file in folder)
    several = files != (options.reports[0],)
    refuse_repeated(files)
    places = {file: (_directory(file, options.output, several=several), _name(file)) for file in files}
    _refuse_sharing(places)
    to_write = (document for place in places.values() for document in documents(*place))
    with writing(to_write, force=options.force):
        prepare(pdf=not options.no_pdf)
        database = open_database(options.entries)
        opened = [each for folder in folders for each in open_all(folder, lambda file: open_report(file, database))]
        no_pdf, paper = options.no_pdf, options.paper
        for file, report in opened:
            last = file == opened[-1][0]
            made = write_documents(report, places[file][0], no_pdf=no_pdf, paper=paper, file=file, noted=last)
            print_written(made)
    return 0


def _directory(file: Path, output: Path | None, *, several: bool) -> Path:
    """Return the output folder of *file*: for records and with several inputs a folder with its name."""
    if output:
        return output / short_name(file) if several else output
    if is_record(file):
        return file.with_suffix("")
    return file if file.is_dir() else file.parent


def _name(file: Path) -> str:
    return "report" if is_record(file) or file.is_dir() else report_stem(file)


def _refuse_sharing(places: Mapping[Path, tuple[Path, str]]) -> None:
    first: dict[tuple[Path, str], Path] = {}
    for file, (directory, name) in places.items():
        if real_path(file) in map(real_path, documents(directory, name)):
            raise InputError(f"{file}: its HTML or PDF would overwrite it; rename it to {file.stem}.json")
        other = first.setdefault((real_path(directory), name), file)
        if other is not file:
            raise InputError(f"{file}: has the same output folder {directory} as {other}; render them one by one")


def write_documents(
    report: Report, directory: Path, *, no_pdf: bool, paper: Paper, file: Path | None = None, noted: bool = True
) -> list[Path]:
    """Write HTML and PDF with the name of the report's *file*; no PDF with *no_pdf*, or without Pango, then *noted*."""
    from gpureport.report.render import REPORT, content, write_filled

    file = file or directory / FILE_NAME

    def write() -> list[Path]:
        source = real_path(report_file(file))
        place = "" if source.parent == real_path(directory) else f"{source.parent.name}/"
        facts = {**content(report), "data_file": f"{place}{source.name}"}
        return write_filled(REPORT, facts, directory, with_pdf=not no_pdf, paper=paper, name=_name(file))

    return written(write, noted=noted and not no_pdf)


def written(write: Callable[[], list[Path]], *, noted: bool = True) -> list[Path]:
    """Write documents; report why there is no PDF if that is to be *noted*."""
    from gpureport.report.pdf import pdf_problem

    with ProgressBar("writing the report"):
        files = write()
    if noted and (problem := pdf_problem()):
        note(f"gpureport: {problem}")
    return files
