"""``gpureport fleet``: runs of a node, and a store of runs to list, query, export, and report on the devices."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from socket import gethostname

from gpureport.cli import app
from gpureport.cli.console import ProgressBar, note, note_left_out, print_lines, print_table, print_text, print_written
from gpureport.cli.rendering import written
from gpureport.cli.shared import in_batches, name_and_source, slug, writing
from gpureport.errors import GpuReportError, InputError
from gpureport.files import uninterrupted, write_file
from gpureport.fleet.store import FORMATS, VARIABLE, Store, opened
from gpureport.inputs import is_there
from gpureport.isolation import isolated
from gpureport.report import documents
from gpureport.spec.models import PresentDevice
from gpureport.text import counted, quoted

_PART_OF_NODE = re.compile(r"run-\d+$|\d+-")
"""Folders of one run of a machine, and of one device of a node."""
_MOST_ROWS = 1000
_MOST_S, _MOST_BYTES = 120, 2 << 30  # of a query
_MOST_SENTENCES = 10
_OUTLIER = 3  # exit code
_LOG = "log.txt"
_MOST_LINE = 500  # characters


def add_runs(options: app.FleetAddOptions) -> int:
    """Add the runs of reports and folders; return 1 if some were left out."""
    store = opened(options.store)
    found = list(dict.fromkeys(each for path in options.paths for each in _reports(path, options.node)))
    added = in_batches("adding", partial(_added, store), found, size=64, fewest=16)
    problems = [each for each in added if isinstance(each, str)]
    new = {each[0] for each in added if not isinstance(each, str) and each[1]}
    if len(problems) == len(found):
        raise InputError(problems[0])
    note_left_out((*problems, *store.left_out.values()))
    known = len(found) - len(problems) - len(new)
    already = f"; {known} already there" if known else ""
    print_lines(f"Added to {store.folder}: {counted(len(new), 'run')}{already}")
    return 1 if problems else 0


def _reports(text: str, node: str | None) -> Iterator[tuple[Path, str]]:
    """Yield each report of ``PATH`` or ``NODE=PATH`` with its node.

    Raises:
        InputError: a folder contains no report, a name or path is empty, or a name contains a slash or backslash.
    """
    from gpureport.records.report import FILE_NAME, report_file, reports_below

    name, source = name_and_source(text)
    if "" in (node, name, source):
        raise InputError("a name or a path is empty; write NODE=PATH, the name of the node and its report or folder")
    name, path = name or node, Path(source)
    if name and re.search(r"[/\\]", name):
        raise InputError(
            f"{quoted(name)} is no name of a node, because it contains a slash or backslash; choose another"
        )
    if not path.is_dir() or is_there(report_file(path)):
        yield path, name or _node(path)
        return
    files = reports_below(path)
    if not files:
        raise InputError(f"{path}: contains no {FILE_NAME}; give reports or folders of them")
    yield from ((file, name or _node(file)) for file in files)


def _node(path: Path) -> str:
    from gpureport.results.opening import short_name

    name = short_name(path)
    folder = path if path.is_dir() else path.parent
    return short_name(folder.absolute().parent) if _PART_OF_NODE.match(name) else name


def _added(store: Store, report: tuple[Path, str]) -> tuple[str, bool] | str:
    """Read a report and write it to the store; return the run and whether it is new, or why it was left out.

    Raises:
        GpuReportError: the store cannot be written.
    """
    from gpureport.fleet.reading import read_run

    try:
        run = read_run(*report)
    except GpuReportError as error:
        return str(error)
    return str(run["runs"][0]["run"]), store.add(run)


def list_nodes(options: app.FleetListOptions) -> int:
    """Print the nodes with their devices and runs."""
    store = opened(options.store)
    runs = store.table("runs").sort_values("created_at").fillna({"pci_address": "", "driver": ""})
    rows = []
    for (node, device, address), own in runs.groupby(["node", "device", "pci_address"]):
        ends = (f"{time:%Y-%m-%d %H:%M}" for time in own["created_at"].iloc[[0, -1]])
        rows.append((node, device, str(len(own)), *ends, own["driver"].iloc[-1], address))
    columns = ("node", "device", "runs", "first", "last", "driver", "PCI address")
    print_table(counted(len(rows), "device"), columns, rows, right=[columns.index("runs")])
    note_left_out(store.left_out.values())
    return 0


def query_runs(options: app.FleetQueryOptions) -> int:
    """Print the rows of a SELECT statement."""
    arguments = opened(options.store), options.sql, _MOST_ROWS + 1
    columns, numbers, rows, left_out = isolated("the query", Store.rows, _MOST_S, _MOST_BYTES, *arguments)
    more = len(rows) > _MOST_ROWS
    title = f"First {_MOST_ROWS} rows" if more else counted(len(rows), "row")
    print_table(title, columns, rows[:_MOST_ROWS], right=numbers, whole=True)
    if not rows:
        note("The query has no rows.")
    if more:
        note("There are more rows; use `gpureport fleet export` or LIMIT.")
    note_left_out(left_out)
    return 0


def export_runs(options: app.FleetExportOptions) -> int:
    """Write a table as CSV, Parquet or JSON, by the suffix of the file."""
    file, store = options.file, opened(options.store)
    suffix = file.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{file}: its format is unknown; use a name that ends in {' or '.join(FORMATS)}")
    with writing([file], force=options.force):
        write_file(file, store.export(options.table, suffix))
    note_left_out(store.left_out.values())
    print_written([file])
    return 0


def report_fleet(options: app.FleetReportOptions) -> int:
    """Compare all devices, print the outliers and write documents; return 3 if a device is slower, on request."""
    from gpureport.fleet.analysis import analyse
    from gpureport.fleet.document import NAME, conclusion, reservations, sentence, write_documents

    store = opened(options.store)
    with writing(documents(options.output, NAME) if options.output else (), force=options.force):
        with ProgressBar("comparing the devices"):
            fleet = analyse(store, options.minimum_effect / 100)
        outliers, *others = (
            [sentence(fact) for fact in facts[:_MOST_SENTENCES]]
            for facts in (fleet.outliers, fleet.changes, fleet.models)
        )
        for text in (conclusion(fleet), *outliers, *reservations(fleet), *chain.from_iterable(others)):
            print_text(text)
        if options.output:
            with_pdf = not options.no_pdf
            write = partial(write_documents, fleet, options.output, with_pdf=with_pdf, paper=options.paper)
            print_written(written(write, noted=with_pdf))
        note_left_out(store.left_out.values())
    return _OUTLIER if options.fail_on_outlier and fleet.slower else 0


def measure_node(options: app.FleetNodeOptions) -> int:
    """Measure the devices of this node, and add the runs to the store, if one is given; return 1 if a device failed."""
    from gpureport.measure.presence import choose, find_devices

    node, time = gethostname().partition(".")[0], datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S")
    output = options.output or opened(options.store).folder / "reports" / node / time
    present = find_devices().devices
    names = options.devices
    chosen = [choose(present, name) for name in names] if names else devices_to_measure(present)
    folders = [(device, output / f"{device.index}-{slug(device.name)}") for device in chosen]
    workloads = [part for name in options.workloads for part in ("--workload", name)]
    settings = [*(("--quick",) if options.quick else ()), *workloads]
    measured, left_out = list[str](), 0
    for device, folder, problem in measure_devices(folders, settings, parallel=options.parallel):
        print_lines(f"not measured: {device.name}: {problem}" if problem else f"measured: {device.name}: {folder}")
        measured += [] if problem else [f"{node}={folder}"]
    if measured and (options.store or os.environ.get(VARIABLE)):
        left_out = add_runs(app.FleetAddOptions(paths=measured, store=options.store))
    return 1 if left_out or len(measured) < len(folders) else 0


def devices_to_measure(devices: Sequence[PresentDevice]) -> list[PresentDevice]:
    """Return all GPUs and accelerators, by index; the best CPU that runs kernels if there are none.

    Raises:
        InputError: all devices are simulators.
        DeviceError: no CPU runs kernels.
    """
    from gpureport.measure.presence import choose_working, in_order

    if others := [device for device in in_order(devices) if not device.on_host]:
        return sorted(others, key=lambda device: device.index)
    with choose_working("auto") as measurer:
        return [measurer.device]


def measure_devices(
    devices: Sequence[tuple[PresentDevice, Path]], settings: Sequence[str], *, parallel: bool
) -> Iterator[tuple[PresentDevice, Path, str]]:
    """Measure *devices* into their folders, in sequence or in *parallel*; yield each, with its problem, at its end.

    A report that an earlier job left incomplete is continued; others are measured with these *settings*, options of
    ``gpureport measure``. The problem is its exit code (negative: ended by a signal) and the last line of its log;
    empty: none.
    """
    for together in [devices] if parallel else [[each] for each in devices]:
        started: list[tuple[PresentDevice, Path, subprocess.Popen[bytes]]] = []
        try:
            for device, folder in together:
                with uninterrupted():  # else an interrupt could leave a process that is not yet listed
                    started.append((device, folder, _started(device, folder, settings)))
            for device, folder, process in started:
                code = process.wait()
                log = (folder / _LOG).read_text(encoding="locale", errors="replace") if code else ""
                last = next((line.strip()[:_MOST_LINE] for line in reversed(log.splitlines()) if line.strip()), "")
                yield device, folder, f"exit code {code}: {last}" if code else ""
        finally:
            for _, _, process in started:
                process.terminate()  # after an interrupt of this process only; what they measured is kept
            for _, _, process in started:
                process.wait()


def _started(device: PresentDevice, folder: Path, settings: Sequence[str]) -> subprocess.Popen[bytes]:
    from gpureport.records.report import FILE_NAME

    folder.mkdir(parents=True, exist_ok=True)
    report = folder / FILE_NAME
    new = ["--device", str(device.index), "--output", str(report), *settings]
    how = ["--resume", str(report)] if report.exists() else new
    with (folder / _LOG).open("ab") as log:
        command = [sys.executable, "-P", "-m", "gpureport", "measure", *how]
        return subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - this program
