"""What surprised: the curves that are not as predicted, and the hypotheses that explain them or do not."""

from collections import Counter
from collections.abc import Iterable, Sequence

from gpureport.predict.hypotheses import HYPOTHESES
from gpureport.records import Explanation
from gpureport.report.tables import UNKNOWN, Table
from gpureport.text import off_by


def tally(explanations: Sequence[Explanation]) -> str:
    """Say how many curves are explained."""
    counts = Counter(explanation.outcome for explanation in explanations)
    curves = f"{len(explanations)} curve{' is' if len(explanations) == 1 else 's are'}"
    return (
        f"{curves} not as predicted: {counts['explained']} fit one hypothesis, {counts['ambiguous']} two of them, "
        f"{counts['unexplained']} none."
    )


def claims(explanations: Iterable[Explanation]) -> tuple[tuple[str, str], ...]:
    """Return name and claim of each hypothesis that *explanations* name, in the order in which they are tested."""
    named = {name for each in explanations for name in (each.hypothesis, each.next_best)}
    return tuple((hypothesis.name, hypothesis.claim) for hypothesis in HYPOTHESES if hypothesis.name in named)


def table(explanations: Iterable[Explanation]) -> Table:
    """List the curves that are not as predicted, the farthest first, and the hypotheses that come nearest."""
    columns = ("curve", "off", "what fits", "then off", "sure", "next", "off then")
    rows = (_row(explanation) for explanation in sorted(explanations, key=lambda each: -each.base_error))
    return Table(columns, tuple(rows), frozenset({"off", "then off", "sure", "off then"}))


def _row(explanation: Explanation) -> tuple[str, ...]:
    error, after = explanation.error, explanation.next_error
    return (
        str(explanation.key).replace("/", " / "),
        off_by(explanation.base_error),
        fitting(explanation),
        UNKNOWN if error is None else off_by(error),
        f"{min(explanation.better_than_base, explanation.better_than_next):.0%}",
        explanation.next_best or UNKNOWN,
        UNKNOWN if after is None else off_by(after),
    )


def fitting(explanation: Explanation) -> str:
    """Name the hypotheses that explain a curve: one, or two that do equally well, or none and the nearest."""
    match explanation.outcome:
        case "explained":
            return explanation.hypothesis or UNKNOWN
        case "ambiguous":
            return f"{explanation.hypothesis} or {explanation.next_best}"
        case _:
            return f"none (nearest: {explanation.hypothesis})" if explanation.hypothesis else "none"
