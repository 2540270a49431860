"""The functions of ``import gpureport``: predict a device, load a report, compare machines."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from warnings import warn

import pandas as pd

from gpureport.compare import FEW, MINIMUM_EFFECT
from gpureport.compare import compare as compare_runs
from gpureport.data import own_device_dirs
from gpureport.errors import InputError
from gpureport.fleet.schema import Table
from gpureport.fleet.store import opened
from gpureport.notebook.frames import ComparisonFrames, ReportFrames
from gpureport.results.opening import (
    Source,
    by_name,
    machines_in,
    matching_name,
    open_machine,
    open_report,
    predicted,
    source_text,
)
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from gpureport.text import quoted, shorten
from gpureport.workloads import select

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
    return ReportFrames(open_report(Path(path), own_database()))


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
    database = own_database()
    given = machines.items() if isinstance(machines, Mapping) else ((None, machine) for machine in machines)
    named = by_name((name or own, runs) for name, machine in given for own, runs in _machines(machine, database))
    chosen, few = select(_several(workloads)), len(named) <= FEW
    only = {workload.name for workload in chosen} if workloads else set[str]()
    opened = {name: open_machine(runs, database, chosen, only, few=few) for name, runs in named.items()}
    sources = {name: source_text(runs) for name, runs in named.items()}
    return ComparisonFrames(compare_runs(opened, matching_name(baseline, opened), sources, minimum_effect))


def fleet(folder: str | Path | None = None, table: Table = "key_figures") -> pd.DataFrame:
    """Return a table of a store of runs; each row has the columns of its run, such as ``node``.

    Args:
        folder: of the store; by default that of the environment variable ``GPUREPORT_STORE``.
        table: ``key_figures``, ``runs``, ``features`` or ``points``, see :data:`gpureport.fleet.schema.TABLES`.

    Raises:
        InputError: there is no store, or no such table.
    """
    store = opened(folder, "folder=DIR")
    found = store.table(table)
    for problem in store.left_out.values():
        warn(f"left out: {problem}", stacklevel=2)
    return found


def _several(names: str | Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _machines(machine: object, database: Database) -> list[tuple[str, tuple[Source, ...]]]:
    """Return the machines of an argument, with their names and runs; several runs in a list are one machine."""
    if isinstance(machine, str | Path):
        return list(machines_in(str(machine), database))
    if isinstance(machine, ReportFrames):
        return [(machine.device, (machine.report,))]
    if not isinstance(machine, Iterable):
        raise InputError(f"machines: {shorten(repr(machine))} is no machine; give a name, a file or a report")
    parts = [part for run in machine for part in _machines(run, database)]
    return [(parts[0][0], tuple(run for _, runs in parts for run in runs))] if parts else []


def own_database() -> Database:
    """Return the database of devices, with the user's own entries."""
    return load_database((), own_device_dirs())
