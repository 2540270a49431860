"""Two predicted devices: the figures that they have in common, and the speed ratio of kernels by what limits them.

Each device is predicted with its own sweeps, which suit its size, and compared at its best points. The interval of a
ratio is that of the quotient of two uncertain predictions. A figure that both devices take from one architecture is one
unknown, and its effect cancels. All other figures, and the model's own error on each device, count as independent. If
the model has the same error on both devices, the interval is wider than necessary.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from statistics import fmean

from gpureport.compare.records import Contrast, Effect, RatioEstimate, WorkloadComparison
from gpureport.compare.runs import Run
from gpureport.grouping import grouped
from gpureport.records.ceilings import Kind
from gpureport.spec.files import declaration
from gpureport.spec.models import Device

Columns = tuple[list[int], list[int]]
"""Columns of the facts that two devices share, in the deviations of both."""
NONE_SHARED: Columns = ([], [])


def shared_facts(first: Run, other: Run) -> Columns:
    """Return the facts that the devices of two predictions take from one architecture."""
    devices, theirs = (first.device, other.device), {fact.path: i for i, fact in enumerate(other.facts)}
    both = {i: theirs[f.path] for i, f in enumerate(first.facts) if f.path in theirs and is_shared(devices, f.path)}
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


def contrast(machine: str, baseline: str, contests: Iterable[WorkloadComparison]) -> Contrast:
    """Group the speed ratios of a predicted *machine* by the kind of limit on the *baseline*, the most important first.

    Memory is the first. Launch cost and transfers, each kind of memory apart, are the last: they limit few kernels.
    """

    def weight(effect: Effect) -> tuple[bool, bool, float]:
        size = abs(log(effect.ratio.value)) * len(effect.kernels)
        return effect.bottleneck != Kind.MEMORY, effect.bottleneck in (Kind.LAUNCH, Kind.LINK), -size

    both = ((each.workload, each.of(baseline), each.of(machine)) for each in contests)
    by_kind = grouped(
        (
            (base.bottleneck, workload if base.bottleneck is Kind.LINK else ""),
            (workload, (own.to_baseline, own.bottleneck)),
        )
        for workload, base, own in both
        if base and own and own.to_baseline and base.bottleneck and own.bottleneck
    )
    effects = sorted((_effect(kind, members) for (kind, _), members in by_kind.items()), key=weight)
    return Contrast(machine=machine, effects=tuple(effects))


def _effect(name: Kind, members: Iterable[tuple[str, tuple[RatioEstimate, Kind]]]) -> Effect:
    by_kernel = grouped(members)
    ratios = [_middle([ratio for ratio, _ in found]) for found in by_kernel.values()]
    others = Counter(kind for found in by_kernel.values() for _, kind in found)
    every = [ratio.value for found in by_kernel.values() for ratio, _ in found]
    return Effect(
        bottleneck=name,
        other_bottleneck=others.most_common(1)[0][0],
        kernels=tuple(by_kernel),
        ratio=_middle(ratios),
        ends=(min(every), max(every)),
    )


def _middle(ratios: Sequence[RatioEstimate]) -> RatioEstimate:
    """Return the median; of an even number, the geometric mean of both in the middle, whose errors count as common."""
    ordered = sorted(ratios, key=lambda ratio: ratio.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    widths = [ratio.half_width for ratio in middle if ratio.half_width is not None]
    return RatioEstimate.of_log(fmean(log(each.value) for each in middle), fmean(widths) if widths else None)
