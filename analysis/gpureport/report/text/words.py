"""Names, sentences and signs that all documents share."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from gpureport.findings.advice import WITHIN, FamilyAdvice
from gpureport.records.features import CurveFeature
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.keys import SweepKey
from gpureport.records.report import Report, WorkloadInfo
from gpureport.report.figures.style import shorten
from gpureport.report.run.curves import Group
from gpureport.units import format_interval, format_percent, format_ratio, format_value
from gpureport.workloads import all_workloads

MARKS = {
    Verdict.AGREES: "✓",
    Verdict.WITHIN: "≈",
    Verdict.OFF: "△",
    Verdict.NOT_OBSERVED: "○",
    Verdict.NOT_PREDICTED: "◇",
    Verdict.NOT_COMPARED: "□",
    Verdict.ERROR: "✗",
}
"""The sign of each verdict, which readers without colours rely on."""

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
_OF_AN_UNEXPLAINED_TRANSITION = _POSITIONS | {
    "onset": "{level}, onset",
    "midpoint": "{level}",
    "end": "{level}, end",
    "plateau": "plateau before the {level}",
}
TIMES = " \N{MULTIPLICATION SIGN} "
_LONG_NAME = 72
_SHAPES, _NAMES = 6, 4  # the most work-group shapes and names in a list


def feature_text(feature: CurveFeature | Finding) -> str:
    """Name a position of a feature: ``L2 cliff, onset``, ``unexplained transition at 37 MiB``."""
    if feature.level.beyond:
        return f"{feature.position} {feature.level}"
    names = _OF_AN_UNEXPLAINED_TRANSITION if feature.level.is_unexplained else _POSITIONS
    return names[feature.position].format(level=feature.level).removesuffix(" in device")


def fitted_text(finding: Finding) -> str:
    """Return the best sample of a fitted plateau that no dispatch reaches; empty for other values."""
    if finding.best_point is None:
        return ""
    return f"fitted, without launch cost; best sample {format_value(finding.best_point, finding.unit)}"


def observed_text(finding: Finding) -> str:
    """Write an observed value with its interval; fitted values also get the best sample."""
    value = format_interval(finding.observed, finding.ci_low, finding.ci_high, finding.unit)
    return "; ".join(part for part in (value, fitted_text(finding)) if part)


def judgement(group: Group) -> str:
    """Write the ratio of a feature's main value, or else the verdict, with its sign: ``✓ 0.98``, ``○ not observed``."""
    main = group.main.main
    return f"{MARKS[main.verdict]} {main.verdict if main.ratio is None else format_ratio(main.ratio)}"


def agreement(verdicts: Iterable[Verdict], what: str = "") -> str:
    """Count verdicts in a sentence: ``12 of 17 tapers agree with the prediction, 3 more are within its interval``."""
    counts = Counter(verdicts)
    within = counts[Verdict.WITHIN]
    more = f", {within} more {'are' if within > 1 else 'is'} within the 95 % interval" if within else ""
    return f"{counts[Verdict.AGREES]} of {counts.total()}{what and f' {what}'} agree with the prediction{more}"


def agreeing(verdicts: Iterable[Verdict]) -> str:
    """Count verdicts in a cell; the number after the plus is only within the interval: ``12 + 3 of 17``."""
    counts = Counter(verdicts)
    within = f" + {counts[Verdict.WITHIN]}" if counts[Verdict.WITHIN] else ""
    return f"{counts[Verdict.AGREES]}{within} of {counts.total()}"


def explanations(groups: Iterable[Group]) -> tuple[str, ...]:
    """Return the explanations of values that are not as predicted, each after the variants and values it explains.

    Results of hypothesis tests apply to whole curves: they come last, once a curve.
    """
    off = [group for group in groups if not group.main.main.verdict.as_predicted]
    own = ((f"{g.name}, {feature_text(g.main.main)}", g.main.main.explanation) for g in off)
    return with_names((name, text) for name, text in (*own, *((g.name, g.tested) for g in off)) if text)


