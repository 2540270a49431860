"""What a publication claims, beside what is predicted, and what explains the difference."""

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
from gpureport.report.run.curves import Curve, curves
from gpureport.report.run.unexpected import statements
from gpureport.report.text.tables import UNKNOWN, Table
from gpureport.report.text.words import feature_text, fitted_text
from gpureport.units import format_ratio, format_value

_FEW, _FEW_FEATURES = 4, 2  # times and features that are told one by one
_AGREES, _WITHIN = "They agree.", "They differ by less than the interval."


def statements_table(report: Report, publication: Publication) -> Table:
    """List what was claimed, what was published and predicted of that, and why the two differ."""
    columns = ("the publication says", "published and predicted", "why they differ")
    found, tested = curves(report), {explanation.key: explanation for explanation in report.explanations}
    rows = (
        _statement_row(statement, [curve for curve in found if _is_about(statement, curve)], tested)
        for statement in publication.statements
    )
    return Table(columns, tuple(rows))


def series_table(report: Report, publication: Publication) -> Table:
    """List what was published, a row a sweep, with how far it lies from the prediction."""
    columns = ("sweep", "as published", "points", "published / predicted time")
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


def _is_about(statement: PublishedStatement, curve: Curve) -> bool:
    return str(curve.key) in statement.about or curve.key.workload in statement.about


def _statement_row(
    statement: PublishedStatement, about: Sequence[Curve], tested: Mapping[SweepKey, Explanation]
) -> tuple[str, ...]:
    says = f"{statement.says} ({statement.where})"
    if not about:
        return says, "Nothing that is predicted here.", statement.remark or UNKNOWN
    if statement.compare == "spread":
        return says, *_spread_texts(statement, about)
    off = [curve for curve in about if any(not verdict.as_predicted for verdict in _verdicts(statement, curve))]
    agree = all(verdict is Verdict.AGREES for curve in about for verdict in _verdicts(statement, curve))
    reasons = _reasons([(curve.key.variant, tested.get(curve.key)) for curve in off])
    reasons = reasons or (_AGREES if agree else _WITHIN)
    return says, _values(statement, about, _names(about)), f"{statement.remark} {reasons}".strip()


def _reasons(off: Iterable[tuple[str, Explanation | None]]) -> str:
    """Say which hypotheses fit the curves that are off, given as variant and what was tested; each text once."""
    said: dict[str, list[str]] = {}
    for name, explanation in off:
        said.setdefault(_reason(explanation), []).append(name)
    return " ".join(f"{_counted(names)}: {text}." for text, names in said.items())


def _reason(explanation: Explanation | None) -> str:
    if explanation is None:
        return "no hypothesis was tested, since none of its features is off"
    claimed = dict(statements((explanation,)))
    nearest, following = (claimed.get(name or "", "") for name in (explanation.hypothesis, explanation.next_best))
    match explanation.outcome:
        case "explained":
            return f"it fits that {nearest}"
        case "ambiguous":
            return f"it fits that {nearest}" + (f", or that {following}" if following else "")
        case _:
            return "no hypothesis fits"


def _counted(names: Sequence[str]) -> str:
    """Name variants, each with the number of its sweeps."""
    counts = Counter(names)
    return ", ".join(f"{name} ({count} sweeps)" if count > 1 else name for name, count in counts.items())


def _names(about: Sequence[Curve]) -> list[str]:
    """Name curves by their variants, with the sweep where a variant has several."""
    variants = [curve.key.variant for curve in about]
    return [
        f"{curve.key.variant}, {curve.key.sweep.replace('_', ' ')}"
        if variants.count(curve.key.variant) > 1
        else curve.key.variant
        for curve in about
    ]


