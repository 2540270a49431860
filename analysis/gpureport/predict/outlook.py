"""A workload's predictions on a device, summarised: best point, bottleneck, cliffs, taper, occupancy."""

from collections.abc import Iterable, Sequence

from gpureport.grouping import grouped
from gpureport.records.curves import CurveFeature, Record
from gpureport.records.prediction import LATENCY_OF, Occupancy, PredictedPoint, Prediction
from gpureport.records.quantities import Compact

_SIZES = ("working_set", "work_items", "case", "transfer")


class Outlook(Record):
    """Summary of the predictions of one workload on one device."""

    workload: str
    """``family/variant``."""
    sweep: str
    """The sweep with the best point."""
    at: str
    """Label of the best point."""
    value: Compact
    """Highest rate or shortest time, in *unit*."""
    unit: str
    ci_low: Compact
    ci_high: Compact
    """95 % interval of *value*."""
    bottleneck: str
    """Ceiling that limits the best point."""
    cliffs: tuple[CurveFeature, ...]
    """Midpoint for each cache, from the first sweep that shows it."""
    taper: CurveFeature | None
    """n90 of the first sweep that shows a taper."""
    occupancy: Occupancy | None
    """Lowest occupancy among the sweep's work-group shapes."""


def outlooks(predictions: Iterable[Prediction]) -> tuple[Outlook, ...]:
    """Return a summary of each workload, in order of appearance; work-group searches and frame traces are left out."""
    found = grouped((prediction.key.workload, prediction) for prediction in predictions if is_shown(prediction))
    return tuple(_outlook(name, sweeps) for name, sweeps in found.items())


def is_shown(prediction: Prediction) -> bool:
    """Return whether a sweep belongs in the summary: one over sizes or cases."""
    return bool(prediction.points) and prediction.axis.quantity in _SIZES and prediction.key.sweep != "frames"


def best_point(prediction: Prediction) -> PredictedPoint:
    """Return the point with the highest rate or the shortest time; the first of equal points."""
    pick = max if prediction.metric.kind == "rate" else min
    return pick(prediction.points, key=lambda point: point.value)


def bottleneck_of(point: PredictedPoint) -> str:
    """Return the bottleneck of a point, with the memory level if it is memory latency: ``latency of L2``."""
    of_memory = point.bottleneck == "latency" and point.level.name and point.memory_bytes > 0
    return f"{LATENCY_OF}{point.level}" if of_memory else point.bottleneck


def _outlook(name: str, sweeps: Sequence[Prediction]) -> Outlook:
    first = sweeps[0]
    comparable = [sweep for sweep in sweeps if sweep.metric.value_unit == first.metric.value_unit]
    pick = max if first.metric.kind == "rate" else min
    best = pick(comparable, key=lambda sweep: best_point(sweep).value)
    point = best_point(best)
    features = [feature for sweep in sweeps for feature in sweep.features]
    cliffs = {f.level: f for f in reversed(features) if f.position == "midpoint"}
    return Outlook(
        workload=name,
        sweep=best.key.sweep,
        at=point.point.label,
        value=point.value,
        unit=best.metric.value_unit,
        ci_low=point.value / point.spread,
        ci_high=point.value * point.spread,
        bottleneck=bottleneck_of(point),
        cliffs=tuple(sorted(cliffs.values(), key=lambda f: f.value)),
        taper=next((f for f in features if f.position == "n90"), None),
        occupancy=min(best.occupancy, key=lambda entry: entry.fraction, default=None),
    )
