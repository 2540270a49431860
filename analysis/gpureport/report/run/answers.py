"""Answers of chapters: the sentences of page one, then the range over kernels and the largest deviation.

They state only what the intervals show. "As predicted" requires that the 95 % intervals of the observed and the
predicted value overlap; a wide interval of the prediction is mentioned.
"""

from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.observe.idle import IDLE, work_per_item
from gpureport.records.ceilings import ceiling_text
from gpureport.records.finding import Finding, Verdict
from gpureport.records.levels import Level
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, FindingPair, level_of, most_distant, specified_values
from gpureport.report.grouping import grouped
from gpureport.report.run.decisions import amount_of_work, most_frequent, working_set
from gpureport.report.run.limits import EXCEEDED, Limit, limits
from gpureport.report.text.difference import compared, value_text
from gpureport.report.text.words import agreement, kernel_name
from gpureport.text import listed, shortlist
from gpureport.units import format_percent


def caches(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Report the usable capacity of each cache, its range over kernels, and transitions that no cache explains."""
    curves = [curve for curve in found if curve.axis.quantity == "working_set"]
    caused = [
        (curve, level_of(cliff, curve, report.device), cliff)
        for curve in curves
        for cliff in specified_values([curve], "midpoint")
    ]
    cliffs = [cliff for *_, cliff in caused]
    unexplained = [
        (_likely_cause(level, cliff, curve), cliff)
        for curve, level, cliff in caused
        if cliff.level.is_unexplained and cliff.predicted is None
    ]
    first = working_set(report, found)
    texts = [*([first] if first else []), *_spans(report, cliffs), *_unexplained(report, unexplained)]
    seen = any(curve.observation for curve in curves)
    return texts or (["No cliff (capacity transition) of a cache was observed."] if seen else [])


def _spans(report: Report, cliffs: Sequence[Finding]) -> list[str]:
    """Report the range of each cache's cliff over kernels, and the number of sweeps that do not show it."""
    texts = []
    for level in report.device.cache_levels:
        seen = sorted((f for f in cliffs if f.level == level and f.observed), key=lambda f: f.observed or 0.0)
        missed = sum(f.level == level and f.observed is None for f in cliffs)
        if seen:
            ends = [(value_text(f), kernel_name(report, f.key)) for f in (seen[0], seen[-1])]
            place = f"ranges from {_from_to(*ends)}" if len(seen) > 1 else "is at {} ({})".format(*ends[0])
            texts.append(f"Over all kernels, the midpoint of the {level} cliff {place}.")
        if missed:
            sweeps = "One sweep does" if missed == 1 else f"{missed} sweeps do"
            texts.append(f"{sweeps} not show the predicted {level} cliff.")
    return texts


def _unexplained(report: Report, transitions: Iterable[tuple[str, Finding]]) -> list[str]:
    """List the unpredicted transitions after their likely cause."""
    return [f"{cause}: {_transitions(report, of)}." for cause, of in grouped(transitions).items()]


def _likely_cause(level: Level | None, cliff: Finding, curve: CurveRecords) -> str:
    if level:
        return f"Not predicted, but within the transition range of the {level}, which may be the cause"
    points = [point.point for point in curve.observation.points] if curve.observation else []
    if work_per_item(cliff.observed or 0.0, points) < IDLE:
        return "Outside the transition range of every cache, where idle work-items may be the cause"
    return "Outside the transition range of every cache"


def _transitions(report: Report, found: Sequence[Finding]) -> str:
    places = listed(shortlist([f"{value_text(each)} ({kernel_name(report, each.key)})" for each in found]))
    return f"{'transitions' if len(found) > 1 else 'transition'} at {places}"


def work(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Report the work for 90 % of the peak over kernels, and compare it with the predictions."""
    curves = [curve for curve in found if not (curve.is_work_group or curve.is_transfer)]
    tapers = specified_values(curves, "n90")
    first = amount_of_work(report, found) if tapers or not any(curve.observation for curve in curves) else ""
    agree = f"{agreement((f.verdict for f in tapers), 'tapers')}." if tapers else ""
    return [*filter(None, (first, agree)), *_farthest_work(report, tapers)]


def _farthest_work(report: Report, tapers: Iterable[Finding]) -> list[str]:
    off = [FindingPair(f, None) for f in tapers if f.verdict is Verdict.OFF and f.ratio]
    if not off:
        return []
    farthest, first = most_distant(off, key=lambda pair: pair)
    worst = farthest.main
    return [f"{first}: {kernel_name(report, worst.key)}, sweep “{worst.key.sweep}”: {compared(worst)}."]


def _from_to(least: tuple[str, str], most: tuple[str, str]) -> str:
    """Write the least and the most, each with its name; a name that both share is written once."""
    if least[1] == most[1]:
        return f"{least[0] if least == most else f'{least[0]} to {most[0]}'} ({least[1]})"
    return f"{least[0]} ({least[1]}) to {most[0]} ({most[1]})"


def near_limits(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Report the efficiency of kernels, the most frequent bottleneck, and kernels that exceed their limits."""
    known = limits(found)
    seen = [limit for limit in known if limit.share is not None]
    if not known or (not seen and any(curve.observation for curve in found)):
        return []
    shares = {limit: limit.share or limit.predicted_share for limit in seen or known}
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    name = ceiling_text(least.bottleneck)
    doubt = f"the nearest limit, {name}; no single limit of the model explains this speed"
    limit = f"the limit set by {name}" if least.is_explained else doubt
    lowest = f"{kernel_name(report, least.key)}, {format_percent(shares[least])} of {limit}"
    if len(shares) == 1:
        return [f"{'Efficiency' if seen else 'Predicted efficiency'}: {lowest}.", *_exceeded(report, seen)]
    ends = f"{format_percent(shares[least])} to {format_percent(shares[most])}"
    reach = "reach" if seen else "are predicted to reach"
    middle = f"{format_percent(median(shares.values()))} of their nearest limits in the median (range: {ends})"
    of_all = "Most frequent bottleneck of all kernels and microbenchmarks, by the model"
    frequent = f"{of_all}: {most_frequent(list(shares))}."
    return [
        f"Efficiency: at their largest sizes, kernels {reach} {middle}. {frequent}",
        f"Lowest efficiency: {lowest}.",
        *_exceeded(report, seen),
    ]


def _exceeded(report: Report, seen: Iterable[Limit]) -> list[str]:
    names = [kernel_name(report, limit.key) for limit in seen if limit.passed]
    if not names:
        return []
    more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
    faster = f"More than {format_percent(ABOVE_CEILING - 1)} faster than the limit: {'; '.join(names[:3])}{more}."
    return [f"{faster} {EXCEEDED}"]
