"""Open a measured report, a published record or a predicted device as a report."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport import __version__
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.inputs import PACKED, is_there
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
from gpureport.spec.models import EntryMatch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gpureport.compare import Run
    from gpureport.compare.contrast import Forecast
    from gpureport.spec.models import Device
    from gpureport.workloads.model import Workload


def is_record(path: Path) -> bool:
    """Return whether *path* is treated as a published record instead of a report."""
    return path.suffix == ".yaml" and not path.is_dir()


def short_name(path: Path) -> str:
    """Return a distinctive name: the stem of the file; of a folder, or of its ``report.json``, the folder's name."""
    if path.is_dir():
        return real_path(path).name
    stem = report_stem(path)
    return real_path(path).parent.name if f"{stem}.json" == FILE_NAME else stem


def unique_names(names: "Iterable[str]") -> list[str]:
    """Return *names* with numbers after repeated ones: ``a``, ``a (2)``."""
    taken = Counter[str]()
    found = []
    for name in names:
        taken[name] += 1
        found.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return found


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


def refuse_repeated(sources: "Iterable[str]", database: Database | None = None) -> None:
    """Raise if two of *sources* (files, folders, names of devices) are one report or record, or one device.

    Raises:
        InputError: a source is given twice, also through a symbolic link or under another name.
    """
    first: dict[Path | str, str] = {}
    for source in sources:
        same = _identity(source, database)
        if same in first:
            what = "report" if isinstance(same, Path) else "device"
            problem = "is given twice" if first[same] == source else f"is the same {what} as {first[same]}"
            raise InputError(f"{source}: {problem}; give each {what} once")
        if same:
            first[same] = source


def _identity(source: str, database: Database | None) -> Path | str:
    path = Path(source)
    if source and is_there(path):
        return real_path(report_file(path))
    if source and database:
        with suppress(InputError):
            return database.resolve(source).id
    return ""


def sources_of(machine: str) -> tuple[str, ...]:
    """Return all records of the folder *machine*, else *machine* itself."""
    return tuple(map(str, records_of(Path(machine)) if machine else ())) or (machine,)


def matching_name(text: str | None, names: "Collection[str]") -> str | None:
    """Return the one of *names* that *text* selects, in any case or by the path of its file; else *text*."""
    if not text or text in names:
        return text
    name = short_name(Path(text)) if is_there(Path(text)) else text
    return next((each for each in names if each.casefold() == name.casefold()), name)


def open_machine(
    source: str,
    database: Database,
    workloads: "Sequence[Workload]",
    only: "Collection[str]" = (),
    *,
    few: bool = True,
) -> "tuple[Run, ...]":
    """Open the runs of a machine, or a record; predict a device of the database.

    Each is reduced to the data of a comparison before the next is opened.

    Args:
        source: files or folders as in :func:`runs_of`, or a device's name.
        database: the current one.
        workloads: to predict for a device.
        only: names of the workloads to keep; empty for all.
        few: whether the comparison is of a few machines, and shows whole predictions and curves.

    Raises:
        InputError: it is neither, or invalid.
    """
    from gpureport.compare import excerpt

    def opened(run: str) -> "Run":
        if run and is_there(Path(run)):
            return excerpt(open_report(Path(run), lambda: database), only, few=few)
        return predicted_run(device_named(run, database), workloads, only, few=few)

    return tuple(map(opened, runs_of(source)))


def device_named(source: str, database: Database) -> "Device":
    """Return the device with this name, which is no file.

    Raises:
        InputError: there is no such device.
    """
    try:
        return database.resolve(source)
    except InputError as error:
        first = source.partition(",")[0]
        if Path(first).suffix in (".json", ".yaml", PACKED):
            raise InputError(f"{first}: there is no such file; give a report, a record or a device") from None
        raise InputError(f"{source or repr(source)}: there is no such file or folder, and {error}") from None


def predicted_run(
    device: "Device",
    workloads: "Sequence[Workload]",
    only: "Collection[str]" = (),
    *,
    quick: bool = False,
    few: bool = True,
) -> "Run":
    """Predict a device for a comparison; *workloads*, *only* and *few* are those of :func:`open_machine`."""
    from gpureport.compare import excerpt

    report, forecast = predicted(device, workloads, quick=quick)
    return excerpt(report, only, forecast, few=few)


def predicted(device: "Device", workloads: "Sequence[Workload]", *, quick: bool = False) -> "tuple[Report, Forecast]":
    """Return the report of the specification predictions for *device*, and whole predictions; *quick*: shorter sweeps.

    The report has no machine, measurements and findings.
    """
    from gpureport.compare.contrast import Forecast
    from gpureport.predict import limits_of, predict_sweeps
    from gpureport.predict.advice import advice, specified
    from gpureport.predict.source_accesses import source_accesses

    limits = limits_of(device, quick=quick)
    found = tuple(p for w in workloads for p in predict_sweeps(device, w, w.sweeps(device, limits)))
    report = Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=device.id, how="selected on the command line."),
        machine=None,
        settings=RunSettings(quick=quick),
        workloads={workload.name: workload_info(workload) for workload in workloads},
        predictions=tuple(each.prediction for each in found),
        advice=specified(advice, workloads, device, limits),
        accesses=specified(source_accesses, workloads, device, limits),
    )
    return report, Forecast(device, found)


def open_report(path: Path, database: "Callable[[], Database]") -> Report:
    """Read a ``report.json``, its folder, or a published record, which is then predicted and explained.

    Only a record opens the *database*.

    Raises:
        InputError: the file is missing or invalid, its device is not in the database, or its run measured nothing.
    """
    if not is_record(path):
        return measured_report(path)
    from gpureport.results.published import load, published_report

    return published_report(load(path, database()))


def measured_report(path: Path) -> Report:
    """Read a ``report.json``, or that of a folder.

    Raises:
        InputError: it is missing or invalid, or its run measured nothing.
    """
    report = load_report(path)
    if report.status == "failed":
        raise InputError(f"{path}: its run failed and measured nothing; run gpureport again")
    return report


def kept_folders() -> tuple[Path, ...]:
    """Return the folder of the project's kept reports; none in an installation without it."""
    try:
        return (data_dir("reports"),)
    except FileNotFoundError:
        return ()
