"""How far to trust a prediction: what its interval comes from, how often it holds, and the arithmetic of examples."""

from collections import Counter
from collections.abc import Iterator

from gpureport.predict.expressions import number
from gpureport.predict.uncertainty.sensitivity import HERE, KINDS, MEDIAN_TO_SIGMA, MODEL, RULES, ranked
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import Arithmetic, Prediction, Sensitivity
from gpureport.records.report import Report
from gpureport.report.run.values import fact_name, fact_value
from gpureport.report.text.tables import Table
from gpureport.report.text.words import title_of
from gpureport.units import format_percent, format_share, format_time

_MOST = 10  # facts of the table
_PREDICTION = {"specification": "prediction from the specification", "calibrated": "calibrated prediction"}


def sensitivity_table(report: Report) -> Table:
    """List the facts that the specification's predictions hang on, and what is left of that in the calibrated ones."""
    specified, calibrated = ({s.fact: s for s in ranked(_of(report, kind))} for kind in _PREDICTION)
    columns: tuple[str, ...] = ("fact", "is", "kind", "known to", "moves by", "share")
    if calibrated:
        columns += ("then known to", "then moves by", "then share")
    rows = []
    for fact in list(dict.fromkeys((*specified, *calibrated)))[:_MOST]:
        kinds = dict.fromkeys(found[fact].kind for found in (specified, calibrated) if fact in found)
        what = (fact_name(fact), fact_value(report.device, fact), ", then ".join(kinds), *_cells(specified.get(fact)))
        rows.append((*what, *_cells(calibrated.get(fact))) if calibrated else what)
    return Table(columns, tuple(rows), frozenset({"is", *columns[3:]}))


def _cells(found: Sensitivity | None) -> tuple[str, ...]:
    if found is None:
        return ("", "", "")
    return format_share(found.uncertainty), format_share(found.effect), format_percent(found.share)


def _of(report: Report, kind: str) -> list[Prediction]:
    return [prediction for prediction in report.predictions if prediction.kind == kind]


def rules_table() -> Table:
    """List how uncertain facts are taken to be, and why."""
    rows = [(rule.what, format_share(rule.published), format_share(rule.assumed), rule.source) for rule in RULES]
    kinds = ", ".join(f"{kind} {format_share(share)}" for kind, share in KINDS.items() if kind != "assumed")
    rows.append(("all others", "", format_share(KINDS["assumed"]), f"by kind: {kinds} (assumed)"))
    rows.append(
        ("measured by the run itself", format_share(HERE), "", "two runs on two H200: 90 % of results within 1.2 %")
    )
    half = f"half of published times lie within {100 * MODEL / MEDIAN_TO_SIGMA:.1f} % of predicted (gpureport validate)"
    rows.append(("the model itself", format_share(MODEL), "", half))
    return Table(("what", "published", "assumed", "from"), tuple(rows), frozenset({"published", "assumed"}))


def sensitivity_caption(table: Table) -> str:
    """Say what the columns of :func:`sensitivity_table` are."""
    then = " Then: in calibrated predictions, where a figure may have been measured here, by the run itself."
    return (
        "Known to: one standard deviation. Moves by: what that does to the times of the sweeps that it matters to, in "
        "the median. Share: its part in the variance, a mean over all sweeps."
        f"{then if 'then share' in table.columns else ''}"
    )


def answers(report: Report) -> Iterator[str]:
    """Yield what speaks for the predictions and the measurements, and what against them."""
    held = "; ".join(coverage(report))
    if held:
        lacks = "the model lacks something that the device does, or its intervals are too narrow"
        yield f"{held}; where fewer than 95 % do, {lacks}."
    kinds = Counter(origin.kind for origin in report.device.provenance.values())
    if kinds:
        told = ", ".join(f"{count} {_KINDS[kind]}" for kind, count in kinds.most_common())
        yield f"Of {kinds.total()} values that the predictions are made from: {told}."
    compared = {found.workload for found in report.evidence if found.agrees is not None}
    wrong = {found.workload for found in report.evidence if found.agrees is False}
    if compared:
        of = f"{len(compared)} of {len(report.workloads)} variants whose compiled code could be compared"
        alike = len(compared - wrong)
        yield f"Of the {of}, {alike} move the bytes that the model assumes, or a range that contains them."
    cautions = sum(bool(observation.warnings) for observation in report.observations)
    if cautions:
        yield f"{cautions} of {len(report.observations)} sweeps come with a caution, in the appendix."


def own_values(report: Report) -> Iterator[str]:
    """Say how many values of the entry this project measured, and on what: predictions for that are not independent.

    Stands after the name of the entry.
    """
    origins = report.device.provenance.values()
    for entry, count in Counter(origin.measured_on for origin in origins if origin.measured_on).items():
        where = "such a device" if entry == report.match.entry else f"a device of entry {entry}"
        rest = "rests" if count == 1 else "rest"
        yield f"{count} of its {len(origins)} values {rest} on measurements by this project on {where}."


_KINDS = {
    "spec": "documented",
    "queried": "asked of the driver",
    "measured": "measured",
    "derived": "derived from others",
    "assumed": "assumed",
}


def coverage(report: Report) -> Iterator[str]:
    """Say of each kind of prediction how many of the measured points lie within its intervals."""
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
            yield f"{format_percent(inside / total)} of {total} {points} points lie within the interval of the {name}"


def examples(report: Report) -> tuple[tuple[str, Arithmetic], ...]:
    """Return the arithmetic of one point of each family, under its variant's title; of several the last.

    Points that the device cannot run are left out.
    """
    measured = {measurement.key: measurement for measurement in report.measurements}
    found = {
        p.key.family: (title_of(report, p.key.workload, p.key.variant), p.arithmetic)
        for p in _of(report, "specification")
        if p.arithmetic and _runs(report, measured.get(p.key), p.key.workload, p.arithmetic.point)
    }
    return tuple(found.values())


def _runs(report: Report, measurement: Measurement | None, workload: str, point: str) -> bool:
    """Return whether the device can run a point, as far as is known: what was not attempted may run."""
    info = report.workloads.get(workload)
    if (info and info.skipped) or (measurement and measurement.skipped):
        return False
    points = [each for each in (measurement.points if measurement else ()) if each.point.label == point]
    return not points or any(each.samples_s or each.late for each in points)


def arithmetic_table(arithmetic: Arithmetic) -> Table:
    """List the steps behind one predicted time."""
    rows = tuple((s.name, s.formula, s.numbers, _result(s.name, s.value)) for s in arithmetic.steps)
    return Table(("name", "is", "with the numbers put in", "gives"), rows, frozenset({"gives"}))


def _result(name: str, value: float) -> str:
    if name == "time":
        return format_time(value)
    return f"{number(value)} s" if name.startswith("t(") or name == "throughput" else number(value)
