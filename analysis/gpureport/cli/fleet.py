"""``gpureport fleet``: add runs to a store, list, query and export them, and report on the devices."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpureport.cli.console import note, print_line, print_text
from gpureport.cli.options import writing
from gpureport.cli.progress import ProgressBar
from gpureport.cli.tables import print_table
from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file
from gpureport.inputs import is_there
from gpureport.report import Paper
from gpureport.text import counted

if TYPE_CHECKING:
    from gpureport.fleet.store import Store

_PART_OF_NODE = re.compile(r"run-\d+$|\d+-")
"""Folders of one run of a machine, and of one device of a node."""
_MOST_ROWS = 1000
_MOST_SENTENCES = 10
_OUTLIER = 3  # exit code
_BATCH = 64  # reports that are read together
_FEWEST = 16  # reports that other processes read
_READING = ("gpureport.fleet.reading", "gpureport.fleet.store", "pyarrow.parquet")
"""Modules that these processes need."""


def opened(folder: Path | None) -> "Store":
    """Return the store of the option, or else of the environment.

    Raises:
        InputError: neither is given.
    """
    from gpureport.fleet.store import VARIABLE, Store, configured

    store = Store(folder) if folder else configured()
    if store is None:
        raise InputError(f"no store is given; write --store DIR, or set {VARIABLE} to the folder of the store")
    return store


def add_runs(paths: Sequence[str], folder: Path | None, node: str | None) -> int:
    """Add the runs of reports and folders; return 1 if some were left out."""
    from gpureport.report.processes import in_parallel

    store = opened(folder)
    found = list(dict.fromkeys(each for path in paths for each in _reports(path, node)))
    problems: list[str] = []
    new: set[str] = set()
    with ProgressBar("adding") as bar:
        for start in range(0, len(found), _BATCH):
            bar.advance(found[start][1], start / len(found))
            for each in in_parallel(partial(_added, store), found[start : start + _BATCH], _FEWEST, _READING):
                if each.problem:
                    problems.append(each.problem)
                elif each.new:
                    new.add(each.run)
    if len(problems) == len(found):
        raise InputError(problems[0])
    for problem in problems:
        note(f"Left out: {problem}")
    store.pack()
    known = len(found) - len(problems) - len(new)
    already = f"; {known} already there" if known else ""
    print_line(f"Added to {store.folder}: {counted(len(new), 'run')}{already}")
    return 1 if problems else 0


def _reports(text: str, node: str | None) -> "Iterator[tuple[Path, str]]":
    """Yield each report of ``PATH`` or ``NODE=PATH`` with its node.

    Raises:
        InputError: a folder contains no report, or the name or the path is empty.
    """
    from gpureport.records.report import FILE_NAME, report_file, reports_below

    given, equals, rest = text.partition("=")
    if node == "" or not text or (equals and not is_there(Path(text)) and not (given and rest)):
        raise InputError("a name or a path is empty; write NODE=PATH, the name of the node and its report or folder")
    name, path = (given, Path(rest)) if equals and not is_there(Path(text)) else (node or "", Path(text))
    if not path.is_dir() or is_there(report_file(path)):
        yield path, name or _node(path)
        return
    files = reports_below(path)
    if not files:
        raise InputError(f"{path}: contains no {FILE_NAME}; give reports or folders of them")
    yield from ((file, name or _node(file)) for file in files)


def _node(path: Path) -> str:
    """Return the name of a report's folder; for a run (``run-1``) or a device (``0-h200``) that of the folder above."""
    from gpureport.results.opening import short_name

    name = short_name(path)
    folder = path if path.is_dir() else path.parent
    return short_name(folder.absolute().parent) if _PART_OF_NODE.match(name) else name


class _Addition(NamedTuple):
    """What came of a report: the run, whether it is new, or why it was left out."""

    run: str = ""
    new: bool = False
    problem: str = ""


def _added(store: "Store", report: tuple[Path, str]) -> _Addition:
    """Read a report and write it to the store.

    Raises:
        GpuReportError: the store cannot be written.
    """
    from gpureport.fleet.reading import read_run

    try:
        run = read_run(*report)
    except GpuReportError as error:
        return _Addition(problem=str(error))
    return _Addition(run.run, store.add(run))


def list_nodes(folder: Path | None) -> int:
    """Print the nodes with their devices and runs."""
    columns, rows = opened(folder).rows(_NODES, sys.maxsize)
    print_table(counted(len(rows), "device"), columns, _texts(rows), right=[_RUNS])
    return 0


