"""Open a measured report, a published record or a predicted device as a report."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from gpureport import __version__
from gpureport.compare import FEW, Comparison, Run, compare, excerpt
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.inputs import PACKED, is_there
from gpureport.measure import Progress
from gpureport.predict import ModelInput, Predicted, limits_of, predict_sweeps
from gpureport.predict.advice import advice, source_accesses
from gpureport.records.report import (
    FILE_NAME,
    Report,
    RunSettings,
    load_report,
    report_file,
    report_stem,
    reports_below,
    workload_info,
)
from gpureport.spec.database import Database
from gpureport.spec.models import Device, EntryMatch
from gpureport.text import counted
from gpureport.workloads.model import Workload

Source: TypeAlias = Path | Device | Report
"""A run of a machine: a report's file or folder, a published record, a device to predict, or a report in memory."""
Open: TypeAlias = Callable[[tuple[Source, ...]], tuple[Run, ...]]
"""Opens the runs of a machine."""


def is_record(path: Path) -> bool:
    """Return whether *path* is treated as a published record instead of a report."""
    return path.suffix == ".yaml" and not path.is_dir()


def short_name(path: Path) -> str:
    """Return a distinctive name: the stem of the file; of a folder, or of its ``report.json``, the folder's name."""
    if path.is_dir():
        return real_path(path).name
    stem = report_stem(path)
    return real_path(path).parent.name if f"{stem}.json" == FILE_NAME else stem


def records_of(source: Path) -> tuple[Path, ...]:
    """Return the published records of a folder that contains no report; else none."""
    if not is_there(source) or not source.is_dir() or is_there(report_file(source)):
        return ()
    return tuple(sorted(file for file in source.glob("*.yaml") if is_record(file)))


def runs_of(source: str) -> tuple[str, ...]:
    """Return the runs of a machine: split at commas, or the subfolders with reports; else *source* itself."""
    parts = source.split(",")
    if len(parts) > 1 and not is_there(Path(source)) and any(is_there(Path(part)) for part in parts):
        return tuple(run for part in parts for run in runs_of(part))
    path = Path(source)
    if not source or is_there(report_file(path)):
        return (source,)
    return tuple(str(file.parent) for file in reports_below(path, deep=False)) or (source,)


def machines_in(text: str, database: Database) -> Iterator[tuple[str, tuple[Source, ...]]]:
    """Yield the machines that *text* selects, with their names and runs: each record of a folder is a machine.

    Raises:
        InputError: it is neither a file or folder, nor the name of a device.
    """
    path = Path(text)
    if text and (records := records_of(path)):
        yield from ((short_name(record), (record,)) for record in records)
        return
    runs = runs_of(text)
    found = tuple(Path(run) if run and is_there(Path(run)) else device_named(run, database) for run in runs)
    yield short_name(path if is_there(path) else Path(runs[0])), found


def by_name(machines: Iterable[tuple[str, tuple[Source, ...]]]) -> dict[str, tuple[Source, ...]]:
    """Return the runs of machines by name, repeated ones as ``a``, ``a (2)``; an InputError if a run is given twice."""
    taken = Counter[str]()
    found = {}
    for name, runs in machines:
        taken[name] += 1
        found[name if taken[name] == 1 else f"{name} ({taken[name]})"] = runs
    refuse_repeated(run for runs in found.values() for run in runs)
    return found


def refuse_repeated(sources: Iterable[Source]) -> None:
    """Raise InputError if two of *sources* are one device or file, also through a symbolic link."""
    first: dict[Path | str, str] = {}
    for source in sources:
        if isinstance(source, Report):
            continue
        same = real_path(report_file(source)) if isinstance(source, Path) else source.id
        text = str(source) if isinstance(source, Path) else source.id
        if same in first:
            also = f", also as {first[same]}" if first[same] != text else ""
            raise InputError(f"{text}: is given twice{also}; give each report and device once")
        first[same] = text


