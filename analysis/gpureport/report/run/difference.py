"""How an observed value stands to its prediction, in words that say no more than the intervals of both show."""

from math import sqrt

from gpureport.findings.verdicts import grade
from gpureport.records.finding import Finding, Verdict
from gpureport.units import format_interval, format_ratio, format_value

_AS_PREDICTED = "as predicted"
_SAME = 0.005
_FACTOR, _WIDE = 2.0, 1.5


def value_text(finding: Finding) -> str:
    """Write what was observed with the digits that its interval supports, three at most."""
    plain = format_value(finding.observed, finding.unit)
    supported = format_interval(finding.observed, finding.ci_low, finding.ci_high, finding.unit).partition(" (")[0]
    return min(supported, plain, key=len)


def compared(finding: Finding, less: str, more: str) -> str:
    """Say how an observed value stands to its prediction, as far as the intervals of both show a difference.

    Args:
        finding: an observed value.
        less: the word for less than predicted: ``before``.
        more: that for more: ``after``.
    """
    if finding.predicted is None:
        return "which was not predicted"
    if finding.ratio is None:
        return "which is not the plateau that was predicted"
    overlap = meet(finding)
    verdict = grade(finding.ratio, meet=overlap)
    if overlap and verdict is not Verdict.OFF:
        spread = _spread(finding)
        if spread >= _WIDE:
            return f"within the factor of {spread:.2g} that its prediction leaves open"
        if verdict is Verdict.WITHIN:
            return f"{_difference(finding.ratio, less, more)}, within the interval"
        return _AS_PREDICTED
    return _AS_PREDICTED if abs(finding.ratio - 1) < _SAME else _difference(finding.ratio, less, more)


def _difference(ratio: float, less: str, more: str) -> str:
    if ratio >= _FACTOR or ratio <= 1 / _FACTOR:
        return f"{format_ratio(ratio)} times what was predicted"
    return f"{abs(ratio - 1) * 100:.0f} % {more if ratio > 1 else less} predicted"


def meet(finding: Finding) -> bool:
    """Return whether the intervals of a value and of its prediction overlap; a value without one is a point."""
    seen, expected = finding.observed or 0.0, finding.predicted or 0.0
    low, high = finding.ci_low or seen, finding.ci_high or seen
    return low <= (finding.predicted_high or expected) and (finding.predicted_low or expected) <= high


def width(finding: Finding) -> float:
    """Return the width of what was observed, as a factor; infinite without an interval."""
    return finding.ci_high / finding.ci_low if finding.ci_low and finding.ci_high else float("inf")


def _spread(finding: Finding) -> float:
    low, high = finding.predicted_low, finding.predicted_high
    return sqrt(high / low) if low and high else 1.0
