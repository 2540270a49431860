"""What the report says in plain sentences, made from its records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.records import CurveFeature, Finding, Verdict
from gpureport.report.curves import Comparison, Curve, comparisons
from gpureport.report.document import Report
from gpureport.report.figures.roofline import Dot
from gpureport.report.figures.work_group import MOST_SHAPES, ranked
from gpureport.units import format_interval, format_ratio, format_value

MARKS = {
    Verdict.AGREES: "✓",
    Verdict.OFF: "△",
    Verdict.NOT_OBSERVED: "○",
    Verdict.NOT_PREDICTED: "◇",
    Verdict.ERROR: "✗",
}
"""The sign of each verdict, so that its colour never stands alone."""

_POSITIONS = {
    "departure": "{level} begins to give out",
    "midpoint": "{level} gives out",
    "arrival": "{level} has given out",
    "knee": "work-items at the knee",
    "n90": "work-items for 90 %",
    "plateau": "plateau in {level}",
    "peak": "best of the sweep",
}
_SAME = 0.005
_FACTOR = 2.0


def feature_text(feature: CurveFeature | Finding) -> str:
    """Name a position of a feature: ``L2 gives out``."""
    text = _POSITIONS[feature.position].format(level=feature.level)
    return text.removesuffix(" in device")


def explanations(pairs: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the findings' explanations, each after the values that it explains."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.main.explanation:
            values.setdefault(pair.main.explanation, []).append(feature_text(pair.main))
    return tuple(f"{', '.join(names)}: {text}" for text, names in values.items())


def title_of(report: Report, workload: str, variant: str) -> str:
    """Return a variant's title, or its name if the report does not describe it."""
    info = report.workloads.get(f"{workload}/{variant}")
    return info.title if info else f"{workload}/{variant}"


def difference(ratio: float) -> str:
    """Say a ratio of observed to predicted in words: ``5 % above the prediction``, ``2.3 times the prediction``."""
    if abs(ratio - 1) < _SAME:
        return "as predicted"
    if ratio >= _FACTOR or ratio <= 1 / _FACTOR:
        return f"{format_ratio(ratio)} times the prediction"
    return f"{abs(ratio - 1) * 100:.0f} % {'above' if ratio > 1 else 'below'} the prediction"


def sentences(report: Report) -> list[str]:
    """Sum the report up in at most three sentences."""
    pairs = comparisons(report.findings)
    if not report.observations:
        reason = "every workload was skipped" if report.measurements or report.workloads else "none was run"
        return [f"Nothing was measured: {reason}.", *_predicted_cliff(report)]
    if not pairs:
        return ["The curves were measured, but there is no prediction to compare them with."]
    return [*_agreement(pairs), *_cliff(report, pairs), *_surprise(report, pairs)]


def _agreement(pairs: Sequence[Comparison]) -> list[str]:
    counts = Counter(pair.main.verdict for pair in pairs)
    ratios = [pair.main.ratio for pair in pairs if pair.main.ratio]
    text = f"Of {len(pairs)} values, {counts[Verdict.AGREES]} agree with their prediction"
    others = [
        f"{counts[v]} {'are in error' if v is Verdict.ERROR else v}"
        for v in Verdict
        if v is not Verdict.AGREES and counts[v]
    ]
    text += f" ({', '.join(others)})" if others else ""
    return [f"{text}; the median of observed / predicted is {format_ratio(median(ratios))}." if ratios else f"{text}."]


def _cliff(report: Report, pairs: Sequence[Comparison]) -> list[str]:
    """Say where the outermost cache gives out, from the finding with the narrowest interval."""
    cliffs = [p.main for p in pairs if p.main.position == "midpoint" and p.main.observed]
    if not cliffs:
        return ["No cache was seen to give out."]
    levels = [cache.name for cache in report.device.caches]
    finding = max(cliffs, key=lambda f: (levels.index(f.level) if f.level in levels else -1, -_width(f)))
    where = format_interval(finding.observed, finding.ci_low, finding.ci_high, finding.unit)
    how = difference(finding.ratio) if finding.ratio else "which was not predicted"
    title = title_of(report, finding.workload, finding.variant)
    return [f"{finding.level} gives out at {where}, {how} ({title})."]


def _width(finding: Finding) -> float:
    if finding.ci_low and finding.ci_high:
        return finding.ci_high / finding.ci_low
    return float("inf")


def _surprise(report: Report, pairs: Sequence[Comparison]) -> list[str]:
    """Tell the finding that is farthest from its prediction, and its explanation."""
    worst = min(pairs, key=lambda pair: pair.urgency).main
    if worst.verdict is Verdict.AGREES:
        return ["No value is farther from its prediction than the tolerance of its verdict."]
    title = title_of(report, worst.workload, worst.variant)
    how = difference(worst.ratio) if worst.ratio else str(worst.verdict)
    return [f"Farthest from its prediction: {title}, {feature_text(worst)}, {how}. {worst.explanation}".strip()]


def _predicted_cliff(report: Report) -> list[str]:
    specified = (p for p in report.predictions if p.kind == "specification")
    features = [f for p in specified for f in p.features if f.position == "midpoint"]
    if not features:
        return []
    last = max(features, key=lambda feature: feature.value)
    return [f"The specification lets {last.level} give out at {format_value(last.value, last.unit)}."]


def curve_caption(curve: Curve) -> str:
    """Say what to see in the figure of a sweep over sizes."""
    seen = [_statement(pair) for pair in curve.comparisons if pair.main.position in ("midpoint", "n90")]
    legend = []
    if curve.specification or curve.calibrated:
        legend.append("Dashed: predicted from the specification; solid: calibrated.")
    if curve.observation:
        legend.append("Points: medians with 95 % intervals.")
    legend.append("The strip marks where caches give out (▼) and where the device is full (▲).")
    return " ".join([*(text[:1].upper() + text[1:] for text in seen), *legend])


def _statement(pair: Comparison) -> str:
    main = pair.main
    if main.observed is None:
        return f"Predicted but not observed: {feature_text(main)} at {format_value(main.predicted, main.unit)}."
    value = format_value(main.observed, main.unit)
    how = f", {difference(main.ratio)}" if main.ratio else ", not predicted"
    if main.feature == "cliff":
        return f"{main.level} gives out at {value}{how}."
    return f"It takes {value} for 90 % of the plateau{how}."


def work_group_caption(curve: Curve) -> str:
    """Say which work-group shapes are best and worst."""
    points = ranked(curve)
    kind = "Observed" if curve.observation and curve.observation.points else "Predicted"
    best, worst = points[0], points[-1]
    text = (
        f"{kind} best: {best.point.label} ({format_value(best.value, curve.value_unit)}); "
        f"worst: {worst.point.label} ({format_value(worst.value, curve.value_unit)})."
    )
    left_out = len(points) - MOST_SHAPES
    return text + (f" {left_out} shapes in the middle of the ranking are left out." if left_out > 0 else "")


def roofline_caption(dots: Sequence[Dot]) -> str:
    """Say how near its predicted rate each variant runs."""
    shares = [f"{d.name} reaches {d.observed_per_s / d.predicted_per_s:.0%}" for d in dots if d.observed_per_s]
    text = "Hollow: predicted; filled: observed, at the largest size. Every operation but memory accesses counts."
    return f"Of its predicted rate, {_listed(shares)}. {text}" if shares else text


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
