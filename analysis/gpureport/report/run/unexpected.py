"""Unexpected results: the curves that are not as predicted, and the hypotheses that may explain them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpureport.explain.hypotheses import HYPOTHESES, single_names
from gpureport.explain.trials import mentioned
from gpureport.records.finding import Explanation
from gpureport.records.report import Report
from gpureport.report.curves import most_distant, specified
from gpureport.report.grouping import grouped
from gpureport.report.text.difference import compared
from gpureport.report.text.tables import Table
from gpureport.report.text.words import feature_text, kernel_name
from gpureport.text import shortlist
from gpureport.units import UNKNOWN, format_percent, format_range, off_by

CAPTION = (
    "Curves with a feature that is not as predicted from the specification, and with times more than 5 % off. A "
    "hypothesis is another assumption about how the device works. It explains a curve if it at least halves the error: "
    "the root mean square of ln (time / predicted time), as a factor or in percent."
)
"""Of :func:`summary`."""
METHOD = (
    "The model predicts a curve again under each hypothesis, without fitting parameters: first up to twelve points, "
    "then all points under the four closest hypotheses. A hypothesis explains a curve if it at least halves the error "
    "in 95 % of the bootstrap samples. If no single hypothesis does, pairs are tested. Hypotheses never change "
    "predictions."
)
"""Of the tests, for the appendix."""


def answers(report: Report) -> Iterator[str]:
    """Yield the number of explained curves, the most frequent explanation, and the largest deviation."""
    if report.explanations:
        yield tally(report.explanations)
        fitted = Counter(each.hypothesis for each in report.explanations if each.outcome == "explained")
        most = max(fitted.values(), default=0)
        first, *tied = [name for name, count in fitted.items() if count == most] or [None]
        if most > 1 and not tied:
            statement = dict(statements(report.explanations)).get(first or "", first)
            yield f"The most frequent explanation: {statement} ({most} of {len(report.explanations)} tested curves)."
    astray = [pair for pair in specified(report) if not pair.main.verdict.as_predicted]
    if astray:
        largest, first = most_distant(astray, key=lambda pair: pair)
        worst = largest.main
        how = compared(worst) if worst.ratio else str(worst.verdict)
        yield f"{first}: {kernel_name(report, worst.key)}, {feature_text(worst)}: {how}."
    elif specified(report):
        yield "Every value is within a factor of 1.2 of its prediction, or within the 95 % interval."


def summary(explanations: Iterable[Explanation]) -> Table:
    """List the explanations with their curves, the most frequent first."""
    tested = tuple(explanations)
    sweeps = Counter(each.key.workload for each in tested)
    order = ("explained", "ambiguous", "unexplained")
    rows = grouped(
        ((order.index(each.outcome), explanation_text(each) or "none of the tested hypotheses"), each)
        for each in tested
    )
    cells = []
    for (_, text), of in sorted(rows.items(), key=lambda row: (row[0][0], -len(row[1]))):
        names = (str(each.key) if sweeps[each.key.workload] > 1 else each.key.workload for each in of)
        before = [each.base_error for each in of]
        left = [each.error for each in of if each.error is not None and each.outcome != "unexplained"]
        cells.append(
            (text, ", ".join(shortlist(list(names))), format_range(before, off_by), format_range(left, off_by))
        )
    columns = ("explanation", "curves", "error", "remaining error")
    return Table(columns, tuple(cells), frozenset(columns[2:]))


def explanation_text(explanation: Explanation) -> str:
    """Return the statement of the hypothesis that explains a curve, or of two; empty if none does."""
    known = dict(statements((explanation,)))
    first, second = (
        ", and ".join(known.get(name, name) for name in single_names(names))
        for names in (explanation.hypothesis, explanation.next_best)
    )
    match explanation.outcome:
        case "explained":
            return first
        case "ambiguous":
            return f"{first}; or {second}" if second else first
        case _:
            return ""


def tally(explanations: Sequence[Explanation]) -> str:
    """Report the number of curves on which hypotheses were tested, and the number that these explain."""
    counts = Counter(explanation.outcome for explanation in explanations)
    explained, ambiguous, not_explained = counts["explained"], counts["ambiguous"], counts["unexplained"]
    kinds = ((explained, "by hypotheses"), (ambiguous, "by either of two"), (not_explained, "by none"))
    counted = "; ".join(f"{how}: {count}" for count, how in kinds if count)
    curves = "one curve that deviates" if len(explanations) == 1 else f"{len(explanations)} curves that deviate"
    return f"Hypotheses were tested on {curves} in features and in times. Explained {counted}."


def statements(explanations: Iterable[Explanation]) -> tuple[tuple[str, str], ...]:
    """Return name and statement of each hypothesis in *explanations*, in the order of the tests."""
    fields = (name for each in explanations for name in (each.hypothesis, each.next_best))
    named = {name for names in fields for name in single_names(names)}
    return tuple((hypothesis.name, hypothesis.statement) for hypothesis in HYPOTHESES if hypothesis.name in named)


def table(explanations: Iterable[Explanation]) -> Table:
    """List the curves that are not as predicted, the largest error first, with the two closest hypotheses."""
    columns = ("curve", "error", "explanation", "remaining error", "confidence", "next", "its error")
    rows = (_row(explanation) for explanation in sorted(explanations, key=lambda each: -each.base_error))
    return Table(columns, tuple(rows), frozenset({"error", "remaining error", "confidence", "its error"}))


def _row(explanation: Explanation) -> tuple[str, ...]:
    closest = explanation.outcome != "unexplained" or remaining_error(explanation)
    after = explanation.next_error if closest else None
    return (
        str(explanation.key).replace("/", " / "),
        off_by(explanation.base_error),
        fitting(explanation),
        remaining_error(explanation) or UNKNOWN,
        _confidence(explanation),
        (closest and explanation.next_best) or UNKNOWN,
        UNKNOWN if after is None else off_by(after),
    )


def _confidence(explanation: Explanation) -> str:
    """Return the confidence that the explanation is closer than the prediction and, unless both fit, the next one."""
    match explanation.outcome:
        case "explained":
            return format_percent(min(explanation.better_than_base, explanation.better_than_next))
        case "ambiguous":
            return format_percent(explanation.better_than_base)
        case _:
            return UNKNOWN


def fitting(explanation: Explanation) -> str:
    """Name the hypotheses that explain a curve: one, two equally good ones, or none, with the closest if it helps."""
    match explanation.outcome:
        case "explained":
            return explanation.hypothesis or UNKNOWN
        case "ambiguous":
            return f"{explanation.hypothesis} or {explanation.next_best}"
        case _:
            return f"none (closest: {explanation.hypothesis})" if remaining_error(explanation) else "none"


def remaining_error(explanation: Explanation) -> str:
    """Write the error of the closest hypothesis; empty if it removes less than a quarter of the prediction's."""
    error = explanation.error
    return off_by(error) if error is not None and mentioned(explanation.base_error, error) else ""
