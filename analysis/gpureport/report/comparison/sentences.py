"""The sentences of a comparison of machines."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from math import log
from statistics import geometric_mean
from typing import Literal

from gpureport.compare.records import Comparison, RatioEstimate, WorkloadComparison
from gpureport.compare.results import BEYOND, REGIMES, WITHIN
from gpureport.compare.summary import APPLIED, SEVERAL, MeanRatio, Work, best_of, mean_speed, overall, ranked, works
from gpureport.report.grouping import grouped
from gpureport.report.text.words import family_title
from gpureport.text import listed
from gpureport.units import format_percent, format_ratio, format_value

EQUAL = 0.05
"""Largest deviation from 1 of a ratio that counts as equal."""
_FEW = 6  # the most machines with sentences each
_MOST_SENTENCES = 5  # about many machines
_NAMED = 3  # the most machines that a title names
_MOST_SHOWN = 2  # kinds of work with a sentence each, if only two machines are compared
Verdict = Literal["faster", "slower", "equal", "undecided"]
_VERDICTS: dict[Verdict, str] = {
    "faster": "faster",
    "slower": "slower",
    "equal": f"equally fast (within {format_percent(EQUAL)})",
    "undecided": "undecided (the interval includes 1)",
}
PLACES = {BEYOND: "data in memory", WITHIN: "data in caches", "": ""}
"""The place of the data of a kind of work; empty for separate cases."""


def title(comparison: Comparison) -> str:
    """Return the names of the machines, or their number."""
    names = comparison.names
    return listed(names) if len(names) <= _NAMED else f"Comparison of {len(names)} machines"


def work_name(work: Work) -> str:
    """Return the name of a kind of work without the place of its data: ``Particles``, ``Memory bandwidth``."""
    name = family_title(work.family, {work.family: work.title})
    if work.family in APPLIED:
        return name
    of = work.title or name.removesuffix("s").replace("-", " ")
    label = work.label if of.lower() in work.label.replace("-", " ") else f"{of} {work.label}"
    return f"{label[0].upper()}{label[1:]}"


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield the summary: speed by kind of work, efficiency, and significant differences on the same device."""
    others = comparison.others
    if len(others) >= _FEW:
        yield from islice(_of_many(comparison), _MOST_SENTENCES)
        return
    different = {each.machine for each in (*comparison.differences, *comparison.overall) if each.significant}
    alike, every = comparison.by_machine.keys() - different, works(comparison)
    for name in (each for each in others if each not in alike):
        yield from _speeds(every, name, comparison.baseline, _MOST_SHOWN if len(others) == 1 else 1)
    yield from _efficiencies(overall(comparison, "efficiency"))
    yield from _same_devices(comparison)


def _of_many(comparison: Comparison) -> Iterator[str]:
    """Yield the summary of many machines: fastest and slowest, outliers, largest difference, efficiency.

    Outliers are first if most machines have the baseline's device.
    """
    parts = [_extremes(comparison), _outliers(comparison), _widest(comparison)]
    if len(comparison.by_machine) > len(comparison.machines) / 2:
        parts[:2] = parts[1::-1]
    yield from chain.from_iterable(parts)
    yield from _efficiencies(overall(comparison, "efficiency"))


def _speeds(every: Sequence[Work], name: str, baseline: str, most: int) -> Iterator[str]:
    """Count the kinds of work by verdict on a machine, and give the values of the *most* different ones."""
    found = [(work, mean) for work in every if (mean := mean_speed(work.contests, name))]
    if not found:
        yield f"{name} and {baseline} have no workload in common."
        return
    kernels = list(dict.fromkeys(kernel for _, mean in found for kernel in mean.kernels))
    by_verdict = grouped((_verdict(mean.ratio), (work, mean)) for work, mean in found)
    few = len(kernels) < SEVERAL
    if few:
        yield (
            f"{name} relative to {baseline}: only {listed(kernels)} in common, too little to say which is faster in "
            f"general. That requires at least {SEVERAL} kernels."
        )
    elif len(found) > 1:
        parts = [f"{_VERDICTS[each]} in {len(by_verdict[each])}" for each in _VERDICTS if each in by_verdict]
        all_alike = f"{_VERDICTS[next(iter(by_verdict))]} in all {len(found)}"
        share = f"{listed(parts)} of {len(found)}" if len(parts) > 1 else all_alike
        yield f"{name} relative to {baseline}: {share} kinds of work."
    different = [pair for pair in found if _verdict(pair[1].ratio) in ("faster", "slower")]
    for work, mean in sorted(different or (found if few else []), key=_importance)[:most]:
        best = [best_of(work.contests, machine, (name, baseline)) for machine in (name, baseline)]
        values = " instead of ".join(format_value(each.value, work.unit) for each in best if each)
        count, ratio = f"{len(mean.kernels)} kernels" if len(mean.kernels) > 1 else "one kernel", mean.ratio
        ends = f", 95 %: {format_ratio(ratio.ci_low)} to {format_ratio(ratio.ci_high)}" if ratio.ci_low else ""
        reached = f"{name} reaches {format_ratio(ratio.value)} of the speed of {baseline} ({count}{ends})"
        yield f"{_work_label(work)}: {reached}; at best {values}."


