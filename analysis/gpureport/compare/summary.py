"""Geometric means of a comparison: for each machine, over the kernels of one kind of work and over families."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, hypot, log, sqrt
from statistics import fmean, geometric_mean, stdev
from typing import Literal, NamedTuple

from gpureport.compare.records import PLACES, Comparison, MachineResult, RatioEstimate, WorkloadComparison
from gpureport.grouping import grouped
from gpureport.observe.significance import interval_in_errors
from gpureport.workloads import all_workloads, applications

What = Literal["speed", "efficiency"]
"""``speed``: relative to the baseline. ``efficiency``: relative to the predicted peak."""
APPLIED = applications()
_MICROBENCHMARKS = {workload.family for workload in all_workloads()} - {*APPLIED}
_ORDER = (
    *("game_of_life", "particles", "bit_transpose"),
    *("memory", "local_memory", "atomics", "instructions", "launch"),
)
"""Families in the order in which they are shown; others follow those of their kind."""

SEVERAL = 3
"""Fewest kernels (variants) for an interval over kernels, and for an order of machines."""


class Work(NamedTuple):
    """Comparisons of a family with one unit and the data in one place; *title*: of a user's family, and else empty."""

    contests: tuple[WorkloadComparison, ...]
    title: str = ""

    @property
    def family(self) -> str:
        """Its family."""
        return self.contests[0].family

    @property
    def place(self) -> str:
        """Where the data are, one of PLACES."""
        return self.contests[0].place

    @property
    def label(self) -> str:
        """What the values are: ``latency``, ``read bandwidth``, or ``bandwidth`` of several kinds."""
        several, label = len({contest.metric.label for contest in self.contests}) > 1, self.contests[0].metric.label
        label = f"{label}, {part}" if (part := _apart(self.contests[0])) else label
        return "bandwidth" if several and self.unit == "B/s" else label

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return self.contests[0].metric.value_unit


class MeanRatio(NamedTuple):
    """A geometric mean of ratios over kernels."""

    kernels: Mapping[str, float]
    """Ratio of each kernel (``family/variant``): the geometric mean over its regimes or cases."""
    ratio: RatioEstimate
    """The mean over kernels. Its 95 % interval includes the scatter over SEVERAL kernels or more, or cases of a single
    kernel, and the intervals of the kernels if all have one."""
    ends: tuple[float, float]
    """Lowest and highest ratio of a kernel in one place or case."""


def families(comparison: Comparison) -> dict[str, tuple[WorkloadComparison, ...]]:
    """Return the compared workloads of each family: applications first, then memory, then other microbenchmarks."""
    found = grouped((contest.family, contest) for contest in comparison.contests)

    def place(family: str) -> tuple[bool, int]:
        return family not in APPLIED, _ORDER.index(family) if family in _ORDER else len(_ORDER)

    return {family: tuple(found[family]) for family in sorted(found, key=place)}


def works(comparison: Comparison) -> tuple[Work, ...]:
    """Return the kinds of work, in the order of :func:`families`."""
    numbered = ((number, c) for number, contests in enumerate(families(comparison).values()) for c in contests)
    found = grouped(
        ((number, c.metric.kind, PLACES.index(c.place), c.metric.unit, _apart(c)), c) for number, c in numbered
    )
    ordered = (found[key] for key in sorted(found, key=lambda key: key[:3]))
    return tuple(Work(tuple(own), comparison.families.get(own[0].family, "")) for own in ordered)


def _apart(contest: WorkloadComparison) -> str:
    """Name a part of a family that is another kind of work: copies of pinned or ordinary memory, and barriers."""
    if contest.family == "transfer":
        return contest.variant
    return "barriers" if contest.family == "instructions" and "barrier" in (contest.variant, contest.regime) else ""


def rows_of(contests: Iterable[WorkloadComparison], *, joined: bool = True) -> tuple[Work, ...]:
    """Return the work of single kernels: each place, and all separate cases if they are *joined*, else each case."""
    found = grouped(((c.workload, c.place if joined else c.regime), c) for c in contests)
    return tuple(map(Work, map(tuple, found.values())))


def best_of(
    contests: Sequence[WorkloadComparison], names: Sequence[str]
) -> tuple[dict[str, MachineResult], WorkloadComparison | None]:
    """Return the best value of each machine of *names* over *contests* of one unit, and the one that all are from.

    Values of microbenchmarks, and of a single kernel, are all from one case, the fastest (by geometric mean) of those
    that the most machines have: another may measure something else. Else each machine has its fastest kernel.
    """
    found = [(c, {own.machine: own for own in c.standings if own.machine in names}) for c in contests]
    most = max(len(own) for _, own in found)
    shared = [(contest, own) for contest, own in found if own and len(own) == most]
    pick = max if contests[0].metric.kind == "rate" else min
    if shared and (contests[0].family in _MICROBENCHMARKS or len({c.workload for c in contests}) == 1):
        case, bests = pick(shared, key=lambda each: geometric_mean(own.value for own in each[1].values()))
        return bests, case
    every = grouped((name, own) for _, values in shared or found for name, own in values.items())
    return {name: pick(values, key=lambda own: own.value) for name, values in every.items()}, None


def _ratios(contests: Iterable[WorkloadComparison], what: What) -> dict[str, dict[str, list[RatioEstimate]]]:
    found: dict[str, dict[str, list[RatioEstimate]]] = {}
    for contest in contests:
        for standing in contest.standings:
            if ratio := standing.to_baseline if what == "speed" else standing.efficiency:
                found.setdefault(standing.machine, {}).setdefault(contest.workload, []).append(ratio)
    return found


def mean_speed(contests: Iterable[WorkloadComparison], machine: str) -> MeanRatio | None:
    """Return the mean speed of *machine* relative to the baseline; ``None`` if they have nothing in common."""
    by_kernel = _ratios(contests, "speed").get(machine)
    if by_kernel is None:
        return None
    logs = {kernel: fmean(log(ratio.value) for ratio in found) for kernel, found in by_kernel.items()}
    members = [log(r.value) for found in by_kernel.values() for r in found] if len(logs) == 1 else [*logs.values()]
    # Errors are common to all kernels; without an interval of one, the mean has none.
    widths = [[ratio.half_width or 0.0 for ratio in found] for found in by_kernel.values()]
    half, count = fmean(map(fmean, widths)) if all(map(all, widths)) else None, len(members)
    if count >= SEVERAL:
        half = hypot(half or 0.0, float(interval_in_errors(count - 1)) * stdev(members) / sqrt(count))
    kernels = {kernel: exp(value) for kernel, value in logs.items()}
    every = [ratio.value for found in by_kernel.values() for ratio in found]
    return MeanRatio(kernels, RatioEstimate.of_log(fmean(members), half), (min(every), max(every)))


def means(contests: Iterable[WorkloadComparison], what: What) -> dict[str, float]:
    """Return each machine's geometric mean over the kernels of *contests*, for machines with any ratio in them."""
    return {
        machine: geometric_mean(geometric_mean(ratio.value for ratio in found) for found in kernels.values())
        for machine, kernels in _ratios(contests, what).items()
    }


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
    speeds, kernels = overall(comparison, "speed"), _ratios(comparison.contests, "speed")
    family = {contest.workload: contest.family for contest in comparison.contests}
    own = {name: {family[kernel] for kernel in found} for name, found in kernels.items()}
    common = set().union(*(found for name, found in own.items() if name != comparison.baseline))
    enough = [name for name in speeds if len(kernels[name]) >= SEVERAL and 2 * len(own[name]) >= len(common)]
    return {name: speeds[name] for name in sorted(enough, key=speeds.__getitem__)}