def compare_sources(
    machines: Iterable[tuple[str, tuple[Source, ...]]],
    database: Database,
    workloads: Sequence[Workload],
    only: Collection[str],
    baseline: str | None,
    minimum_effect: float,
    in_order: Callable[[Open, list[tuple[Source, ...]]], Iterable[tuple[Run, ...]]] = map,
) -> Comparison:
    """Compare machines with names and runs.

    Args:
        machines: in the order of the comparison.
        database: the current one.
        workloads: to predict for a device.
        only: names of the workloads to keep; empty for all.
        baseline: one of their names, in any case, or its file or id; the first for ``None``.
        minimum_effect: relative difference below which none is significant.
        in_order: does work on each of several items, as ``map``.

    Raises:
        InputError: a run is given twice, a file is invalid, or :func:`compare` refuses the machines.
    """
    runs = by_name(machines)
    work = partial(_opened, database=database, workloads=workloads, only=only, few=len(runs) <= FEW)
    opened = dict(zip(runs, in_order(work, list(runs.values())), strict=True))
    sources = {name: _source_text(own) for name, own in runs.items()}
    if baseline and baseline not in runs:
        name = short_name(Path(baseline)).casefold()
        baseline = next((each for each in runs if each.casefold() == name), baseline)
    return compare(opened, baseline, sources, minimum_effect)


def _opened(
    runs: Iterable[Source], database: Database, workloads: Sequence[Workload], only: Collection[str], *, few: bool
) -> tuple[Run, ...]:
    """Open the runs of a machine; each is reduced to the data of a comparison before the next is opened."""
    found = (
        predicted(run, workloads)
        if isinstance(run, Device)
        else (open_report(run, database) if isinstance(run, Path) else run, ())
        for run in runs
    )
    return tuple(excerpt(report, only, forecast, few=few) for report, forecast in found)


def _source_text(runs: Iterable[Source]) -> str:
    """Return the files and ids of *runs*, without the folders of this machine."""
    texts = (run.device.id if isinstance(run, Report) else run.id if isinstance(run, Device) else run for run in runs)
    return ",".join("/".join(Path(text).parts[-2:]) if Path(text).is_absolute() else str(text) for text in texts)


def device_named(source: str, database: Database) -> Device:
    """Return the device with this name, which is no file; an InputError if there is no such device."""
    try:
        return database.resolve(source)
    except InputError as error:
        first = source.partition(",")[0]
        if Path(first).suffix in (".json", ".yaml", PACKED):
            raise InputError(f"{first}: there is no such file; give a report, a record or a device") from None
        raise InputError(f"{source or repr(source)}: there is no such file or folder, and {error}") from None


def predicted(
    device: Device, workloads: Sequence[Workload], *, quick: bool = False, progress: Progress = lambda *_: None
) -> tuple[Report, tuple[Predicted, ...]]:
    """Return the report of the specification predictions for *device*, and whole predictions; *quick*: shorter sweeps.

    The report has no machine, measurements and findings. A kernel of the user may take minutes.
    """
    limits, known = limits_of(device, quick=quick), ModelInput(device)
    planned = [(workload, workload.sweeps(device, limits)) for workload in workloads]
    found: list[Predicted] = []
    for number, (workload, sweeps) in enumerate(planned):
        points = counted(sum(len(sweep.points) for sweep in sweeps), "point")
        progress(f"predicting {workload.name}", points, number / len(planned))
        found += predict_sweeps(device, workload, sweeps)
    report = Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=device.id, how="selected on the command line."),
        machine=None,
        settings=RunSettings(quick=quick),
        workloads={workload.name: workload_info(workload) for workload in workloads},
        predictions=tuple(each.prediction for each in found),
        advice=tuple(each for workload, sweeps in planned for each in advice(workload, known, sweeps)),
        accesses=tuple(each for workload, sweeps in planned for each in source_accesses(workload, known, sweeps)),
    )
    return report, tuple(found)


def open_report(path: Path, database: Database) -> Report:
    """Read a ``report.json``, its folder, or a published record, which is then predicted and explained.

    Raises:
        InputError: the file is missing or invalid, its device is not in the database, or its run measured nothing.
    """
    if not is_record(path):
        return measured_report(path)
    from gpureport.results.published import load, published_report

    return published_report(load(path, database))


def measured_report(path: Path) -> Report:
    """Read a ``report.json``, or a folder's; an InputError if it is missing or invalid, or its run measured nothing."""
    report = load_report(path)
    if report.status == "failed":
        raise InputError(f"{path}: its run failed and measured nothing; run gpureport again")
    return report


def kept_results() -> tuple[Path, ...]:
    """Return the project's reports (compressed; others are of this machine) and its published results, if installed."""
    try:
        folder = data_dir("reports")
    except FileNotFoundError:
        return ()
    return (*sorted(folder.glob(f"*/{FILE_NAME}{PACKED}")), folder / "published")
