"""Compare the best kernels with the copy rate of the device; run by ``scripts/benchmark``.

Every row is verified, then timed alternately with a copy of the same working set.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Annotated

import numpy as np
import typer

from benchmark_rows import ROWS, Row
from gpureport.cli.console import ProgressBar, note, print_table, print_text
from gpureport.cli.console import Row as Cells
from gpureport.cli.shared import separated
from gpureport.errors import DeviceError, GpuReportError, InputError
from gpureport.measure import Progress
from gpureport.measure.backends.common import Backend
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.sensors import free_memory_bytes
from gpureport.measure.bench import Point
from gpureport.measure.kernels import verify
from gpureport.measure.limits import SweepSettings, run_limits
from gpureport.measure.presence import choose_working
from gpureport.measure.rounds import Rounds
from gpureport.observe.statistics import median_interval
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.text import sentence
from gpureport.units import format_time, format_value, parse
from gpureport.workloads import select
from gpureport.workloads.model import Parameters, Sweep, Workload

BUDGET_S = {"gpu": 3.0, "accelerator": 3.0, "cpu": 6.0}
"""Time limit of a row, in seconds."""
NEAR = 0.98
"""Required share of a published rate."""
COLUMNS = ("kernel", "size", "time of a dispatch", "rate", "of its copy", "of the best copy", "target", "reached")
_CPU_BEYOND = 4.0  # working sets of a CPU, as multiples of its last cache


@dataclass(frozen=True)
class Run:
    """Data of all rows of a run; *working_set* replaces their sizes."""

    backend: Backend
    device: Device
    settings: SweepSettings
    progress: Progress
    working_set: float | None = None


@dataclass(frozen=True)
class Timed:
    """A point with its samples, and the bytes or operations per unit of work."""

    point: Point
    counts: float

    @property
    def time_s(self) -> float:
        """Median time of one dispatch."""
        return median(self.point.samples_s)

    @property
    def rate(self) -> float:
        """Bytes or operations per second."""
        return self.point.key.work * self.counts / self.time_s

    @property
    def spread(self) -> float:
        """Half-width of the median's 95 % interval, relative to the median."""
        found = median_interval(np.array(self.point.samples_s))
        return ((found.high or 0.0) - (found.low or 0.0)) / 2 / self.time_s


@dataclass(frozen=True)
class Outcome:
    """The result of a row: its time and that of its copy, or the reason for having none."""

    row: Row
    reason: str = ""
    timed: Timed | None = None
    copy: Timed | None = None


def measured(run: Run, row: Row) -> Outcome:
    """Verify and time a row, alternately with a copy."""
    (workload,) = select((row.workload,))
    try:
        reason = _obstacle(run, workload)
        return Outcome(row, reason) if reason else _timed(run, row, workload)
    except DeviceError as error:
        return Outcome(row, str(error))


def _obstacle(run: Run, workload: Workload) -> str | None:
    """Return why the workload cannot be timed: a missing feature or wrong results."""
    missing = workload.missing(run.backend.device)
    if missing:
        return missing
    verification = verify(run.backend, workload, np.random.default_rng(run.settings.seed))
    return None if verification.passed else f"wrong results: {verification.message}"


def _timed(run: Run, row: Row, workload: Workload) -> Outcome:
    point = point_of(run, row, workload)
    beside = copy_of(run, point.key.working_set_bytes) if row.beside_copy else None
    points = [point, beside] if beside else [point]
    try:
        rounds = Rounds(run.backend, run.settings, partial(run.progress, "benchmark", row.label))
        rounds.measure(points, 1, np.random.default_rng(run.settings.seed))
    finally:
        run.backend.clear()
    reason = next((each.skipped for each in points if each.skipped), None)
    if reason:
        return Outcome(row, reason)
    return Outcome(row, "", Timed(point, row.counts), Timed(beside, 1) if beside else None)


def point_of(run: Run, row: Row, workload: Workload) -> Point:
    """Return the point of the row: the one nearest to its size, with its parameters."""
    sweep = _sweep(run, workload, row.sweep)
    if row.case:
        chosen = next(p for p in sweep.points if workload.point(p, sweep).label == row.case)
    elif row.size and run.device.kind != "cpu" and not run.working_set:
        chosen = {
            **_nearest(workload, sweep, _working_set(workload, sweep, {**sweep.points[-1], **row.size})),
            **row.size,
        }
    elif row.part:
        number, part = row.part
        chosen = _nearest(workload, sweep, part * run.device.caches[number].capacity_bytes)
    else:
        chosen = _nearest(workload, sweep, _beyond(run, workload, sweep))
    return Point(workload, workload.point(chosen, sweep), run.settings.seed)


def _beyond(run: Run, workload: Workload, sweep: Sweep) -> float:
    """Return a working set larger than all caches: on a GPU the largest of the sweep."""
    if run.working_set:
        return run.working_set
    if run.device.kind == "cpu" and run.device.caches:
        return _CPU_BEYOND * run.device.caches[-1].capacity_bytes
    return _working_set(workload, sweep, sweep.points[-1])


def _sweep(run: Run, workload: Workload, name: str) -> Sweep:
    """Return the sweep of this name, or the first one if the device has none of this name."""
    sweeps = {sweep.name: sweep for sweep in workload.sweeps(run.device, run.settings.limits)}
    if not sweeps:
        raise DeviceError(f"{workload.name} has no sweep on {run.device.name}")
    return sweeps.get(name, next(iter(sweeps.values())))


