"""What the report says in plain sentences, made from its records."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.advice import WITHIN, FamilyAdvice
from gpureport.records import CurveFeature, Finding, Verdict
from gpureport.report.curves import Comparison, Group, specified, verdicts
from gpureport.report.document import Report
from gpureport.report.figures.style import shorten
from gpureport.spec.models import PresentDevice
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
    "case": "{level}",
}
_OF_A_STEP = _POSITIONS | {
    "departure": "{level} begins",
    "midpoint": "{level}",
    "arrival": "{level} ends",
    "plateau": "plateau before the {level}",
}
TIMES = " \N{MULTIPLICATION SIGN} "
_NAMES = 4  # most that are listed in front of one text
_SAME = 0.005
_FACTOR = 2.0


def is_step(level: str) -> bool:
    """Return whether a level is a step that no cache is known to cause."""
    return level.startswith("step at ")


def feature_text(feature: CurveFeature | Finding) -> str:
    """Name a position of a feature: ``L2 gives out``; ``step at 37 MiB`` where no cache is known to give out."""
    if feature.level.startswith("beyond "):
        return f"{feature.position} {feature.level}"
    text = (_OF_A_STEP if is_step(feature.level) else _POSITIONS)[feature.position].format(level=feature.level)
    return text.removesuffix(" in device")


def explanations(groups: Iterable[Group]) -> tuple[str, ...]:
    """Return what explains the values that are not as predicted, each after the variants and values it explains.

    What hypotheses say of a whole curve comes last, once for all of its values.
    """
    off = [group for group in groups if group.main.main.verdict is not Verdict.AGREES and group.main.main.explanation]
    own = ((f"{g.name}, {feature_text(g.main.main)}", g.main.main.explanation.removesuffix(g.tested)) for g in off)
    return with_names([*((name, text.rstrip()) for name, text in own), *((g.name, g.tested) for g in off if g.tested)])


def with_names(texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return each text once, after the names of all that it is said of: texts are given as name and text."""
    said: dict[str, dict[str, None]] = {}
    for name, text in texts:
        said.setdefault(text, {})[name] = None
    return tuple(f"{_listed_shortly(list(names))}: {text}" for text, names in said.items())


def _listed_shortly(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    return "; ".join(names) if more < 2 else f"{'; '.join(names[:_NAMES])}; and {more} more"


def title_of(report: Report, workload: str, variant: str) -> str:
    """Return a variant's title, or its name if the report does not describe it."""
    info = report.workloads.get(f"{workload}/{variant}")
    return info.title if info else f"{workload}/{variant}"


def family_name(report: Report, family: str) -> str:
    """Name a family in words: by what the titles of its variants have in common before a comma, if they do."""
    titles = [info.title for info in report.workloads.values() if info.family == family]
    heads = {re.split(r"[,:(]", title)[0].strip() for title in titles}
    return heads.pop() if len(titles) > 1 and len(heads) == 1 else family.replace("_", " ").capitalize()


def difference(ratio: float) -> str:
    """Say a ratio of observed to predicted in words: ``5 % above the prediction``, ``2.3 times the prediction``."""
    if abs(ratio - 1) < _SAME:
        return "as predicted"
    if ratio >= _FACTOR or ratio <= 1 / _FACTOR:
        return f"{format_ratio(ratio)} times the prediction"
    return f"{abs(ratio - 1) * 100:.0f} % {'above' if ratio > 1 else 'below'} the prediction"


def sentences(report: Report) -> list[str]:
    """Sum the report up in at most three sentences."""
    pairs = specified(report)
    if report.only_predicted:
        return [f"Predicted from the database entry alone. {' '.join(_predicted_cliff(report))}".strip()]
    if not report.observations:
        reason = "every workload was skipped" if report.measurements or report.workloads else "none was run"
        return [f"Nothing was measured: {reason}.", *_predicted_cliff(report)]
    if not pairs:
        return ["The curves were measured, but there is no prediction to compare them with."]
    cliffs = _cliff(report, pairs) if report.machine or any(pair.main.feature == "cliff" for pair in pairs) else []
    return [*_agreement(pairs), *cliffs, *_surprise(report)]


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
    if is_step(finding.level):
        return [f"There is a {finding.level}, {how} ({title})."]
    return [f"{finding.level} gives out at {where}, {how} ({title})."]


def _width(finding: Finding) -> float:
    if finding.ci_low and finding.ci_high:
        return finding.ci_high / finding.ci_low
    return float("inf")


def _surprise(report: Report) -> list[str]:
    """Tell the finding that is farthest from its prediction, which leads the table of verdicts, and its explanation."""
    worst = verdicts(report)[0].farthest.main
    if worst.verdict is Verdict.AGREES:
        return ["No value is farther from its prediction than the tolerance of its verdict."]
    title = title_of(report, worst.workload, worst.variant)
    how = difference(worst.ratio) if worst.ratio else str(worst.verdict)
    return [f"Farthest from its prediction: {title}, {feature_text(worst)}, {how}. {worst.explanation}".strip()]


def _predicted_cliff(report: Report) -> list[str]:
    specified = (p for p in report.predictions if p.kind == "specification")
    sizes = {cache.name: cache.capacity_bytes for cache in report.device.caches}
    cliffs = (f for p in specified for f in p.features if f.position == "midpoint")
    features = [f for f in cliffs if f.value < _FACTOR * sizes.get(f.level, f.value)]  # a step far beyond is not its
    if not features:
        return []
    last = max(features, key=lambda feature: feature.value)
    return [f"The specification lets {last.level} give out at {format_value(last.value, last.unit)}."]


def advice_sentence(family: str, advice: FamilyAdvice) -> str:
    """Say which work-group shapes serve a whole family."""
    share = f"within {WITHIN:.0%} of the best"
    shapes = [_shape(shape) for shape in advice.shapes]
    count = len(advice.variants)
    if count == 1:
        return f"{family}: {shapes[0]} is the best of {len(advice.variants[0].shares)} shapes."
    if len(shapes) == 1:
        return f"{family}: {shapes[0]} comes {share} for each of {count} searches."
    return f"{family}: {_listed(shapes)} suffice; one of them comes {share} for each of {count} searches."


def _shape(text: str) -> str:
    return text.replace(" x ", TIMES)


def whole_sentences(text: str, most: int) -> str:
    """Return as many of the first sentences of *text* as *most* characters hold; a longer one is cut."""
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s|$)", text) if found.end() <= most]
    return shorten(text[: ends[-1]] if ends and len(text) > most else text, most)


def runtime(present: PresentDevice) -> str:
    """Name the OpenCL runtime as people know it, with its version."""
    if "Portable Computing Language" in present.platform:
        return f"PoCL {present.driver}"
    return f"{present.platform}, driver {present.driver}"


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
