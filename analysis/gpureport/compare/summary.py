"""Geometric means of a comparison: for each machine, over the kernels of one kind of work and over families."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from statistics import fmean, geometric_mean, stdev
from typing import Literal

from scipy.stats import t as student

from gpureport.compare.records import Comparison, Contest, RatioEstimate, Standing
from gpureport.compare.standings import REGIMES

What = Literal["speed", "efficiency"]
"""``speed``: relative to the baseline. ``efficiency``: relative to the predicted peak."""
APPLIED = ("game_of_life", "particles", "bit_transpose")
"""Families of applications; the others are microbenchmarks, which explain these."""
_ORDER = (*APPLIED, "memory", "local_memory", "atomics", "instructions", "launch")
SEVERAL = 3
"""Fewest kernels (variants) for an interval over kernels, and for an order of machines."""


@dataclass(frozen=True)
class Work:
    """One kind of work: the contests of a family with one metric and with the data in one place.

    Attributes:
        family: its name.
        label: last words that the labels of the metrics share: ``bandwidth``.
        regime: one of :data:`~gpureport.compare.standings.REGIMES`; empty for separate cases.
        contests: one or more; all values have one unit.
        title: of the family of a user's kernel; else empty.
    """

    family: str
    label: str
    regime: str
    contests: tuple[Contest, ...]
    title: str = ""

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.contests[0].metric.value_unit

    @property
    def machines(self) -> frozenset[str]:
        """Machines with any value."""
        return frozenset(standing.machine for contest in self.contests for standing in contest.standings)


@dataclass(frozen=True)
class MeanRatio:
    """A geometric mean of ratios over kernels.

    Attributes:
        kernels: ratio of each kernel (``family/variant``): the geometric mean over its contests.
        ratio: the mean over kernels. Its 95 % interval includes the scatter over SEVERAL kernels or more, and the
            intervals of the kernels if all have one.
    """

    kernels: Mapping[str, float]
    ratio: RatioEstimate

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest ratio of a kernel."""
        return min(self.kernels.values()), max(self.kernels.values())


def works(comparison: Comparison) -> tuple[Work, ...]:
    """Return the kinds of work: applications first, then memory, then other microbenchmarks."""
    found: dict[tuple[str, str, str, str], list[Contest]] = {}
    for family, contests in families(comparison).items():
        for contest in contests:
            regime = contest.regime if contest.regime in REGIMES else ""
            found.setdefault((family, contest.metric.kind, contest.metric.unit, regime), []).append(contest)
    order = {family: number for number, family in enumerate(families(comparison))}
    return tuple(
        Work(
            family,
            _common_label([c.metric.label for c in found[key]]),
            regime,
            tuple(found[key]),
            comparison.families.get(family, ""),
        )
        for key in sorted(found, key=lambda key: (order[key[0]], key[1], (*REGIMES, "").index(key[3])))
        for family, *_, regime in (key,)
    )


def _common_label(labels: Iterable[str]) -> str:
    first, *others = (label.split()[::-1] for label in dict.fromkeys(labels))
    same = [all(words[: n + 1] == first[: n + 1] for words in others) for n in range(len(first))]
    return " ".join(first[: same.index(False) if False in same else None][::-1])


def best_of(contests: Sequence[Contest], machine: str, others: Iterable[str] = ()) -> Standing | None:
    """Return the best value of a machine over the *contests* that all *others* have too, if there are any.

    There is at least one contest, and all values have one unit.
    """
    found = ({standing.machine: standing for standing in contest.standings} for contest in contests)
    own = [standings[machine] for standings in found if {machine, *others} <= standings.keys()]
    pick = max if contests[0].metric.kind == "rate" else min
    return pick(own, key=lambda standing: standing.value, default=None)


