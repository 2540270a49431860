"""How reliable predictions are: errors, sources and coverage of intervals, and the arithmetic of examples."""

from collections import Counter
from functools import partial

from gpureport.findings.verdicts import error_statistics, time_errors
from gpureport.predict.expressions import number
from gpureport.predict.uncertainty.sensitivity import ranked
from gpureport.records.curves import BASES
from gpureport.records.finding import AGREEMENT
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import Arithmetic, Prediction, Sensitivity
from gpureport.records.report import Report
from gpureport.report.curves import specified
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import ratio_chart, ratio_rows
from gpureport.report.run import unexpected
from gpureport.report.run.conditions import other_load
from gpureport.report.run.entry import fact_name, fact_value, written_values
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import kernel_name, seen_in
from gpureport.spec.uncertainty import (
    MAD_TO_SIGMA,
    SIGMA_BY_SOURCE,
    SIGMA_MEASURED_HERE,
    SIGMA_MODEL,
    UNCERTAINTIES,
)
from gpureport.units import format_percent, format_time

_MOST = 10  # rows
_share = partial(format_percent, spec=".2g")


def answers(report: Report) -> tuple[str, ...]:
    """Report the errors of predicted times, and the evidence for and against predictions and measurements.

    Calibration excludes microbenchmarks, so errors of the specification's predictions are also given without them.
    """
    curves = report.curves
    of_all, of_calibrated = (error_statistics(time_errors(curves, kind)) for kind in BASES)
    of_same = error_statistics(time_errors([curve for curve in curves if curve.calibrated], "specification"))
    verdicts = Counter(pair.main.verdict for pair in specified(report))
    variants = {found.workload for found in report.evidence if found.agrees is not None}
    reliability = paragraphs(
        "reliability",
        report=report,
        of_all=of_all,
        of_calibrated=of_calibrated,
        of_same=of_same if of_all and of_same and of_same.n < of_all.n else None,
        verdicts=verdicts,
        compared=sum(count for verdict, count in verdicts.items() if verdict.outcome != "no counterpart"),
        agrees=sum(count for verdict, count in verdicts.items() if verdict.agrees),
        within=sum(count for verdict, count in verdicts.items() if verdict.within),
        off=sum(count for verdict, count in verdicts.items() if verdict.outcome == "off"),
        undetermined=sum(count for verdict, count in verdicts.items() if verdict.outcome == "unclear"),
        agreement=AGREEMENT,
        here=measured_on_such(report),
        load=other_load(report),
        coverage=_coverage(report),
        kinds=Counter(origin.kind for origin in report.device.provenance.values()),
        variants=variants,
        agreeing=variants - {found.workload for found in report.evidence if found.agrees is False},
        cautions=sum(bool(observation.warnings) for observation in report.observations),
    )
    return (*reliability, *unexpected.answers(report))


def measured_on_such(report: Report) -> int | None:
    """Return the number of values of the entry that were measured on such a device; ``None`` if none was measured."""
    measured_on = [o.measured_on for o in report.device.provenance.values() if o.measured_on and o.kind == "measured"]
    return sum(report.match.entry in entries for entries in measured_on) if measured_on else None


def _coverage(report: Report) -> list[tuple[str, int, int]]:
    """Return each kind of prediction, and how many measured points are inside its intervals and in all."""
    found: list[tuple[str, int, int]] = []
    for kind in BASES:
        pairs = (pair for curve in report.curves for pair in curve.compared(kind))
        inside = [1 / p.spread <= seen.time_s / p.time_s <= p.spread for p, seen in pairs if p.spread > 1]
        if inside:
            found.append((kind, sum(inside), len(inside)))
    return found


def ratio_picture(report: Report) -> Picture | None:
    """Draw all values as ratios to their predictions."""
    rows, seen = ratio_rows(specified(report)), seen_in(report)
    return Picture(ratio_chart(rows, seen), text("ratios", seen=seen)) if rows else None


def sensitivity_table(report: Report) -> Table:
    """List the inputs with the largest effect on predictions, from the specification and calibrated."""
    specified, calibrated = ({s.fact: s for s in ranked(_of(report, kind))} for kind in BASES)
    values = written_values(report.device)
    return Table.of(
        {
            "input": fact_name(fact),
            "value": fact_value(values, fact),
            "kind": ", then ".join(dict.fromkeys(of[fact].kind for of in (specified, calibrated) if fact in of)),
            **_cells(specified.get(fact)),
            **(_cells(calibrated.get(fact), "cal. ") if calibrated else {}),
        }
        for fact in list(dict.fromkeys((*specified, *calibrated)))[:_MOST]
    )


def _cells(found: Sensitivity | None, kind: str = "") -> dict[str, str]:
    texts = (_share(found.uncertainty), _share(found.effect), format_percent(found.share)) if found else ("",) * 3
    return dict(zip((f"{kind}std. dev.", f"{kind}effect", f"{kind}share"), texts, strict=True))


def _of(report: Report, kind: str) -> list[Prediction]:
    return [prediction for prediction in report.predictions if prediction.kind == kind]


def rules_table() -> Table:
    """List the assumed uncertainties of inputs, with sources."""
    rows = [(rule.what, _share(rule.published), _share(rule.assumed), rule.source) for rule in UNCERTAINTIES]
    kinds = ", ".join(f"{kind} {_share(share)}" for kind, share in SIGMA_BY_SOURCE.items() if kind != "assumed")
    rows.append(("all others", "", _share(SIGMA_BY_SOURCE["assumed"]), f"by kind: {kinds} (assumed)"))
    measured = "two runs on two H200: 90 % of results within 1.2 %"
    rows.append(("measured by the run itself", _share(SIGMA_MEASURED_HERE), "", measured))
    within = format_percent(SIGMA_MODEL / MAD_TO_SIGMA, ".1f")
    half = f"half of published times are within {within} of predicted (gpureport validate)"
    rows.append(("the model itself", _share(SIGMA_MODEL), "", half))
    return Table(("input", "published", "assumed", "basis"), tuple(rows))


def examples(report: Report) -> tuple[tuple[str, Arithmetic], ...]:
    """Return kernel name and arithmetic of one point of each family that the device can run."""
    found = {
        curve.key.family: (kernel_name(report, curve.key), p.arithmetic)
        for curve in report.curves
        if (p := curve.specification)
        and p.arithmetic
        and _runs(report, curve.measurement, p.key.workload, p.arithmetic.point)
    }
    return tuple(found.values())


def _runs(report: Report, measurement: Measurement | None, workload: str, point: str) -> bool:
    """Return whether the device can run a point, as far as is known: points that were not tried count as runnable."""
    info = report.workloads.get(workload)
    if (info and info.skipped) or (measurement and measurement.skipped):
        return False
    points = [each for each in (measurement.points if measurement else ()) if each.point.label == point]
    return not points or any(each.samples_s or each.late for each in points)


def arithmetic_table(arithmetic: Arithmetic) -> Table:
    """List the steps of the calculation of one predicted time."""
    return Table.of(
        {"name": s.name, "formula": s.formula, "with numbers": s.numbers, "result": _result(s.name, s.value)}
        for s in arithmetic.steps
    )


def _result(name: str, value: float) -> str:
    if name == "time":
        return format_time(value)
    return f"{number(value)} s" if name.startswith("t(") or name == "throughput" else number(value)
