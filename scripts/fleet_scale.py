"""How the commands of ``gpureport fleet`` grow with the number of runs.

Run as ``python scripts/fleet_scale.py FOLDER --report QUICK_REPORT [--runs 100 --runs 1000 --runs 10000]``. The folder
receives the stores. Runs are drawn from kept reports: the points of a quick run, with the variation that
``fleet_faults.py`` uses. A run has one of RUNS / 10 nodes, and one of ten days. One node is 5 % slower. The published
machines with CPUs are added to the largest store. Then copies of QUICK_REPORT are added to a copy of each store.
"""

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fleet_faults import DATA, drawn, load_noise
from gpureport.cli.tables import print_table
from gpureport.data import data_dir
from gpureport.fleet.reading import read_run
from gpureport.fleet.schema import VERSION, Row, StoredRun
from gpureport.fleet.store import Store
from gpureport.inputs import json_bytes
from gpureport.spec.database import load_database
from gpureport.validate.residuals import Residual
from gpureport.validate.tables import CLOUD, cpu_residuals

KEPT = ("nvidia-h200", "nvidia-h100")
QUERY = (
    "SELECT node, median(measured) AS median FROM key_figures WHERE name = 'Memory read' GROUP BY node ORDER BY median"
)
RUNS_OF_A_NODE = 10
ADDED = 500
"""Reports whose addition to each store is timed."""
_MEASURED = ("measured", "measured_low", "measured_high")


@dataclass(frozen=True)
class Cost:
    """What a command took: elapsed and CPU time in seconds, and the most memory of a process in bytes."""

    wall_s: float
    cpu_s: float
    memory_bytes: float


