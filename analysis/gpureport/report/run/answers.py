"""The report's answers in plain sentences, made from its findings; none says more than the intervals show.

"As predicted" is said where the 95 % intervals of both meet, and how wide that of the prediction is where it is wide.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.findings.verdicts import ABOVE_CEILING, ceiling_text
from gpureport.records.features import CurveFeature
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.levels import Level
from gpureport.records.report import Report
from gpureport.report.run.curves import Curve, level_of, specified, specified_values
from gpureport.report.run.difference import compared, value_text, width
from gpureport.report.run.limits import Limit, limits
from gpureport.report.text.words import agreement, kernel_name
from gpureport.units import format_percent, format_predicted, format_value

_MICROBENCHMARKS = "memory"
"""The family whose cliffs are told first: it does nothing but read and write."""
_SHARES = (
    (0.9, "As predicted"),
    (2 / 3, "Mostly as predicted"),
    (1 / 3, "Partly as predicted"),
    (0, "Not as predicted"),
)
_GRADES = {Verdict.WITHIN: "only within the interval", Verdict.ERROR: "in error"}


def verdict(report: Report) -> str:
    """Say in one sentence how the report ended."""
    findings = [pair.main for pair in specified(report)]
    if report.only_predicted:
        return "Predicted from the database entry alone; nothing was measured."
    if not report.observations:
        return f"Nothing was measured: {'every workload was skipped' if _has_workloads(report) else 'none was run'}."
    if not findings:
        return "Measured, with no prediction to compare with."
    counts = Counter(finding.verdict for finding in findings)
    close = counts[Verdict.AGREES]
    word = next(word for share, word in _SHARES if close >= share * len(findings))
    if counts[Verdict.ERROR]:
        word = "With errors"
    others = ", ".join(f"{counts[v]} {_GRADES.get(v, v)}" for v in Verdict if v is not Verdict.AGREES and counts[v])
    agree = f"{close} of {len(findings)} features lie within a factor of {AGREEMENT} of their prediction"
    return f"{word}: {agree}" + (f" ({others})." if others else ".")


def _has_workloads(report: Report) -> bool:
    return bool(report.measurements or report.workloads)


def sentences(report: Report, found: Sequence[Curve]) -> list[str]:
    """Sum the report up in at most three sentences: caches, work, limits; each is the first of its chapter."""
    return [text for answer in (caches, work, near_limits) for text in answer(report, found)[:1]]


def caches(report: Report, found: Sequence[Curve]) -> list[str]:
    """Say where each cache gives out, and what was seen that no cache explains."""
    curves = [curve for curve in found if curve.axis.quantity == "working_set"]
    caused = [
        (level_of(cliff, curve, report.device), cliff)
        for curve in curves
        for cliff in specified_values([curve], "midpoint")
    ]
    cliffs = [cliff for _, cliff in caused]
    levels = report.device.cache_levels
    if not cliffs and not any(curve.observation for curve in curves):
        return _predicted_cliffs(curves, levels)
    steps = [(level, cliff) for level, cliff in caused if cliff.level.is_unexplained and cliff.predicted is None]
    told = [
        _cliff(report, level, [f for cause, f in caused if cause == level])
        for level in levels
        if any(f.level == level for f in cliffs)
    ]
    if not told and not steps:
        return ["No cache was seen to give out."] if report.machine or cliffs else []
    return [*_sum(told), *_spans(report, levels, cliffs), *_steps(report, steps)]


def _the(level: Level) -> str:
    return f"the near partition of the {level.name}" if level.near else f"the {level}"


def _cliff(report: Report, level: Level, of: Sequence[Finding]) -> str:
    """Say where a cache gives out, by the finding that is known best.

    Args:
        report: with the names of kernels.
        level: of the cache.
        of: cliffs that it causes, and those that were not predicted but that it may cause.
    """
    own = [finding for finding in of if finding.level == level]
    seen = [finding for finding in own if finding.observed]
    if not seen:
        best = min(own, key=lambda finding: (finding.key.family != _MICROBENCHMARKS, finding.predicted or 0))
        return f"{_the(level)} was not seen to give out (predicted at {format_value(best.predicted, best.unit)})"
    best = min(seen, key=lambda finding: (finding.key.family != _MICROBENCHMARKS, width(finding)))
    where = f"{value_text(best)} ({_name(report, best)})"
    sweeps, astray = (len({f.key for f in some}) for some in (of, [f for f in of if not f.verdict.as_predicted]))
    how = compared(best, "before", "after")
    if astray:
        but = "but " if 2 * astray > sweeps else ""
        how = f"{how} ({but}{astray} of {sweeps} sweeps {'disagree' if astray > 1 else 'disagrees'})"
    return f"{_the(level)} gives out at {where}, {how}"


def _spans(report: Report, levels: Sequence[Level], cliffs: Sequence[Finding]) -> list[str]:
    """Say how far kernels differ in where a cache gives out for them, and for how many it was not seen to."""
    texts = []
    for level in levels:
        seen = sorted((f for f in cliffs if f.level == level and f.observed), key=lambda f: f.observed or 0.0)
        missed = sum(f.level == level and f.observed is None for f in cliffs)
        if len(seen) > 1:
            ends = [(value_text(f), _name(report, f)) for f in (seen[0], seen[-1])]
            texts.append(f"For one kernel or another {_the(level)} gives out at {_from_to(*ends)}.")
        if missed and seen:
            texts.append(f"{_sweeps(missed)} that should show where {_the(level)} gives out did not.")
    return texts


def _steps(report: Report, steps: Iterable[tuple[Level | None, Finding]]) -> list[str]:
    """Say which caches may cause transitions that were not predicted, and which no cache explains."""
    causes: dict[Level | None, list[Finding]] = {}
    for level, step in steps:
        causes.setdefault(level, []).append(step)
    return [_cause(level, _transitions(report, of)) for level, of in causes.items()]


def _cause(level: Level | None, transitions: str) -> str:
    if level is None:
        return f"No cache explains the {transitions}."
    return f"Not predicted, but within the transition range of {_the(level)}, which may cause it: {transitions}."


def _transitions(report: Report, steps: Sequence[Finding]) -> str:
    told = ", ".join(f"at {value_text(step)} ({_name(report, step)})" for step in steps[:3])
    more = f" and {len(steps) - 3} more" if len(steps) > 3 else ""
    return f"{'transitions' if len(steps) > 1 else 'transition'} {told}{more}"


def _predicted_cliffs(curves: Iterable[Curve], levels: Sequence[Level]) -> list[str]:
    """Say where caches are predicted to give out, of each the prediction that is known best."""
    features = [(curve.key.family, f) for curve in curves for f in _foreseen(curve)]
    told = []
    for level in levels:
        of = [(name, f) for name, f in features if f.position == "midpoint" and f.level == level]
        if of:
            _, best = min(of, key=lambda pair: (pair[0] != _MICROBENCHMARKS, _feature_width(pair[1]), pair[1].value))
            value = format_predicted(best.value, best.ci_low, best.ci_high, best.unit)
            told.append(f"{_the(level)} is predicted to give out at {value}")
    return _sum(told)


def _foreseen(curve: Curve) -> Sequence[CurveFeature]:
    """Return the predicted features of a curve, from the specification where it has them."""
    prediction = curve.specification or curve.calibrated
    return prediction.features if prediction else ()


def _sum(told: Sequence[str]) -> list[str]:
    """Make one sentence of what is told of each cache; a verb that comes again is left out."""
    if not told:
        return []
    first, *others = told
    verb = next((verb for verb in (" gives out at ", " is predicted to give out at ") if verb in first), None)
    return [_capitalised(f"{_listed([first, *(text.replace(verb, ' at ') if verb else text for text in others)])}.")]


def _feature_width(feature: CurveFeature) -> float:
    return feature.ci_high / feature.ci_low if feature.ci_low and feature.ci_high else float("inf")


def work(report: Report, found: Sequence[Curve]) -> list[str]:
    """Say how much work fills the device: the least and the most over kernels, and how that was foreseen."""
    curves = [curve for curve in found if not curve.is_work_group]
    tapers = specified_values(curves, "n90")
    seen = sorted((f for f in tapers if f.observed), key=lambda f: f.observed or 0.0)
    if not tapers and not any(curve.observation for curve in curves):
        return _predicted_work(report, curves)
    if not seen:
        return ["No kernel was seen to fill the device within its sweep."] if tapers else []
    if len(seen) == 1:
        how = compared(seen[0], "less than", "more than")
        brings = f"{value_text(seen[0])} to bring {_name(report, seen[0])} to 90 % of the plateau that it reaches first"
        return [f"It takes {brings}, {how}."]
    ends = [(value_text(f).removesuffix(" work-items"), _name(report, f)) for f in (seen[0], seen[-1])]
    full = f"Fitted curves reach 90 % of the plateau that comes first with {_from_to(*ends)} work-items"
    return [f"{full}; {agreement(f.verdict for f in tapers)}.", *_farthest_work(report, seen)]


def _farthest_work(report: Report, seen: Iterable[Finding]) -> list[str]:
    """Name the taper that is farthest off."""
    off = [f for f in seen if f.verdict is Verdict.OFF and f.ratio]
    if not off:
        return []
    worst = max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)))
    sweep = worst.key.sweep.replace("_", " ")
    return [f"Farthest off is {_name(report, worst)} ({sweep}): {compared(worst, 'less than', 'more than')}."]


def _predicted_work(report: Report, curves: Iterable[Curve]) -> list[str]:
    tapers = [
        (f.value, kernel_name(report, curve.key.family, curve.key.variant))
        for curve in curves
        for f in _foreseen(curve)
        if f.position == "n90"
    ]
    if not tapers:
        return []
    ends = [(format_value(value, ""), name) for value, name in (min(tapers), max(tapers))]
    return [f"The device is predicted to be 90 % full with {_from_to(*ends)} work-items."]


def _from_to(least: tuple[str, str], most: tuple[str, str]) -> str:
    """Write the least and the most, each with what it is said of; what is said of both once."""
    if least[1] == most[1]:
        return f"{least[0] if least == most else f'{least[0]} to {most[0]}'} ({least[1]})"
    return f"{least[0]} ({least[1]}) to {most[0]} ({most[1]})"


def near_limits(report: Report, found: Sequence[Curve]) -> list[str]:
    """Say how near kernels run to the limits that bind them, what binds most, and which limits are passed."""
    known = limits(found)
    seen = [limit for limit in known if limit.share is not None]
    if not known or (not seen and any(curve.observation for curve in found)):
        return []
    how = "run" if seen else "are predicted to run"
    shares = {limit: limit.share or limit.predicted_share for limit in seen or known}
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    if len(shares) == 1:
        verb = "runs" if seen else "is predicted to run"
        at = f"{format_percent(shares[least])} of its limit, {ceiling_text(least.bottleneck)}"
        return [f"{_limit_name(report, least)} {verb} at {at}.", *_passed(report, seen)]
    bottleneck, count = Counter(ceiling_text(limit.bottleneck) for limit in shares).most_common(1)[0]
    ends = f"{format_percent(shares[least])} to {format_percent(shares[most])}"
    slowest = ceiling_text(least.bottleneck)
    middle = f"{format_percent(median(shares.values()))} of the limit that binds them"
    bound = f"by the model, {count} of {len(shares)} are bound by {bottleneck}"
    return [
        f"At their largest sizes kernels {how} at {middle} (median; {ends}); {bound}.",
        f"Farthest below its limit is {_limit_name(report, least)}, at {format_percent(shares[least])} of {slowest}.",
        *_passed(report, seen),
    ]


def _passed(report: Report, seen: Iterable[Limit]) -> list[str]:
    """Name the kernels that surely passed their limits."""
    names = [_limit_name(report, limit) for limit in seen if limit.passed]
    if not names:
        return []
    told = f"{'; '.join(names[:3])}{f'; and {len(names) - 3} more' if len(names) > 3 else ''}"
    more = f"more than {format_percent(ABOVE_CEILING - 1)} faster than"
    run, needs = (
        (f"runs {more} its limit", "it needs") if len(names) == 1 else (f"run {more} their limits", "they need")
    )
    return [f"{told} {run}: the limit is higher than the model assumes, or {needs} less of it."]


def _limit_name(report: Report, limit: Limit) -> str:
    return kernel_name(report, limit.key.family, limit.key.variant)


def _name(report: Report, finding: Finding) -> str:
    return kernel_name(report, finding.key.family, finding.key.variant)


def _sweeps(count: int) -> str:
    return "One sweep" if count == 1 else f"{count} sweeps"


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{'; '.join(first)}; and {last}" if first else last


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
