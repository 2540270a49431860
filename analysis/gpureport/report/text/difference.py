"""Observed values compared with predictions, in words that state only differences that their intervals show."""

from collections.abc import Iterable
from math import sqrt

from gpureport.findings.verdicts import grade
from gpureport.records.curves import CurveFeature
from gpureport.records.finding import Finding
from gpureport.units import (
    UNKNOWN,
    format_number,
    format_percent,
    format_range,
    format_ratio,
    format_value,
    interval_parts,
)

_AS_PREDICTED = "as predicted"
_SAME = 0.005
_FACTOR, _WIDE = 2.0, 1.5


def value_text(seen: Finding | CurveFeature) -> str:
    """Write an observed value with the digits that its interval supports, three at most."""
    value = seen.value if isinstance(seen, CurveFeature) else seen.observed
    supported, _ = interval_parts(value, seen.ci_low, seen.ci_high, seen.unit)
    return min(supported, format_value(value, seen.unit), key=len)


def compared(finding: Finding) -> str:
    """Compare an observed value with its prediction, as far as the intervals of both show a difference."""
    if finding.predicted is None:
        return "not predicted"
    if finding.ratio is None:
        return "not compared, because another plateau was predicted"
    overlap = meet(finding)
    verdict = grade(finding.ratio, meet=overlap)
    if verdict.outcome == "unclear":
        return f"{_difference(finding.ratio)}, but the intervals overlap"
    if overlap:
        spread = _spread(finding)
        if spread >= _WIDE and _contains(finding):
            factor = format_number(spread, ".2g")
            return f"within the prediction\N{RIGHT SINGLE QUOTATION MARK}s interval (a factor of {factor})"
        if verdict.within:
            return f"{_difference(finding.ratio)}, but the intervals overlap"
        return _AS_PREDICTED
    return _AS_PREDICTED if abs(finding.ratio - 1) < _SAME else _difference(finding.ratio)


def _difference(ratio: float) -> str:
    if ratio >= _FACTOR or ratio <= 1 / _FACTOR:
        return f"{format_ratio(ratio)} times the prediction"
    return f"{format_percent(abs(ratio - 1))} {'above' if ratio > 1 else 'below'} the prediction"


def meet(finding: Finding) -> bool:
    """Return whether the intervals of a value and of its prediction overlap; without intervals they are points."""
    seen, expected = finding.observed or 0.0, finding.predicted or 0.0
    low, high = finding.ci_low or seen, finding.ci_high or seen
    return low <= (finding.predicted_high or expected) and (finding.predicted_low or expected) <= high


def _contains(finding: Finding) -> bool:
    low, high = finding.predicted_low, finding.predicted_high
    return bool(low and high and finding.observed and low <= finding.observed <= high)


def _spread(finding: Finding) -> float:
    low, high = finding.predicted_low, finding.predicted_high
    return sqrt(high / low) if low and high else 1.0


def known_range(values: Iterable[float | None], unit: str = "") -> str:
    """Write the least and the greatest of the known *values*."""
    return format_range([value for value in values if value], unit)


def largest_deviation(mains: Iterable[Finding]) -> str:
    """Name the variant that is farthest from its prediction, of those that are not as predicted."""
    off = [f for f in mains if f.ratio and not f.verdict.as_predicted]
    worst = max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)), default=None)
    return f"{worst.key.variant}: {format_ratio(worst.ratio)} times the prediction" if worst else UNKNOWN
