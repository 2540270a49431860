"""Unexpected results: the curves that are not as predicted, and the hypotheses that may explain them."""

from collections import Counter
from collections.abc import Iterable

from gpureport.explain.hypotheses import HYPOTHESES, single_names, statement
from gpureport.grouping import grouped
from gpureport.records.finding import Explanation, Finding
from gpureport.records.report import Report
from gpureport.report.curves import most_distant, specified
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table
from gpureport.report.text.words import agreeing, best_sample, feature_name, kernel_name, observed_head
from gpureport.text import shorten
from gpureport.units import (
    UNKNOWN,
    abbreviated,
    format_interval,
    format_percent,
    format_ratio,
    off_by,
)

_LONGEST_FEATURE = 120
_OUTCOMES = ("explained", "ambiguous", "unexplained")


def answers(report: Report) -> tuple[str, ...]:
    """Report the number of explained curves, the most frequent explanation, and the largest deviation."""
    tested, compared = report.explanations, specified(report)
    fitted = Counter(each.hypothesis for each in tested if each.outcome == "explained" and each.hypothesis)
    (first, most), (_, second) = [*fitted.most_common(2), ("", 0), ("", 0)][:2]
    astray = [pair for pair in compared if not pair.main.verdict.as_predicted]
    largest, name = most_distant(astray, key=lambda pair: pair) if astray else (None, "")
    return paragraphs(
        "unexpected",
        report=report,
        outcomes=[sum(each.outcome == outcome for each in tested) for outcome in _OUTCOMES],
        explanation=statement(first) if most > max(1, second) else "",
        most=most,
        compared=bool(compared),
        largest=largest and largest.main,
        largest_text=name,
    )


def deviations_table(report: Report) -> Table:
    """List the features that deviate most from their predictions, the most urgent first."""
    columns = ("kernel", "feature", "predicted", observed_head(report), "ratio", "verdict", "agree")
    features = grouped(((pair.main.key.family, pair.main.feature), pair) for pair in specified(report)).values()
    worst = ((min(pairs, key=lambda pair: pair.urgency), pairs) for pairs in features)
    rows = tuple(
        (
            kernel_name(report, f.key),
            shorten(feature_name(f), _LONGEST_FEATURE),
            format_interval(f.predicted, f.predicted_low, f.predicted_high, abbreviated(f.unit), "predicted"),
            _observed(f),
            format_ratio(f.ratio),
            f"{f.verdict.mark} {f.verdict}",
            agreeing(pair.main.verdict for pair in pairs),
        )
        for first, pairs in sorted(worst, key=lambda each: each[0].urgency)
        if not (f := first.main).verdict.as_predicted
    )
    return Table(columns, rows, frozenset({*columns[2:5], "agree"}))


def _observed(finding: Finding) -> str:
    unit = abbreviated(finding.unit)
    value = format_interval(finding.observed, finding.ci_low, finding.ci_high, unit)
    return "; ".join(filter(None, (value, best_sample(finding, unit))))


def fitting_statements(explanation: Explanation) -> str:
    """Return the statement of the hypothesis that explains a curve, or of two; empty if none does."""
    return "; or ".join(map(statement, explanation.fitting))


def tested_hypotheses(explanations: Iterable[Explanation]) -> tuple[tuple[str, str], ...]:
    """Return name and statement of each hypothesis in *explanations*, in the order of the tests."""
    fields = (name for each in explanations for name in (each.hypothesis, each.next_best))
    named = {name for names in fields for name in single_names(names)}
    return tuple((hypothesis.name, hypothesis.statement) for hypothesis in HYPOTHESES if hypothesis.name in named)


def explanations_table(explanations: Iterable[Explanation]) -> Table:
    """List the curves that are not as predicted, the largest error first, with the two closest hypotheses."""
    columns = ("curve", "error", "explanation", "remaining error", "confidence", "next", "its error")
    rows = (_row(explanation) for explanation in sorted(explanations, key=lambda each: -each.base_error))
    return Table(columns, tuple(rows), frozenset({"error", "remaining error", "confidence", "its error"}))


def _row(explanation: Explanation) -> tuple[str, ...]:
    closest = explanation.outcome != "unexplained" or remaining_error(explanation)
    after = explanation.next_error if closest else None
    return (
        str(explanation.key),
        off_by(explanation.base_error),
        fitting(explanation),
        remaining_error(explanation) or UNKNOWN,
        _confidence(explanation),
        (closest and explanation.next_best) or UNKNOWN,
        UNKNOWN if after is None else off_by(after),
    )


def _confidence(explanation: Explanation) -> str:
    shares = (explanation.better_than_base, explanation.better_than_next)
    compared = {"explained": shares, "ambiguous": shares[:1], "unexplained": ()}[explanation.outcome]
    return format_percent(min(compared)) if compared else UNKNOWN


def fitting(explanation: Explanation) -> str:
    """Name the hypotheses that explain a curve: one, two equally good ones, or none, with the closest if it helps."""
    none = f"none (closest: {explanation.hypothesis})" if remaining_error(explanation) else "none"
    return " or ".join(explanation.fitting) or none


def remaining_error(explanation: Explanation) -> str:
    """Write the error of the closest hypothesis; empty if it removes less than a quarter of the prediction's."""
    error = explanation.error
    return off_by(error) if error is not None and explanation.mentions(error) else ""