_NODES = """
SELECT node, device, count(*) AS runs, strftime(min(created_at), '%Y-%m-%d %H:%M') AS first,
    strftime(max(created_at), '%Y-%m-%d %H:%M') AS last, arg_max(driver, created_at) AS driver,
    pci_address AS "PCI address"
FROM runs GROUP BY node, device, pci_address ORDER BY node, device, pci_address
"""
_RUNS = 2  # column


def query_runs(sql: str, folder: Path | None) -> int:
    """Print the rows of a SELECT statement."""
    columns, rows = opened(folder).rows(sql, _MOST_ROWS + 1)
    shown, more = rows[:_MOST_ROWS], len(rows) > _MOST_ROWS
    texts = _texts(shown)
    if len(columns) > 1:
        numbers = [i for i in range(len(columns)) if all(_is_number(row[i]) for row in shown)]
        print_table(f"First {_MOST_ROWS} rows" if more else counted(len(rows), "row"), columns, texts, right=numbers)
    for text in ((columns[0],), *texts) if len(columns) == 1 else ():
        print_line(text[0])
    if not rows:
        note("The query has no rows.")
    if more:
        note("There are more rows; use `gpureport fleet export` or LIMIT.")
    return 0


def _texts(rows: Iterable[Sequence[object]]) -> list[tuple[str, ...]]:
    """Return cells as text; missing values are empty."""
    return [tuple(map(_text, row)) for row in rows]


def _text(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    """Return whether a cell contains a number or nothing."""
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def export_runs(file: Path, folder: Path | None, table: str, force: bool) -> int:
    """Write a table as CSV, Parquet or JSON, by the suffix of *file*."""
    options = _FORMATS.get(file.suffix.lower())
    if options is None:
        raise InputError(f"{file}: its format is unknown; use a name that ends in {' or '.join(_FORMATS)}")
    with writing([file], force=force, option=""):
        write_file(file, opened(folder).export(table, options))
    print_line(f"Written: {file}")
    return 0


_FORMATS = {
    ".csv": "FORMAT csv",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".json": "FORMAT json, ARRAY true, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S'",
}
"""Options of DuckDB's COPY by suffix."""


@dataclass(frozen=True)
class FleetRequest:
    """The options of ``gpureport fleet report``, as typed; :mod:`gpureport.cli.app` describes them."""

    store: Path | None = None
    output: Path | None = None
    fail_on_outlier: bool = False
    prometheus: Path | None = None
    junit: Path | None = None
    minimum_effect: float = 2.0
    no_pdf: bool = False
    paper: Paper = "a4"
    force: bool = False


def report_fleet(request: FleetRequest) -> int:
    """Compare all devices, print the outliers and write documents; return 3 if a device is slower, on request."""
    from gpureport.cli.rendering import print_written
    from gpureport.fleet.analysis import analyse
    from gpureport.fleet.exports import junit, prometheus
    from gpureport.fleet.site import NAME, conclusion, write_site
    from gpureport.report.render import documents

    files = documents(request.output, NAME) if request.output else ()
    if request.junit and request.junit == request.prometheus:
        raise InputError(f"--junit and --prometheus: both are {request.junit}; choose two files")
    kept, replaced = ([*filter(None, each)] for each in ((*files, request.junit), (request.prometheus,)))
    options = {file: name for file, name in ((request.junit, "--junit"), (request.prometheus, "--prometheus")) if file}
    with writing(kept, force=request.force, option=options, replaced=replaced):
        with ProgressBar("comparing the devices"):
            fleet = analyse(opened(request.store), request.minimum_effect / 100)
        for text in (conclusion(fleet), *(o.sentence for o in fleet.outliers[:_MOST_SENTENCES])):
            print_text(text)
        for text in fleet.reservations:
            print_text(text)
        for each in fleet.changes[:_MOST_SENTENCES]:
            print_text(each.sentence)
        for text in fleet.models[:_MOST_SENTENCES]:
            print_text(text)
        written: list[Path] = []
        if request.output:
            with ProgressBar("writing the report"):
                written += write_site(fleet, request.output, with_pdf=not request.no_pdf, paper=request.paper)
        for file, write in ((request.prometheus, prometheus), (request.junit, junit)):
            if file:
                write_file(file, write(fleet))
                written.append(file)
        print_written(written)
    return _OUTLIER if request.fail_on_outlier and fleet.slower else 0
