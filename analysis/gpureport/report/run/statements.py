"""Published statements compared with predictions, and explanations of the differences."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from gpureport.findings.verdicts import grade
from gpureport.records.features import MAIN_POSITIONS
from gpureport.records.finding import AGREEMENT, Explanation, Finding, Verdict
from gpureport.records.keys import SweepKey
from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.records.report import Publication, PublishedStatement, Report
from gpureport.report.curves import CurveRecords, curves
from gpureport.report.grouping import grouped
from gpureport.report.run.unexpected import explanation_text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import best_sample, feature_text
from gpureport.units import UNKNOWN, format_ratio, format_time, format_value

_FEW, _FEW_FEATURES = 4, 2  # the most times and features that are listed one by one
_AGREES, _WITHIN = "They agree.", "The difference is within the interval."


def statements_table(report: Report, publication: Publication) -> Table:
    """List the published statements with published and predicted values, and reasons for differences."""
    columns = ("published statement", "published and predicted values", "reason for the difference")
    found, tested = curves(report), {explanation.key: explanation for explanation in report.explanations}
    rows = (
        _statement_row(statement, [c for c in found if {str(c.key), c.key.workload} & {*statement.about}], tested)
        for statement in publication.statements
    )
    return Table(columns, tuple(rows))


def as_published(publication: Publication, found: Sequence[CurveRecords]) -> str:
    """Count the statements whose published values are as predicted; empty if none of *found* has a prediction."""
    about = ((s, [c for c in found if {str(c.key), c.key.workload} & {*s.about}]) for s in publication.statements)
    outcomes = [outcome for pair in about if (outcome := _is_as_predicted(*pair)) is not None]
    if not outcomes:
        return ""
    statements = f"statement{'s' if len(outcomes) > 1 else ''}"
    return f"The predictions match the published values of {sum(outcomes)} of {len(outcomes)} {statements}."


def _is_as_predicted(statement: PublishedStatement, about: Sequence[CurveRecords]) -> bool | None:
    """Return whether all values of a statement are as predicted; ``None`` without any."""
    if statement.compare == "spread":
        spreads = _spreads(statement, about)
        return _medians_agree(*spreads) if spreads else None
    verdicts = [verdict for curve in about for verdict in _verdicts(statement, curve)]
    return all(verdict.as_predicted for verdict in verdicts) if verdicts else None


def series_table(report: Report, publication: Publication) -> Table:
    """List the published sweeps with the ratio of published to predicted times."""
    columns = ("sweep", "published conditions", "points", "published / predicted time")
    rows = (
        (
            str(curve.key).replace("/", " / "),
            publication.conditions.get(str(curve.key), UNKNOWN),
            str(len(pairs)),
            _ratios(pairs),
        )
        for curve in curves(report)
        if (pairs := _pairs(curve))
    )
    return Table(columns, tuple(rows), frozenset({"points"}))


def _statement_row(
    statement: PublishedStatement, about: Sequence[CurveRecords], tested: Mapping[SweepKey, Explanation]
) -> tuple[str, ...]:
    quoted = f"{statement.says} ({statement.where})"
    if not about:
        return quoted, "No prediction here.", statement.remark or UNKNOWN
    if statement.compare == "spread":
        return quoted, *_spread_texts(statement, about)
    off = [curve for curve in about if any(not verdict.as_predicted for verdict in _verdicts(statement, curve))]
    agree = all(verdict is Verdict.AGREES for curve in about for verdict in _verdicts(statement, curve))
    reasons = _reasons([(curve.key.variant, tested.get(curve.key)) for curve in off])
    reasons = reasons or (_AGREES if agree else _WITHIN)
    return quoted, _values(statement, about, _names(about)), f"{statement.remark} {reasons}".strip()


def _reasons(off: Iterable[tuple[str, Explanation | None]]) -> str:
    """Return the explanations of the curves that are off, given as variant and test; each text once."""
    names_of = grouped((_reason(explanation), name) for name, explanation in off)
    return " ".join(f"{_counted(names)}: {text}." for text, names in names_of.items())


def _reason(explanation: Explanation | None) -> str:
    if explanation is None:
        return "no hypothesis was tested, because no feature is off"
    text = explanation_text(explanation)
    return f"possible explanation: {text}" if text else "no hypothesis explains it"


def _counted(names: Sequence[str]) -> str:
    """Name variants, with the number of their sweeps."""
    counts = Counter(names)
    return ", ".join(f"{name} ({count} sweeps)" if count > 1 else name for name, count in counts.items())


def _names(about: Sequence[CurveRecords]) -> list[str]:
    """Name curves by variant, and by sweep if a variant has several."""
    variants = [curve.key.variant for curve in about]
    sweeps = [curve.key.sweep.replace("_", " ") for curve in about]
    pairs = zip(variants, sweeps, strict=True)
    return [f"{name}, {sweep}" if variants.count(name) > 1 else name for name, sweep in pairs]


def _verdicts(statement: PublishedStatement, curve: CurveRecords) -> list[Verdict]:
    """Return the verdicts on the compared values; for times, only the median verdict."""
    if statement.compare != "times":
        return [finding.verdict for finding in _features(statement, curve)]
    grades = sorted((_grade(*pair) for pair in _statement_pairs(statement, curve)), key=list(Verdict).index)
    return grades[(len(grades) - 1) // 2 :][:1]


def _grade(observed: ObservedPoint, predicted: PredictedPoint) -> Verdict:
    """Return the verdict on a published time, which has no interval."""
    ratio = observed.time_s / predicted.time_s
    return grade(ratio, meet=1 / predicted.spread <= ratio <= predicted.spread)


def _values(statement: PublishedStatement, about: Sequence[CurveRecords], names: Sequence[str]) -> str:
    """Write published and predicted values: a few values one by one, or else the range of ratios."""
    if statement.compare != "times":
        return _feature_values(statement, about, names)
    pairs = [
        (name, pair) for name, curve in zip(names, about, strict=True) for pair in _statement_pairs(statement, curve)
    ]
    if len(pairs) <= _FEW:
        return " ".join(
            f"{name}, {observed.point.label}: {format_time(observed.time_s)} published, "
            f"{format_time(predicted.time_s)} predicted."
            for name, (observed, predicted) in pairs
        )
    return f"{len(pairs)} times, published / predicted: {_ratios([pair for _, pair in pairs])}."


def _spread_texts(statement: PublishedStatement, about: Sequence[CurveRecords]) -> tuple[str, str]:
    """Compare slowest / fastest sweep at each size that several sweeps have, published and predicted."""
    spreads = _spreads(statement, about)
    if not spreads:
        return "No size is part of two sweeps.", statement.remark or UNKNOWN
    published, ours = spreads
    text = f"Slowest / fastest sweep at each size ({len(published)}): {_range(published)} published, "
    reasons = (
        "Their medians agree."
        if _medians_agree(published, ours)
        else "Their medians differ; no hypothesis covers this."
    )
    return f"{text}{_range(ours)} predicted.", f"{statement.remark} {reasons}".strip()


def _spreads(statement: PublishedStatement, about: Iterable[CurveRecords]) -> tuple[list[float], list[float]] | None:
    """Return slowest / fastest sweep at each size that several sweeps have, published and predicted."""
    pairs = (pair for curve in about for pair in _statement_pairs(statement, curve))
    sizes = grouped((observed.point.label, (observed.time_s, predicted.time_s)) for observed, predicted in pairs)
    shared = [tuple(zip(*times, strict=True)) for times in sizes.values() if len(times) > 1]
    published, ours = ([max(times[side]) / min(times[side]) for times in shared] for side in (0, 1))
    return (published, ours) if shared else None


def _medians_agree(published: Sequence[float], ours: Sequence[float]) -> bool:
    return 1 / AGREEMENT <= median(published) / median(ours) <= AGREEMENT


def _feature_values(statement: PublishedStatement, about: Sequence[CurveRecords], names: Sequence[str]) -> str:
    found = [
        (name, finding) for name, curve in zip(names, about, strict=True) for finding in _features(statement, curve)
    ]
    if not found:
        return f"Neither curve shows a {statement.compare}."
    if len(found) <= _FEW_FEATURES:
        return " ".join(_feature_value(*pair) for pair in found)
    agreeing = sum(finding.verdict is Verdict.AGREES for _, finding in found)
    ratios = [finding.ratio and max(finding.ratio, 1 / finding.ratio) for _, finding in found]
    worst = max(zip(found, ratios, strict=True), key=lambda pair: pair[1] or float("inf"))[0]
    return f"{agreeing} of {len(found)} values agree. Largest deviation: {_feature_value(*worst)}"


def _feature_value(name: str, finding: Finding) -> str:
    published, ours = (
        "none" if value is None else format_value(value, finding.unit)
        for value in (finding.observed, finding.predicted)
    )
    fitted = f" ({text})" if (text := best_sample(finding)) else ""
    return f"{name}, {feature_text(finding)}: {published}{fitted} published, {ours} predicted."


def _features(statement: PublishedStatement, curve: CurveRecords) -> list[Finding]:
    mains = (pair.main for pair in curve.pairs)
    return [main for main in mains if main.feature == statement.compare and main.position in MAIN_POSITIONS]


def _pairs(curve: CurveRecords) -> list[tuple[ObservedPoint, PredictedPoint]]:
    """Return the published points that have a prediction, with it."""
    if not curve.observation or not curve.specification:
        return []
    predicted = {str(point.point.parameters): point for point in curve.specification.points}
    observed = ((point, predicted.get(str(point.point.parameters))) for point in curve.observation.points)
    return [(point, prediction) for point, prediction in observed if prediction]


def _statement_pairs(statement: PublishedStatement, curve: CurveRecords) -> list[tuple[ObservedPoint, PredictedPoint]]:
    """Return the points that the statement covers."""
    return [pair for pair in _pairs(curve) if statement.at.items() <= pair[0].point.parameters.items()]


def _ratios(pairs: Iterable[tuple[ObservedPoint, PredictedPoint]]) -> str:
    return _range([observed.time_s / predicted.time_s for observed, predicted in pairs])


def _range(ratios: Sequence[float]) -> str:
    low, middle, high = map(format_ratio, (min(ratios), median(ratios), max(ratios)))
    return middle if low == high else f"{low} to {high}, median {middle}"
