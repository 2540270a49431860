"""The sentences of a comparison of machines: facts for the macros of ``templates/comparison_sentences.j2``."""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from statistics import geometric_mean
from typing import Literal

from gpureport.compare.records import BEYOND, WITHIN, Comparison, Difference, RatioEstimate, WorkloadComparison
from gpureport.compare.summary import APPLIED, SEVERAL, MeanRatio, Work, best_of, mean_speed, overall, ranked, works
from gpureport.grouping import grouped
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.words import family_title
from gpureport.text import listed
from gpureport.units import format_value

FILE = "comparison_sentences.j2"
EQUAL = 0.05
"""Largest deviation from 1 of a ratio that counts as equal; the macros write it."""
_FEW = 6  # the most machines with sentences each
_MOST_SENTENCES = 5  # about many machines
_NAMED = 3  # the most machines that a title names
_MOST_SHOWN = 2  # kinds of work with a sentence each, if only two machines are compared
Verdict = Literal["faster", "slower", "equal", "undecided"]
_VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "equal", "undecided")
PLACES = {BEYOND: "data in memory", WITHIN: "data in caches", "": ""}
"""The place of the data of a kind of work; empty for separate cases."""
_OF = {"memory": "memory", "instructions": "instruction", "launch": "launch", "matrix": "matrix"}
"""By family, the word before labels of values that do not contain it: ``memory latency``."""


def title(comparison: Comparison) -> str:
    """Return the names of the machines, or their number."""
    names = comparison.names
    return listed(names) if len(names) <= _NAMED else f"Comparison of {len(names)} machines"


def work_name(work: Work) -> str:
    """Return the name of a kind of work without the place of its data: ``Particles``, ``Memory bandwidth``."""
    if work.family in APPLIED:
        return family_title(work.family, {})
    of = work.title or _OF.get(work.family, "")
    label = work.label if of.lower() in work.label else f"{of} {work.label}"
    return f"{label[0].upper()}{label[1:]}"


