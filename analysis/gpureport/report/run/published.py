"""Published statements compared with predictions, and explanations of the differences."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from gpureport.explain.hypotheses import statement as statement_of
from gpureport.findings.verdicts import grade
from gpureport.grouping import grouped
from gpureport.records.curves import MAIN_POSITIONS, ObservedPoint, SweepKey
from gpureport.records.finding import AGREEMENT, Explanation, Finding, Verdict
from gpureport.records.prediction import PredictedPoint
from gpureport.records.report import Publication, PublishedStatement, Report
from gpureport.report.curves import CurveRecords, curves
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN


def statements_table(report: Report, publication: Publication) -> Table:
    """List the published statements with verdict, published and predicted values, and explanations of differences."""
    found, tested = curves(report), {explanation.key: explanation for explanation in report.explanations}
    return Table.of(
        {
            "published statement": f"{statement.says} ({statement.where})",
            "published and predicted values": _values(statement, about := _about(statement, found)),
            "remark": _remark(statement, about, tested) or UNKNOWN,
        }
        for statement in publication.statements
    )


def _about(statement: PublishedStatement, found: Iterable[CurveRecords]) -> list[CurveRecords]:
    return [curve for curve in found if {str(curve.key), curve.key.workload} & {*statement.about}]


def matching_statements(publication: Publication, found: Sequence[CurveRecords]) -> tuple[int, int]:
    """Return the number of statements whose published values are as predicted, and that of statements with values."""
    about = ((statement, _about(statement, found)) for statement in publication.statements)
    verdicts = [verdict for pair in about if (verdict := _verdict(*pair))]
    return sum(verdict.as_predicted for verdict in verdicts), len(verdicts)


def _verdict(statement: PublishedStatement, about: Sequence[CurveRecords]) -> Verdict | None:
    """Return the most severe verdict on the values of a statement; ``None`` without any."""
    if statement.compare == "spread":
        spreads = _spreads(statement, about)
        return (Verdict.AGREES if _medians_agree(*spreads) else Verdict.OFF) if spreads else None
    verdicts = (verdict for curve in about for verdict in _verdicts(statement, curve))
    return max(verdicts, key=lambda verdict: verdict.severity, default=None)


def _remark(
    statement: PublishedStatement, about: Iterable[CurveRecords], tested: Mapping[SweepKey, Explanation]
) -> str:
    """Write the remark on a statement, and what may explain the curves that are off; each explanation once."""
    off = [curve for curve in about if not all(verdict.as_predicted for verdict in _verdicts(statement, curve))]
    known = (tested.get(curve.key) for curve in off)
    explanations = dict.fromkeys("; or ".join(map(statement_of, each.fitting)) if each else "" for each in known)
    return text("published_remark", remark=statement.remark, explanations=explanations)


def series_table(report: Report, publication: Publication) -> Table:
    """List the published sweeps with the ratio of published to predicted times."""
    return Table.of(
        {
            "sweep": str(curve.key),
            "published conditions": publication.conditions.get(str(curve.key), UNKNOWN),
            "points": str(len(pairs)),
            "published / predicted time": text("spread", ratios=_ratios(pairs)),
        }
        for curve in curves(report)
        if (pairs := _pairs(curve))
    )


def _values(statement: PublishedStatement, about: Sequence[CurveRecords]) -> str:
    """Write published and predicted values: a few values one by one, or else the range of ratios."""
    named = list(zip(_names(about), about, strict=True))
    features = [(name, finding) for name, curve in named for finding in _features(statement, curve)]
    times = [(name, pair) for name, curve in named for pair in _statement_pairs(statement, curve)]
    return text(
        "published_values",
        verdict=_verdict(statement, about),
        compare=statement.compare,
        about=about,
        spreads=_spreads(statement, about),
        times=times,
        ratios=_ratios(pair for _, pair in times),
        features=features,
        agreeing=sum(finding.verdict.agrees for _, finding in features),
        worst=max(features, key=lambda each: _deviation(each[1]), default=None),
    )


def _deviation(finding: Finding) -> float:
    return max(finding.ratio, 1 / finding.ratio) if finding.ratio else float("inf")


def _names(about: Sequence[CurveRecords]) -> list[str]:
    variants = [curve.key.variant for curve in about]
    sweeps = [curve.key.sweep_name for curve in about]
    pairs = zip(variants, sweeps, strict=True)
    return [f"{name}, {sweep}" if variants.count(name) > 1 else name for name, sweep in pairs]


def _verdicts(statement: PublishedStatement, curve: CurveRecords) -> list[Verdict]:
    """Return the verdicts on the compared values; for times, only the median verdict."""
    if statement.compare != "times":
        return [finding.verdict for finding in _features(statement, curve)]
    grades = sorted((_grade(*pair) for pair in _statement_pairs(statement, curve)), key=list(Verdict).index)
    return grades[(len(grades) - 1) // 2 :][:1]


def _grade(observed: ObservedPoint, predicted: PredictedPoint) -> Verdict:
    ratio = observed.time_s / predicted.time_s
    return grade(ratio, meet=1 / predicted.spread <= ratio <= predicted.spread)


def _spreads(statement: PublishedStatement, about: Iterable[CurveRecords]) -> tuple[list[float], list[float]] | None:
    """Return slowest / fastest sweep at each size that several sweeps have, published and predicted."""
    pairs = (pair for curve in about for pair in _statement_pairs(statement, curve))
    sizes = grouped((observed.point.label, (observed.time_s, predicted.time_s)) for observed, predicted in pairs)
    shared = [tuple(zip(*times, strict=True)) for times in sizes.values() if len(times) > 1]
    published, ours = ([max(times[side]) / min(times[side]) for times in shared] for side in (0, 1))
    return (published, ours) if shared else None


def _medians_agree(published: Sequence[float], ours: Sequence[float]) -> bool:
    return 1 / AGREEMENT <= median(published) / median(ours) <= AGREEMENT


def _features(statement: PublishedStatement, curve: CurveRecords) -> list[Finding]:
    mains = (pair.main for pair in curve.pairs)
    return [main for main in mains if main.feature == statement.compare and main.position in MAIN_POSITIONS]


def _pairs(curve: CurveRecords) -> list[tuple[ObservedPoint, PredictedPoint]]:
    if not curve.observation or not curve.specification:
        return []
    predicted = {str(point.point.parameters): point for point in curve.specification.points}
    observed = ((point, predicted.get(str(point.point.parameters))) for point in curve.observation.points)
    return [(point, prediction) for point, prediction in observed if prediction]


def _statement_pairs(statement: PublishedStatement, curve: CurveRecords) -> list[tuple[ObservedPoint, PredictedPoint]]:
    return [pair for pair in _pairs(curve) if statement.at.items() <= pair[0].point.parameters.items()]


def _ratios(pairs: Iterable[tuple[ObservedPoint, PredictedPoint]]) -> list[float]:
    return [observed.time_s / predicted.time_s for observed, predicted in pairs]
