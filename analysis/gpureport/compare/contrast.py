"""Two predicted devices: the speed ratio of each workload by size, and of kernels by what limits them.

Each device is predicted with its own sweeps, which suit its size. Curves are compared at sizes that both sweeps cover.
The interval of a ratio is that of the quotient of two uncertain predictions. A figure that both devices take from one
architecture is one unknown, and its effect cancels. All other figures, and the model's own error on each device, count
as independent. If the model has the same error on both devices, the interval is wider than necessary.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import log, log1p
from statistics import median_low

import numpy as np

from gpureport.compare.records import EQUAL, Contrast, Effect, RatioEstimate, RatioPoint, SweepContrast
from gpureport.grouping import grouped
from gpureport.observe.statistics import Floats
from gpureport.predict import Predicted
from gpureport.predict.sensitivity import Fact
from gpureport.records.ceilings import Kind, kind_of
from gpureport.records.curves import SweepKey
from gpureport.spec.files import declaration
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_MODEL
from gpureport.workloads.grid import part_of_units

SAME = log(1.25)
"""Ratios and capacities that differ by less than 25 %, which is less than any interval, count as equal."""


@dataclass(frozen=True)
class Rates:
    """Points of one device's curve: ln(rate), shape (points,), and the deviations of times, shape (points, facts)."""

    x: Floats
    labels: tuple[str, ...]
    rates: Floats
    deviations: Floats
    bottlenecks: tuple[str, ...]

    def take(self, indices: Iterable[int]) -> "Rates":
        """Return some of the points."""
        found = list(indices)
        labels, bottlenecks = (tuple(each[i] for i in found) for each in (self.labels, self.bottlenecks))
        return Rates(self.x[found], labels, self.rates[found], self.deviations[found], bottlenecks)


@dataclass(frozen=True)
class Forecast:
    """A device, and its predicted sweeps."""

    device: Device
    sweeps: tuple[Predicted, ...]

    @cached_property
    def shown(self) -> dict[SweepKey, Predicted]:
        """The sweeps over sizes and cases."""
        return {each.prediction.key: each for each in self.sweeps if each.prediction.summarised}

    def part(self, key: SweepKey) -> float | None:
        """Return the number of compute units of a sweep whose rates are those of only a part of them."""
        found = self.shown[key].prediction
        is_rate = found.metric.kind == "rate"
        return part_of_units((p.point.parameters for p in found.points), self.device.compute_units) if is_rate else None


def _rates(predicted: Predicted) -> Rates:
    points, sign = predicted.prediction.points, 1 if predicted.prediction.metric.kind == "rate" else -1
    labels, bottlenecks = tuple(p.point.label for p in points), tuple(p.limit for p in points)
    rates = sign * np.log([p.value for p in points])
    return Rates(np.array([p.point.x for p in points]), labels, rates, predicted.relative, bottlenecks)


def contrast(machine: str, first: Forecast, other: Forecast) -> Contrast:
    """Compare the sweeps over sizes and cases that both devices have, in the first device's order.

    Sweeps that use different parts of the devices are left out: the ratio of their rates says nothing.
    """
    devices = first.device, other.device
    keys = [key for key in first.shown if key in other.shown]
    left = [key for key in keys if first.part(key) != other.part(key)]
    found = (_sweep(devices, first.shown[key], other.shown[key]) for key in keys if key not in left)
    sweeps = tuple(filter(None, found))
    return Contrast(
        machine=machine,
        sweeps=sweeps,
        left=tuple(map(str, left)),
        effects=limit_effects(devices, sweeps),
        capacities_bytes=capacities(devices),
    )


def _sweep(devices: tuple[Device, Device], first: Predicted, other: Predicted) -> SweepContrast | None:
    common = (_cases if first.prediction.axis.quantity == "case" else _sizes)(_rates(first), _rates(other))
    points = ratio_points(shared_facts(devices, first.facts, other.facts), *common)
    return SweepContrast(key=first.prediction.key, points=points) if points else None


def _sizes(*curves: Rates) -> tuple[Rates, ...]:
    """Return two curves at every size of either within the range of both; of points of one size, the first counts."""
    first, other = (curve.take(np.unique(curve.x, return_index=True)[1].tolist()) for curve in curves)
    low, high = log(max(first.x[0], other.x[0])), log(min(first.x[-1], other.x[-1]))
    sizes: Floats = np.unique(np.log(np.append(first.x, other.x)).round(6))
    sizes = sizes[(sizes >= low - 1e-6) & (sizes <= high + 1e-6)]
    return interpolated(first, sizes), interpolated(other, sizes)


