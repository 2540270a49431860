"""Names, sentences and signs that all documents share.

Observed values are compared with predictions in words that state only differences that their intervals show.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from gpureport.records.curves import CurveFeature, SweepKey
from gpureport.records.finding import Finding, Verdict
from gpureport.records.report import Report, WorkloadInfo, described_families
from gpureport.text import shorten, shortlist
from gpureport.units import UNKNOWN, format_bytes, format_percent, format_range, format_ratio, format_value

_POSITIONS = {
    "onset": "{level} cliff, onset",
    "midpoint": "{level} cliff",
    "end": "{level} cliff, end",
    "knee": "taper, knee",
    "n90": "taper, n90",
    "plateau": "plateau in {level}",
    "peak": "best of the sweep",
    "case": "{level}",
}
_OF_A_TRANSITION = _POSITIONS | {
    "onset": "{level}, onset",
    "midpoint": "{level}",
    "end": "{level}, end",
    "plateau": "plateau before the {level}",
}
"""Positions of transitions that no cache causes."""
TIMES = " \N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"
_LONG_NAME = 72
_SAME = 0.005
_FACTOR = 2.0
_FAMILIES = {"game_of_life": "Game of Life"}
"""Names of families that are not those of their identifiers."""


def feature_name(feature: CurveFeature | Finding) -> str:
    """Name a position of a feature: ``L2 cliff, onset``, ``unexplained transition at 37 MiB``."""
    if feature.level.beyond:
        return f"{feature.position} {feature.level}"
    if feature.level.is_transition:
        level, size = feature.level, feature.level.transition_bytes
        named = level.is_unexplained or size is None
        name = str(level) if named else f"transition predicted at {format_bytes(size)} ({level.name})"
        return _OF_A_TRANSITION[feature.position].format(level=name)
    whole = feature.position == "plateau" and str(feature.level) == "device"
    return "plateau" if whole else _POSITIONS[feature.position].format(level=feature.level)


def best_sample(finding: Finding) -> str:
    """Return the best sample of an extrapolated plateau, which no dispatch reaches; empty for other values."""
    if finding.best_point is None:
        return ""
    return f"extrapolated, without launch cost; best sample {format_value(finding.best_point, finding.unit)}"


def judgement(main: Finding) -> str:
    """Write the ratio of a feature's main value, or else the verdict, with its sign: ``✓ 0.98``, ``○ not observed``."""
    return f"{main.verdict.mark} {main.verdict if main.ratio is None else format_ratio(main.ratio)}"


def agreement(verdicts: Iterable[Verdict], what: str) -> str:
    """Count verdicts in a sentence: ``12 of 17 tapers agree with the prediction, 3 more are within its interval``."""
    agree, within, total = _counts(verdicts)
    more = f", {within} more {'are' if within > 1 else 'is'} within the 95 % interval" if within else ""
    return f"{agree} of {total} {what} agree with the prediction{more}"


def agreeing(verdicts: Iterable[Verdict]) -> str:
    """Count verdicts in a cell; the number after the plus is only within the interval: ``12 + 3 of 17``."""
    agree, within, total = _counts(verdicts)
    return f"{agree}{f' + {within}' if within else ''} of {total}"


def _counts(verdicts: Iterable[Verdict]) -> tuple[int, int, int]:
    found = list(verdicts)
    agree = sum(verdict.agrees for verdict in found)
    return agree, sum(verdict.as_predicted for verdict in found) - agree, len(found)


def with_names(texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return each text once, after all the names that it applies to; *texts* are pairs of name and text."""
    names_of: dict[str, dict[str, None]] = {}
    for name, text in texts:
        names_of.setdefault(text, {})[name] = None
    return tuple(f"{'; '.join(shortlist(list(names)))}: {text}" for text, names in names_of.items())


def seen_in(report: Report) -> str:
    """Return how the values of a report are known: ``published`` or ``observed``."""
    return "published" if report.publication else "observed"


def kernel_name(report: Report, key: SweepKey | WorkloadInfo) -> str:
    """Name a workload: its title, then its identifier, ``Stream copy (copy)``, unless both are the same."""
    info = report.workloads.get(f"{key.family}/{key.variant}")
    title = shorten(info.title if info else family_name(report, key.family), _LONG_NAME)
    return title if title == key.variant else f"{title} ({key.variant})"


def family_name(report: Report, family: str) -> str:
    """Name a family; one of a user's kernels has the title of its description."""
    return family_title(family, described_families(report.workloads.values()))


def family_title(family: str, own: Mapping[str, str]) -> str:
    """Name a family; *own* are the titles of users' kernels."""
    return own.get(family) or _FAMILIES.get(family) or family.replace("_", " ").capitalize()


def shape_name(sides: Iterable[int]) -> str:
    """Write a work-group shape: ``64 x 4``, ``256``."""
    return " x ".join(map(str, sides))


def compared(finding: Finding) -> str:
    """Compare an observed value with its prediction, as far as the intervals of both show a difference."""
    if finding.predicted is None:
        return "not predicted"
    if finding.ratio is None:
        return "not compared, because another plateau was predicted"
    overlap = meet(finding)
    if abs(finding.ratio - 1) < _SAME or (overlap and Verdict.of(finding.ratio, meet=True).agrees):
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
    """Name the variant that is off by the largest factor; if none is, count the others that are not as predicted."""
    unlike = [f for f in mains if not f.verdict.as_predicted]
    off = [f for f in unlike if f.ratio and f.verdict.outcome == "off"]
    if worst := max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)), default=None):
        return f"{worst.key.variant}: {format_ratio(worst.ratio)} times the prediction"
    return ", ".join(f"{number} {name}" for name, number in Counter(f.verdict for f in unlike).items()) or UNKNOWN
