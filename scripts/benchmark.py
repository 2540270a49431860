"""Compare the best kernels with the copy rate of the device; run by ``scripts/benchmark``.

Every row is verified, then timed alternately with a copy of the same working set.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from benchmark_rows import ROWS, Row
from benchmark_table import COLUMNS, best_copy, table
from benchmark_timing import Run, measured
from gpureport.cli.console import ProgressBar, note, print_text
from gpureport.cli.options import separated
from gpureport.cli.tables import print_table
from gpureport.errors import GpuReportError, InputError
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.limits import SweepSettings, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.presence import choose_working
from gpureport.spec.database import load_database
from gpureport.text import sentence
from gpureport.units import format_value, parse

BUDGET_S = {"gpu": 3.0, "accelerator": 3.0, "cpu": 6.0}
"""Time limit of a row, in seconds."""


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
    choice = choose_working(device)
    with choice.measurer:
        candidate = choice.candidate  # opened again in this process, which times the rows
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
