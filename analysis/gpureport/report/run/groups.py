"""The chapter on work-groups: their best sizes and shapes, and how many are resident."""

from collections.abc import Sequence

from gpureport.findings.advice import WITHIN, FamilyAdvice, OneSize, one_size
from gpureport.findings.whole_device import resident_groups
from gpureport.grouping import grouped
from gpureport.records.report import Report
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_name, set_of
from gpureport.units import UNKNOWN, format_bytes, format_number, format_range, format_ratio

_FEW = 3  # the most families with losses that are listed
_MUCH = 0.1
"""A loss by the wrong shape that is worth a warning."""


def best_size(report: Report) -> OneSize | None:
    """Return the work-group size that suits most searches: observed ones, if anything was observed."""
    incomplete = report.incomplete
    seen = [each for each in report.observations if each.key not in incomplete]
    return one_size(seen if report.observations else report.specified)


def work_group_size(report: Report) -> str:
    """Recommend one work-group size for all kernels, and name the kernels that lose most with it."""
    best = best_size(report)
    if best is None:
        return ""
    worst = best.worst_shape
    losing = grouped((key.family, key) for key in best.losing)
    return text(
        "work_group_size",
        report=report,
        observed=bool(report.observations),
        best=best,
        near=len(best.losses) - len(best.losing) - len(best.unclear),
        within=WITHIN,
        unclear=max(best.unclear.items(), key=lambda each: each[1], default=None),
        families=[(family, keys[0]) for family, keys in losing.items()][:_FEW],
        worst_shape=worst if worst and worst.loss >= _MUCH else None,
    )


def answers(report: Report) -> tuple[str, ...]:
    """Recommend one size for all kernels."""
    return tuple(filter(None, [work_group_size(report)]))


def shape_table(report: Report, advice: Sequence[FamilyAdvice]) -> Table:
    """List the recommended shapes of each family, and the cost of the worst choice."""
    columns = ("family", "searches", "recommended shapes", "best / worst", "largest for")
    rows = []
    for family in advice:
        worst = max(family.variants, key=lambda variant: variant.gain)
        gains = format_range([variant.gain for variant in family.variants], format_ratio)
        rows.append((family_name(report, family.family), str(len(family.variants)), set_of(family), gains, worst.name))
    return Table(columns, tuple(rows), frozenset({"searches", "best / worst"}))


def residency_table(report: Report) -> Table:
    """List the resident work-groups of each kind, as counted and by the rules of occupancy."""
    columns = ("work-group", "registers", "local memory", "limited by", "predicted groups", "counted groups", "ratio")
    rows = (
        (
            row.label,
            str(row.rules.registers_per_work_item),
            format_bytes(row.rules.local_memory_bytes),
            row.rules.limiter,
            f"{row.predicted:,}",
            f"{row.counted:,}" if row.counted else UNKNOWN,
            format_number(row.counted / row.predicted, ".3f") if row.counted and row.predicted else UNKNOWN,
        )
        for row in resident_groups(report)
    )
    return Table(columns, tuple(rows), frozenset(columns) - {"work-group", "limited by"})
