"""Summaries of a report's findings in plain sentences, which state only what the intervals show.

"As predicted" requires that the 95 % intervals of the observed and the predicted value overlap; a wide interval of the
prediction is mentioned.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.findings.verdicts import ABOVE_CEILING, ceiling_text
from gpureport.observe.idle import IDLE, work_per_item
from gpureport.predict.occupancy import resident_work_items
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding, Verdict
from gpureport.records.levels import Level
from gpureport.records.report import Report
from gpureport.report.grouping import grouped
from gpureport.report.run.curves import CurveRecords, level_of, specified_values
from gpureport.report.run.difference import compared, value_text, width
from gpureport.report.run.limits import Limit, limits
from gpureport.report.text.words import agreement, kernel_name, listed, shortlist
from gpureport.units import format_count, format_percent, format_predicted, format_value

_MICROBENCHMARKS = "memory"
"""The family whose cliffs are reported first: its kernels only read and write."""
_CLIFF = ("cliff", "cliff (capacity transition)")
_TAPER = "Taper (saturation point)"


def caches(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Report the cliff of each cache, the range over kernels, and transitions that no cache explains."""
    curves = [curve for curve in found if curve.axis.quantity == "working_set"]
    caused = [
        (curve, level_of(cliff, curve, report.device), cliff)
        for curve in curves
        for cliff in specified_values([curve], "midpoint")
    ]
    cliffs = [cliff for *_, cliff in caused]
    levels = report.device.cache_levels
    if not cliffs and not any(curve.observation for curve in curves):
        return _predicted_cliffs(report, curves, levels)
    unexplained = [
        (_likely_cause(level, cliff, curve), cliff)
        for curve, level, cliff in caused
        if cliff.level.is_unexplained and cliff.predicted is None
    ]
    texts = [
        _cliff(report, level, own, curves)
        for level in levels
        if (own := [cliff for cliff in cliffs if cliff.level == level])
    ]
    if not texts and not unexplained:
        return ["No cliff (capacity transition) of a cache was observed."] if report.machine or cliffs else []
    return [*_joined(texts), *_spans(report, levels, cliffs), *_unexplained(report, unexplained)]


def _joined(cliffs: Sequence[str]) -> list[str]:
    """Join the sentences on cliffs; the first defines the term."""
    return [" ".join(cliffs).replace(*_CLIFF, 1)] if cliffs else []


def _cliff(report: Report, level: Level, own: Sequence[Finding], curves: Sequence[CurveRecords]) -> str:
    """Describe the best known cliff of a cache; *own* are its cliffs."""
    seen = [finding for finding in own if finding.observed]
    if not seen:
        best = min(own, key=lambda finding: (finding.key.family != _MICROBENCHMARKS, finding.predicted or 0))
        return f"{level} cliff: not observed (predicted at {format_value(best.predicted, best.unit)})."
    best = min(seen, key=lambda finding: (finding.key.family != _MICROBENCHMARKS, width(finding)))
    curve = next(curve for curve in curves if curve.key == best.key)
    onsets = specified_values([curve], "onset")
    onset = next((each for each in onsets if each.level == level and each.observed), None)
    if onset:
        begins = f"starts to {'rise' if curve.metric.kind == 'time' else 'fall'} at {value_text(onset)}"
        where = f"{_subject(report, curve)} {begins}, midpoint at {value_text(best)}"
    else:
        where = f"midpoint at {value_text(best)} for {kernel_name(report, best.key)}"
    expected = [format_value(each.predicted, each.unit) for each in (onset, best) if each and each.predicted]
    if len({text.partition(" ")[2] for text in expected}) < len(expected):
        expected[0] = expected[0].partition(" ")[0]
    predicted = f"predicted: {' and '.join(expected)}" if expected else "not predicted"
    return f"{level} cliff: {where} ({predicted})."


def _subject(report: Report, curve: CurveRecords) -> str:
    """Name the quantity of a microbenchmark, or the throughput or time of another kernel."""
    if curve.key.family == _MICROBENCHMARKS:
        label, variant = curve.metric.label, curve.key.variant
        return label if label == variant else f"{label} ({variant})"
    return f"{'time' if curve.metric.kind == 'time' else 'throughput'} of {kernel_name(report, curve.key)}"


def _spans(report: Report, levels: Sequence[Level], cliffs: Sequence[Finding]) -> list[str]:
    """Report the range of each cache's cliff over kernels, and the number of sweeps that do not show it."""
    texts = []
    for level in levels:
        seen = sorted((f for f in cliffs if f.level == level and f.observed), key=lambda f: f.observed or 0.0)
        missed = sum(f.level == level and f.observed is None for f in cliffs)
        if len(seen) > 1:
            ends = [(value_text(f), kernel_name(report, f.key)) for f in (seen[0], seen[-1])]
            texts.append(f"Over all kernels, the midpoint of the {level} cliff ranges from {_from_to(*ends)}.")
        if missed and seen:
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


