"""The functions of ``import gpureport``: predict a device, load a report, compare machines."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import warn

from gpureport.compare import FEW, MINIMUM_EFFECT, excerpt
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
    predicted,
    refuse_repeated,
    runs_of,
    short_name,
    sources_of,
    unique_names,
)
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from gpureport.text import quoted, shorten
from gpureport.workloads import select

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
    return ReportFrames(predicted(known_device(device), chosen, quick=quick)[0])


def known_device(name: object) -> Device:
    """Return the device of the database with this name or id, also of the user's own entries.

    Raises:
        InputError: there is none, or the name is no text.
    """
    if not isinstance(name, str):
        raise InputError(f"device: {quoted(repr(name))} is no text; give a name, such as 'RX 7900 XT'")
    return own_database().resolve(name)


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
    if isinstance(machines, str) or not isinstance(machines, Iterable):
        raise InputError(f"machines: {shorten(repr(machines))} is no list; give a list of two or more machines")
    if isinstance(machines, Mapping):
        named = {name: _parts(machine) for name, machine in machines.items()}
    else:
        given = [_parts(each) for m in machines for each in (sources_of(str(m)) if isinstance(m, str | Path) else [m])]
        named = dict(zip(unique_names(_name(parts[0]) for parts in given), given, strict=True))
    chosen, database = select(_several(workloads)), own_database()
    only = {workload.name for workload in chosen} if workloads else set[str]()
    files = {name: [each for each in parts if isinstance(each, str)] for name, parts in named.items()}
    refuse_repeated((run for own in files.values() for file in own for run in runs_of(file)), database)
    runs: dict[str, tuple[ReducedRun, ...]] = {}
    for name, parts in named.items():
        opened = (
            open_machine(part, database, chosen, only, few=len(named) <= FEW)
            if isinstance(part, str)
            else [excerpt(part.report, only)]
            for part in parts
        )
        runs[name] = tuple(chain.from_iterable(opened))
    sources = {name: ",".join(own) for name, own in files.items()}
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
    found = store.table(table)
    for problem in store.left_out.values():
        warn(f"left out: {problem}", stacklevel=2)
    return found


def _several(names: str | Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _parts(machine: Machine) -> list[str | ReportFrames]:
    if isinstance(machine, str | Path | ReportFrames):
        return [machine if isinstance(machine, ReportFrames) else str(machine)]
    if not isinstance(machine, Iterable):
        raise InputError(f"machines: {shorten(repr(machine))} is no machine; give a name, a file or a report")
    return [part for run in machine for part in _parts(run)]


def _name(part: str | ReportFrames) -> str:
    if isinstance(part, ReportFrames):
        return part.device
    return short_name(Path(part)) if Path(part).exists() else part


def own_database() -> Database:
    """Return the database of devices, with the user's own entries."""
    return load_database((), own_device_dirs())
