"""A comparison in a few numbers: geometric means over the workloads of a family, machine by machine."""

from collections.abc import Iterable, Mapping
from statistics import geometric_mean
from typing import Literal

from gpureport.compare.records import Comparison, Contest, Ratio, Standing

What = Literal["speed", "efficiency"]
"""``speed``: beside the baseline's. ``attained``: beside what the specification promises."""
APPLIED = ("game_of_life", "particles", "bit_transpose")
"""Families that somebody wants to run; the others explain these."""


def ratio_of(standing: Standing, what: What) -> Ratio | None:
    """Return the ratio that *what* names, if the machine has it."""
    return standing.to_baseline if what == "speed" else standing.efficiency


def means(contests: Iterable[Contest], what: What) -> dict[str, float]:
    """Return the geometric mean over *contests* of each machine that has any ratio in them."""
    found: dict[str, list[float]] = {}
    for contest in contests:
        for standing in contest.standings:
            ratio = ratio_of(standing, what)
            if ratio is not None:
                found.setdefault(standing.machine, []).append(ratio.value)
    return {machine: geometric_mean(ratios) for machine, ratios in found.items()}


def families(comparison: Comparison) -> dict[str, tuple[Contest, ...]]:
    """Return the contests of each family: first those that somebody wants to run, then those that explain them."""
    found: dict[str, list[Contest]] = {}
    for contest in comparison.contests:
        found.setdefault(contest.workload.partition("/")[0], []).append(contest)
    order = sorted(found, key=lambda family: APPLIED.index(family) if family in APPLIED else len(APPLIED))
    return {family: tuple(found[family]) for family in order}


def overall(comparison: Comparison, what: What) -> dict[str, float]:
    """Return a number a machine: the mean over what somebody wants to run, or over all if it has nothing of that.

    Each family counts once, however many variants it has.
    """
    per_family = {family: means(found, what) for family, found in families(comparison).items()}
    return {
        machine.name: geometric_mean(found)
        for machine in comparison.machines
        if (found := _counted(per_family, machine.name))
    }


def _counted(per_family: Mapping[str, Mapping[str, float]], name: str) -> list[float]:
    own = {family: found[name] for family, found in per_family.items() if name in found}
    return [ratio for family, ratio in own.items() if family in APPLIED] or list(own.values())