def _working_set(workload: Workload, sweep: Sweep, parameters: Parameters) -> float:
    return workload.point(parameters, sweep).working_set_bytes


def _nearest(workload: Workload, sweep: Sweep, nbytes: float) -> Parameters:
    return min(sweep.points, key=lambda p: abs(np.log(_working_set(workload, sweep, p) / nbytes)))


def copy_of(run: Run, nbytes: float) -> Point:
    """Return a copy of this working set, in whole work-groups."""
    (copy,) = select(("memory/copy",))
    sweep = _sweep(run, copy, "working_set")
    chosen = _nearest(copy, sweep, nbytes)
    step = chosen["local"] * chosen["per_item"]
    vectors = max(1, round(chosen["vectors"] * nbytes / _working_set(copy, sweep, chosen) / step)) * step
    return Point(copy, copy.point({**chosen, "vectors": vectors}, sweep), run.settings.seed)


def _chosen(names: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows whose label or workload contains one of *names*; without names all.

    Raises:
        InputError: no row does.
    """
    found = tuple(r for r in ROWS if not names or any(name in f"{r.label} {r.workload}" for name in names))
    if not found:
        known = ", ".join(dict.fromkeys(row.workload for row in ROWS))
        raise InputError(f"--row: no row contains {', '.join(names)}; the workloads are {known}")
    return found


def table(outcomes: Sequence[Outcome], device: Device) -> Iterator[Cells]:
    """Yield the rows of the table."""
    best = best_copy(outcomes)
    for outcome in outcomes:
        timed, copy = outcome.timed, outcome.copy
        if timed is None:
            yield (outcome.row.label, "", "", "", "", "", "", "not timed")
            continue
        needed, met = verdict(outcome, outcomes, device)
        yield (
            outcome.row.label,
            timed.point.key.label,
            f"{format_time(timed.time_s)} ± {timed.spread:.1%}",
            format_value(timed.rate, outcome.row.unit),
            f"{timed.rate / copy.rate:.1%}" if copy else "",
            f"{timed.rate / best:.1%}" if copy and best else "",
            needed,
            {True: "yes", False: "NO", None: ""}[met],
        )


def best_copy(outcomes: Sequence[Outcome]) -> float:
    """Return the best copy rate of the run, in bytes/s; 0 without a copy."""
    return max((outcome.copy.rate for outcome in outcomes if outcome.copy), default=0.0)


def verdict(outcome: Outcome, outcomes: Sequence[Outcome], device: Device) -> tuple[str, bool | None]:
    """Return the target of a row, and whether it is reached; ``None`` without a target."""
    row, timed, copy = outcome.row, outcome.timed, outcome.copy
    if timed is None:
        return "", None
    if row.best_of and timed.rate < max(o.timed.rate for o in outcomes if o.timed and o.row.best_of == row.best_of):
        return f"(the best of {row.best_of})", None
    if copy and device.kind in row.shares:
        share = row.shares[device.kind]
        return f"≥ {share:.0%} of the best copy", timed.rate >= share * best_copy(outcomes)
    if device.id in row.published:
        published = row.published[device.id]
        return f"≥ {NEAR:.0%} of {format_value(published, row.unit)}", timed.rate >= NEAR * published
    return "", None


def main(
    device: Annotated[str, typer.Option("--device", "-d", help="As for gpureport.")] = "auto",
    row: Annotated[list[str] | None, typer.Option("--row", "-r", help="Part of a row's name; repeatable.")] = None,
    budget: Annotated[float | None, typer.Option("--budget", help="Seconds for each row.")] = None,
    working_set: Annotated[
        str | None, typer.Option("--working-set", help="Working set of all rows, e.g. 64 MiB.")
    ] = None,
) -> None:
    """Compare the best kernels with the copy rate of the device and with published rates."""
    rows = _chosen(separated(row or ()))
    with choose_working(device) as measurer:
        candidate = measurer.candidate  # opened again in this process, which times the rows
    present = candidate.device
    match = load_database().match(present)
    limits = run_limits(present, free_memory_bytes(present), quick=False)
    settings = SweepSettings(limits, budget_s=budget or BUDGET_S[present.kind])
    size = parse(working_set, "bytes") if working_set else None
    note(f"Device: {match.device.name} ({present.runtime})")
    with ProgressBar("benchmark") as bar:
        os.environ.update(candidate.runtime.environment())
        run = Run(OpenCLBackend(candidate), match.device, settings, bar.advance, size)
        outcomes = [measured(run, each) for each in rows]
    print_table("Speed", COLUMNS, table(outcomes, match.device), right=(2, 3, 4, 5))
    for outcome in outcomes:
        if outcome.reason:
            print_text(f"Not timed: {outcome.row.label}: {sentence(outcome.reason)}")
    if best := best_copy(outcomes):
        print_text(f"Best copy of the run: {format_value(best, 'B/s')}, reads plus writes. Shares are relative to it.")


if __name__ == "__main__":
    try:
        typer.run(main)
    except GpuReportError as error:
        sys.stderr.write(f"benchmark: {error}\n")
        sys.exit(error.exit_code)
