"""How near each kernel runs to the limit that binds it, at the largest size there is."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpureport.findings.verdicts import ABOVE_CEILING, ceiling_text
from gpureport.records.keys import SweepKey
from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import Occupancy, PredictedPoint
from gpureport.report.run.curves import Curve
from gpureport.report.text.tables import UNKNOWN, Table, occupancy_text
from gpureport.units import format_interval, format_percent, format_predicted

_SIZES = ("working_set", "work_items")


@dataclass(frozen=True, eq=False)
class Limit:
    """One kernel at its largest size: the time that its largest ceiling alone would take / the time it takes.

    A share above 1 says that the ceiling is higher than it is listed.
    """

    key: SweepKey
    bottleneck: str
    predicted: PredictedPoint
    observed: ObservedPoint | None
    unit: str
    occupancy: str

    @property
    def ceiling_s(self) -> float:
        """Time that the limit alone would take."""
        return max(self.predicted.ceilings_s.values())

    @property
    def predicted_share(self) -> float:
        """Share of the limit that the kernel is predicted to reach."""
        return self.ceiling_s / self.predicted.time_s

    @property
    def share(self) -> float | None:
        """Share of the limit that was observed."""
        return self.ceiling_s / self.observed.time_s if self.observed else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of :attr:`share`; of a result without interval, the share itself."""
        if self.observed is None or self.share is None:
            return None
        return self.share * self.observed.ci_low / self.observed.value, (
            self.share * self.observed.ci_high / self.observed.value
        )

    @property
    def passed(self) -> bool:
        """Whether the whole interval lies above the limit by more than clocks may lie above the listed one."""
        return self.interval is not None and self.interval[0] > ABOVE_CEILING


def limits(found: Iterable[Curve]) -> tuple[Limit, ...]:
    """Return each kernel at the largest size of its sweeps over sizes; those that measure latency have none."""
    largest: dict[tuple[str, str], Limit] = {}
    for curve in found:
        limit = _limit(curve) if curve.metric.kind == "rate" and curve.axis.quantity in _SIZES else None
        if limit:
            name = (curve.key.family, curve.key.variant)
            known = largest.get(name)
            largest[name] = max(known, limit, key=_size) if known else limit
    return tuple(largest.values())


def _size(limit: Limit) -> tuple[bool, float, int]:
    """Sort key: what was observed comes after what was not, and the larger size last."""
    return limit.observed is not None, limit.predicted.point.working_set_bytes, limit.predicted.point.work_items


def _limit(curve: Curve) -> Limit | None:
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
    """Write the occupancy, and whether it rests on an estimate of the registers."""
    return occupancy_text(entry) + (", assumed" if entry.source == "assumed" else "")


def limits_table(found: Iterable[Limit], *, observed: bool) -> Table:
    """List kernels at their largest sizes: how fast, what binds, the share of that, and how full a compute unit is."""
    columns = ("kernel", "at", *(("observed (95 %)",) if observed else ()), "predicted", "bound by", "of limit", "full")
    rows = tuple(_row(limit, observed=observed) for limit in found)
    return Table(columns, rows, frozenset({"observed (95 %)", "predicted", "of limit"}))


def _row(limit: Limit, *, observed: bool) -> tuple[str, ...]:
    point, seen = limit.predicted, limit.observed
    value = format_interval(seen.value, seen.ci_low, seen.ci_high, limit.unit) if seen else UNKNOWN
    share = limit.share if observed else limit.predicted_share
    return (
        limit.key.variant,
        point.point.label.partition(" (")[0],
        *((value,) if observed else ()),
        format_predicted(point.value, point.value / point.spread, point.value * point.spread, limit.unit),
        ceiling_text(limit.bottleneck),
        UNKNOWN if share is None else format_percent(share),
        limit.occupancy,
    )
