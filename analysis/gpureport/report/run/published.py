"""Published statements compared with predictions, and explanations of the differences."""

from collections.abc import Iterable, Mapping, Sequence

from gpureport.explain.hypotheses import statement as statement_of
from gpureport.records.curves import MAIN_POSITIONS, ObservedPoint, SweepKey
from gpureport.records.finding import Explanation, Verdict
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


def _verdict(statement: PublishedStatement, about: Iterable[CurveRecords]) -> Verdict | None:
    """Return the most severe verdict on the values of a statement; ``None`` without any."""
    verdicts = (verdict for curve in about for verdict, _ in _compared(statement, curve))
    return max(verdicts, key=lambda verdict: verdict.severity, default=None)


def _remark(
    statement: PublishedStatement, about: Iterable[CurveRecords], tested: Mapping[SweepKey, Explanation]
) -> str:
    """Write the remark on a statement, and what may explain the curves that are off; each explanation once."""
    off = [curve for curve in about if not all(verdict.as_predicted for verdict, _ in _compared(statement, curve))]
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
            "published / predicted time": text("spread", ratios=[_ratio(*pair) for pair in pairs]),
        }
        for curve in curves(report)
        if (pairs := list(curve.compared("specification")))
    )


def _values(statement: PublishedStatement, about: Sequence[CurveRecords]) -> str:
    """Write the worst verdict, and the range of published / predicted values."""
    found = [each for curve in about for each in _compared(statement, curve)]
    return text(
        "published_values",
        verdict=_verdict(statement, about),
        compare="time" if statement.compare == "times" else statement.compare,
        about=about,
        number=len(found),
        ratios=[ratio for _, ratio in found if ratio],
    )


def _compared(statement: PublishedStatement, curve: CurveRecords) -> list[tuple[Verdict, float | None]]:
    """Return the verdict on each value that a statement compares, and published / predicted."""
    if statement.compare == "times":
        pairs, at = curve.compared("specification"), statement.at.items()
        times = [(p.spread, _ratio(p, seen)) for p, seen in pairs if at <= p.point.parameters.items()]
        return [(Verdict.of(ratio, meet=1 / spread <= ratio <= spread), ratio) for spread, ratio in times]
    mains = (pair.main for pair in curve.pairs)
    found = (main for main in mains if main.feature == statement.compare and main.position in MAIN_POSITIONS)
    return [(main.verdict, main.ratio) for main in found]


def _ratio(predicted: PredictedPoint, observed: ObservedPoint) -> float:
    return observed.time_s / predicted.time_s