def synthetic(count: int, seed: int = 0) -> Iterator[StoredRun]:
    """Yield *count* runs of count / 10 nodes, with the variation of real runs; the last node is 5 % slower."""
    rng = np.random.default_rng(seed)
    noise, nodes = load_noise(DATA), max(count // RUNS_OF_A_NODE, 3)
    of_node = drawn(noise, nodes, rng)
    of_node[-1] -= np.log1p(0.05)
    kept = [read_run(data_dir("reports") / name, name) for name in KEPT]
    index = {key: number for number, key in enumerate(zip(noise.sweep, noise.labels, strict=True))}
    for number in range(count):
        node = number % nodes
        log_speed = of_node[node] + drawn(noise, 1, rng)[0]
        yield _drawn(kept[node % 2], f"node{node:04d}", number // nodes, log_speed, index)


def _drawn(kept: StoredRun, node: str, day: int, log_speed: np.ndarray, index: dict[tuple[str, str], int]) -> StoredRun:
    """Return a run with the points of a quick run, changed by *log_speed*."""
    run = hashlib.sha256(f"{node} {day}".encode()).hexdigest()[:32]
    points = []
    for row in kept.rows["points"]:
        number = index.get((f"{row['family']}/{row['variant']}/{row['sweep']}", str(row["point"])))
        if number is not None:
            points.append(_changed(row, run, float(log_speed[number])))
    (first,) = kept.rows["runs"]
    created = first["created_at"] + timedelta(days=day)
    return StoredRun(
        run,
        {
            "runs": ({**first, "run": run, "node": node, "created_at": created, "quick": True},),
            "key_figures": tuple(
                _changed(row, run, float(log_speed[17 * number % len(log_speed)]))
                for number, row in enumerate(kept.rows["key_figures"])
            ),
            "features": tuple({**row, "run": run} for row in kept.rows["features"][:116]),
            "points": tuple(points),
        },
    )


def published_cpus() -> Iterator[StoredRun]:
    """Yield the published machines with CPUs as runs; machines with one type of core are peers."""
    machine: list[Residual] = []
    for residual in cpu_residuals(data_dir("reports") / "published" / "cpus", load_database()):
        if machine and residual.curve.conditions != machine[0].curve.conditions:
            yield _cpu(machine)
            machine = []
        if residual.curve.device_class == CLOUD:
            machine.append(residual)
    if machine:
        yield _cpu(machine)


def _cpu(residuals: list[Residual]) -> StoredRun:
    text = " ".join(f"{r.curve.conditions} {r.label} {r.observed!r}" for r in residuals)
    run = hashlib.sha256(text.encode()).hexdigest()[:32]
    name = residuals[0].curve.conditions
    own: Row = {
        "run": run,
        "node": name,
        "device": residuals[0].curve.architecture,
        "model": residuals[0].curve.device,
        "compute_units": 1,
        "quick": False,
        "created_at": datetime(2025, 1, 1),
        "schema": VERSION,
    }
    return StoredRun(run, {"runs": (own,), "points": tuple(_cpu_point(run, residual) for residual in residuals)})


def _cpu_point(run: str, residual: Residual) -> Row:
    low, high = residual.expected or (residual.predicted, residual.predicted)
    return {
        "run": run,
        **dict(residual.curve.key),
        "point": residual.label,
        "unit": residual.unit,
        "layer": "memory",
        "predicted": residual.predicted,
        "predicted_low": low,
        "predicted_high": high,
        "measured": residual.observed,
    }


def _changed(row: Row, run: str, log_speed: float) -> Row:
    factor = np.exp(-log_speed if row["unit"] == "s" else log_speed)
    return {**row, "run": run, **{name: row[name] * factor for name in _MEASURED if row.get(name)}}


def command(*arguments: str) -> Cost:
    """Run ``gpureport fleet`` and return what it took, with the processes that it started."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    code = "import sys, resource; from gpureport.cli import run; import atexit; "
    code += "atexit.register(lambda: print('MEMORY', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)); run()"
    made = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, "fleet", *arguments], check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - start, cpu, 1024 * float(made.stdout.rpartition("MEMORY ")[2]))


def reports(folder: Path, report: Path, count: int) -> Path:
    """Write *count* reports that differ in their start, as a folder for ``fleet add``."""
    text = json_bytes(report).decode()
    start = json.loads(text)["created_at"]
    for number in range(count):
        file = folder / f"node{number:03d}" / "report.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace(start, f"2026-11-01T{number // 60:02d}:{number % 60:02d}:00+00:00"))
    return folder


def main(
    folder: Annotated[Path, typer.Argument(help="For stores and reports; 4 GB.")],
    report: Annotated[Path, typer.Option(help="Quick report, copies of which are added.")],
    runs: Annotated[list[int] | None, typer.Option(help="Number of runs; repeatable.")] = None,
) -> None:
    """Print the table of growth."""
    rows = []
    counts = runs or [100, 1000, 10_000]
    source = reports(folder / "reports", report, ADDED)
    for count in counts:
        store, grown = folder / f"store-{count}", folder / f"grown-{count}"
        cpus = published_cpus() if count == max(counts) else ()
        for run in chain(synthetic(count), cpus) if not store.exists() else ():
            Store(store).add(run)
        shutil.rmtree(grown, ignore_errors=True)
        shutil.copytree(store, grown)
        added = command("add", "--store", str(grown), str(source))
        query = command("query", "--store", str(store), QUERY)
        listed = command("list", "--store", str(store))
        made = command("report", "--store", str(store), "-o", str(folder / f"report-{count}"), "--force")
        size = sum(file.stat().st_size for file in store.rglob("*.parquet")) / 1e6
        memory = max(each.memory_bytes for each in (added, query, listed, made)) / 1e9
        times = (f"{each.wall_s:.2f} ({each.cpu_s:.2f})" for each in (query, listed, made))
        rows.append((f"{count}", f"{ADDED / added.wall_s:.0f}", *times, f"{memory:.2f}", f"{size:.0f}"))
    columns = ("runs", "additions/s", "query, s (CPU)", "list, s (CPU)", "report, s (CPU)", "memory, GB", "store, MB")
    print_table("Growth", columns, rows, right=range(len(columns)))


if __name__ == "__main__":
    typer.run(main)
