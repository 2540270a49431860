"""The chapter on bottlenecks: measured speed / the limit of the bottleneck, of each kernel at its largest size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.grouping import grouped, in_figures
from gpureport.records.ceilings import ceiling_words
from gpureport.records.curves import ObservedPoint, Points, SweepKey
from gpureport.records.prediction import Occupancy, PredictedPoint
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user, reading_units, seen_word
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.rooflines import COLUMNS, Dot, roofline_chart, roofline_dots
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table, occupancy_text
from gpureport.report.text.words import family_name, seen_in
from gpureport.units import UNKNOWN, format_percent, format_value

_EXPLAINED = 0.5
"""Smallest efficiency at which the bottleneck explains the time: the kernel spends most of the time at this limit."""
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
    def ceiling_s(self) -> float:
        """Time of the kernel if nothing but its bottleneck took any."""
        return max(self.predicted.ceilings_s.values())

    @property
    def share(self) -> float | None:
        """Observed efficiency."""
        return self.ceiling_s / self.observed.time_s if self.observed else None

    @property
    def efficiency(self) -> float:
        """Observed efficiency; without an observation, the predicted one."""
        return self.ceiling_s / (self.observed or self.predicted).time_s

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
    """Return each kernel at the largest size of its sweeps over sizes that all compute *units* run.

    Kernels that measure latency are left out.
    """
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
        unit=curve.value_unit,
        occupancy=occupancy,
    )


def bottleneck_of(limit: Limit) -> str:
    """Write the bottleneck of a table's row: the nearest limit only, if it does not explain most of the time."""
    return f"{'' if limit.is_explained else 'none; nearest: '}{ceiling_words(limit.bottleneck)}"


def occupancy_of(limit: Limit) -> str:
    """Write the occupancy of a table's row, and whether its registers are estimated."""
    entry = limit.occupancy
    return occupancy_text(entry) + (", assumed" if entry.source == "assumed" else "") if entry else UNKNOWN


def limits_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List kernels at their largest sizes, a line each: speed without interval, bottleneck, efficiency, occupancy."""
    return Table.of(
        {
            "kernel": limit.key.workload,
            seen_in(report): format_value(limit.observed.value if limit.observed else None, limit.unit),
            "predicted": format_value(limit.predicted.value, limit.unit),
            "bottleneck": bottleneck_of(limit),
            "efficiency": UNKNOWN if limit.share is None else format_percent(limit.share),
            "occupancy": occupancy_of(limit),
        }
        for limit in limits(found, report.device.compute_units)
        if not report.only_predicted
    )


def answers(report: Report, found: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Report the efficiency of kernels, the most frequent bottleneck, and kernels that exceed their limits."""
    known = limits(found, report.device.compute_units)
    seen = [limit for limit in known if limit.observed]
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
    described = {name: info.title for name, info in report.workloads.items() if info.described}
    families = grouped((curve.key.family, curve) for curve in found if curve.key.workload not in described)
    dots = {name: roofline_dots(curves, report.device, {}) for name, curves in families.items()}
    fewest = min(_FEWEST_DOTS, max(map(len, dots.values()), default=0))
    for name, curves in families.items():
        if len(dots[name]) >= fewest:
            yield from _roofline(report, family_name(report, name), dots[name], seen_word(curves))
    own = of_user(report, found)
    yield from _roofline(report, "Your kernels", roofline_dots(own, report.device, described), seen_word(own))


def _roofline(report: Report, name: str, dots: Iterable[Dot], seen: str) -> Iterator[Picture]:
    """Yield figures with one row of panels each: small figures leave no large gaps at the ends of pages."""
    panels = list(grouped((dot.operations, dot) for dot in dots).values())
    for row in in_figures(panels, COLUMNS):
        drawn = list(chain.from_iterable(row))
        yield Picture(roofline_chart(drawn, report.device, seen), f"{name}.")
