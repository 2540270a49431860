"""What surprised: the curves that are not as predicted, and the hypotheses that explain them or do not."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpureport.explain.hypotheses import HYPOTHESES
from gpureport.records.finding import Explanation
from gpureport.records.report import Report
from gpureport.report.run.curves import specified, verdicts
from gpureport.report.run.difference import compared
from gpureport.report.text.tables import UNKNOWN, Table
from gpureport.report.text.words import feature_text, kernel_name
from gpureport.text import off_by
from gpureport.units import format_percent

CAPTION = (
    "Curves with a feature that is not as the specification predicts, and whose times are more than 5 % off, by the "
    "hypothesis that fits: another way in which the device may work. Each "
    "hypothesis is compared at up to twelve points of the curve, the four best at all of them, with nothing fitted. A "
    "hypothesis fits if it leaves half of the error at most. Off: root mean square of observed / predicted time over a "
    "curve. No hypothesis feeds a prediction."
)

"""Of :func:`summary`."""


def answers(report: Report) -> Iterator[str]:
    """Yield how many curves are explained, by what most, and the value that is farthest off."""
    if report.explanations:
        yield tally(report.explanations)
        fitted = Counter(each.hypothesis for each in report.explanations if each.outcome == "explained")
        most = max(fitted.values(), default=0)
        first, *tied = [name for name, count in fitted.items() if count == most] or [None]
        if most > 1 and not tied:
            statement = dict(statements(report.explanations)).get(first or "", first)
            yield f"Of the explanations found, the most frequent is that {statement} ({most} curves)."
    astray = [row.farthest for row in verdicts(report) if not row.farthest.main.verdict.as_predicted]
    if astray:
        rated = [pair for pair in astray if pair.main.ratio] or astray
        worst = max(rated, key=lambda pair: pair.distance).main
        how = compared(worst, "less than", "more than") if worst.ratio else str(worst.verdict)
        name = kernel_name(report, worst.key.family, worst.key.variant)
        yield f"Farthest off is {name}, {feature_text(worst)}: {how}."
    elif specified(report):
        yield "Every value lies within a factor of 1.2 of its prediction, or within the interval."


def summary(explanations: Iterable[Explanation]) -> Table:
    """List what fits: a row an explanation, with all curves that it fits, those of most curves first."""
    told = tuple(explanations)
    sweeps = Counter(_variant(each) for each in told)
    rows: dict[tuple[int, str], list[Explanation]] = {}
    order = ("explained", "ambiguous", "unexplained")
    for each in told:
        rows.setdefault((order.index(each.outcome), _published_statement(each)), []).append(each)
    ordered = sorted(rows.items(), key=lambda row: (row[0][0], -len(row[1])))
    columns = ("what fits", "curves", "off by", "then by")
    return Table(
        columns,
        tuple(
            (text, _curves(found, sweeps), _errors([e.base_error for e in found]), _left(found))
            for (_, text), found in ordered
        ),
        frozenset({"off by", "then by"}),
    )


def _published_statement(explanation: Explanation) -> str:
    said = dict(statements((explanation,)))
    first, second = (said.get(name or "", name or "") for name in (explanation.hypothesis, explanation.next_best))
    match explanation.outcome:
        case "explained":
            return first
        case "ambiguous":
            return f"{first}; or {second}" if second else first
        case _:
            return "nothing that was tried"


def _curves(found: Sequence[Explanation], sweeps: Mapping[str, int]) -> str:
    """Name the curves by their variants, and by their sweeps where one variant has several."""
    return ", ".join(str(each.key) if sweeps[_variant(each)] > 1 else _variant(each) for each in found)


def _variant(each: Explanation) -> str:
    return each.key.workload


def _errors(errors: Sequence[float]) -> str:
    low, high = off_by(min(errors)), off_by(max(errors))
    return low if low == high else f"{low} to {high}"


def _left(found: Sequence[Explanation]) -> str:
    """Write what the hypothesis leaves; of curves that none fits, nothing."""
    errors = [each.error for each in found if each.error is not None and each.outcome != "unexplained"]
    return _errors(errors) if errors else UNKNOWN


def tally(explanations: Sequence[Explanation]) -> str:
    """Say on how many curves hypotheses were tested, and how many these explain."""
    counts = Counter(explanation.outcome for explanation in explanations)
    explained, ambiguous, not_explained = counts["explained"], counts["ambiguous"], counts["unexplained"]
    kinds = ((explained, "fit one hypothesis"), (ambiguous, "fit two of them"), (not_explained, "fit none"))
    told = [f"{count} {how}" for count, how in kinds if count]
    curves = "the one curve" if len(explanations) == 1 else f"the {len(explanations)} curves"
    return f"Hypotheses were tested on {curves} whose features and times are off: {', '.join(told)}."


def statements(explanations: Iterable[Explanation]) -> tuple[tuple[str, str], ...]:
    """Return name and claim of each hypothesis that *explanations* name, in the order in which they are tested."""
    named = {name for each in explanations for name in (each.hypothesis, each.next_best)}
    return tuple((hypothesis.name, hypothesis.statement) for hypothesis in HYPOTHESES if hypothesis.name in named)


def table(explanations: Iterable[Explanation]) -> Table:
    """List the curves that are not as predicted, the farthest first, and the hypotheses that come nearest."""
    columns = ("curve", "off", "what fits", "then off", "sure", "next", "off then")
    rows = (_row(explanation) for explanation in sorted(explanations, key=lambda each: -each.base_error))
    return Table(columns, tuple(rows), frozenset({"off", "then off", "sure", "off then"}))


def _row(explanation: Explanation) -> tuple[str, ...]:
    nearest = explanation.outcome != "unexplained" or then_off(explanation)
    after = explanation.next_error if nearest else None
    return (
        str(explanation.key).replace("/", " / "),
        off_by(explanation.base_error),
        fitting(explanation),
        then_off(explanation) or UNKNOWN,
        _sure(explanation),
        (nearest and explanation.next_best) or UNKNOWN,
        UNKNOWN if after is None else off_by(after),
    )


def _sure(explanation: Explanation) -> str:
    """Say how sure it is that what fits is nearer than the prediction, and than the next unless both fit."""
    match explanation.outcome:
        case "explained":
            return format_percent(min(explanation.better_than_base, explanation.better_than_next))
        case "ambiguous":
            return format_percent(explanation.better_than_base)
        case _:
            return UNKNOWN


def fitting(explanation: Explanation) -> str:
    """Name the hypotheses that explain a curve: one, or two that do equally well, or none and the nearest."""
    match explanation.outcome:
        case "explained":
            return explanation.hypothesis or UNKNOWN
        case "ambiguous":
            return f"{explanation.hypothesis} or {explanation.next_best}"
        case _:
            return f"none (nearest: {explanation.hypothesis})" if then_off(explanation) else "none"


def then_off(explanation: Explanation) -> str:
    """Say how far off the nearest hypothesis is; nothing if that is no nearer than the prediction itself."""
    error = explanation.error
    return off_by(error) if error is not None and error < explanation.base_error else ""