def _verdicts(statement: PublishedStatement, curve: Curve) -> list[Verdict]:
    """Return the verdicts on what the claim compares: of times that of the middle one, from good to bad."""
    if statement.compare != "times":
        return [finding.verdict for finding in _features(statement, curve)]
    grades = sorted((_grade(*pair) for pair in _claimed_pairs(statement, curve)), key=list(Verdict).index)
    return grades[(len(grades) - 1) // 2 :][:1]


def _grade(observed: ObservedPoint, predicted: PredictedPoint) -> Verdict:
    """Return the verdict on a time; a published one has no interval."""
    ratio = observed.time_s / predicted.time_s
    return grade(ratio, meet=1 / predicted.spread <= ratio <= predicted.spread)


def _values(statement: PublishedStatement, about: Sequence[Curve], names: Sequence[str]) -> str:
    """Write what was published and predicted: a few values one by one, of more their ratios."""
    if statement.compare != "times":
        return _feature_values(statement, about, names)
    pairs = [
        (name, pair) for name, curve in zip(names, about, strict=True) for pair in _claimed_pairs(statement, curve)
    ]
    if len(pairs) <= _FEW:
        return " ".join(_time_text(name, *pair) for name, pair in pairs)
    return f"{len(pairs)} times, published / predicted: {_ratios([pair for _, pair in pairs])}."


def _spread_texts(statement: PublishedStatement, about: Sequence[Curve]) -> tuple[str, str]:
    """Compare the slowest with the fastest of the sweeps at each size: as published and as predicted, and what of it.

    Sizes that one sweep alone has say nothing.
    """
    sizes: dict[str, list[tuple[float, float]]] = {}
    for observed, predicted in (pair for curve in about for pair in _claimed_pairs(statement, curve)):
        sizes.setdefault(observed.point.label, []).append((observed.time_s, predicted.time_s))
    shared = [tuple(zip(*times, strict=True)) for times in sizes.values() if len(times) > 1]
    if not shared:
        return "No size is in two sweeps.", statement.remark or UNKNOWN
    published, ours = ([max(times[side]) / min(times[side]) for times in shared] for side in (0, 1))
    text = f"Slowest / fastest sweep at each size ({len(shared)}): {_range(published)} published, "
    agree = 1 / AGREEMENT <= median(published) / median(ours) <= AGREEMENT
    reasons = "Their medians agree." if agree else "Their medians differ; no hypothesis is about that."
    return f"{text}{_range(ours)} predicted.", f"{statement.remark} {reasons}".strip()


def _time_text(name: str, observed: ObservedPoint, predicted: PredictedPoint) -> str:
    published, ours = format_value(observed.time_s, "s"), format_value(predicted.time_s, "s")
    return f"{name}, {observed.point.label}: {published} published, {ours} predicted."


def _feature_values(statement: PublishedStatement, about: Sequence[Curve], names: Sequence[str]) -> str:
    found = [
        (name, finding) for name, curve in zip(names, about, strict=True) for finding in _features(statement, curve)
    ]
    if not found:
        return f"Neither shows a {statement.compare}."
    if len(found) <= _FEW_FEATURES:
        return " ".join(_feature_value(*pair) for pair in found)
    agreeing = sum(finding.verdict is Verdict.AGREES for _, finding in found)
    farthest = min(found, key=lambda pair: _urgency(pair[1]))
    return f"Of {len(found)} values {agreeing} agree. Farthest off: {_feature_value(*farthest)}"


def _feature_value(name: str, finding: Finding) -> str:
    published, ours = (
        "not there" if value is None else format_value(value, finding.unit)
        for value in (finding.observed, finding.predicted)
    )
    fitted = f" ({text})" if (text := fitted_text(finding)) else ""
    return f"{name}, {feature_text(finding)}: {published}{fitted} in what was published, {ours} predicted."


def _features(statement: PublishedStatement, curve: Curve) -> list[Finding]:
    mains = (pair.main for pair in curve.pairs)
    return [main for main in mains if main.feature == statement.compare and main.position in MAIN_POSITIONS]


def _urgency(finding: Finding) -> float:
    if finding.ratio is None:
        return -float("inf")
    return -max(finding.ratio, 1 / finding.ratio)


def _pairs(curve: Curve) -> list[tuple[ObservedPoint, PredictedPoint]]:
    """Return the points that were published and predicted, each with its prediction."""
    if not curve.observation or not curve.specification:
        return []
    predicted = {str(point.point.parameters): point for point in curve.specification.points}
    observed = ((point, predicted.get(str(point.point.parameters))) for point in curve.observation.points)
    return [(point, prediction) for point, prediction in observed if prediction]


def _claimed_pairs(statement: PublishedStatement, curve: Curve) -> list[tuple[ObservedPoint, PredictedPoint]]:
    """Return those of the published points that the claim is about, each with its prediction."""
    return [pair for pair in _pairs(curve) if statement.at.items() <= pair[0].point.parameters.items()]


def _times(pairs: Iterable[tuple[ObservedPoint, PredictedPoint]]) -> list[float]:
    return [observed.time_s / predicted.time_s for observed, predicted in pairs]


def _ratios(pairs: Sequence[tuple[ObservedPoint, PredictedPoint]]) -> str:
    return _range(_times(pairs))


def _range(ratios: Sequence[float]) -> str:
    low, middle, high = map(format_ratio, (min(ratios), median(ratios), max(ratios)))
    return middle if low == high else f"{low} to {high}, median {middle}"