def with_names(texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return each text once, after all the names that it applies to; *texts* are pairs of name and text."""
    names_of: dict[str, dict[str, None]] = {}
    for name, text in texts:
        names_of.setdefault(text, {})[name] = None
    shown = {text: list(names) for text, names in names_of.items()}
    for names in shown.values():
        if len(names) > _NAMES + 1:
            names[_NAMES:] = [f"and {len(names) - _NAMES} more"]
    return tuple(f"{'; '.join(names)}: {text}" for text, names in shown.items())


def verdict_meanings(report: Report) -> tuple[tuple[Verdict, str], ...]:
    """Return each verdict with its meaning, for a table."""
    seen = "published" if report.publication else "observed"
    within = (
        "the published value is within the 95 % interval of the prediction"
        if report.publication
        else "the 95 % intervals overlap"
    )
    apart = f"Predicted and {seen} tapers more than a factor of {AGREEMENT} apart"
    return (
        (Verdict.AGREES, f"Factor of at most {AGREEMENT} between the {seen} and the predicted value."),
        (Verdict.WITHIN, f"Factor of {AGREEMENT} to 2, but {within}: neither agreement nor a difference is shown."),
        (Verdict.OFF, "Larger difference."),
        (Verdict.NOT_OBSERVED, f"Predicted, but not found in the {seen} values."),
        (Verdict.NOT_PREDICTED, f"Found in the {seen} values, but not predicted."),
        (Verdict.NOT_COMPARED, f"{apart}, whose first plateaus belong to different memory levels."),
        (Verdict.ERROR, "Faster than the hardware allows, or wrong results."),
    )


def observed_head(report: Report) -> str:
    """Return the head of the columns of observed values."""
    return "published" if report.publication else "observed (95 %)"


def kernel_name(report: Report, key: SweepKey | WorkloadInfo) -> str:
    """Name a workload: its title without the axis of its sweep, then its identifier, ``Stream copy (copy)``."""
    info = report.workloads.get(f"{key.family}/{key.variant}")
    title = re.split(r" against |, shared by ", info.title)[0] if info else family_name(report, key.family)
    return f"{shorten(title, _LONG_NAME)} ({key.variant})"


def family_name(report: Report, family: str) -> str:
    """Name a family by what its variants' titles share before a comma; or else by its identifier."""
    return _common_title(family, [info.title for info in report.workloads.values() if info.family == family])


@cache
def family_title(family: str) -> str:
    """Name a family of the present workloads, as :func:`family_name` does."""
    return _common_title(family, [workload.title for workload in all_workloads() if workload.family == family])


def _common_title(family: str, titles: Sequence[str]) -> str:
    """Name a family by what *titles* of its variants share before a comma; or else by its identifier."""
    heads = {re.split(r"[,:(]", title)[0].strip() for title in titles}
    return heads.pop() if len(titles) > 1 and len(heads) == 1 else family.replace("_", " ").capitalize()


def advice_sentence(family: str, advice: FamilyAdvice) -> str:
    """Recommend work-group shapes for a whole family."""
    share = f"within {format_percent(WITHIN)} of the best"
    shapes = [any_of(choices) for choices in advice.choices]
    count = len(advice.variants)
    if count == 1:
        tried = len(advice.variants[0].shares)
        if len(advice.choices[0]) == 1:
            return f"{family}: {shapes[0]} is the fastest of {tried} shapes."
        return f"{family}: {shapes[0]}; each is {share} of {tried} shapes."
    if len(shapes) == 1:
        return f"{family}: {shapes[0]} is {share} in each of {count} searches."
    return f"{family}: {'; or '.join(shapes)}. In each of {count} searches, at least one of these is {share}."


def any_of(shapes: Sequence[str]) -> str:
    """Name work-group shapes that do equally well: ``any of 64, 128, 256``; the first ones if there are many."""
    names = [shape.replace(" x ", TIMES) for shape in shapes]
    if len(names) > _SHAPES + 1:
        names = [*names[:_SHAPES], f"{len(names) - _SHAPES} more"]
    return names[0] if len(names) == 1 else f"any of {', '.join(names)}"


def whole_sentences(text: str, most: int) -> str:
    """Return the first sentences of *text* that fit in *most* characters; a first sentence that is longer is cut."""
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s|$)", text) if found.end() <= most]
    return shorten(text[: ends[-1]] if ends and len(text) > most else text, most)


def low_to_high(low: str, high: str) -> str:
    """Write a range of two texts, or just one if they are equal."""
    return low if low == high else f"{low} to {high}"


def listed(names: Sequence[str]) -> str:
    """Write names as a list: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
