"""The compact tables of the chapters: cliffs, tapers, work-group shapes and the largest deviations."""

from collections.abc import Iterable
from functools import partial

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.finding import Finding
from gpureport.records.levels import Level
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, specified_values, verdicts
from gpureport.report.grouping import grouped
from gpureport.report.text.tables import Table
from gpureport.report.text.words import (
    agreeing,
    best_sample,
    family_name,
    feature_text,
    kernel_name,
    observed_head,
    seen_in,
    set_of,
)
from gpureport.text import shorten
from gpureport.units import UNKNOWN, abbreviated, format_interval, format_range, format_ratio, format_value

_LONGEST_FEATURE = 120


def cliff_table(report: Report, found: Iterable[CurveRecords]) -> Table:
    """List cliffs with onset and midpoint, from the innermost cache outward; unexplained transitions last."""
    found = tuple(found)
    order = {level: number for number, level in enumerate(report.device.cache_levels)}
    onsets = {(f.key, f.level): f for f in specified_values(found, "onset") if f.observed}
    mains = specified_values(found, "midpoint")
    columns = (
        "level",
        "kernel",
        "onset",
        "midpoint predicted",
        f"midpoint {observed_head(report)}",
        "ratio",
        "verdict",
    )
    rows = (
        (
            _level(f.level),
            f.key.workload,
            format_value(onset.observed, onset.unit) if (onset := onsets.get((f.key, f.level))) else UNKNOWN,
            format_interval(f.predicted, f.predicted_low, f.predicted_high, f.unit, "predicted"),
            format_interval(f.observed, f.ci_low, f.ci_high, f.unit),
            format_ratio(f.ratio),
            f"{f.verdict.mark} {f.verdict}",
        )
        for f in sorted(mains, key=lambda f: (order.get(f.level, len(order)), f.observed is None))
    )
    return Table(columns, tuple(rows), frozenset(columns[2:6]))


def level_table(report: Report, found: Iterable[CurveRecords]) -> Table:
    """List the cliffs of each cache level as ranges over kernels, with the largest deviation."""
    found = tuple(found)
    onsets = grouped((f.level, f) for f in specified_values(found, "onset"))
    levels = grouped((f.level, f) for f in specified_values(found, "midpoint") if not f.level.is_unexplained)
    seen = seen_in(report)
    columns = (
        "level",
        "kernels",
        f"onset {seen}",
        "midpoint predicted",
        f"midpoint {seen}",
        "agree",
        "largest that is off",
    )
    rows = tuple(
        (
            str(level),
            str(len(mains)),
            _span([f.observed for f in onsets.get(level, ())], "B"),
            _span([f.predicted for f in mains], "B"),
            _span([f.observed for f in mains], "B"),
            agreeing(f.verdict for f in mains),
            _largest_deviation(mains),
        )
        for level in report.device.cache_levels
        if (mains := levels.get(level))
    )
    return Table(columns, rows, frozenset({"kernels", *columns[2:6]}))


def _level(level: Level) -> str:
    """Name the level of a cliff, without the working set of an unexplained transition, which the row has."""
    return "unexplained transition" if level.is_unexplained else str(level)


def taper_table(report: Report, found: Iterable[CurveRecords]) -> Table:
    """List the range of work that kernels of a family need for 90 % of their peak."""
    families = grouped((f.key.family, f) for f in specified_values((c for c in found if not c.is_transfer), "n90"))
    seen = seen_in(report)
    columns = ("family", "curves", "predicted", seen, "agree", "largest that is off")
    rows = (
        (
            family_name(report, family),
            str(len(mains)),
            _span([f.predicted for f in mains]),
            _span([f.observed for f in mains]),
            agreeing(f.verdict for f in mains),
            _largest_deviation(mains),
        )
        for family, mains in families.items()
    )
    return Table(columns, tuple(rows), frozenset({*columns[1:5]}))


def _span(values: Iterable[float | None], unit: str = "") -> str:
    return format_range([value for value in values if value], partial(format_value, unit=unit))


def _largest_deviation(mains: Iterable[Finding]) -> str:
    off = [f for f in mains if f.ratio and not f.verdict.as_predicted]
    if not off:
        return UNKNOWN
    worst = max(off, key=lambda f: max(f.ratio or 1.0, 1 / (f.ratio or 1.0)))
    return f"{worst.key.variant}: {format_ratio(worst.ratio)} times the prediction"


def shape_table(report: Report, advice: Iterable[FamilyAdvice]) -> Table:
    """List the recommended shapes of each family, and the cost of the worst choice."""
    columns = ("family", "searches", "recommended shapes", "best / worst", "largest for")
    rows = []
    for family in advice:
        worst = max(family.variants, key=lambda variant: variant.gain)
        gains = format_range([variant.gain for variant in family.variants], format_ratio)
        rows.append((family_name(report, family.family), str(len(family.variants)), set_of(family), gains, worst.name))
    return Table(columns, tuple(rows), frozenset({"searches", "best / worst"}))


def _observed(finding: Finding) -> str:
    """Write an observed value with its interval; fitted values also get the best sample."""
    unit = abbreviated(finding.unit)
    value = format_interval(finding.observed, finding.ci_low, finding.ci_high, unit)
    return "; ".join(filter(None, (value, best_sample(finding, unit))))


def deviations_table(report: Report) -> Table:
    """List the features that deviate most from their predictions, the most urgent first."""
    columns = ("kernel", "feature", "predicted", observed_head(report), "ratio", "verdict", "agree")
    rows = tuple(
        (
            kernel_name(report, f.key),
            shorten(feature_text(f), _LONGEST_FEATURE),
            format_interval(f.predicted, f.predicted_low, f.predicted_high, abbreviated(f.unit), "predicted"),
            _observed(f),
            format_ratio(f.ratio),
            f"{f.verdict.mark} {f.verdict}",
            agreeing(row.verdicts),
        )
        for row in verdicts(report)
        if not (f := row.worst.main).verdict.as_predicted
    )
    return Table(columns, rows, frozenset({*columns[2:5], "agree"}))
