"""Detections and false alarms of the comparison with peers, for fleets with an injected fault.

Run as ``python scripts/fleet_faults.py [--trials 20] [--peers 20] [--slower 5] [--spread 2]``. The noise of each fleet
is drawn from the differences between four quick runs of one NVIDIA H200 (``tests/data/h200_run_deviations.json``,
November 2026): for each sweep of a run, a random combination of the deviations of its points, once for the run and once
for the device. The effect of a fault on each point is predicted with a changed device: slower memory, clock, cache, or
everything. With ``--spread``, healthy devices differ by a constant factor besides, and healthy fleets only are tried.
A second table has the share of histories of one device in which a change point is found, with this noise and with five
times as much. Exit code 1 if a target is missed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pydantic import BaseModel

from gpureport.cli.console import print_table, print_text
from gpureport.fleet.peers import MINIMUM_EFFECT, Part, effects, significant_parts
from gpureport.observe.statistics import Floats
from gpureport.predict import limits_of, predict
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.workloads import select

DETECTED = 0.95
"""Required share of fleets in which the slowed device is found."""
FALSE_ALARMS = 0.05
"""Largest share of healthy fleets with an outlier."""
HISTORIES = (10, 30, 100)
"""Runs of the histories of one device."""
DATA = Path(__file__).parents[1] / "tests" / "data" / "h200_run_deviations.json"
DEVICE = "nvidia/h200_sxm"


@dataclass(frozen=True)
class Noise:
    """Deviations of repeated runs.

    Attributes:
        sweep: name of the sweep of each point (points,).
        labels: of the points (points,).
        parts: of sweeps.
        part: index of the part of each point (points,).
        deviations: ln(speed) of each run - mean over runs (points, runs).
    """

    sweep: tuple[str, ...]
    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    part: np.ndarray
    deviations: Floats


def load_noise(file: Path = DATA) -> Noise:
    """Read the deviations."""
    rows = [
        (sweep, label, layer, deviations)
        for sweep, points in json.loads(file.read_text()).items()
        for label, (layer, *deviations) in points.items()
    ]
    parts = list(dict.fromkeys(Part(sweep, layer) for sweep, _, layer, _ in rows))
    return Noise(
        sweep=tuple(row[0] for row in rows),
        labels=tuple(row[1] for row in rows),
        parts=tuple(parts),
        part=np.array([parts.index(Part(sweep, layer)) for sweep, _, layer, _ in rows]),
        deviations=np.array([row[3] for row in rows]),
    )


def drawn(noise: Noise, runs: int, rng: np.random.Generator) -> Floats:
    """Return deviations of *runs* with the covariance of the points of each sweep (runs, points)."""
    count = noise.deviations.shape[1]
    names = {name: number for number, name in enumerate(dict.fromkeys(noise.sweep))}
    index = np.array([names[name] for name in noise.sweep])
    weights = rng.standard_normal((runs, len(names), count)) / np.sqrt(count - 1)
    return np.einsum("rpk,pk->rp", weights[:, index], noise.deviations)


def faults(percent: float) -> dict[str, Device]:
    """Return the device with each fault."""
    device, factor = load_database().device(DEVICE), 1 + percent / 100
    memory = device.memory.model_copy(update={"latency_cycles": device.memory.latency_cycles / factor})
    changes: dict[str, dict[str, object]] = {
        "memory only": {"memory": _slower(device.memory, factor)},
        "clock only": {"clock_hz": device.clock_hz / factor, "memory": memory},
    }
    for name in ("L1", "L2"):
        caches = tuple(_slower(cache, factor) if cache.name == name else cache for cache in device.caches)
        changes[f"{name} only"] = {"caches": caches}
    return {name: device.model_copy(update=update) for name, update in changes.items()}


def _slower(level: BaseModel, factor: float) -> BaseModel:
    """Return a cache or memory with longer latencies and a lower bandwidth."""
    values = {name: value for name, value in level if value}
    latencies = {name: value * factor for name, value in values.items() if name.endswith("latency_cycles")}
    bandwidths = {name: value / factor for name, value in values.items() if name.startswith("bandwidth_bytes")}
    return level.model_copy(update=latencies | bandwidths)


def predicted_speeds(device: Device) -> dict[tuple[str, str], float]:
    """Return the predicted speed of each point of a quick run, by sweep and label."""
    limits = limits_of(device, quick=True)
    predictions = [p for workload in select((), quick=True) for p in predict(device, workload, limits)]
    return {
        (str(p.key), point.point.label): point.value if p.metric.kind == "rate" else 1 / point.value
        for p in predictions
        for point in p.points
    }


def slowdowns(noise: Noise, percent: float) -> dict[str, Floats]:
    """Return the effect of each fault on ln(speed) of each point (points,); 0 for points that are not predicted."""
    healthy = predicted_speeds(load_database().device(DEVICE))
    found = {"overall": np.full(len(noise.labels), -np.log1p(percent / 100))}
    for name, device in faults(percent).items():
        slow = predicted_speeds(device)
        keys = zip(noise.sweep, noise.labels, strict=True)
        found[name] = np.array(
            [np.log(slow[key] / healthy[key]) if key in slow and key in healthy else 0 for key in keys]
        )
    return found


def by_part(noise: Noise, points: Floats) -> Floats:
    """Return the median of the points of each part (runs, parts)."""
    return np.stack([np.median(points[:, noise.part == i], axis=1) for i in range(len(noise.parts))], axis=1)


def outliers(noise: Noise, points: Floats) -> set[int]:
    """Return the devices with a significant effect; each has one run (devices, points)."""
    values = by_part(noise, points)
    devices = np.arange(len(values))
    found = effects(values, devices, np.zeros_like(devices), noise.parts)
    (flags,) = significant_parts([found], MINIMUM_EFFECT)
    return set(np.flatnonzero(flags.any(axis=1)).tolist())


def trial(noise: Noise, peers: int, slowdown: Floats | None, seed: int, spread: float = 0.0) -> tuple[bool, bool]:
    """Return whether the slowed device was found, and whether another one was called an outlier.

    Healthy devices differ by *spread* besides the noise, a standard deviation of ln(speed).
    """
    rng = np.random.default_rng(seed)
    points = drawn(noise, peers, rng) + drawn(noise, peers, rng)
    points += spread * rng.standard_normal((peers, 1))
    slowed = int(rng.integers(peers))
    if slowdown is not None:
        points[slowed] += slowdown
    found = outliers(noise, points)
    return slowed in found, bool(found - ({slowed} if slowdown is not None else set()))


def shares(
    noise: Noise, peers: int, effects_of: Mapping[str, Floats | None], trials: int, spread: float = 0.0
) -> dict[str, tuple[float, float]]:
    """Return the share of trials with a detection and with a false alarm, by fault."""
    found = {}
    for name, slowdown in effects_of.items():
        results = [trial(noise, peers, slowdown, seed, spread) for seed in range(trials)]
        found[name] = tuple(float(np.mean(each)) for each in zip(*results, strict=True))
    return found


def histories(noise: Noise, runs: int, trials: int, *, step: float = 0.0, factor: float = 1.0) -> float:
    """Return the share of histories of one device, of *runs* runs each, with a change point.

    With a *step* in percent after ten runs, a change counts only if it is found there. The variation between runs is
    *factor* times the noise.
    """
    found, device = 0, np.zeros(runs, np.intp)
    expected = np.arange(runs) >= (10 if step else 0)
    for seed in range(trials):
        points = factor * drawn(noise, runs, np.random.default_rng(seed))
        points[10:] -= np.log1p(step / 100)
        present = effects(by_part(noise, points), device, device, noise.parts).present
        found += np.array_equal(present, expected) == bool(step)
    return found / trials


def main(
    trials: Annotated[int, typer.Option(help="Fleets for each fault.", min=1)] = 20,
    healthy: Annotated[int, typer.Option(help="Healthy fleets.", min=1)] = 200,
    peers: Annotated[list[int] | None, typer.Option(help="Devices of a fleet; repeatable.", min=3)] = None,
    slower: Annotated[float, typer.Option(help="Slowdown in percent.")] = 5.0,
    spread: Annotated[float, typer.Option(help="Standard deviation between healthy devices in percent.", min=0)] = 0.0,
) -> None:
    """Print the shares of detections and false alarms."""
    noise = load_noise()
    every = {} if spread else slowdowns(noise, slower)
    rows, missed = [], False
    for count in peers or (3, 20, 200):
        found = shares(noise, count, every, trials)
        alarms = shares(noise, count, {"none": None}, healthy, spread / 100)["none"][1]
        rows += [(str(count), name, f"{share:.0%}", f"{other:.0%}") for name, (share, other) in found.items()]
        rows.append((str(count), "healthy fleets", "", f"{alarms:.1%}"))
        missed |= alarms > FALSE_ALARMS or any(share < DETECTED for share, _ in found.values())
    what = f"Healthy devices differ by {spread:.3g} %" if spread else f"One device slowed by {slower:.3g} %"
    print_table(what, ("peers", "fault", "found", "other outliers"), rows, right=[2, 3])
    shown: list[tuple[str, ...]] = []
    for factor in (1.0, 5.0):
        changed = [histories(noise, runs, healthy, factor=factor) for runs in HISTORIES]
        step = histories(noise, 20, healthy, step=slower, factor=factor)
        shown.append((f"{factor:.3g} x", *(f"{share:.1%}" for share in changed), f"{step:.0%}"))
        missed |= max(changed) > FALSE_ALARMS or step < DETECTED
    columns = ("noise", *(f"{runs} runs" for runs in HISTORIES), f"found: {slower:.3g} % after 10 runs")
    print_table("Healthy histories with a change point", columns, shown, right=range(1, len(columns)))
    print_text("A target is missed." if missed else "All targets are met.")
    raise typer.Exit(int(missed))


if __name__ == "__main__":
    typer.run(main)
