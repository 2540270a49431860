"""The Python interface (``import gpureport``): functions, reports and comparisons as frames, kernels of your own.

Columns of frames are the fields of the records (:mod:`gpureport.records`, :mod:`gpureport.compare.records`), in SI base
units. Every frame of a report has the columns ``family``, ``variant`` and ``sweep``, by which frames can be joined.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self
from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel

from gpureport.compare import MINIMUM_EFFECT
from gpureport.compare import records as compared
from gpureport.data import own_device_dirs
from gpureport.errors import InputError
from gpureport.fleet.store import Table, opened
from gpureport.kernel_files import calibrating, described, load_kernels
from gpureport.records.columns import Curve
from gpureport.records.curves import CurveFeature, Level, Metric, SweepKey
from gpureport.records.finding import Finding, Verdict
from gpureport.records.report import Report, RunSettings
from gpureport.results.opening import Source, compare_sources, machines_in, open_report, predicted
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from gpureport.text import quoted, shorten
from gpureport.workloads import select

Row = dict[str, object]

_KEY = ("family", "variant", "sweep")
_PLACE = ("feature", "position", "level")
_POINT = ("point", "x", "working_set_bytes", "work_items", "unit")
_PREDICTED = ("specification", "specification_low", "specification_high", "calibrated", "level", "bottleneck")
_OBSERVED = ("observed", "ci_low", "ci_high")
_SAMPLE = ("point", "taken_at_s", "time_s")
_STANDING = ("family", "variant", "regime", "unit", "machine", "point", "value", "ci_low", "ci_high", "predicted_peak")
_ENDS = ("", "_low", "_high")
_SPEED = tuple(f"speed{end}" for end in _ENDS)
_RATIOS = ("speed", "efficiency")


@dataclass(frozen=True)
class ReportFrames:
    """A measured, published or predicted report as frames; ``report`` is complete, as records."""

    report: Report

    @property
    def device(self) -> str:
        """The device's name."""
        return self.report.device.name

    @cached_property
    def findings(self) -> pd.DataFrame:
        """Predicted and observed values: a row for each position of each feature and each prediction (``basis``)."""
        return _table(
            map(_flat, self.report.findings), (*_KEY, *_PLACE, "basis", "predicted", "observed", *Finding.model_fields)
        )

    @cached_property
    def points(self) -> pd.DataFrame:
        """Curves: a row for each point, with predicted and observed values in the row's ``unit``.

        ``specification`` has the 95 % interval of the prediction, ``observed`` that of the median.
        """
        rows = (row for curve in self.report.curves for row in _points(curve))
        return _table(rows, (*_KEY, *_POINT, *_PREDICTED, *_OBSERVED))

    @cached_property
    def features(self) -> pd.DataFrame:
        """Cliffs, tapers and rates of each curve; ``kind``: ``specification``, ``calibrated`` or ``observed``."""
        rows = (
            {**dict(curve.key), "kind": kind, **_flat(f)}
            for curve in self.report.curves
            for kind, record in curve.values.items()
            for f in record.features
        )
        return _table(rows, (*_KEY, "kind", *_PLACE, "value", *CurveFeature.model_fields))

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Every raw sample: seconds of one dispatch, and the time within its sweep."""
        rows = (
            {**dict(measurement.key), "point": p.point.label, "taken_at_s": taken_at_s, "time_s": time_s}
            for measurement in self.report.measurements
            for p in measurement.points
            for taken_at_s, time_s in zip(p.taken_at_s or (None,) * len(p.samples_s), p.samples_s, strict=True)
        )
        return _table(rows, (*_KEY, *_SAMPLE))


@dataclass(frozen=True)
class ComparisonFrames:
    """A comparison of machines as frames; ``comparison`` is complete, as records."""

    comparison: compared.Comparison

    @cached_property
    def machines(self) -> pd.DataFrame:
        """A row for each machine."""
        return _table(map(_flat, self.comparison.machines), compared.Machine.model_fields)

    @cached_property
    def conditions(self) -> pd.DataFrame:
        """Differences between the machines other than the device."""
        return _table(map(_flat, self.comparison.conditions), compared.Condition.model_fields)

    @cached_property
    def standings(self) -> pd.DataFrame:
        """Speeds: a row for each workload, regime and machine.

        ``speed`` is relative to the baseline, ``efficiency`` to the machine's own predicted peak. Each has a 95 %
        interval if known.
        """
        rows = (
            {**_flat(each), "unit": _unit(each.metric), **_flat(standing)}
            for each in self.comparison.contests
            for standing in each.standings
        )
        return _table(rows, (*_STANDING, *(f"{name}{end}" for name in _RATIOS for end in _ENDS)))

    @cached_property
    def landmarks(self) -> pd.DataFrame:
        """Cliffs and tapers of all machines, predicted and observed."""
        return _table(map(_flat, self.comparison.landmarks), ("machine", *_KEY, *compared.Landmark.model_fields))

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Sweeps of machines with the baseline's device, and whether they differ significantly."""
        rows = (
            {**_flat(each), **dict(zip(_KEY, each.sweep.split("/"), strict=True))}
            for each in self.comparison.differences
        )
        return _table(rows, ("machine", *_KEY, "points", *_SPEED, "p_value", "significant"))


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
    named = ((name or own, runs) for name, machine in given for own, runs in _machines(machine, database))
    chosen = select(_several(workloads))
    only = {workload.name for workload in chosen} if workloads else set[str]()
    return ComparisonFrames(compare_sources(named, database, chosen, only, baseline, minimum_effect))


