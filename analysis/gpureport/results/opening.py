"""Open what was measured on a device, by us or by others, or what is predicted of it, as a report."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.inputs import is_there
from gpureport.records.report import FILE_NAME, Report, load_report
from gpureport.results import published
from gpureport.spec.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gpureport.compare import Run
    from gpureport.compare.excerpt import Excerpt
    from gpureport.spec.models import Device
    from gpureport.workloads.model import Workload

RECORD_SUFFIX = ".yaml"


def is_record(path: Path) -> bool:
    """Return whether *path* is taken for a published record, not for a report."""
    return path.suffix == RECORD_SUFFIX and not path.is_dir()


def short_name(path: Path) -> str:
    """Return what tells a report from others: of a folder, or of a file called like every report, the folder's name."""
    if path.is_dir():
        return real_path(path).name
    return real_path(path).parent.name if path.name == FILE_NAME else path.stem


def unique_names(names: "Iterable[str]") -> list[str]:
    """Return *names* with numbers after those that were there before: ``a``, ``a (2)``."""
    taken: dict[str, int] = {}
    found = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        found.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return found


def records_of(source: Path) -> tuple[Path, ...]:
    """Return the published records of a folder that holds no report; none for anything else."""
    if not is_there(source) or not source.is_dir() or is_there(source / FILE_NAME):
        return ()
    return tuple(sorted(file for file in source.glob(f"*{RECORD_SUFFIX}") if is_record(file)))


def runs_of(source: str) -> tuple[str, ...]:
    """Return the reports of a machine: those that commas separate, of a folder of run folders each, else itself."""
    parts = source.split(",")
    if len(parts) > 1 and not is_there(Path(source)) and any(is_there(Path(part)) for part in parts):
        return tuple(run for part in parts for run in runs_of(part))
    path = Path(source)
    inside = (
        () if not source or is_there(path / FILE_NAME) else sorted(file.parent for file in path.glob(f"*/{FILE_NAME}"))
    )
    return tuple(map(str, inside)) or (source,)


def refuse_repeated(sources: "Iterable[str]", database: Database | None = None) -> None:
    """Raise if two of *sources* are one report or record, or one device of *database*.

    Args:
        sources: files, folders, or names of devices; what is none of these is passed over.
        database: knows the devices; without it names are passed over.

    Raises:
        InputError: a source is given twice, maybe through a symbolic link or in another spelling.
    """
    first: dict[Path | str, str] = {}
    for source in sources:
        same = _identity(source, database)
        if same in first:
            what = "report" if isinstance(same, Path) else "device"
            told = "is given twice" if first[same] == source else f"is the same {what} as {first[same]}"
            raise InputError(f"{source}: {told}; give each {what} once")
        if same:
            first[same] = source


def _identity(source: str, database: Database | None) -> Path | str:
    """Return the file that *source* names, or the id of its device; nothing if it names neither."""
    path = Path(source)
    if source and is_there(path):
        return real_path(path / FILE_NAME if path.is_dir() else path)
    if source and database:
        with suppress(InputError):
            return database.resolve(source).id
    return ""


def sources_of(machine: str) -> tuple[str, ...]:
    """Return what is to be opened for a machine: itself, or all records of the folder that it names."""
    return tuple(map(str, records_of(Path(machine)) if machine else ())) or (machine,)


def meant(asked: str | None, names: "Collection[str]") -> str | None:
    """Return which of *names* is asked for: in letters of any case, or by the path of its file; else what was asked."""
    if not asked or asked in names:
        return asked
    wanted = short_name(Path(asked)) if is_there(Path(asked)) else asked
    return next((name for name in names if name.casefold() == wanted.casefold()), wanted)


def open_machine(
    source: str, database: Database, workloads: "Sequence[Workload]", only: "Collection[str]" = ()
) -> "tuple[Run, ...]":
    """Open the runs of a machine, or a record; a device of the database is predicted.

    One at a time, and of each no more is kept than a comparison takes.

    Args:
        source: files or folders as in :func:`runs_of`, or a device's name.
        database: of today.
        workloads: what to predict of a device.
        only: names of the workloads to keep; none: all.

    Raises:
        InputError: it is none of these, or wrong.
    """
    from gpureport.compare import reduced

    return tuple(reduced(_open_machine(run, database, workloads), only) for run in runs_of(source))


def _open_machine(source: str, database: Database, workloads: "Sequence[Workload]") -> "Report | Excerpt":
    from gpureport.compare.excerpt import read_excerpt

    path = Path(source)
    if source and is_there(path):
        read = None if is_record(path) else read_excerpt(path)
        return read or open_report(path, lambda: database)
    try:
        device = database.resolve(source)
    except InputError as error:
        raise InputError(f"{source or repr(source)}: neither a file or folder, nor a device ({error})") from None
    return predicted_report(device, workloads)


def predicted_report(device: "Device", workloads: "Sequence[Workload]", *, quick: bool = False) -> Report:
    """Return the report of what the specification promises of *device*.

    Args:
        device: an entry of the database.
        workloads: those to predict.
        quick: shorter sweeps.
    """
    from gpureport.predict import limits_of, predict
    from gpureport.report.prediction.document import prediction_report

    limits = limits_of(device, quick=quick)
    predictions = [p for workload in workloads for p in predict(device, workload, limits)]
    return prediction_report(device, workloads, predictions, quick=quick)


def open_report(path: Path, database: "Callable[[], Database]") -> Report:
    """Read a ``report.json``, the folder of one, or a published record, which is then predicted and explained.

    Args:
        path: of the file or folder.
        database: opens that of today, of which a record names a device; a report needs none.

    Raises:
        InputError: it is missing or wrong, names a device that the database has not, or its run measured nothing.
    """
    if not is_record(path):
        return measured_report(path)
    from gpureport.results.published.report import published_report

    opened = database()
    record = open_record(path, opened)
    return published_report(record, opened.device(record.device))


def measured_report(path: Path) -> Report:
    """Read a ``report.json``, or the folder of one.

    Raises:
        InputError: it is missing or wrong, or its run measured nothing.
    """
    report = load_report(path)
    if report.status == "failed":
        raise InputError(f"{path}: its run failed and measured nothing; run gpureport again")
    return report


def open_record(path: Path, database: Database) -> published.Published:
    """Read a published record of a device of *database*.

    Raises:
        InputError: it is missing or wrong, or names a device that the database has not.
    """
    record = published.load(path)
    if record.device not in database.entries:
        raise InputError(f"{path}: device: the database has no {record.device!r}; 'gpureport devices --known' lists it")
    return record