def _importance(pair: tuple[Work, MeanRatio]) -> tuple[bool, float]:
    """Return the sorting key of a difference: applications and memory first, then the largest."""
    work, mean = pair
    return work.family not in (*APPLIED, "memory"), -abs(log(mean.ratio.value))


def _verdict(ratio: RatioEstimate) -> Verdict:
    """Return the verdict; faster and slower require an interval without 1, if there is an interval."""
    if abs(ratio.value - 1) <= EQUAL:
        return "equal"
    if ratio.ci_low and ratio.ci_high and ratio.ci_low <= 1 <= ratio.ci_high:
        return "undecided"
    return "slower" if ratio.value < 1 else "faster"


def _extremes(comparison: Comparison) -> Iterator[str]:
    """Report the fastest and the slowest of many machines, among those with enough kernels, with a value of each."""
    found = ranked(comparison)
    if len(found) > 1:
        slowest, *_, fastest = found
        if found[fastest] / found[slowest] - 1 < EQUAL:
            yield f"{len(found)} machines are equally fast overall (within {format_percent(EQUAL)})."
        else:
            yield f"Overall, {_ranking(comparison, found, fastest, slowest)}."
    missing = [machine.name for machine in comparison.machines if machine.name not in found]
    if missing:
        names = listed(missing) if len(missing) <= _NAMED else f"{len(missing)} machines"
        yield (
            f"Not ranked: {names}, with fewer than {SEVERAL} kernels or half of the families in common with "
            f"{comparison.baseline}."
        )


def _ranking(comparison: Comparison, found: Mapping[str, float], fastest: str, slowest: str) -> str:
    """Write the ends of a ranking, with the values of a kernel whose ratio is nearest to that of both machines."""
    predicted = {machine.name for machine in comparison.machines if machine.kind == "predicted"}
    contest = _typical(comparison, fastest, slowest, found[fastest] / found[slowest])
    ends: list[str] = []
    for name in (fastest, slowest):
        notes = ["predicted"] if name in predicted else []
        if name != comparison.baseline:
            same = abs(found[name] - 1) < EQUAL
            times = f"within {format_percent(EQUAL)} of" if same else f"{format_ratio(found[name])} times as fast as"
            notes.append(f"{times} {comparison.baseline}")
        if contest:
            kernel = f"{contest.workload} with {PLACES.get(contest.regime, contest.regime)}: " if not ends else ""
            value = next(result.value for result in contest.standings if result.machine == name)
            notes.append(f"{kernel}{format_value(value, contest.metric.value_unit)}")
        ends.append("; ".join(notes))
    return f"{fastest} is fastest ({ends[0]}) and {slowest} is slowest ({ends[1]})"


def _typical(comparison: Comparison, fastest: str, slowest: str, ratio: float) -> WorkloadComparison | None:
    """Return the contest in which both machines have most nearly the *ratio*; ``None`` if they have none in common."""
    common: list[tuple[bool, float, WorkloadComparison]] = []
    for contest in comparison.contests:
        speeds = {standing.machine: standing.to_baseline for standing in contest.standings}
        one, other = speeds.get(fastest), speeds.get(slowest)
        if one and other:
            common.append((contest.regime not in REGIMES, abs(log(one.value / other.value / ratio)), contest))
    return min(common, key=lambda each: each[:2])[2] if common else None


def _work_label(work: Work) -> str:
    """Return the name of a kind of work, with the place of its data."""
    return " with ".join(filter(None, (work_name(work), PLACES[work.regime])))


def _widest(comparison: Comparison) -> Iterator[str]:
    """Report the kind of work in which the machines differ most, with the values at both ends."""
    ranking, every = ranked(comparison), works(comparison)
    names = list(ranking) if len(ranking) > 1 else comparison.names
    spans = []
    for work in [work for work in every if work.regime] or every:
        known = {name: mean.ratio.value for name in names if (mean := mean_speed(work.contests, name))}
        if len(known) > 1:
            ends = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
            spans.append((known[ends[0]] / known[ends[1]], work, ends))
    if spans and (most := max(spans, key=lambda span: span[0]))[0] > 1 + EQUAL:
        span, work, ends = most
        best = [(name, each.value) for name in ends if (each := best_of(work.contests, name))]
        texts = " to ".join(f"{format_value(value, work.unit)} ({name})" for name, value in best)
        yield (
            f"The machines differ most in {_work_label(work)}, by a factor of {format_ratio(span)} (mean of its "
            f"kernels). Best values: {texts}."
        )