def mean_speed(contests: Iterable[Contest], machine: str) -> MeanRatio | None:
    """Return the mean speed of *machine* relative to the baseline; ``None`` if they have no contest in common."""
    by_kernel: dict[str, list[RatioEstimate]] = {}
    for contest in contests:
        for standing in contest.standings:
            if standing.machine == machine and standing.to_baseline:
                by_kernel.setdefault(contest.workload, []).append(standing.to_baseline)
    if not by_kernel:
        return None
    kernels = {kernel: fmean(log(ratio.value) for ratio in found) for kernel, found in by_kernel.items()}
    logs = list(kernels.values())
    half = _own_half_width(list(by_kernel.values()))
    if len(logs) >= SEVERAL:
        half = hypot(half or 0.0, float(student.ppf(0.975, len(logs) - 1)) * stdev(logs) / sqrt(len(logs)))
    middle = fmean(logs)
    ends = (None, None) if half is None else (exp(middle - half), exp(middle + half))
    ratio = RatioEstimate(value=exp(middle), ci_low=ends[0], ci_high=ends[1])
    return MeanRatio({kernel: exp(value) for kernel, value in kernels.items()}, ratio)


def _own_half_width(kernels: Sequence[Sequence[RatioEstimate]]) -> float | None:
    """Return the half-width, in log, of the mean that follows from the kernels' intervals; ``None`` if one has none."""
    ratios = [ratio for found in kernels for ratio in found]
    if not all(ratio.ci_low and ratio.ci_high for ratio in ratios):
        return None
    return hypot(*(_half_width(r) / len(found) for found in kernels for r in found)) / len(kernels)


def _half_width(ratio: RatioEstimate) -> float:
    return log(ratio.ci_high / ratio.ci_low) / 2 if ratio.ci_low and ratio.ci_high else 0.0


def means(contests: Iterable[Contest], what: What) -> dict[str, float]:
    """Return each machine's geometric mean over the kernels of *contests*, for machines with any ratio in them."""
    found: dict[str, dict[str, list[float]]] = {}
    for contest in contests:
        for standing in contest.standings:
            ratio = standing.to_baseline if what == "speed" else standing.efficiency
            if ratio is not None:
                found.setdefault(standing.machine, {}).setdefault(contest.workload, []).append(ratio.value)
    return {machine: geometric_mean(map(geometric_mean, kernels.values())) for machine, kernels in found.items()}


def families(comparison: Comparison) -> dict[str, tuple[Contest, ...]]:
    """Return the contests of each family: applications first, then memory, then other microbenchmarks."""
    found: dict[str, list[Contest]] = {}
    for contest in comparison.contests:
        found.setdefault(contest.workload.partition("/")[0], []).append(contest)
    order = sorted(found, key=lambda family: _ORDER.index(family) if family in _ORDER else len(_ORDER))
    return {family: tuple(found[family]) for family in order}


def overall(comparison: Comparison, what: What) -> dict[str, float]:
    """Return each machine's geometric mean over its families; each counts once, however many variants it has."""
    per_family = [means(contests, what) for contests in families(comparison).values()]
    every = {
        machine.name: [found[machine.name] for found in per_family if machine.name in found]
        for machine in comparison.machines
    }
    return {machine: geometric_mean(ratios) for machine, ratios in every.items() if ratios}


def ranked(comparison: Comparison) -> dict[str, float]:
    """Return the overall speeds, slowest first, of machines with enough kernels in common with the baseline.

    These are SEVERAL kernels, in at least half of the families that the baseline and any other machine have: means over
    different families are not comparable.
    """
    speeds = overall(comparison, "speed")
    kernels: dict[str, set[str]] = {}
    for contest in comparison.contests:
        for standing in contest.standings:
            if standing.to_baseline:
                kernels.setdefault(standing.machine, set()).add(contest.workload)
    own = {name: {kernel.partition("/")[0] for kernel in found} for name, found in kernels.items()}
    common = set().union(*(found for name, found in own.items() if name != comparison.baseline))
    enough = [name for name in speeds if len(kernels[name]) >= SEVERAL and 2 * len(own[name]) >= len(common)]
    return {name: speeds[name] for name in sorted(enough, key=speeds.__getitem__)}
