"""The chapters on bottlenecks and on kernels of the user: measured speed / the limit of the bottleneck, and advice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.grouping import grouped, in_figures
from gpureport.records.ceilings import ceiling_of
from gpureport.records.curves import ObservedPoint, Points, SweepKey
from gpureport.records.finding import Advice, SourceAccess
from gpureport.records.prediction import Occupancy, PredictedPoint
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user, reading_units, seen_word
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.rooflines import COLUMNS, Dot, roofline_chart, roofline_dot
from gpureport.report.run.conditions import affected
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.tables import Table, occupancy_text
from gpureport.report.text.words import family_name, kernel_name, seen_in
from gpureport.units import UNKNOWN, format_percent, format_ratio, format_time, format_value

_EXPLAINED = 0.5
"""Smallest efficiency at which the bottleneck explains the time: the kernel spends most of the time at this limit."""
_MOST = 12
"""Changes, or accesses, of all kernels that a table lists."""
MOST_TOLD = 4
"""The most kernels with sentences; the table has all."""
_FEWEST_DOTS = 3  # kernels of a family that are worth a roofline next to those of others


@dataclass(frozen=True, eq=False)
class Limit:
    """One kernel at its largest size; an efficiency above 1 shows that the true limit is above the listed one."""

    key: SweepKey
    bottleneck: str
    predicted: PredictedPoint
    observed: ObservedPoint | None
    unit: str
    occupancy: Occupancy | None

    @property
    def size(self) -> tuple[bool, float, int]:
        """Sort key: observed after unobserved, then by size."""
        return self.observed is not None, self.predicted.point.working_set_bytes, self.predicted.point.work_items

    @property
    def efficiency(self) -> float:
        """Observed efficiency: time at the limit / time; without an observation, the predicted one."""
        return max(self.predicted.ceilings_s.values()) / (self.observed or self.predicted).time_s

    @property
    def value(self) -> float:
        """Observed speed; without an observation, the predicted one."""
        return self.observed.value if self.observed else self.predicted.value

    @property
    def is_explained(self) -> bool:
        """Whether the bottleneck explains most of the time."""
        return self.efficiency >= _EXPLAINED

    @property
    def passed(self) -> bool:
        """Whether the whole interval exceeds the limit by more than a clock may exceed the listed one."""
        seen = self.observed
        return seen is not None and self.efficiency * seen.ci_low / seen.value > ABOVE_CEILING


def limits(found: Iterable[CurveRecords], units: int) -> tuple[Limit, ...]:
    """Return each kernel, except of latency, at the largest size of its sweeps over sizes that all *units* run."""
    sized = (c for c in found if c.metric.kind == "rate" and c.axis.quantity in ("working_set", "work_items"))
    sized = (curve for curve in sized if reading_units(curve, units) == units)
    kernels = grouped((limit.key.workload, limit) for limit in map(_limit, sized) if limit)
    return tuple(max(of, key=lambda limit: limit.size) for of in kernels.values())


def _limit(curve: CurveRecords) -> Limit | None:
    prediction = curve.specification or curve.calibrated
    seen = curve.observation.points if curve.observation else Points()
    points = [p for p in prediction.points if p.time_s > 0 and any(p.ceilings_s.values())] if prediction else []
    points = [point for point in points if seen.at(point.point)] or points
    if prediction is None or not points:
        return None
    largest = max(points, key=lambda p: (p.point.working_set_bytes, p.point.work_items))
    *_, occupancy = (None, *(curve.prediction or prediction).occupancy)  # shapes grow with sizes
    return Limit(
        key=curve.key,
        bottleneck=max(largest.ceilings_s, key=lambda name: largest.ceilings_s[name]),
        predicted=largest,
        observed=seen.at(largest.point),
        unit=curve.metric.value_unit,
        occupancy=occupancy,
    )


def occupancy_of(limit: Limit) -> str:
    """Write the occupancy of a table's row, and whether its registers are estimated."""
    entry = limit.occupancy
    return occupancy_text(entry) + (", assumed" if entry.source == "assumed" else "") if entry else UNKNOWN


