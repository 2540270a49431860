"""Unexpected results: the curves that are not as predicted, and the hypotheses that may explain them."""

from collections import Counter
from collections.abc import Iterable

from gpureport.explain.hypotheses import HYPOTHESES, single_names, statement
from gpureport.records.finding import Explanation
from gpureport.records.report import Report
from gpureport.report.curves import most_distant, specified
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_percent, off_by

_OUTCOMES = ("explained", "ambiguous", "unexplained")


def answers(report: Report) -> tuple[str, ...]:
    """Report the number of explained curves, the most frequent explanation, and the largest deviation."""
    tested, compared = report.explanations, specified(report)
    fitted = Counter(each.hypothesis for each in tested if each.outcome == "explained" and each.hypothesis)
    (first, most), (_, second) = [*fitted.most_common(2), ("", 0), ("", 0)][:2]
    astray = [pair for pair in compared if pair.is_astray]
    largest, name = most_distant(astray) if astray else (None, "")
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


def tested_hypotheses(explanations: Iterable[Explanation]) -> tuple[tuple[str, str], ...]:
    """Return name and statement of each hypothesis in *explanations*, in the order of the tests."""
    fields = (name for each in explanations for name in (each.hypothesis, each.next_best))
    named = {name for names in fields for name in single_names(names)}
    return tuple((hypothesis.name, hypothesis.statement) for hypothesis in HYPOTHESES if hypothesis.name in named)


def explanations_table(explanations: Iterable[Explanation]) -> Table:
    """List the curves that are not as predicted, the largest error first, with the two closest hypotheses."""
    return Table.of(map(_row, sorted(explanations, key=lambda each: -each.base_error)))


def _row(explanation: Explanation) -> dict[str, str]:
    closest = explanation.outcome != "unexplained" or remaining_error(explanation)
    after = explanation.next_error if closest else None
    return {
        "curve": str(explanation.key),
        "error": off_by(explanation.base_error),
        "explanation": fitting(explanation),
        "remaining error": remaining_error(explanation) or UNKNOWN,
        "confidence": _confidence(explanation),
        "next": (closest and explanation.next_best) or UNKNOWN,
        "its error": UNKNOWN if after is None else off_by(after),
    }


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
