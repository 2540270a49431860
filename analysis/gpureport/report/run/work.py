"""The chapter on tapers: how much work full throughput needs."""

from collections.abc import Sequence

from gpureport.grouping import grouped
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, is_certain_n90, specified_values
from gpureport.report.text.difference import known_range, largest_deviation
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import agreeing, family_name, seen_in
from gpureport.spec.models import resident_work_items


def enough_work(report: Report, found: Sequence[CurveRecords]) -> tuple[list[tuple[float, str]], int]:
    """Return n90 and workload of each curve, ascending, and the number of uncertain values, which are left out.

    These have wide intervals, or are at the beginning of their sweep.
    """
    observed = bool(report.observations)
    tapers = [
        (feature, curve)
        for curve in found
        if not (curve.is_work_group or curve.is_transfer) and curve.key.family != "launch"
        for feature in curve.features(measured=observed)
        if feature.position == "n90"
    ]
    work = sorted((n90.value, curve.key.workload) for n90, curve in tapers if is_certain_n90(n90, curve))
    return work, len(tapers) - len(work)


def amount_of_work(report: Report, found: Sequence[CurveRecords]) -> str:
    """Separate the work that fills the device from the work that amortises the launch cost."""
    capacity, (work, uncertain) = resident_work_items(report.device), enough_work(report, found)
    return text(
        "amount_of_work",
        observed=bool(report.observations),
        capacity=capacity,
        work=work,
        uncertain=uncertain,
        above=sum(value > capacity for value, _ in work) if capacity else 0,
    )


def answers(report: Report, found: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Report the work for 90 % of the peak over kernels, and compare it with the predictions."""
    curves = [curve for curve in found if not (curve.is_work_group or curve.is_transfer)]
    tapers = specified_values(curves, "n90")
    amount = amount_of_work(report, found) if tapers or not any(curve.observation for curve in curves) else ""
    return tuple(filter(None, [amount, text("work", tapers=tapers)]))


def taper_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List the range of work that kernels of a family need for 90 % of their peak."""
    families = grouped((f.key.family, f) for f in specified_values((c for c in found if not c.is_transfer), "n90"))
    columns = ("family", "curves", "predicted", seen_in(report), "agree", "largest that is off")
    rows = (
        (
            family_name(report, family),
            str(len(mains)),
            known_range(f.predicted for f in mains),
            known_range(f.observed for f in mains),
            agreeing(f.verdict for f in mains),
            largest_deviation(mains),
        )
        for family, mains in families.items()
    )
    return Table(columns, tuple(rows), frozenset({*columns[1:5]}))