def limits_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List kernels at their largest sizes, a line each: speed without interval, bottleneck, efficiency, occupancy."""
    seen = () if report.only_predicted else (seen_in(report),)
    return Table.of(
        {
            "kernel": limit.key.workload,
            **{name: format_value(limit.observed.value if limit.observed else None, limit.unit) for name in seen},
            "predicted": format_value(limit.predicted.value, limit.unit),
            "bottleneck": f"{'' if limit.is_explained else 'none; nearest: '}{ceiling_of(limit.bottleneck).text}",
            "efficiency": format_percent(limit.efficiency) if limit.observed or not seen else UNKNOWN,
            "occupancy": occupancy_of(limit),
        }
        for limit in limits(found, report.device.compute_units)
    )


def answers(report: Report, found: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Report the efficiency of kernels, the most frequent bottleneck, and kernels that exceed their limits."""
    known = limits(found, report.device.compute_units)
    hit = {each.name for each in affected(report)}  # the model explains nothing that other load disturbed
    seen = [limit for limit in known if limit.observed and limit.key.workload not in hit]
    if not known or (not seen and any(curve.observation for curve in found)):
        return ()
    compared = seen or list(known)
    return paragraphs(
        "efficiency",
        report=report,
        observed=bool(seen),
        limits=sorted(compared, key=lambda limit: limit.efficiency),
        frequent=most_frequent(compared),
        passed=[limit.key for limit in seen if limit.passed],
        left_out=sum(limit.observed is not None for limit in known) - len(seen),
    )


def most_frequent(known: Sequence[Limit]) -> tuple[list[str], int, int]:
    """Return the most frequent bottlenecks, how many kernels have each, and the number of kernels.

    Kernels that no limit explains have none.
    """
    counts = Counter(limit.bottleneck if limit.is_explained else "" for limit in known)
    most = max(counts.values())
    return [name for name, count in counts.items() if count == most], most, len(known)


def rooflines(report: Report, found: Sequence[CurveRecords]) -> Iterator[Picture]:
    """Yield the rooflines of families with a few kernels, if there are any, and of the user's kernels."""
    titles = {name: info.title for name, info in report.workloads.items() if info.described}
    families: dict[str, list[Dot]] = {}
    for limit in limits(found, report.device.compute_units):
        name = titles.get(limit.key.workload, limit.key.variant)
        family = "Your kernels" if limit.key.workload in titles else family_name(report, limit.key.family)
        if dot := roofline_dot(name, limit.predicted, limit.observed, report.device):
            families.setdefault(family, []).append(dot)
    fewest = min(_FEWEST_DOTS, max(map(len, families.values()), default=0))
    for family, dots in families.items():
        panels = list(grouped((dot.operations, dot) for dot in dots).values())
        enough = family == "Your kernels" or len(dots) >= fewest
        for row in in_figures(panels, COLUMNS) if enough else ():  # one row each leaves no large gaps at ends of pages
            yield Picture(roofline_chart([*chain(*row)], report.device, seen_word(found)), f"{family}.")


def own_answers(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Say for each kernel what limits it, and the change with the largest gain."""
    first = {each.workload: each for each in reversed(report.advice)}
    return [
        text("own", report=report, limit=limit, advice=first.get(limit.key.workload))
        for limit in limits(of_user(report, found), report.device.compute_units)
    ]


def accesses_table(report: Report) -> Table:
    """Return the accesses that cost most, in the order of the source."""
    costly = sorted(report.accesses, key=lambda each: -max(each.unit_s, each.memory_s))[:_MOST]
    return Table.of(
        {
            "kernel": _kernel_of(report, each),
            "line": str(each.line),
            "source": each.text,
            "access": text("access", access=each),
            "per wave": text("wave_access", access=each),
            "traffic": format_percent(each.traffic_share),
            "load/store unit": format_time(each.unit_s),
            "memory": format_time(each.memory_s),
        }
        for each in sorted(costly, key=lambda each: (each.workload, each.line))
    )


def advice_table(report: Report) -> Table:
    """Return the changes with the largest gains."""
    gains = (
        (_kernel_of(report, each), each.change, f"{format_ratio(each.gain)} times as fast")
        for each in sorted(report.advice, key=lambda each: -each.gain)[:_MOST]
    )
    return Table(("kernel", "change", "predicted gain"), tuple(gains))


def _kernel_of(report: Report, advice: Advice | SourceAccess) -> str:
    """Name the kernel of an *advice* or access; by its identifier if the report does not describe it."""
    info = report.workloads.get(advice.workload)
    return kernel_name(report, info) if info else advice.workload
