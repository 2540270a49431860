"""Devices that differ from others of their model: node effects, apart from effects of time. Pure functions.

Each sweep is divided into parts by the layer that limits its points (:func:`~gpureport.records.ceilings.layer_of`):
a slow cache shows in a third of a sweep over sizes only.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpureport.observe.significance import (
    EXCESS_OF_MEDIAN,
    FALSE_DISCOVERIES,
    Flags,
    adjusted,
    p_values,
    shrunk,
    significant,
)
from gpureport.observe.statistics import Floats, steps_to_sigma
from gpureport.records.ceilings import Kind
from gpureport.spec.uncertainty import MAD_TO_SIGMA

Indices = NDArray[np.intp]
MINIMUM_EFFECT = 0.02
"""Relative difference below which none is significant, by default."""
FEWEST_PEERS = 3
"""Fewest devices of a model that are compared with one another."""

RUN_TO_RUN: dict[str, float] = {
    Kind.COMPUTE: 0.004,
    "L1": 0.002,
    "L2": 0.006,
    Kind.MEMORY: 0.003,
    Kind.LAUNCH: 0.012,
    Kind.LINK: 0.02,
}
"""Standard deviation of a part between runs that is assumed before any is known, by layer.

Rounded up from the upper quartiles of 55 parts of sweeps of four quick runs on one NVIDIA H200 (November 2026); two
H200 of one host differed by about as much. `tests/data/h200_run_deviations.json` has the deviations. Those of
the link to the host have not been measured: 2 % is an assumption.
"""
_STEADY_RUN_TO_RUN = 0.002
_STEADY = ("memory/read", "memory/latency", "instructions/")
"""Beginnings of the names of sweeps that only read or compute, which varied less; the largest by 0.08 %."""
_OTHER_RUN_TO_RUN = 0.006
_PRIOR_DOF = 6.0
"""Weight of these assumptions, in devices."""
_MOST_DOF = 12.0
"""Degrees of freedom of many devices: runs deviate far from their median more often than normal samples do."""
_MAD_EFFICIENCY = 0.37
"""Variance of the standard deviation / that of the median absolute deviation, for normal samples."""
_ENOUGH = 10
"""Devices whose own variance is never taken to be smaller, only larger."""
_FEWEST_TOGETHER = 5  # devices, of which most must change at the same time, if a model has so many
_LIMIT = 2.0  # standard errors of the effect of a period on a part; the period itself is significant
_ROUNDS = 10  # of the median polish
_PENALTY = 12.0  # of a change, in variances of a run
_FEWEST_STEPS = 5  # between runs, to estimate their noise: one change among them has no weight


class Part(NamedTuple):
    """The points of a sweep that one layer limits."""

    sweep: str
    layer: str

    @property
    def run_to_run(self) -> float:
        """Assumed standard deviation between runs."""
        if self.sweep.startswith(_STEADY) and self.layer != Kind.LAUNCH:
            return _STEADY_RUN_TO_RUN
        return RUN_TO_RUN.get(self.layer, _OTHER_RUN_TO_RUN)


class Effects(NamedTuple):
    """Effects of devices and periods on the parts of sweeps; logarithms of speeds: -0.05 is about 5 % slower."""

    devices: Floats
    """Effect of each device in its present state (devices, parts); NaN: not measured."""
    errors: Floats
    """Their standard errors, with the spread between healthy devices (devices, parts)."""
    p_values: Floats
    """p-values of the devices' effects (devices, parts)."""
    period: Indices
    """Period of each day; all devices change between two periods (days,)."""
    shifts: Floats
    """Effect of each period on all devices; 0 if it is not significant or cannot be told (periods, parts)."""
    present: Flags
    """Runs since the last change of their device (runs,)."""


