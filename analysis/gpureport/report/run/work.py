"""The chapters on parallel work: how much of it full throughput needs, and in which work-groups."""

from collections.abc import Sequence
from itertools import chain
from math import inf

from gpureport.findings.advice import WITHIN, OneSize, best_shape, one_size, searches, worst_shape
from gpureport.grouping import grouped
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, is_certain, specified_values
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import agreeing, family_name, known_range, largest_deviation, seen_in, shape_name
from gpureport.spec.models import Device, resident_work_items
from gpureport.units import RATIO, format_range

_FEWEST_SHAPES = 3  # points of a published sweep over shapes that count as a search
SMALL_GROUP = 128  # work-items of a small group, of which most devices can hold enough
_FEW = 3  # the most families with losses that are listed
_BEGIN = 1.25  # an n90 below so many times the fewest work-items of its sweep may be smaller


def enough_work(report: Report, found: Sequence[CurveRecords]) -> list[tuple[float, str]]:
    """Return n90 and workload of each curve, ascending; only certain n90 beyond the begin of their sweep."""
    return sorted(
        (feature.value, curve.key.workload)
        for curve in found
        if not (curve.is_work_group or curve.is_transfer) and curve.key.family != "launch"
        for feature in curve.features(measured=bool(report.observations))
        if feature.position == "n90" and is_certain(feature)
        if feature.value >= _BEGIN * min(point.point.work_items for point in curve.points)
    )


def full_occupancy(device: Device, group: int = SMALL_GROUP) -> tuple[int, float]:
    """Return registers and bytes of local memory per work-item that allow it, in work-groups of *group*; 0: no limit.

    It is a small group if such ones cannot fill a compute unit, and twice as large if too few of them can be resident.
    """
    rules, wave = device.architecture.occupancy, device.architecture.wave_size
    most, each = rules.max_waves * wave, max(1, rules.register_granularity // wave)
    registers = min(rules.registers // most, rules.max_registers_per_work_item or inf) if rules.registers else 0
    group = SMALL_GROUP if most % group else group
    group = group if most <= group * (rules.max_groups or most) else 2 * SMALL_GROUP
    share = (rules.local_memory_bytes or 0) // max(1, most // group)  # of each group
    share -= share % rules.local_memory_granularity_bytes
    share = max((size for size in rules.local_memory_sizes_bytes if size <= share), default=share)
    return int(registers // each * each), max(0, (share - rules.local_memory_reserved_bytes) // group)


def amount_of_work(report: Report, found: Sequence[CurveRecords]) -> str:
    """Separate the work that fills the device from the work that amortises the launch cost."""
    capacity, work = resident_work_items(report.device), enough_work(report, found)
    return text("amount_of_work", observed=bool(report.observations), capacity=capacity, work=work)


def answers(report: Report, found: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Report the work for 90 % of the peak over kernels, and compare it with the predictions."""
    curves = [curve for curve in found if not (curve.is_work_group or curve.is_transfer)]
    tapers = specified_values(curves, "n90")
    amount = amount_of_work(report, found) if tapers or not any(curve.observation for curve in curves) else ""
    return amount, text("work", tapers=tapers)


def taper_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List the range of work that kernels of a family need for 90 % of their peak."""
    families = grouped((f.key.family, f) for f in specified_values((c for c in found if not c.is_transfer), "n90"))
    return Table.of(
        {
            "family": family_name(report, family),
            "curves": str(len(mains)),
            "predicted": known_range(f.predicted for f in mains),
            seen_in(report): known_range(f.observed for f in mains),
            "agree": agreeing(f.verdict for f in mains),
            "largest that is off": largest_deviation(mains),
        }
        for family, mains in families.items()
    )


def best_size(report: Report) -> OneSize | None:
    """Return the work-group size that suits most searches: observed ones, if anything was observed."""
    incomplete = report.incomplete
    seen = [each for each in report.observations if each.key not in incomplete]
    return one_size(seen if report.observations else report.specified, report.device.architecture.wave_size)


def work_group_size(report: Report) -> str:
    """Recommend one work-group size for all kernels, and name the kernels that lose most with it."""
    if (best := best_size(report)) is None:
        return ""
    losing = grouped((key.family, key) for key in best.losing)
    return text(
        "work_group_size",
        report=report,
        observed=bool(report.observations),
        best=best,
        near=len(best.losses) - len(best.losing),
        within=WITHIN,
        families=[(family, keys[0]) for family, keys in losing.items()][:_FEW],
    )


def shape_table(report: Report) -> Table:
    """List the shape that suits most searches of each family, and the cost of the worst choice."""
    measured = (o for o in report.observations if o.key not in report.incomplete)
    found = searches(o for o in measured if not report.publication or len(o.points) >= _FEWEST_SHAPES)
    return Table.of(
        {
            "family": family_name(report, family),
            "searches": str(len(of)),
            "best shape": shape_name(best.most.sides),
            "good for": f"{best.suits} of {best.searches}",
            "best / worst": format_range([worst_shape(search).gain for search in of], RATIO),
            "largest for": worst_shape(list(chain(*of))).key.variant,
        }
        for family, of in grouped((search[0].key.family, search) for search in found).items()
        if (best := best_shape(chain(*of), report.device.architecture.wave_size))
    )