def interpolated(curve: Rates, sizes: Floats) -> Rates:
    """Return the nearest points of a curve, with rates and deviations at ln(size) by linear interpolation."""
    known = np.log(curve.x)
    nearest = curve.take(np.abs(known[:, None] - sizes).argmin(axis=0).tolist())
    rates = np.interp(sizes, known, curve.rates)
    deviations = [np.interp(sizes, known, column) for column in curve.deviations.T]
    return replace(nearest, x=np.exp(sizes), rates=rates, deviations=np.reshape(deviations, (-1, len(sizes))).T)


def _cases(first: Rates, other: Rates) -> tuple[Rates, ...]:
    """Return the points of both curves that have the same label; of those of one curve, the last counts."""
    mine, theirs = ({label: number for number, label in enumerate(curve.labels)} for curve in (first, other))
    both = [label for label in mine if label in theirs]
    return first.take(mine[label] for label in both), other.take(theirs[label] for label in both)


def _middle(ratios: Sequence[RatioEstimate]) -> RatioEstimate:
    middle = median_low(ratio.value for ratio in ratios)
    return next(ratio for ratio in ratios if ratio.value == middle)


Columns = tuple[list[int], list[int]]
"""Columns of the facts that two devices share, in the deviations of both."""


def shared_facts(devices: tuple[Device, Device], first: Sequence[Fact], other: Sequence[Fact]) -> Columns:
    """Return the facts that both devices take from one architecture."""
    theirs = {fact.path: i for i, fact in enumerate(other)}
    both = {i: theirs[f.path] for i, f in enumerate(first) if f.path in theirs and is_shared(devices, f.path)}
    return list(both), list(both.values())


def is_shared(devices: tuple[Device, Device], path: str) -> bool:
    """Return whether a fact of both devices is one figure of their architecture, not of each card."""
    first, other = devices
    if first.id == other.id:
        return True
    if first.architecture.id != other.architecture.id or declaration(path).of_card:
        return False
    origin = first.provenance.get(path)
    return origin is not None and origin == other.provenance.get(path)


def ratio_points(shared: Columns, first: Rates, other: Rates) -> tuple[RatioPoint, ...]:
    """Return the ratios of two rates at each point."""
    common = np.sum(first.deviations[:, shared[0]] * other.deviations[:, shared[1]], axis=1)
    squares = (np.sum(each.deviations**2, axis=1) for each in (first, other))
    halves = NORMAL_95 * np.sqrt(sum(squares) - 2 * common + 2 * SIGMA_MODEL**2)
    ratios = map(RatioEstimate.of_log, (other.rates - first.rates).tolist(), halves.tolist())
    columns = (first.x.tolist(), first.labels, ratios, first.bottlenecks, other.bottlenecks)
    return tuple(
        RatioPoint(x=x, label=label, ratio=ratio, first_bottleneck=mine, other_bottleneck=theirs)
        for x, label, ratio, mine, theirs in zip(*columns, strict=True)
    )


def _effect(name: Kind, members: Iterable[tuple[str, RatioPoint]], kind: Callable[[str], Kind]) -> Effect:
    by_kernel = grouped(members)
    ratios = [_middle([point.ratio for point in points]) for points in by_kernel.values()]
    others = Counter(kind(point.other_bottleneck) for points in by_kernel.values() for point in points)
    values = [ratio.value for ratio in ratios]
    return Effect(
        bottleneck=name,
        other_bottleneck=others.most_common(1)[0][0],
        kernels=tuple(by_kernel),
        ratio=_middle(ratios),
        ends=(min(values), max(values)),
        unchanged=sum(abs(log(value)) <= log1p(EQUAL) for value in values),
    )


def limit_effects(devices: tuple[Device, Device], sweeps: Sequence[SweepContrast]) -> tuple[Effect, ...]:
    """Return the effect for each kind of limit on the first device, the most important one first.

    Memory is the first. Launch cost and transfers are the last: they limit small sizes, or no kernel.
    """

    def weight(effect: Effect) -> tuple[bool, bool, float]:
        size = abs(log(effect.ratio.value)) * len(effect.kernels)
        return effect.bottleneck != Kind.MEMORY, effect.bottleneck in (Kind.LAUNCH, Kind.LINK), -size

    kind = partial(kind_of, caches={cache.name for device in devices for cache in device.caches})
    by_kind = grouped((kind(p.first_bottleneck), (sweep.key.workload, p)) for sweep in sweeps for p in sweep.points)
    return tuple(sorted((_effect(name, members, kind) for name, members in by_kind.items()), key=weight))


def capacities(devices: tuple[Device, Device]) -> tuple[float, float] | None:
    """Return the largest working set in bytes that fits the caches of each; ``None`` if unknown or nearly equal."""
    first, other = map(_capacity, devices)
    return (first, other) if first and other and abs(log(first / other)) >= SAME else None


def _capacity(device: Device) -> float:
    shared = [cache for cache in device.caches if cache.scope == "device"] or device.caches
    return max((c.capacity_bytes * c.transition("write_transition").midpoint for c in shared), default=0.0)
