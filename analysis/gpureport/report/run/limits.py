"""The efficiency of each kernel at its largest size: measured speed / the limit of its bottleneck."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.records.ceilings import ceiling_text
from gpureport.records.keys import SweepKey
from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import Occupancy, PredictedPoint
from gpureport.report.curves import CurveRecords
from gpureport.report.text.tables import Table, occupancy_text
from gpureport.units import UNKNOWN, format_percent, format_value

_SIZES = ("working_set", "work_items")
EXCEEDED = "The limit is higher than the model assumes, or the kernel needs less of the limiting resource."
_EXPLAINED = 0.5
"""Smallest efficiency at which the bottleneck explains the time: the kernel spends most of the time at this limit."""
_UNEXPLAINED = "None: the kernel reaches less than half of its nearest limit, so no single limit explains its speed."


@dataclass(frozen=True, eq=False)
class Limit:
    """One kernel at its largest size; an efficiency above 1 shows that the true limit is above the listed one."""

    key: SweepKey
    bottleneck: str
    predicted: PredictedPoint
    observed: ObservedPoint | None
    unit: str
    occupancy: str

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
    def is_explained(self) -> bool:
        """Whether the bottleneck explains most of the time."""
        return self.efficiency >= _EXPLAINED

    @property
    def name(self) -> str:
        """The bottleneck in words: the nearest limit only, if it does not explain most of the time."""
        return f"{'' if self.is_explained else 'none; nearest: '}{ceiling_text(self.bottleneck)}"

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of :attr:`share`, or just the share if the result has no interval."""
        if self.observed is None or self.share is None:
            return None
        return self.share * self.observed.ci_low / self.observed.value, (
            self.share * self.observed.ci_high / self.observed.value
        )

    @property
    def passed(self) -> bool:
        """Whether the whole interval exceeds the limit by more than a clock may exceed the listed one."""
        return self.interval is not None and self.interval[0] > ABOVE_CEILING


def limits(found: Iterable[CurveRecords]) -> tuple[Limit, ...]:
    """Return each kernel at the largest size of its sweeps over sizes; kernels that measure latency are left out."""
    largest: dict[tuple[str, str], Limit] = {}
    for curve in found:
        limit = _limit(curve) if curve.metric.kind == "rate" and curve.axis.quantity in _SIZES else None
        if limit:
            name = (curve.key.family, curve.key.variant)
            known = largest.get(name)
            largest[name] = max(known, limit, key=_size) if known else limit
    return tuple(largest.values())


def _size(limit: Limit) -> tuple[bool, float, int]:
    """Sort key: observed after unobserved, then by size."""
    return limit.observed is not None, limit.predicted.point.working_set_bytes, limit.predicted.point.work_items


def _limit(curve: CurveRecords) -> Limit | None:
    prediction = curve.specification or curve.calibrated
    if prediction is None:
        return None
    seen = {p.point.label: p for p in curve.observation.points if p.value > 0} if curve.observation else {}
    points = [p for p in prediction.points if p.time_s > 0 and any(p.ceilings_s.values())]
    points = [point for point in points if point.point.label in seen] or points
    if not points:
        return None
    largest = max(points, key=lambda p: (p.point.working_set_bytes, p.point.work_items))
    *_, occupancy = (None, *(curve.prediction or prediction).occupancy)  # shapes grow with sizes
    return Limit(
        key=curve.key,
        bottleneck=max(largest.ceilings_s, key=lambda name: largest.ceilings_s[name]),
        predicted=largest,
        observed=seen.get(largest.point.label),
        unit=curve.value_unit,
        occupancy=_occupancy(occupancy) if occupancy else UNKNOWN,
    )


def _occupancy(entry: Occupancy) -> str:
    """Write the occupancy, and whether its registers are estimated."""
    return occupancy_text(entry) + (", assumed" if entry.source == "assumed" else "")


def unexplained_note(found: Iterable[Limit]) -> str:
    """Return a sentence with a space before it that explains the bottleneck “none”, if a kernel has none."""
    return "" if all(limit.is_explained for limit in found) else f" {_UNEXPLAINED}"


_NAME = 36
"""Characters of a kernel's identifier that are kept on one line."""


def limits_table(found: Iterable[Limit], head: str = "") -> Table:
    """List kernels at their largest sizes, a line each: speed without interval, bottleneck, efficiency and occupancy.

    *head* is that of the column of observed speeds, which is left out without one.
    """
    seen = (head,) if head else ()
    columns = ("kernel", *seen, "predicted", "bottleneck", "efficiency", "occupancy")
    rows = tuple(_row(limit, observed=bool(head)) for limit in found)
    return Table(columns, rows, frozenset({*seen, "predicted", "efficiency"}), short=_NAME)


def _row(limit: Limit, *, observed: bool) -> tuple[str, ...]:
    point, seen = limit.predicted, limit.observed
    value = format_value(seen.value, limit.unit) if seen else UNKNOWN
    share = limit.share if observed else limit.predicted_share
    return (
        limit.key.workload,
        *((value,) if observed else ()),
        format_value(point.value, limit.unit),
        limit.name,
        UNKNOWN if share is None else format_percent(share),
        limit.occupancy,
    )
