"""Compare the best kernels with the copy rate of the device; run by ``scripts/benchmark``.

Every row is verified, then timed alternately with a copy of the same working set.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from benchmark_rows import ROWS, Row
from benchmark_timing import Outcome, Run, measured
from gpureport.cli.console import ProgressBar, note, print_text
from gpureport.cli.options import separated
from gpureport.cli.tables import Row as Cells
from gpureport.cli.tables import print_table
from gpureport.errors import GpuReportError, InputError
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.limits import SweepSettings, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.presence import choose_working
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.text import sentence
from gpureport.units import format_time, format_value, parse

BUDGET_S = {"gpu": 3.0, "accelerator": 3.0, "cpu": 6.0}
"""Time limit of a row, in seconds."""
NEAR = 0.98
"""Required share of a published rate."""
COLUMNS = ("kernel", "size", "time of a dispatch", "rate", "of its copy", "of the best copy", "target", "reached")


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
        run = Run(OpenCLBackend(candidate), match.device, settings, bar, size)
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