def _label(work: Work) -> str:
    return " with ".join(filter(None, (work_name(work), PLACES[work.place])))


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Return the summary: speed by kind of work, efficiency, and significant differences on the same device."""
    baseline, others = comparison.baseline, comparison.others
    shares = sorted(overall(comparison, "efficiency").items(), key=lambda pair: -pair[1])
    if len(others) >= _FEW:
        return (*_of_many(comparison)[:_MOST_SENTENCES], *paragraphs("efficiency", FILE, shares=shares))
    wholes = {whole.machine: whole for whole in comparison.overall if whole.significant}
    same = [
        (name, wholes.get(name), [each for each in found if each.significant], len(found))
        for name, found in comparison.by_machine.items()
    ]
    alike = {name for name, whole, significant, _ in same if not (whole or significant)}
    every, most = works(comparison), _MOST_SHOWN if len(others) == 1 else 1
    speeds = [_speeds(every, name, baseline, most) for name in others if name not in alike]
    return paragraphs("few", FILE, baseline=baseline, speeds=speeds, efficiencies=shares, same=same, several=SEVERAL)


def _speeds(every: Sequence[Work], name: str, baseline: str, most: int) -> dict[str, object]:
    """Return facts on the speed of a machine by kind of work, with values of the *most* different kinds.

    These are in ``shown``: label, unit, mean ratio, and the best values of both machines.
    """
    found = [(work, mean) for work in every if (mean := mean_speed(work.contests, name))]
    verdicts = [_verdict(mean.ratio) for _, mean in found]
    different = [pair for pair, verdict in zip(found, verdicts, strict=True) if verdict in ("faster", "slower")]
    kernels = list(dict.fromkeys(kernel for _, mean in found for kernel in mean.kernels))
    ordered = sorted(different or (found if len(kernels) < SEVERAL else []), key=_importance)
    return {
        "name": name,
        "means": [mean for _, mean in found],
        "kernels": kernels,
        "verdicts": {verdict: verdicts.count(verdict) for verdict in _VERDICTS if verdict in verdicts},
        "shown": [
            (_label(work), work.unit, mean, tuple(_values(work.contests, (name, baseline), (name, baseline)).values()))
            for work, mean in ordered[:most]
        ],
    }


def _values(
    contests: Sequence[WorkloadComparison], names: Iterable[str], common: Sequence[str] = ()
) -> dict[str, float]:
    found = {name: best_of(contests, name, common) for name in names}
    return {name: result.value for name, result in found.items() if result}


def _importance(pair: tuple[Work, MeanRatio]) -> tuple[bool, float]:
    """Return the sorting key of a difference: applications and memory first, then the largest."""
    work, mean = pair
    return work.family not in (*APPLIED, "memory"), -abs(log(mean.ratio.value))


def _verdict(ratio: RatioEstimate) -> Verdict:
    if abs(ratio.value - 1) <= EQUAL:
        return "equal"
    if ratio.ci_low and ratio.ci_high and ratio.ci_low <= 1 <= ratio.ci_high:
        return "undecided"
    return "slower" if ratio.value < 1 else "faster"


def _of_many(comparison: Comparison) -> tuple[str, ...]:
    """Return the summary of many machines: fastest and slowest, outliers, largest difference.

    Outliers are first if most machines have the baseline's device.
    """
    parts = [_extremes(comparison), _outliers(comparison), _widest(comparison)]
    if len(comparison.by_machine) > len(comparison.machines) / 2:
        parts[:2] = parts[1::-1]
    return tuple(text for part in parts for text in part)


def _extremes(comparison: Comparison) -> tuple[str, ...]:
    found, baseline = ranked(comparison), comparison.baseline
    facts: dict[str, object] = {"ends": (), "kernel": ""}
    if len(found) > 1:
        slowest, *_, fastest = found
        if found[fastest] / found[slowest] - 1 >= EQUAL:
            facts = _ends(comparison, found, (fastest, slowest))
    missing = [name for name in comparison.names if name not in found]
    return paragraphs("extremes", FILE, **facts, baseline=baseline, ranked=len(found), missing=missing, several=SEVERAL)


def _ends(comparison: Comparison, speeds: Mapping[str, float], names: tuple[str, str]) -> dict[str, object]:
    predicted = {machine.name for machine in comparison.machines if machine.kind == "predicted"}
    contest = _typical(comparison, *names, speeds[names[0]] / speeds[names[1]])
    values = _values([contest], names) if contest else {}
    unit = contest.metric.value_unit if contest else ""
    return {
        "kernel": f"{contest.workload} with {PLACES.get(contest.regime, contest.regime)}" if contest else "",
        "ends": [
            (name, speeds[name], name in predicted, format_value(values[name], unit) if name in values else "")
            for name in names
        ],
    }


def _typical(comparison: Comparison, fastest: str, slowest: str, ratio: float) -> WorkloadComparison | None:
    common: list[tuple[bool, float, WorkloadComparison]] = []
    for contest in comparison.contests:
        speeds = {standing.machine: standing.to_baseline for standing in contest.standings}
        one, other = speeds.get(fastest), speeds.get(slowest)
        if one and other:
            common.append((not contest.place, abs(log(one.value / other.value / ratio)), contest))
    return min(common, key=lambda each: each[:2])[2] if common else None


def _widest(comparison: Comparison) -> tuple[str, ...]:
    ranking, every = ranked(comparison), works(comparison)
    names = list(ranking) if len(ranking) > 1 else comparison.names
    spans: list[tuple[float, Work, tuple[str, str]]] = []
    for work in [work for work in every if work.place] or every:
        known = {name: mean.ratio.value for name in names if (mean := mean_speed(work.contests, name))}
        if len(known) > 1:
            ends = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
            spans.append((known[ends[0]] / known[ends[1]], work, ends))
    if not spans or (most := max(spans, key=lambda span: span[0]))[0] <= 1 + EQUAL:
        return ()
    span, work, ends = most
    best = list(_values(work.contests, ends).items())
    return paragraphs("widest", FILE, label=_label(work), unit=work.unit, span=span, best=best)


def _outliers(comparison: Comparison) -> tuple[str, ...]:
    """Count the machines with the baseline's device that differ significantly, and name those that differ most.

    If most of them differ in a sweep, and in the same direction, the baseline is the outlier there.
    """
    by_machine = comparison.by_machine
    if not by_machine:
        return ()
    own = _baseline_sweeps(comparison.differences)
    wholes = sorted((w for w in comparison.overall if w.significant), key=lambda whole: -whole.effect)
    counts = {
        name: sum(d.significant and d.sweep not in own for d in found)
        for name, found in by_machine.items()
        if name not in {whole.machine for whole in wholes}
    }
    differing = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    single = [(name, counts[name], len(by_machine[name])) for name in differing]
    rest = len(counts) - len(single)
    return paragraphs("outliers", FILE, baseline=comparison.baseline, wholes=wholes, single=single, rest=rest, own=own)


def _baseline_sweeps(differences: Iterable[Difference]) -> dict[str, float]:
    """Return the sweeps in which the baseline is the outlier, with the speed of the other machines relative to it.

    More than half of three or more machines with its device differ significantly there, in the same direction.
    """
    found = {}
    for sweep, of_sweep in grouped((difference.sweep, difference) for difference in differences).items():
        for faster in (False, True):
            same = [d.speed.value for d in of_sweep if d.significant and (d.speed.value > 1) == faster]
            if len(of_sweep) >= SEVERAL and len(same) > len(of_sweep) / 2:
                found[sweep] = geometric_mean(same)
    return found
