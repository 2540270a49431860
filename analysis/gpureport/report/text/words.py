"""What the report says in plain sentences, made from its records."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from gpureport.findings.advice import WITHIN, FamilyAdvice
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding, Verdict
from gpureport.records.report import Report
from gpureport.report.figures.style import shorten
from gpureport.report.run.curves import Group
from gpureport.units import format_interval, format_percent, format_ratio, format_value

MARKS = {
    Verdict.AGREES: "✓",
    Verdict.WITHIN: "≈",
    Verdict.OFF: "△",
    Verdict.NOT_OBSERVED: "○",
    Verdict.NOT_PREDICTED: "◇",
    Verdict.NOT_COMPARED: "□",
    Verdict.ERROR: "✗",
}
"""The sign of each verdict, so that its colour never stands alone."""

_POSITIONS = {
    "onset": "{level} begins to give out",
    "midpoint": "{level} gives out",
    "end": "{level} has given out",
    "knee": "work-items at the knee",
    "n90": "work-items for 90 %",
    "plateau": "plateau in {level}",
    "peak": "best of the sweep",
    "case": "{level}",
}
_OF_A_STEP = _POSITIONS | {
    "onset": "{level} begins",
    "midpoint": "{level}",
    "end": "{level} ends",
    "plateau": "plateau before the {level}",
}
TIMES = " \N{MULTIPLICATION SIGN} "
_LONG_NAME = 48
_SHAPES = 6  # work-group shapes that are named
_NAMES = 4  # most that are listed in front of one text


def feature_text(feature: CurveFeature | Finding) -> str:
    """Name a position of a feature: ``L2 gives out``; ``step at 37 MiB`` where no cache is known to give out."""
    if feature.level.beyond:
        return f"{feature.position} {feature.level}"
    text = (_OF_A_STEP if feature.level.is_unexplained else _POSITIONS)[feature.position].format(level=feature.level)
    return text.removesuffix(" in device")


def fitted_text(finding: Finding) -> str:
    """Say of a plateau that no dispatch reaches how it came about, and what was measured; of all else nothing."""
    if finding.best_point is None:
        return ""
    return f"fitted, without launch cost; best sample {format_value(finding.best_point, finding.unit)}"


def observed_text(finding: Finding) -> str:
    """Write what was observed with its interval, and how it came about if it is no sample's."""
    value = format_interval(finding.observed, finding.ci_low, finding.ci_high, finding.unit)
    return "; ".join(part for part in (value, fitted_text(finding)) if part)


def judgement(group: Group) -> str:
    """Write what the verdict on a feature's main value is about, with its sign: ``✓ 0.98``, ``○ not observed``."""
    main = group.main.main
    about = str(main.verdict) if main.ratio is None else format_ratio(main.ratio)
    return f"{MARKS[main.verdict]} {about}"


def agreement(verdicts: Iterable[Verdict]) -> str:
    """Say in a sentence what :func:`agreeing` says in a cell: ``12 of 17 agree with their predictions, 3 more …``."""
    counts = Counter(verdicts)
    within = counts[Verdict.WITHIN]
    more = f", {within} more {'lie' if within > 1 else 'lies'} within the interval" if within else ""
    return f"{counts[Verdict.AGREES]} of {counts.total()} agree with their predictions{more}"


def agreeing(verdicts: Iterable[Verdict]) -> str:
    """Say how many of several values agree, and after a plus how many just lie within intervals: ``12 + 3 of 17``."""
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


def observed_head(report: Report) -> str:
    """Return the head of the columns of observed values."""
    return "published" if report.publication else "observed (95 %)"


def kernel_name(report: Report, workload: str, variant: str) -> str:
    """Name a variant in a sentence: its title without the axis of its sweep; with its identifier if others share it."""
    name = _short_title(title_of(report, workload, variant))
    alike = [info.variant for info in report.workloads.values() if _short_title(info.title) == name]
    return f"{shorten(name, _LONG_NAME)} ({variant})" if len(alike) > 1 else shorten(name, _LONG_NAME)


def _short_title(title: str) -> str:
    return re.split(r" against |, shared by ", title)[0]


def family_name(report: Report, family: str) -> str:
    """Name a family in words: by what the titles of its variants have in common before a comma, if they do."""
    titles = [info.title for info in report.workloads.values() if info.family == family]
    heads = {re.split(r"[,:(]", title)[0].strip() for title in titles}
    return heads.pop() if len(titles) > 1 and len(heads) == 1 else family.replace("_", " ").capitalize()


def advice_sentence(family: str, advice: FamilyAdvice) -> str:
    """Say which work-group shapes serve a whole family."""
    share = f"within {format_percent(WITHIN)} of the best"
    shapes = [any_of(choices) for choices in advice.choices]
    count = len(advice.variants)
    if count == 1:
        tried = len(advice.variants[0].shares)
        if len(advice.choices[0]) == 1:
            return f"{family}: {shapes[0]} is the best of {tried} shapes."
        return f"{family}: {shapes[0]}; all of these come {share} of {tried} shapes."
    if len(shapes) == 1:
        return f"{family}: {shapes[0]} comes {share} for each of {count} searches."
    return f"{family}: {'; and '.join(shapes)}. One of them comes {share} for each of {count} searches."


def any_of(shapes: Sequence[str]) -> str:
    """Name work-group shapes that do equally well: ``any of 64, 128, 256``; of many the first."""
    names = [_shape(shape) for shape in shapes]
    if len(names) > _SHAPES + 1:
        names = [*names[:_SHAPES], f"{len(names) - _SHAPES} more"]
    return names[0] if len(names) == 1 else f"any of {', '.join(names)}"


def _shape(text: str) -> str:
    return text.replace(" x ", TIMES)


def whole_sentences(text: str, most: int) -> str:
    """Return as many of the first sentences of *text* as *most* characters hold; a longer one is cut."""
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s|$)", text) if found.end() <= most]
    return shorten(text[: ends[-1]] if ends and len(text) > most else text, most)


def listed(names: Sequence[str]) -> str:
    """Write names as people list them: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
