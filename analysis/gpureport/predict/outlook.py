"""What a workload is predicted to reach on a device, in one row: best point, what binds, cliffs, taper, occupancy."""

from collections.abc import Iterable, Sequence

from gpureport.records.features import CurveFeature
from gpureport.records.keys import Record
from gpureport.records.prediction import Occupancy, PredictedPoint, Prediction
from gpureport.records.quantities import Compact

_SIZES = ("working_set", "work_items", "case")


class Outlook(Record):
    """One workload on one device, by its predictions."""

    workload: str
    """``family/variant``."""
    sweep: str
    """The one that the best point belongs to."""
    at: str
    """The best point, as tables name it."""
    value: Compact
    """There, in *unit*: the highest rate or the shortest time."""
    unit: str
    ci_low: Compact
    ci_high: Compact
    """95 % interval."""
    bottleneck: str
    """The ceiling that binds there."""
    cliffs: tuple[CurveFeature, ...]
    """Midpoints, a cache each, from the first sweep that shows it."""
    taper: CurveFeature | None
    """Its n90."""
    occupancy: Occupancy | None
    """The least of those of the sweep's work-groups."""


def outlooks(predictions: Iterable[Prediction]) -> tuple[Outlook, ...]:
    """Return one row for each workload, in order; searches over work-groups and traces of frames are left out.

    Args:
        predictions: of any number of workloads.
    """
    found: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        if is_shown(prediction):
            found.setdefault(name_of(prediction), []).append(prediction)
    return tuple(_outlook(name, sweeps) for name, sweeps in found.items())


def name_of(prediction: Prediction) -> str:
    """Return ``family/variant``."""
    return prediction.key.workload


def is_shown(prediction: Prediction) -> bool:
    """Return whether a sweep shows what a workload reaches: one over sizes or cases."""
    return bool(prediction.points) and prediction.axis.quantity in _SIZES and prediction.key.sweep != "frames"


def best_point(prediction: Prediction) -> PredictedPoint:
    """Return the point of the highest rate or the shortest time; of equals the first."""
    pick = max if prediction.metric.kind == "rate" else min
    return pick(prediction.points, key=lambda point: point.value)


def bound(point: PredictedPoint) -> str:
    """Name what binds a point; of waiting for memory, which level: ``latency of L2``."""
    waits = point.bottleneck == "latency" and point.level.name and point.memory_bytes > 0
    return f"latency of {point.level}" if waits else point.bottleneck


def unit_of(prediction: Prediction) -> str:
    """Return the unit of a prediction's values."""
    return f"{prediction.metric.unit}/s" if prediction.metric.kind == "rate" else "s"


def _outlook(name: str, sweeps: Sequence[Prediction]) -> Outlook:
    first = sweeps[0]
    like = [sweep for sweep in sweeps if unit_of(sweep) == unit_of(first)]
    pick = max if first.metric.kind == "rate" else min
    best = pick(like, key=lambda sweep: best_point(sweep).value)
    point = best_point(best)
    features = [feature for sweep in sweeps for feature in sweep.features]
    cliffs = {f.level: f for f in reversed(features) if f.position == "midpoint"}
    return Outlook(
        workload=name,
        sweep=best.key.sweep,
        at=point.point.label,
        value=point.value,
        unit=unit_of(best),
        ci_low=point.value / point.spread,
        ci_high=point.value * point.spread,
        bottleneck=bound(point),
        cliffs=tuple(sorted(cliffs.values(), key=lambda f: f.value)),
        taper=next((f for f in features if f.position == "n90"), None),
        occupancy=min(best.occupancy, key=lambda entry: entry.fraction, default=None),
    )
