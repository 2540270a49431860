"""The chapter on bottlenecks: measured speed / the limit of the bottleneck, of each kernel at its largest size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.records.ceilings import ceiling_text
from gpureport.records.curves import ObservedPoint, Points, SweepKey
from gpureport.records.prediction import Occupancy, PredictedPoint
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user, reading_units, seen_word
from gpureport.report.figures.chart import Picture
from gpureport.report.figures.rooflines import COLUMNS, roofline_chart, roofline_dots
from gpureport.report.grouping import grouped, in_figures
from gpureport.report.prediction import forecast
from gpureport.report.run.sweeps import Block
from gpureport.report.text.captions import block_title, roofline_caption
from gpureport.report.text.sentences import paragraphs
from gpureport.report.text.tables import Table, occupancy_text
from gpureport.report.text.words import family_name, seen_in
from gpureport.units import UNKNOWN, format_percent, format_value

_EXPLAINED = 0.5
"""Smallest efficiency at which the bottleneck explains the time: the kernel spends most of the time at this limit."""


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
    def predicted_share(self) -> float:
        """Predicted efficiency."""
        return self.ceiling_s / self.predicted.time_s

    @property
    def share(self) -> float | None:
        """Observed efficiency."""
        return self.ceiling_s / self.observed.time_s if self.observed else None

    @property
    def efficiency(self) -> float:
        """Observed efficiency; without an observation, the predicted one."""
        return self.predicted_share if self.share is None else self.share

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


def bottleneck_text(limit: Limit) -> str:
    """Write the bottleneck of a table's row: the nearest limit only, if it does not explain most of the time."""
    return f"{'' if limit.is_explained else 'none; nearest: '}{ceiling_text(limit.bottleneck)}"


def occupancy_of(limit: Limit) -> str:
    """Write the occupancy of a table's row, and whether its registers are estimated."""
    entry = limit.occupancy
    return occupancy_text(entry) + (", assumed" if entry.source == "assumed" else "") if entry else UNKNOWN


def limits_table(found: Iterable[Limit], head: str = "") -> Table:
    """List kernels at their largest sizes, a line each: speed without interval, bottleneck, efficiency and occupancy.

    *head* is that of the column of observed speeds, which is left out without one.
    """
    seen = (head,) if head else ()
    columns = ("kernel", *seen, "predicted", "bottleneck", "efficiency", "occupancy")
    rows = []
    for limit in found:
        share = limit.share if head else limit.predicted_share
        value = format_value(limit.observed.value if limit.observed else None, limit.unit)
        rows.append(
            (
                limit.key.workload,
                *((value,) if head else ()),
                format_value(limit.predicted.value, limit.unit),
                bottleneck_text(limit),
                UNKNOWN if share is None else format_percent(share),
                occupancy_of(limit),
            )
        )
    return Table(columns, tuple(rows), frozenset({*seen, "predicted", "efficiency"}))


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


def blocks(
    report: Report, found: Sequence[CurveRecords], cases: Iterable[Block], kinds: Iterable[Sequence[CurveRecords]]
) -> Iterator[Block]:
    """Yield the limits of the device, the rooflines, *cases*, the table of kernels, and cases that are as predicted."""
    if report.only_predicted:
        yield Block.of("ceilings", table=forecast.ceilings_table(report.device), copies=forecast.COPIES)
        yield Block.of("forecast", table=forecast.outlook_table(report.predictions))
    known, seen = limits(found, report.device.compute_units), seen_in(report) if report.observations else ""
    if figures := tuple(_rooflines(report, found, known)):
        yield Block.of("rooflines", figures, numbers=("numbers",), seen=seen)
    yield from cases
    yield Block.of(
        "kernels",
        table=limits_table(known, seen),
        numbers=("numbers",),
        seen=seen or "predicted",
        explained=all(limit.is_explained for limit in known),
    )
    ratios = [
        (block_title(family_name(report, members[0].key.family), members), [f.main.ratio or 0.0 for f in pairs])
        for members in kinds
        if (pairs := [pair for curve in members for pair in curve.pairs])
        and all(p.main.position == "case" and p.main.verdict.agrees for p in pairs)
    ]
    if ratios:
        yield Block.of("expected", seen=seen_in(report), ratios=ratios)


def _rooflines(report: Report, found: Sequence[CurveRecords], known: Iterable[Limit]) -> Iterator[Picture]:
    described = {name: info.title for name, info in report.workloads.items() if info.described}
    families = dict.fromkeys(limit.key.family for limit in known if limit.key.workload not in described)
    for name in families:
        curves = [curve for curve in found if curve.key.family == name]
        yield from _roofline(report, family_name(report, name), curves, described)
    yield from _roofline(report, "Your kernels", of_user(report, found), described)


def _roofline(report: Report, name: str, found: Sequence[CurveRecords], names: Mapping[str, str]) -> Iterator[Picture]:
    """Yield figures with one row of panels each: small figures leave no large gaps at the ends of pages."""
    panels = list(grouped((dot.operations, dot) for dot in roofline_dots(found, report.device, names)).values())
    for row in in_figures(panels, COLUMNS):
        dots = list(chain.from_iterable(row))
        yield Picture(
            roofline_chart(dots, report.device, seen_word(found)),
            roofline_caption(name, dots, seen_word(found)),
        )
