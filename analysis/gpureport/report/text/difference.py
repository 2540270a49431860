"""Observed values compared with predictions, in words that state only differences that their intervals show."""

from collections.abc import Iterable

from gpureport.findings.verdicts import grade
from gpureport.records.curves import CurveFeature
from gpureport.records.finding import Finding
from gpureport.units import (
    UNKNOWN,
    format_percent,
    format_range,
    format_ratio,
    format_value,
    interval_parts,
)

_SAME = 0.005
_FACTOR = 2.0


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
    if abs(finding.ratio - 1) < _SAME or (overlap and grade(finding.ratio, meet=True).agrees):
        return "as predicted"
    return f"{_difference(finding.ratio)}{', but the intervals overlap' if overlap else ''}"


def _difference(ratio: float) -> str:
    if ratio >= _FACTOR or ratio <= 1 / _FACTOR:
        return f"{format_ratio(ratio)} times the prediction"
    return f"{format_percent(abs(ratio - 1))} {'above' if ratio > 1 else 'below'} the prediction"


def meet(finding: Finding) -> bool:
    """Return whether the intervals of a value and of its prediction overlap; without intervals they are points."""
    seen, expected = finding.observed or 0.0, finding.predicted or 0.0
    low, high = finding.ci_low or seen, finding.ci_high or seen
    return low <= (finding.predicted_high or expected) and (finding.predicted_low or expected) <= high


def known_range(values: Iterable[float | None], unit: str = "") -> str:
    """Write the least and the greatest of the known *values*."""
    return format_range([value for value in values if value], unit)


def largest_deviation(mains: Iterable[Finding]) -> str:
    """Name the variant that is farthest from its prediction, of those that are not as predicted."""
    off = [f for f in mains if f.ratio and not f.verdict.as_predicted]
    worst = max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)), default=None)
    return f"{worst.key.variant}: {format_ratio(worst.ratio)} times the prediction" if worst else UNKNOWN
