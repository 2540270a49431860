"""The functions of ``import gpureport``: predict a device, load a report, compare machines."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.compare import MINIMUM_EFFECT, excerpt
from gpureport.compare import Run as ReducedRun
from gpureport.compare import compare as compare_runs
from gpureport.data import own_device_dirs
from gpureport.errors import InputError
from gpureport.fleet.schema import Table
from gpureport.fleet.store import VARIABLE, Store, configured
from gpureport.notebook.frames import ComparisonFrames, ReportFrames
from gpureport.results.opening import (
    matching_name,
    open_machine,
    open_report,
    predicted_report,
    refuse_repeated,
    runs_of,
    short_name,
    sources_of,
    unique_names,
)
from gpureport.spec.database import Database, load_database
from gpureport.workloads import select
from gpureport.workloads.model import Workload

if TYPE_CHECKING:
    import pandas as pd

Run = str | Path | ReportFrames
"""A report's file or folder, a published record, a device of the database, or a report in memory."""
Machine = Run | Sequence[Run]
"""A run, or several runs of one machine."""


def predict(device: str, *, workloads: Collection[str] = (), quick: bool = False) -> ReportFrames:
    """Predict a device of the database, without OpenCL or measurements.

    Args:
        device: name or id, e.g. ``RX 7900 XT``, also of the user's own entries.
        workloads: families or ``family/variant``; empty for all.
        quick: shorter sweeps.

    Raises:
        InputError: the device or a workload is unknown.
    """
    chosen = select(_several(workloads), quick=quick)
    return ReportFrames(predicted_report(own_database().resolve(device), chosen, quick=quick))


def load_report(path: str | Path) -> ReportFrames:
    """Read a ``report.json``, its folder, or a published record, which is then predicted.

    Raises:
        InputError: it is missing or invalid.
    """
    path = Path(path)
    return ReportFrames(open_report(path, own_database))


def compare(
    machines: Iterable[Machine] | Mapping[str, Machine],
    *,
    baseline: str | None = None,
    workloads: Collection[str] = (),
    minimum_effect: float = MINIMUM_EFFECT,
) -> ComparisonFrames:
    """Compare machines.

    Args:
        machines: two or more. The keys of a mapping are their names; otherwise the names of their files or devices.
            Several runs of one machine are a list, or a folder that contains their folders.
        baseline: name of the machine that speeds are relative to; the first by default.
        workloads: families or ``family/variant``; empty for all that two machines have in common.
        minimum_effect: smallest relative difference between machines with the same device that can be significant.

    Raises:
        InputError: there are fewer than two, one is invalid or given twice, or they have nothing in common.
    """
    if isinstance(machines, str):
        raise InputError(f"machines: {machines!r} is a single name; give a list of two or more machines")
    named = dict(machines) if isinstance(machines, Mapping) else _named(_each(machines))
    chosen, database = select(_several(workloads)), own_database()
    only = {workload.name for workload in chosen} if workloads else set[str]()
    refuse_repeated((run for each in named.values() for file in _files(each) for run in runs_of(file)), database)
    runs = {name: tuple(_runs(machine, database, chosen, only)) for name, machine in named.items()}
    sources = {name: ",".join(_files(machine)) for name, machine in named.items()}
    return ComparisonFrames(compare_runs(runs, matching_name(baseline, runs), sources, minimum_effect))


def fleet(folder: str | Path | None = None, table: Table = "key_figures") -> "pd.DataFrame":
    """Return a table of a store of runs; each row has the columns of its run, such as ``node``.

    Args:
        folder: of the store; by default that of the environment variable ``GPUREPORT_STORE``.
        table: ``key_figures``, ``runs``, ``features`` or ``points``, see :data:`gpureport.fleet.schema.TABLES`.

    Raises:
        InputError: there is no store, or no such table.
    """
    store = Store(Path(folder)) if folder else configured()
    if store is None:
        raise InputError(f"folder: no store is given; give its folder, or set {VARIABLE}")
    return store.table(table)


def _several(names: str | Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _each(machines: Iterable[Machine]) -> list[Machine]:
    return [each for m in machines for each in (sources_of(str(m)) if isinstance(m, str | Path) else [m])]


def _named(machines: list[Machine]) -> dict[str, Machine]:
    return dict(zip(unique_names(map(_name, machines)), machines, strict=True))


def _name(machine: Machine) -> str:
    if isinstance(machine, ReportFrames):
        return machine.device
    if isinstance(machine, str | Path):
        return short_name(Path(machine)) if Path(machine).exists() else str(machine)
    return _name(machine[0])


def _files(machine: Machine) -> list[str]:
    if isinstance(machine, ReportFrames):
        return []
    return [str(machine)] if isinstance(machine, str | Path) else [file for run in machine for file in _files(run)]


def _runs(
    machine: Machine, database: Database, workloads: Sequence[Workload], only: Collection[str]
) -> Iterator[ReducedRun]:
    if isinstance(machine, ReportFrames):
        yield excerpt(machine.report, only)
    elif isinstance(machine, str | Path):
        yield from open_machine(str(machine), database, workloads, only)
    else:
        for run in machine:
            yield from _runs(run, database, workloads, only)


def own_database() -> Database:
    """Return the database of devices, with the user's own entries."""
    return load_database((), own_device_dirs())
