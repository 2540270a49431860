"""The table of resident work-groups: counted, and by the rules of occupancy."""

from collections.abc import Iterator

from gpureport.findings.residency import ResidentGroups, resident_groups
from gpureport.records.report import Report
from gpureport.report.run.sweep_blocks import Block
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_bytes

_COLUMNS = ("work-group", "registers", "local memory", "limited by", "predicted groups", "counted groups", "ratio")


def residency_blocks(report: Report) -> Iterator[Block]:
    """Yield the table, if the workload was measured."""
    rows = tuple(map(_row, resident_groups(report)))
    if rows:
        caption = (
            "Work-groups that are resident on the whole device at once: by the occupancy rules of the architecture, "
            "and counted by a kernel whose work-groups wait."
        )
        table = Table(_COLUMNS, rows, frozenset(_COLUMNS) - {"work-group", "limited by"})
        yield Block("resident-groups", "Resident work-groups", table=table, caption=caption)


def _row(row: ResidentGroups) -> tuple[str, ...]:
    return (
        row.label,
        str(row.rules.registers_per_work_item),
        format_bytes(row.rules.local_memory_bytes),
        row.rules.limiter,
        f"{row.predicted:,}",
        f"{row.counted:,}" if row.counted else UNKNOWN,
        f"{row.counted / row.predicted:.3f}" if row.counted and row.predicted else UNKNOWN,
    )
