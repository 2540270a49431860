"""False alarms and detections of ``gpureport compare`` for runs of one device.

Run as ``python scripts/run_variation.py FOLDER [--slower 5] [--runs 1] [--synthetic 0]``. The folder contains reports
of one device, as files or in run folders. All pairs are compared, first unchanged, then with the samples of one run
scaled. ``--synthetic N`` compares N runs that combine random sweeps of real ones. Exit code 1 if a target is missed.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from gpureport.cli.console import print_text
from gpureport.compare import Run, excerpt
from gpureport.compare.differences import MINIMUM_EFFECT, differences
from gpureport.errors import InputError
from gpureport.observe.significance import FALSE_DISCOVERIES
from gpureport.records.curves import Points
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.report import FILE_NAME, Report, load_report, reports_below

DETECTED = 0.95
"""Required share of slowed runs with a significantly slower sweep."""
ENOUGH_PAIRS = 45
"""Number of pairs that is enough to check FALSE_DISCOVERIES."""
MOST_LISTED = 10

Machine = tuple[Report, ...]


def reports_in(folder: Path) -> tuple[Report, ...]:
    """Open the reports of a folder.

    Raises:
        InputError: there are none, or they belong to several devices.
    """
    files = sorted((*folder.glob("*.json"), *folder.glob("*.json.xz"))) or reports_below(folder, deep=False)
    reports = tuple(map(load_report, files))
    if len({(report.match.entry, report.device.name) for report in reports}) != 1:
        raise InputError(f"{folder}: contains no reports (*.json or */{FILE_NAME}), or reports of several devices")
    return reports


def slower(report: Report, percent: float) -> Report:
    """Return a report with all samples *percent* longer."""
    return _with_times(report, [_scaled(m, 1 + percent / 100) for m in report.measurements])


def synthetic(reports: Sequence[Report], rng: np.random.Generator) -> Report:
    """Return a run that takes each sweep from a random one of *reports*, with resampled samples.

    Deviations of a sweep from the mean of the reports are scaled so that the variance between synthetic runs equals
    that between real ones.
    """
    by_name = [{str(m.key): m for m in report.measurements} for report in reports]
    names = [name for name in by_name[0] if all(name in run for run in by_name)]
    drawn = [_drawn([run[name] for run in by_name], rng) for name in names]
    return _with_times(reports[0], drawn)


def _drawn(runs: Sequence[Measurement], rng: np.random.Generator) -> Measurement:
    chosen, curves = int(rng.integers(len(runs))), _curves(runs)
    stretch = np.sqrt(len(runs) / (len(runs) - 1)) - 1 if len(runs) > 1 else 0.0
    factor = float(np.exp(stretch * np.median(curves.iloc[chosen] - curves.mean()))) if curves.size else 1.0
    points = tuple(
        p.model_copy(update={"samples_s": tuple(rng.choice(p.samples_s, len(p.samples_s)))}) if p.samples_s else p
        for p in runs[chosen].points
    )
    return _scaled(runs[chosen].model_copy(update={"points": Points(points)}), factor)


def _curves(runs: Sequence[Measurement]) -> pd.DataFrame:
    """Return ln(median time): a row for each run, a column for each point that all runs have."""
    times = [{p.point.label: np.log(np.median(p.samples_s)) for p in m.points if p.samples_s} for m in runs]
    return pd.DataFrame(times).dropna(axis="columns")


def _scaled(measurement: Measurement, factor: float) -> Measurement:
    def scaled(point: MeasuredPoint) -> MeasuredPoint:
        return point.model_copy(update={"samples_s": tuple(factor * sample for sample in point.samples_s)})

    return measurement.model_copy(update={"points": Points(map(scaled, measurement.points))})


def _with_times(report: Report, measurements: Sequence[Measurement]) -> Report:
    return report.model_copy(update={"measurements": tuple(measurements)})


def significant(
    machine: Sequence[Run], base: Sequence[Run], minimum_effect: float = MINIMUM_EFFECT
) -> dict[str, float]:
    """Return the sweeps of *machine* that differ significantly from *base*, with the speed ratios."""
    tested = differences({"base": base, "machine": machine}, "base", minimum_effect)
    return {d.sweep: d.speed.value for d in (*tested.overall, *tested.differences) if d.significant}


def variations(reports: Sequence[Report]) -> dict[str, float]:
    """Return the relative standard deviation between runs of each sweep, largest first."""
    found = {}
    for key in (str(m.key) for m in reports[0].measurements):
        runs = [m for report in reports for m in report.measurements if str(m.key) == key]
        curves = _curves(runs)
        if curves.size and len(runs) > 1:
            found[key] = float((curves - curves.mean()).median(axis="columns").std())
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def grouped(reports: Sequence[Report], runs: int) -> tuple[Machine, ...]:
    """Return machines of *runs* successive reports each."""
    return tuple(tuple(reports[start : start + runs]) for start in range(0, len(reports) - runs + 1, runs))


def lines(machines: Sequence[Machine], percent: float) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the result, and whether each reaches its target."""
    kept = [tuple(map(excerpt, machine)) for machine in machines]
    alarms = [significant(*pair) for pair in combinations(kept, 2)]
    false = sum(map(bool, alarms))
    few = "" if len(alarms) >= ENOUGH_PAIRS else f" ({ENOUGH_PAIRS} pairs are required to decide)"
    required = f"required: at most {FALSE_DISCOVERIES:.0%}"
    yield (
        f"equal: {false} of {len(alarms)} pairs show a significant sweep ({required}){few}",
        false <= FALSE_DISCOVERIES * len(alarms),
    )
    for sweep, ratio in [item for alarm in alarms for item in alarm.items()][:MOST_LISTED]:
        yield f"  {sweep}: {ratio:.4f}", True
    slowed = [tuple(excerpt(slower(run, percent)) for run in machine) for machine in machines]
    hits = [
        any(ratio < 1 for ratio in significant(slowed[one], kept[base]).values())
        for one, base in permutations(range(len(machines)), 2)
    ]
    yield (
        f"slower by {percent:g} %: {sum(hits)} of {len(hits)} are detected (required: {DETECTED:.0%})",
        sum(hits) >= DETECTED * len(hits),
    )


def main(
    folder: Path,
    slower_by: Annotated[float, typer.Option("--slower", help="Slowdown of the scaled samples, in percent.")] = 5.0,
    runs: Annotated[int, typer.Option(min=1, help="Number of successive reports per machine.")] = 1,
    synthetic_runs: Annotated[int, typer.Option("--synthetic", min=0, help="Number of synthetic runs.")] = 0,
    seed: int = 0,
) -> None:
    """Compare all pairs of the runs of one device."""
    reports = reports_in(folder)
    for sweep, deviation in variations(reports).items():
        print_text(f"{deviation:8.3%}  {sweep}")
    if synthetic_runs:
        rng = np.random.default_rng(seed)
        reports = tuple(synthetic(reports, rng) for _ in range(synthetic_runs))
    missed = False
    for text, kept in lines(grouped(reports, runs), slower_by):
        print_text(f"{text}{'' if kept else ' MISS'}")
        missed |= not kept
    raise typer.Exit(int(missed))


if __name__ == "__main__":
    typer.run(main)
