"""How reliable predictions are: sources and coverage of their intervals, and the arithmetic of examples."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from gpureport.predict.expressions import number
from gpureport.predict.uncertainty.sensitivity import (
    MEDIAN_TO_SIGMA,
    RULES,
    SIGMA_BY_SOURCE,
    SIGMA_MEASURED_HERE,
    SIGMA_MODEL,
    ranked,
)
from gpureport.records.keys import SweepKey
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import Arithmetic, Prediction, Sensitivity
from gpureport.records.report import Report
from gpureport.report.run.values import fact_name, fact_value
from gpureport.report.text.tables import Table
from gpureport.report.text.words import kernel_name
from gpureport.text import listed
from gpureport.units import format_percent, format_time

_MOST = 10  # rows, names
_CALIBRATED = ("cal. std. dev.", "cal. effect", "cal. share")
_PREDICTION = {"specification": "prediction from the specification", "calibrated": "calibrated prediction"}
_share = partial(format_percent, spec=".2g")


def sensitivity_table(report: Report) -> Table:
    """List the inputs with the largest effect on predictions, from the specification and calibrated."""
    specified, calibrated = ({s.fact: s for s in ranked(_of(report, kind))} for kind in _PREDICTION)
    columns: tuple[str, ...] = ("input", "value", "kind", "std. dev.", "effect", "share")
    if calibrated:
        columns += _CALIBRATED
    rows = []
    for fact in list(dict.fromkeys((*specified, *calibrated)))[:_MOST]:
        kinds = dict.fromkeys(found[fact].kind for found in (specified, calibrated) if fact in found)
        what = (fact_name(fact), fact_value(report.device, fact), ", then ".join(kinds), *_cells(specified.get(fact)))
        rows.append((*what, *_cells(calibrated.get(fact))) if calibrated else what)
    return Table(columns, tuple(rows), frozenset({"value", *columns[3:]}))


def _cells(found: Sensitivity | None) -> tuple[str, ...]:
    if found is None:
        return ("", "", "")
    return _share(found.uncertainty), _share(found.effect), format_percent(found.share)


def _of(report: Report, kind: str) -> list[Prediction]:
    return [prediction for prediction in report.predictions if prediction.kind == kind]


def rules_table() -> Table:
    """List the assumed uncertainties of inputs, with sources."""
    rows = [(rule.what, _share(rule.published), _share(rule.assumed), rule.source) for rule in RULES]
    kinds = ", ".join(f"{kind} {_share(share)}" for kind, share in SIGMA_BY_SOURCE.items() if kind != "assumed")
    rows.append(("all others", "", _share(SIGMA_BY_SOURCE["assumed"]), f"by kind: {kinds} (assumed)"))
    rows.append(
        (
            "measured by the run itself",
            _share(SIGMA_MEASURED_HERE),
            "",
            "two runs on two H200: 90 % of results within 1.2 %",
        )
    )
    within = format_percent(SIGMA_MODEL / MEDIAN_TO_SIGMA, ".1f")
    half = f"half of published times are within {within} of predicted (gpureport validate)"
    rows.append(("the model itself", _share(SIGMA_MODEL), "", half))
    return Table(("input", "published", "assumed", "basis"), tuple(rows), frozenset({"published", "assumed"}))


def sensitivity_caption(table: Table) -> str:
    """Explain the columns of :func:`sensitivity_table`."""
    calibrated = " Cal.: mean share over the sweeps with a calibrated prediction. Kind “here”: measured by this run."
    return (
        "Std. dev.: assumed standard deviation of the input. Effect: change of a predicted time if the input changes "
        "by this much (median over the sweeps in which it causes at least 1 % of the variance). Share: contribution to "
        "the variance of the predictions, as a mean over all sweeps."
        f"{calibrated if table.columns[-1] == _CALIBRATED[-1] else ''}"
    )


def answers(report: Report) -> Iterator[str]:
    """Yield the evidence for and against the predictions and measurements."""
    shares = "; ".join(coverage(report))
    if shares:
        yield (
            f"{shares}. The target is 95 %. A lower share means that the model lacks an effect, or that its intervals "
            "are too narrow."
        )
    if report.observations and not report.publication:
        yield "Predictions are those made for the run; “gpureport validate REPORT” predicts with the current model."
    kinds = Counter(origin.kind for origin in report.device.provenance.values())
    if kinds:
        counts = ", ".join(f"{count} {_KINDS[kind]}" for kind, count in kinds.most_common())
        yield f"Sources of the {kinds.total()} values that the predictions use: {counts}."
    compared = {found.workload for found in report.evidence if found.agrees is not None}
    wrong = {found.workload for found in report.evidence if found.agrees is False}
    if compared:
        agree = f"for {len(compared - wrong)} of {len(compared)} variants it moves the bytes that the model assumes"
        others = f"The other {len(report.workloads) - len(compared)} variants could not be compared."
        yield f"Compiled code: {agree}, or a range of bytes that contains them. {others}"
    cautions = [observation.key for observation in report.observations if observation.warnings]
    if cautions:
        count = f"{len(cautions)} of {len(report.observations)} sweeps {'has' if len(cautions) == 1 else 'have'}"
        yield f"{count} a caution in the appendix with all numbers: {_sweeps(cautions)}."


def _sweeps(keys: Sequence[SweepKey]) -> str:
    """List sweeps; if there are many, their number in each family."""
    if len(keys) <= _MOST:
        return listed([str(key) for key in keys])
    return listed([f"{count} of {family}" for family, count in Counter(key.family for key in keys).items()])


def own_values(report: Report) -> Iterator[str]:
    """Yield how many values of the entry were measured on such a device, and how many on others only."""
    measured = [origin.measured_on for origin in report.device.provenance.values() if origin.measured_on]
    if measured:
        here = sum(report.match.entry in entries for entries in measured)
        where = f"{here} were measured on such a device, {len(measured) - here} on other devices only"
        yield f"Of the {len(report.device.provenance)} values of the entry, {where}."


_KINDS = {
    "spec": "documented",
    "queried": "reported by the driver",
    "measured": "measured",
    "derived": "derived from others",
    "assumed": "assumed",
}


def coverage(report: Report) -> Iterator[str]:
    """Yield the share of measured points within the intervals of each kind of prediction."""
    observed = {observation.key: observation for observation in report.observations}
    for kind, name in _PREDICTION.items():
        inside = total = 0
        for prediction in _of(report, kind):
            spreads = {p.point.label: p for p in prediction.points if p.spread > 1}
            for point in observed[prediction.key].points if prediction.key in observed else ():
                expected = spreads.get(point.point.label)
                if expected:
                    total += 1
                    inside += 1 / expected.spread <= point.time_s / expected.time_s <= expected.spread
        if total:
            points = "published" if report.publication else "measured"
            share = f"{format_percent(inside / total)} of {total} {points} points"
            yield f"{share} are within the 95 % interval of the {name}"


def examples(report: Report) -> tuple[tuple[str, Arithmetic], ...]:
    """Return kernel name and arithmetic of one point of each family that the device can run."""
    measured = {measurement.key: measurement for measurement in report.measurements}
    found = {
        p.key.family: (kernel_name(report, p.key), p.arithmetic)
        for p in _of(report, "specification")
        if p.arithmetic and _runs(report, measured.get(p.key), p.key.workload, p.arithmetic.point)
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
    rows = tuple((s.name, s.formula, s.numbers, _result(s.name, s.value)) for s in arithmetic.steps)
    return Table(("name", "formula", "with numbers", "result"), rows, frozenset({"result"}))


def _result(name: str, value: float) -> str:
    if name == "time":
        return format_time(value)
    return f"{number(value)} s" if name.startswith("t(") or name == "throughput" else number(value)
