"""Synthetic sweeps with known cliffs and tapers, independent of the detector's code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Axis, Metric, PointKey, SweepKey
from gpureport.records.measurement import MeasuredPoint, Measurement

Floats = NDArray[np.float64]
Kind = Literal["cliffs", "flat", "taper", "slow taper"]

KINDS: tuple[Kind, ...] = ("cliffs", "flat", "taper", "slow taper")
FINE = np.linspace(-6.0, 6.0, 4001)
"""Positions at which the shape of a transition is tabulated, in units of its width."""
TRANSITION_SHAPES: tuple[Callable[[Floats], Floats], ...] = (
    lambda t: np.clip(t + 0.5, 0.0, 1.0),  # a straight ramp
    lambda t: 1.0 / (1.0 + np.exp(-4.0 * t)),  # rounded on both sides
    lambda t: np.clip(t + 0.5, 0.0, 1.0) ** 2,  # gradual onset, abrupt end
    lambda t: 1.0 - np.clip(0.5 - t, 0.0, 1.0) ** 2,  # abrupt onset, gradual end
)
"""Completed share of the drop in ln(rate)."""


@dataclass(frozen=True)
class Sweep:
    """A synthetic measurement and its true features.

    Attributes:
        kind: of the curve.
        measurement: with noise.
        noise: relative standard deviation of a point's median about the true curve.
        truth: bytes or work-items of each feature, by position and level.
        levels: number of plateaus.
    """

    kind: Kind
    measurement: Measurement
    noise: float
    truth: dict[tuple[str, str], float]
    levels: int


def sweep(kind: Kind, seed: int) -> Sweep:
    """Return a random sweep of a kind; a seed always gives the same sweep."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    noise = float(np.exp(rng.uniform(np.log(0.005), np.log(0.08))))
    if kind in ("taper", "slow taper"):
        return _taper(kind, rng, noise)
    return _cliffs(kind, rng, noise, transitions=0 if kind == "flat" else seed % 4)


@dataclass(frozen=True)
class _Transition:
    """A transition from one plateau to the next: *drop* in ln(rate), onset to end in ln(size)."""

    drop: float
    onset: float
    midpoint: float
    end: float
    done: Floats
    scale: float

    def at(self, u: Floats) -> Floats:
        """Return the completed share of the drop at ln(size)."""
        return np.interp((u - self.midpoint) / self.scale, FINE, self.done)


def _transition(rng: np.random.Generator, start: float) -> _Transition:
    """Return a transition with onset *start*: a drop by a factor of 1.3 to 5, over a factor of 1.1 to 2 in size."""
    drop, width = (
        np.exp(rng.uniform(*np.log(ends))) for ends in ((np.log(1.3), np.log(5.0)), (np.log(1.1), np.log(2)))
    )
    done = TRANSITION_SHAPES[rng.integers(len(TRANSITION_SHAPES))](FINE)
    onset, midpoint, end = np.interp([-np.log(0.95) / drop, 0.5, 1.0 - np.log(1.05) / drop], done, FINE)
    scale = width / (end - onset)
    shift = start + scale * (midpoint - onset)
    return _Transition(drop, start, shift, start + width, np.interp(FINE + midpoint, FINE, done), scale)


def _cliffs(kind: Kind, rng: np.random.Generator, noise: float, transitions: int) -> Sweep:
    """Return a sweep over the working set with *transitions* drops between plateaus of 1 to 4 octaves."""
    octave = np.log(2.0)
    end, found = np.log(4096.0), []
    for _ in range(transitions):
        found.append(_transition(rng, end + rng.uniform(1.0, 4.0) * octave))
        end = found[-1].end
    end += rng.uniform(1.0, 4.0) * octave if transitions else rng.uniform(5.0, 14.0) * octave
    u = np.arange(np.log(4096.0), end + 1e-9, octave / rng.uniform(4.0, 8.0))
    tilt = rng.uniform(-0.01, 0.02)
    rate = -tilt * (u - u[0]) / octave - sum((each.drop * each.at(u) for each in found), np.zeros_like(u))
    drift = rng.uniform(-0.1, 0.1) * (kind == "flat" and rng.uniform() < 0.5)
    truth = {
        (position, f"level {k}"): float(np.exp(getattr(each, position)))
        for k, each in enumerate(found, start=1)
        for position in ("onset", "midpoint", "end")
    }
    if rng.uniform() < 0.5:
        metric, times, work = Metric(kind="time", unit="loads", label="latency"), 20e-9 * np.exp(-rate), np.ones(len(u))
    else:
        work = np.exp(u)
        metric, times = Metric(kind="rate", unit="B", label="bandwidth"), work / (1e12 * np.exp(rate))
    measured = _measured(rng, metric, "working_set", np.exp(u), np.full(len(u), 256), work, times, noise, drift)
    return Sweep(kind, measured, noise, truth, transitions + 1)


def _taper(kind: Kind, rng: np.random.Generator, noise: float) -> Sweep:
    """Return a sweep over work-items: the p-norm of a constant time and a time proportional to the work."""
    exponent = rng.uniform(2.0, 6.0) if kind == "taper" else rng.uniform(1.0, 2.0)
    before, after = rng.uniform(3.0, 7.0), rng.uniform(4.0, 8.0)
    knee = float(np.exp2(8.0 + before))
    items = np.round(np.exp2(np.arange(8.0, 8.0 + before + after, 1.0 / rng.uniform(4.0, 8.0))))

    def rate(n: Floats) -> Floats:
        return n / (1.0 + (n / knee) ** exponent) ** (1.0 / exponent)

    fine = np.geomspace(items[0], items[-1], 20001)
    n90 = float(np.interp(0.9 * rate(items)[-1], rate(fine), fine))
    metric = Metric(kind="rate", unit="cells", label="throughput")
    times = 5e-6 * items / rate(items)
    measured = _measured(rng, metric, "work_items", items, items, items, times, noise, 0.0)
    return Sweep(kind, measured, noise, {("n90", "device"): n90, ("knee", "device"): float(rate(items)[-1])}, 1)


def _measured(
    rng: np.random.Generator,
    metric: Metric,
    quantity: Literal["working_set", "work_items"],
    x: Floats,
    work_items: NDArray[np.generic],
    work: Floats,
    times: Floats,
    noise: float,
    drift: float,
) -> Measurement:
    """Return samples: half of the variance is common to a point's samples; 2 % of the samples are slow."""
    count = int(rng.choice([1, 3, 7, 15]))
    factor = 1.0 if count == 1 else np.sqrt(2.0 * count / np.pi)
    taken = np.sort(rng.uniform(0.0, 30.0, (count, len(x))), axis=0)
    own = noise * np.sqrt(0.5) * rng.standard_normal(len(x))
    each = noise * np.sqrt(0.5) * factor * rng.standard_normal((count, len(x)))
    slow = (rng.uniform(size=each.shape) < 0.02) * rng.exponential(0.5, each.shape)
    samples = times * np.exp(own + each + slow + drift * taken / 30.0)
    return Measurement(
        key=SweepKey(family="synthetic", variant=metric.label, sweep=quantity),
        metric=metric,
        axis=Axis(quantity=quantity, label=quantity),
        points=tuple(
            MeasuredPoint(
                point=PointKey(
                    label=f"{x[k]:.6g}",
                    parameters={},
                    work=work[k],
                    work_items=int(work_items[k]),
                    working_set_bytes=x[k],
                    x=x[k],
                ),
                samples_s=tuple(samples[:, k]),
                taken_at_s=tuple(taken[:, k]),
            )
            for k in range(len(x))
        ),
    )