def effects(
    values: Floats, device: Indices, day: Indices, parts: Sequence[Part], noise: Floats | float = 0.0
) -> Effects:
    """Separate the effects of devices and of time, and test those of devices.

    A period's effect is the median over its devices, if there are enough of them and it is significant. A
    device's effect is the median over its runs since its last change, relative to the median device. Its variance
    combines the spread between devices (median absolute deviation), the variation between runs, and the assumption
    :data:`RUN_TO_RUN`.

    Args:
        values: ln(speed / predicted speed) of each part (runs, parts); NaN: not measured.
        device: index of the device of each run, 0 … devices - 1.
        day: index of the day of each run, 0 … days - 1.
        parts: of sweeps.
        noise: standard error of a point within a run; runs are assumed to differ by no less (parts,).
    """
    assumed = np.maximum([part.run_to_run for part in parts], noise)
    values = values - _medians(_medians(values, device), np.zeros(device.max() + 1, np.intp))[0]
    period = _periods(values, device, day, assumed, parts)
    shifts = _shifts(values, device, period[day], assumed)
    residuals = values - shifts[period[day]]
    present = _present(residuals, device, assumed, parts)
    found = _medians(np.where(present[:, None], residuals, np.nan), device)
    centre = nanmedian(found)
    devices = found - centre
    errors, dof = _errors(devices, residuals - centre, device, present, assumed)
    return Effects(devices, errors, p_values(devices, errors, dof), period, shifts, present)


def significant_parts(every: Sequence[Effects], minimum_effect: float) -> list[Flags]:
    """Return which effects are significant (devices, parts), for each model.

    The parts of a device are combined to one p-value (Simes, 1986). Among all devices of the fleet, the false discovery
    rate is limited to FALSE_DISCOVERIES (Benjamini and Hochberg, 1995). It is limited once more among the parts of each
    device found, at the rate that Benjamini and Bogomolov (2014) give. Without the first step, one bad device with many
    significant parts would let others appear as outliers. None is significant below *minimum_effect*.
    """
    if not every:
        return []
    chances = [adjusted(each.p_values) for each in every]
    found = adjusted(np.concatenate([each.min(axis=1, initial=1.0) for each in chances])) <= FALSE_DISCOVERIES
    rate = FALSE_DISCOVERIES * float(found.mean())
    chosen = np.split(found, np.cumsum([len(each) for each in chances])[:-1])
    return [
        devices[:, None] & significant(own, each.devices, minimum_effect, rate)
        for devices, own, each in zip(chosen, chances, every, strict=True)
    ]


def layer_effects(devices: Floats, errors: Floats, parts: Sequence[Part]) -> dict[str, Floats]:
    """Return the effect of each device on each layer: the mean over its parts by their precision (devices,)."""
    found = {}
    for layer in layers_of(parts):
        chosen = [i for i, part in enumerate(parts) if part.layer == layer]
        weights = np.where(np.isnan(devices[:, chosen]), 0.0, errors[:, chosen] ** -2.0)
        total = weights.sum(axis=1)
        sums = np.sum(weights * np.nan_to_num(devices[:, chosen]), axis=1)
        found[layer] = np.divide(sums, total, out=np.full(len(devices), np.nan), where=total > 0)
    return found


def layers_of(parts: Sequence[Part]) -> list[str]:
    """Return the layers of *parts*, from the compute units outwards."""
    kinds: list[str] = list(Kind)
    cache = kinds.index(Kind.CACHE)
    return sorted({p.layer for p in parts}, key=lambda name: (kinds.index(name) if name in kinds else cache, name))


