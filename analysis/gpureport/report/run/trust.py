"""How reliable predictions are: errors, sources and coverage of intervals, arithmetic, and tested hypotheses."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from gpureport.explain.hypotheses import HYPOTHESES, single_names, statement
from gpureport.findings.verdicts import time_errors
from gpureport.predict.expressions import number
from gpureport.predict.sensitivity import ranked
from gpureport.records.curves import BASES
from gpureport.records.finding import AGREEMENT, Explanation
from gpureport.records.prediction import Arithmetic, Sensitivity
from gpureport.records.report import Report
from gpureport.report.curves import most_distant, specified
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import ratio_chart, ratio_rows
from gpureport.report.run.appendix import written_values
from gpureport.report.run.conditions import other_load
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import kernel_name, seen_in
from gpureport.spec.uncertainty import (
    CPU_CODE_BASIS,
    MODEL_BASIS,
    SIGMA_BY_SOURCE,
    SIGMA_CPU_CODE,
    SIGMA_MEASURED_HERE,
    SIGMA_MODEL,
    UNCERTAINTIES,
)
from gpureport.units import UNKNOWN, format_percent, format_time, off_by

_MOST = 10  # rows
_share = partial(format_percent, spec=".2g")


def answers(report: Report) -> tuple[str, ...]:
    """Report the errors of predicted times, and the evidence for and against predictions and measurements.

    Calibration excludes microbenchmarks, so errors of the specification's predictions are also given without them.
    """
    curves = report.curves
    of_all, of_calibrated = (time_errors(curves, kind) for kind in BASES)
    of_same = time_errors([curve for curve in curves if curve.calibrated], "specification")
    verdicts = [pair.main.verdict for pair in specified(report)]
    reliability = paragraphs(
        "reliability",
        report=report,
        of_all=of_all,
        of_calibrated=of_calibrated,
        of_same=of_same if of_all and of_same and of_same.n < of_all.n else None,
        outcomes=Counter(verdict.outcome for verdict in verdicts),
        agrees=sum(verdict.agrees for verdict in verdicts),
        agreement=AGREEMENT,
        here=measured_on_such(report),
        load=other_load(report),
        coverage=list(_coverage(report)),
        kinds=Counter(origin.kind for origin in report.device.provenance.values()),
        cautions=sum(bool(observation.warnings) for observation in report.observations),
    )
    return (*reliability, *_unexpected(report))


def measured_on_such(report: Report) -> int | None:
    """Return how many values of the entry come from measurements of such a device; ``None``: none from any device."""
    measured_on = [origin.measured_on for origin in report.device.provenance.values() if origin.measured_on]
    return sum(report.match.entry in entries for entries in measured_on) if measured_on else None


def _coverage(report: Report) -> Iterator[tuple[str, int, int]]:
    """Yield each kind of prediction, and how many measured points are inside its intervals and in all."""
    for kind in BASES:
        pairs = (pair for curve in report.curves for pair in curve.compared(kind))
        if inside := [1 / p.spread <= seen.time_s / p.time_s <= p.spread for p, seen in pairs if p.spread > 1]:
            yield kind, sum(inside), len(inside)


def ratio_picture(report: Report) -> Picture | None:
    """Draw all values as ratios to their predictions."""
    rows, seen = ratio_rows(specified(report)), seen_in(report)
    return Picture(ratio_chart(rows, seen), text("ratios", seen=seen)) if rows else None


def sensitivity_table(report: Report) -> Table:
    """List the inputs with the largest effect on predictions, from the specification and calibrated."""
    of_kinds = ([prediction for prediction in report.predictions if prediction.kind == kind] for kind in BASES)
    specified, calibrated = ({each.fact: each for each in ranked(predictions)} for predictions in of_kinds)
    values = written_values(report.device)
    return Table.of(
        {
            "input": "the model itself" if fact == "model" else fact,
            "value": "" if fact == "model" else values.get(f"{fact}.midpoint") or values.get(fact, UNKNOWN),
            "kind": ", then ".join(dict.fromkeys(of[fact].kind for of in (specified, calibrated) if fact in of)),
            **_cells(specified.get(fact)),
            **(_cells(calibrated.get(fact), "cal. ") if calibrated else {}),
        }
        for fact in list(dict.fromkeys((*specified, *calibrated)))[:_MOST]
    )


def _cells(found: Sensitivity | None, kind: str = "") -> dict[str, str]:
    texts = (_share(found.uncertainty), _share(found.effect), format_percent(found.share)) if found else ("",) * 3
    return dict(zip((f"{kind}std. dev.", f"{kind}effect", f"{kind}share"), texts, strict=True))


def rules_table() -> Table:
    """List the assumed uncertainties of inputs, with sources."""
    rules = (rule for each in UNCERTAINTIES.values() for rule in (each, *each.rows.values()) if rule.what)
    rows = [(rule.what, _share(rule.published), _share(rule.assumed), rule.source) for rule in rules]
    kinds = ", ".join(f"{kind} {_share(share)}" for kind, share in SIGMA_BY_SOURCE.items() if kind != "assumed")
    rows.append(("all others", "", _share(SIGMA_BY_SOURCE["assumed"]), f"by kind: {kinds} (assumed)"))
    measured = "two runs on two H200: 90 % of results within 1.2 %"
    rows.append(("measured by the run itself", _share(SIGMA_MEASURED_HERE), "", measured))
    rows.append(("the model itself", _share(SIGMA_MODEL), "", MODEL_BASIS))
    rows.append(("the model of compiled code, added on CPUs", _share(SIGMA_CPU_CODE), "", CPU_CODE_BASIS))
    return Table(("input", "published", "assumed", "basis"), tuple(rows))


def examples(report: Report) -> tuple[tuple[str, Arithmetic], ...]:
    """Return kernel name and arithmetic of one point of each family; of runs, of a point that was observed."""
    found = {}
    for curve in report.curves:
        arithmetic = curve.specification and curve.specification.arithmetic
        labels = {each.point.label for each in curve.observation.points} if curve.observation else ()
        if arithmetic and (report.machine is None or arithmetic.point in labels):
            found[curve.key.family] = kernel_name(report, curve.key), arithmetic
    return tuple(found.values())


def arithmetic_table(arithmetic: Arithmetic) -> Table:
    """List the steps of the calculation of one predicted time, in SI base units."""
    return Table.of(
        {
            "name": step.name,
            "formula": step.formula,
            "with numbers": step.numbers,
            "result": format_time(step.value) if step.name == "time" else number(step.value),
        }
        for step in arithmetic.steps
    )


def _unexpected(report: Report) -> tuple[str, ...]:
    """Report the number of explained curves, the most frequent explanation, and the largest deviation."""
    tested, compared = report.explanations, specified(report)
    fitted = Counter(each.hypothesis for each in tested if each.outcome == "explained" and each.hypothesis)
    (first, most), (_, second) = [*fitted.most_common(2), ("", 0), ("", 0)][:2]
    astray = [pair for pair in compared if pair.is_astray]
    largest, name = most_distant(astray) if astray else (None, "")
    return paragraphs(
        "unexpected",
        report=report,
        outcomes=Counter(each.outcome for each in tested),
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