def _predicted_cliffs(report: Report, curves: Iterable[CurveRecords], levels: Sequence[Level]) -> list[str]:
    """Report the best known predicted cliff of each cache."""
    features = [(curve, feature) for curve in curves for feature in _predicted_features(curve)]
    texts = []
    for level in levels:
        of = [(curve, f) for curve, f in features if f.position == "midpoint" and f.level == level]
        if of:
            curve, best = min(
                of, key=lambda pair: (pair[0].key.family != _MICROBENCHMARKS, _feature_width(pair[1]), pair[1].value)
            )
            own = _predicted_features(curve)
            onset = next((f for f in own if f.position == "onset" and f.level == level), None)
            begins = f"onset predicted at {format_value(onset.value, onset.unit)}, midpoint" if onset else "predicted"
            value = format_predicted(best.value, best.ci_low, best.ci_high, best.unit)
            texts.append(f"{level} cliff: {begins} at {value} for {kernel_name(report, curve.key)}.")
    return _joined(texts)


def _predicted_features(curve: CurveRecords) -> Sequence[CurveFeature]:
    """Return the predicted features of a curve, from the specification if possible."""
    prediction = curve.specification or curve.calibrated
    return prediction.features if prediction else ()


def _feature_width(feature: CurveFeature) -> float:
    return feature.ci_high / feature.ci_low if feature.ci_low and feature.ci_high else float("inf")


def work(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Report the range over kernels of the work for 90 % of the first plateau, and compare it with the predictions."""
    curves = [curve for curve in found if not curve.is_work_group]
    tapers = specified_values(curves, "n90")
    seen = sorted((f for f in tapers if f.observed), key=lambda f: f.observed or 0.0)
    if not tapers and not any(curve.observation for curve in curves):
        return _predicted_work(report, curves)
    if not seen:
        return ["No taper (saturation point) was observed within a sweep."] if tapers else []
    if len(seen) == 1:
        name = kernel_name(report, seen[0].key)
        reach = f"{name} reaches 90 % of its first throughput plateau with {value_text(seen[0])}"
        return [f"{_TAPER}: {reach}, {compared(seen[0])}."]
    ends = [(value_text(f).removesuffix(" work-items"), kernel_name(report, f.key)) for f in (seen[0], seen[-1])]
    reach = f"kernels reach 90 % of their first throughput plateau with {_from_to(*ends)} work-items"
    agree = agreement((f.verdict for f in tapers), "tapers")
    capacity = resident_work_items(report.device)
    resident = f"; up to {format_count(capacity)} can be resident at once" if capacity else ""
    return [f"{_TAPER}: {reach}{resident}. {agree}.", *_farthest_work(report, seen)]


def _farthest_work(report: Report, seen: Iterable[Finding]) -> list[str]:
    off = [f for f in seen if f.verdict is Verdict.OFF and f.ratio]
    if not off:
        return []
    worst = max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)))
    return [f"Largest deviation: {kernel_name(report, worst.key)}, sweep “{worst.key.sweep}”: {compared(worst)}."]


def _predicted_work(report: Report, curves: Iterable[CurveRecords]) -> list[str]:
    tapers = [
        (f.value, kernel_name(report, curve.key))
        for curve in curves
        for f in _predicted_features(curve)
        if f.position == "n90"
    ]
    if not tapers:
        return []
    ends = [(format_value(value, ""), name) for value, name in (min(tapers), max(tapers))]
    reach = "kernels are predicted to reach 90 % of their first throughput plateau"
    return [f"{_TAPER}: {reach} with {_from_to(*ends)} work-items."]


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
    lowest = f"{kernel_name(report, least.key)}, {format_percent(shares[least])} of the limit"
    lowest = f"{lowest} set by {ceiling_text(least.bottleneck)}"
    if len(shares) == 1:
        return [f"{'Efficiency' if seen else 'Predicted efficiency'}: {lowest}.", *_exceeded(report, seen)]
    bottleneck, count = Counter(ceiling_text(limit.bottleneck) for limit in shares).most_common(1)[0]
    ends = f"{format_percent(shares[least])} to {format_percent(shares[most])}"
    reach = "reach" if seen else "are predicted to reach"
    middle = f"{format_percent(median(shares.values()))} of their limits in the median (range: {ends})"
    kernels = f"{count} of {len(shares)} kernels, microbenchmarks included"
    frequent = f"According to the model, the most frequent bottleneck is {bottleneck} ({kernels})."
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
    reason = "The limit is higher than the model assumes, or the kernel needs less of the limiting resource."
    return [f"{faster} {reason}"]