def fleet(folder: str | Path | None = None, table: Table = "key_figures") -> pd.DataFrame:
    """Return a table of a store of runs; each row has the columns of its run, such as ``node``.

    Args:
        folder: of the store; by default that of the environment variable ``GPUREPORT_STORE``.
        table: ``key_figures``, ``runs`` or ``points``, see ``tables/store.yaml``.

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


class Kernel:
    """A kernel of your own: OpenCL C, and what its source does not determine."""

    def __init__(
        self, source: str | Path = "", *, arrays: Mapping[str, NDArray[np.generic]] | None = None, **fields: object
    ) -> None:
        """Describe a kernel.

        Args:
            source: OpenCL C file, relative to the working directory.
            arrays: initial contents of buffers by name; buffers of other sizes repeat or shorten them.
            fields: those of a YAML description, such as ``kernel``, ``sizes`` and ``global_size``.

        Raises:
            InputError: a field is wrong.
        """
        given = {**({"source": str(source)} if source else {}), **fields}
        self._workload = described(given, Path(), arrays)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a YAML description.

        Raises:
            InputError: it is missing or invalid.
        """
        kernel = cls.__new__(cls)
        (kernel._workload,) = load_kernels([Path(path)])
        return kernel

    def predict(self, device: str, *, quick: bool = False) -> ReportFrames:
        """Predict the kernel on a device of the database.

        Raises:
            InputError: the device is unknown.
        """
        return ReportFrames(predicted(known_device(device), [self._workload], quick=quick)[0])

    def measure(self, device: str = "auto", *, quick: bool = False, seed: int = 0) -> ReportFrames:
        """Verify and measure the kernel on a present device, after the microbenchmarks that calibrate its prediction.

        The kernel's code runs on the device.

        Raises:
            InputError: there is no such device, or the kernel does not build, or gives wrong results.
        """
        from gpureport.measure.backends.sensors import free_memory_bytes
        from gpureport.measure.limits import SweepSettings, run_limits
        from gpureport.measure.measurer import checked
        from gpureport.measure.presence import choose_working
        from gpureport.report.run.conditions import affected
        from gpureport.run.earlier import keep_measurements, kept_measurements
        from gpureport.run.pipeline import Plan, run

        with choose_working(device) as measurer:
            limits = run_limits(measurer.device, free_memory_bytes(measurer.device), quick=quick)
            match = own_database().match(measurer.device)
            fitting, _ = checked(measurer, [self._workload], match.device, limits, _silent)
            requested = RunSettings(quick=quick, seed=seed)
            workloads = (*select(calibrating(fitting)), *fitting)
            plan = Plan(
                match=match,
                workloads=workloads,
                settings=SweepSettings(limits, seed=seed),
                requested=requested,
                kept=kept_measurements(measurer.device, match.device, requested, workloads),
            )
            report = run(plan, measurer, lambda _: None, _silent)
            keep_measurements(report, workloads, [each.name for each in affected(report)])
            return ReportFrames(report)


def _silent(what: str, step: str, done: float) -> None:
    """Show no progress."""


def _table(rows: Iterable[Row], columns: Iterable[str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[name for name in dict.fromkeys(columns) if name != "key"])


def _flat(record: BaseModel) -> Row:
    """Return a record's fields: keys and ratios in several columns, levels and verdicts as text."""
    row: Row = {}
    for field, value in record:
        if isinstance(value, SweepKey):
            row |= dict(value)
        elif isinstance(value, compared.RatioEstimate):
            ends = (value.value, value.ci_low, value.ci_high)
            name = "speed" if field == "to_baseline" else field
            row |= dict(zip((f"{name}{end}" for end in _ENDS), ends, strict=True))
        else:
            row[field] = str(value) if isinstance(value, Level | Verdict) else value
    return row


def _unit(metric: Metric) -> str:
    return f"{metric.unit}/s" if metric.kind == "rate" else f"s/{metric.unit}"


def _points(curve: Curve) -> Iterator[Row]:
    """Yield the points, with what all records have of each; what several have is that of the first."""
    rows: dict[str, Row] = {}
    for name, record in curve.values.items():
        for each in record.points:
            values = dict(zip((f"{name}{end}" for end in _ENDS), (each.value, *each.interval), strict=True))
            rows[each.point.label] = {**_flat(each), **dict(each.point), **values, **rows.get(each.point.label, {})}
    for label, row in rows.items():
        yield {**row, **dict(curve.key), "point": label, "unit": _unit(curve.metric)}