def changes(series: Floats, noise: Floats) -> list[int]:
    """Return the positions at which the level of a series changes (the first run of each new level).

    The levels have the least squared deviations, plus a penalty for each, among all divisions of the series (optimal
    partitioning: Jackson et al., 2005). The penalty grows with the number of columns, so that it also holds if their
    noise is common to all.

    Args:
        series: values in the order of time (n, k), without NaN.
        noise: standard deviation between runs of each column (k,).
    """
    count = len(series)
    scaled = (series - series.mean(axis=0)) / noise if count else series
    sums = np.concatenate([np.zeros((1, series.shape[1])), np.cumsum(scaled, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum((scaled**2).sum(axis=1))])
    penalty = (_PENALTY + 2 * log(max(count, 1))) * series.shape[1]
    best, last = np.zeros(count + 1), np.zeros(count + 1, np.intp)
    for end in range(1, count + 1):
        means = ((sums[end] - sums[:end]) ** 2).sum(axis=1) / np.arange(end, 0, -1)
        costs = best[:end] + squares[end] - squares[:end] - means + penalty
        last[end] = np.argmin(costs)
        best[end] = costs[last[end]]
    found, end = list[int](), count
    while end and (end := int(last[end])):
        found.append(end)
    return found[::-1]


def _periods(values: Floats, device: Indices, day: Indices, assumed: Floats, parts: Sequence[Part]) -> Indices:
    """Return the period of each day (days,): most devices change between two periods.

    A change lies between two days, or two groups of days if too few devices were measured on a day. Levels of groups
    and of devices that were measured in several groups are separated by median polish.
    """
    groups = _groups(device, day)
    if groups[-1] == 0:
        return groups
    cells, group, own = _cells(values, groups[day], device)
    rest = np.nan_to_num(_of_layers(cells / assumed, parts))
    repeated = (np.bincount(own) > 1)[:, None]
    levels = np.zeros((groups[-1] + 1, rest.shape[1]))
    for _ in range(_ROUNDS):
        rest -= np.where(repeated, _medians(rest, own), 0.0)[own]
        step = _medians(rest, group)
        levels += step
        rest -= step[group]
    dof = max(len(rest) - repeated.sum() - groups[-1], 1)
    noise = np.maximum(_spread(rest) * np.sqrt(len(rest) / dof), 1.0)
    starts = changes(levels * np.sqrt(np.bincount(group)[:, None] / EXCESS_OF_MEDIAN), noise)
    return np.searchsorted(starts, groups, side="right")


def _groups(device: Indices, day: Indices) -> Indices:
    """Return the group of each day (days,): successive days with enough devices together."""
    enough = min(_FEWEST_TOGETHER, int(device.max()) + 1)
    starts, seen = [0], set[int]()
    members = _members(day)
    for number, runs in enumerate(members):
        if len(seen) >= enough:
            starts.append(number)
            seen = set()
        seen |= set(device[runs].tolist())
    if len(seen) < enough:
        starts = starts[:-1]
    return np.searchsorted(starts[1:], np.arange(len(members)), side="right")


def _cells(values: Floats, period: Indices, device: Indices) -> tuple[Floats, Indices, Indices]:
    """Return the median of each device in each period (cells, parts), and their periods and devices (cells,)."""
    cells = pd.DataFrame(values).groupby([period, device]).median()
    periods, devices = (cells.index.get_level_values(level).to_numpy(np.intp) for level in (0, 1))
    return cells.to_numpy(), periods, devices


def _shifts(values: Floats, device: Indices, period: Indices, assumed: Floats) -> Floats:
    """Return the effects of periods by median polish over periods and devices (periods, parts).

    Each device counts once. The polish begins with periods: a difference that many devices share in their only period
    is one of the period.
    """
    found = np.zeros((period.max() + 1, values.shape[1]))
    if len(found) == 1:
        return found
    cells, periods, devices = _cells(values, period, device)
    rest = cells.copy()
    for _ in range(_ROUNDS):
        step = np.nan_to_num(_medians(rest, periods))
        step = _kept(step, rest - step[periods], periods, assumed)
        found += step
        rest -= step[periods]
        rest -= np.nan_to_num(_medians(rest, devices))[devices]
        if not step.any():
            break
    return _kept(found - nanmedian(found[periods]), rest, periods, assumed)


def _kept(effect: Floats, rest: Floats, periods: Indices, assumed: Floats) -> Floats:
    counts = _counts(rest, periods)
    noise = np.maximum(np.nan_to_num(_spread(rest)), assumed)
    error = np.sqrt(EXCESS_OF_MEDIAN) * noise / np.sqrt(np.maximum(counts, 1))
    return np.where((counts >= FEWEST_PEERS) & (np.abs(effect) > _LIMIT * error), effect, 0.0)


def _spread(deviations: Floats) -> Floats:
    return MAD_TO_SIGMA * nanmedian(np.abs(deviations))


def _present(residuals: Floats, device: Indices, assumed: Floats, parts: Sequence[Part]) -> Flags:
    """Return the runs since the last change of their device; runs are in the order of time (runs,).

    A run without a layer counts as the device's last run before it that has the layer, else as the first one after it.
    The noise of a layer is that between successive runs of the device, of all devices, or the assumed one, whichever is
    largest.
    """
    frame = pd.DataFrame(_of_layers(residuals / assumed, parts))
    members = _members(device)
    series = [frame.iloc[runs].ffill().bfill().fillna(0.0).to_numpy() for runs in members]
    steps = [np.abs(np.diff(own, axis=0)) for own in series]
    usual = _noise(np.concatenate(steps))
    present = np.ones(len(device), bool)
    for runs, own, step in zip(members, series, steps, strict=True):
        if found := changes(own, np.maximum(usual, _noise(step))):
            present[runs[: found[-1]]] = False
    return present


def _of_layers(values: Floats, parts: Sequence[Part]) -> Floats:
    chosen = ([part.layer == layer for part in parts] for layer in layers_of(parts))
    return np.stack([nanmedian(values[:, own].T) for own in chosen], axis=1)


def _noise(steps: Floats) -> Floats:
    """Return the standard deviation between runs from absolute differences of successive ones (n, k), at least 1 (k,).

    Differences are in units of the assumed deviation. Too few of them do not count.
    """
    found = [steps_to_sigma(column) for column in steps.T]
    return np.maximum(found, 1.0) if len(steps) >= _FEWEST_STEPS else np.ones(steps.shape[1])


def _errors(
    devices: Floats, residuals: Floats, device: Indices, present: Flags, assumed: Floats
) -> tuple[Floats, float]:
    """Return the standard errors of the devices' effects (devices, parts), and their degrees of freedom."""
    kept = np.where(present[:, None], residuals, np.nan)
    counts = _counts(kept, device)
    between = _shrunk(_spread(devices) ** 2, len(devices), assumed)
    deviations = np.where(counts[device] > 1, kept - devices[device], np.nan)
    repeated = int((counts.max(axis=1) > 1).sum())
    within = _shrunk(_spread(deviations) ** 2 * 2, repeated, assumed)
    usual = np.median(np.maximum(counts, 1), axis=0)
    own = np.maximum(between - within / usual, 0.25 * between)  # of devices, apart from that of runs
    variance = own + within / np.maximum(counts, 1)
    dof = min(_PRIOR_DOF + _MAD_EFFICIENCY * (len(devices) - 1), _MOST_DOF)
    return np.sqrt(variance * (1 + EXCESS_OF_MEDIAN / len(devices))), dof


def _shrunk(variance: Floats, members: int, assumed: Floats) -> Floats:
    """Return the mean of an estimated variance and the assumed one, weighted by degrees of freedom."""
    dof = _MAD_EFFICIENCY * max(members - 1, 0)
    known = np.where(np.isnan(variance), assumed**2, variance)
    mean = shrunk(dof * known, dof, assumed**2, _PRIOR_DOF)
    return np.maximum(mean, known) if members >= _ENOUGH else mean


def _medians(values: Floats, group: Indices) -> Floats:
    return pd.DataFrame(values).groupby(group).median().to_numpy()


def _counts(values: Floats, group: Indices) -> Floats:
    return pd.DataFrame(values).groupby(group).count().to_numpy(float)


def _members(group: Indices) -> list[Indices]:
    return np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])


def nanmedian(values: Floats) -> Floats:
    """Return the median of each column without NaN; NaN for a column of NaN."""
    return pd.DataFrame(values).median().to_numpy()
