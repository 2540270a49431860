"""Geometric means of a comparison: for each machine, over the workloads of a family and over families."""

from collections.abc import Iterable
from statistics import geometric_mean
from typing import Literal

from gpureport.compare.records import Comparison, Contest, RatioEstimate, Standing

What = Literal["speed", "efficiency"]
"""``speed``: relative to the baseline. ``efficiency``: relative to the predicted peak."""
APPLIED = ("game_of_life", "particles", "bit_transpose")
"""Families of applications; the others are microbenchmarks, which explain these."""


def ratio_of(standing: Standing, what: What) -> RatioEstimate | None:
    """Return the machine's speed or efficiency, if it has one."""
    return standing.to_baseline if what == "speed" else standing.efficiency


def means(contests: Iterable[Contest], what: What) -> dict[str, float]:
    """Return each machine's geometric mean over *contests*, for machines with any ratio in them."""
    found: dict[str, list[float]] = {}
    for contest in contests:
        for standing in contest.standings:
            ratio = ratio_of(standing, what)
            if ratio is not None:
                found.setdefault(standing.machine, []).append(ratio.value)
    return {machine: geometric_mean(ratios) for machine, ratios in found.items()}


def families(comparison: Comparison) -> dict[str, tuple[Contest, ...]]:
    """Return the contests of each family, applications first."""
    found: dict[str, list[Contest]] = {}
    for contest in comparison.contests:
        found.setdefault(contest.workload.partition("/")[0], []).append(contest)
    order = sorted(found, key=lambda family: APPLIED.index(family) if family in APPLIED else len(APPLIED))
    return {family: tuple(found[family]) for family in order}


def overall(comparison: Comparison, what: What) -> dict[str, float]:
    """Return each machine's geometric mean over the applications, or over all families if it has no application.

    Each family counts once, however many variants it has.
    """
    per_family = {family: means(contests, what) for family, contests in families(comparison).items()}
    result = {}
    for machine in comparison.machines:
        own = {family: found[machine.name] for family, found in per_family.items() if machine.name in found}
        if own:
            applied = [ratio for family, ratio in own.items() if family in APPLIED]
            result[machine.name] = geometric_mean(applied or own.values())
    return result