def _outliers(comparison: Comparison) -> Iterator[str]:
    """Count the machines with the baseline's device that differ significantly, and name those that differ most.

    If most of them differ in a sweep, and in the same direction, the baseline is the outlier there.
    """
    by_machine = comparison.by_machine
    if not by_machine:
        return
    own = _baseline_sweeps(comparison)
    wholes = sorted((w for w in comparison.overall if w.significant), key=lambda whole: -whole.effect)
    counts = {
        name: sum(d.significant and d.sweep not in own for d in found)
        for name, found in by_machine.items()
        if name not in {whole.machine for whole in wholes}
    }
    single = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    parts = []
    if wholes:
        named = [f"{whole.machine} ({change(whole.speed.value)})" for whole in wholes]
        names = listed(named) if len(named) <= _NAMED else f"{len(named)} machines, most of all {named[0]},"
        parts.append(f"{names} {'differs' if len(named) == 1 else 'differ'} significantly as a whole")
    if single:
        sweeps = f"{single[0]} in {counts[single[0]]} of {len(by_machine[single[0]])}"
        some = f"{len(single)} machines differ" if len(single) > 1 else "one machine differs"
        parts.append(f"{some} significantly in single sweeps, {'most ' if len(single) > 1 else ''}{sweeps}")
    rest = len(counts) - len(single)
    if rest:
        others = " other" if own else ""
        parts.append(
            f"all{others} sweeps of {f'{rest} machines' if rest > 1 else 'one machine'} are within run-to-run variation"
        )
    yield f"On the same device, {'; '.join(parts)}."
    if own:
        change_of = change(geometric_mean(own.values()))
        some = f"{len(own)} sweeps" if len(own) > 1 else f"{next(iter(own))}"
        yield (
            f"{comparison.baseline} itself is the outlier in {some}: there, most machines with the same device are "
            f"{change_of}."
        )


def _baseline_sweeps(comparison: Comparison) -> dict[str, float]:
    """Return the sweeps in which the baseline is the outlier, with the speed of the other machines relative to it.

    More than half of three or more machines with its device differ significantly there, in the same direction.
    """
    by_sweep = grouped((difference.sweep, difference) for difference in comparison.differences)
    found = {}
    for sweep, differences in by_sweep.items():
        for faster in (False, True):
            same = [d.speed.value for d in differences if d.significant and (d.speed.value > 1) == faster]
            if len(differences) >= SEVERAL and len(same) > len(differences) / 2:
                found[sweep] = geometric_mean(same)
    return found


def _same_devices(comparison: Comparison) -> Iterator[str]:
    """Report the machines with the baseline's device: significant differences, or that there are none."""
    wholes = {whole.machine: whole for whole in comparison.overall if whole.significant}
    for name, found in comparison.by_machine.items():
        if name in wholes:
            yield (
                f"{name} is significantly {change(wholes[name].speed.value)} than {comparison.baseline} on the same "
                "device (median of its sweeps)."
            )
        significant = [difference for difference in found if difference.significant]
        if not significant:
            yield f"On the same device, all {len(found)} sweeps of {name} are within run-to-run variation."
            continue
        rest = "; the others are within run-to-run variation" if len(significant) < len(found) else ""
        most = min(significant, key=lambda difference: difference.p_value)
        verb = "differs" if len(significant) == 1 else "differ"
        yield (
            f"On the same device, {len(significant)} of {len(found)} sweeps of {name} {verb} significantly, most "
            f"clearly {most.sweep} ({change(most.speed.value)}){rest}."
        )


def _efficiencies(shares: Mapping[str, float]) -> Iterator[str]:
    """Report the efficiency of each machine, or only the highest and the lowest of many."""
    if not shares:
        return
    order = sorted(shares, key=lambda name: -shares[name])
    shown = order if len(order) <= _FEW else [order[0], order[-1]]
    parts = listed([f"{name} reaches {format_percent(shares[name])}" for name in shown])
    between = "" if shown == order else f", the other {len(order) - 2} are between these"
    yield f"Efficiency, observed / predicted peak: {parts}{between} (geometric means over families)."


def change(ratio: float) -> str:
    """Write a change of speed: ``1.3 % slower``."""
    percent = 100 * abs(ratio - 1)
    return f"{percent:{'.0f' if percent >= 10 else '.2g'}} % {'faster' if ratio > 1 else 'slower'}"
