"""Which predictions a summary shows, and their best points."""

from gpureport.records.prediction import LATENCY_OF, PredictedPoint, Prediction

_SIZES = ("working_set", "work_items", "case", "transfer")


def is_shown(prediction: Prediction) -> bool:
    """Return whether a sweep belongs in the summary: one over sizes or cases."""
    return bool(prediction.points) and prediction.axis.quantity in _SIZES


def best_point(prediction: Prediction) -> PredictedPoint:
    """Return the point with the highest rate or the shortest time; the first of equal points."""
    pick = max if prediction.metric.kind == "rate" else min
    return pick(prediction.points, key=lambda point: point.value)


def bottleneck_of(point: PredictedPoint) -> str:
    """Return the bottleneck of a point, with the memory level if it is memory latency: ``latency of L2``."""
    of_memory = point.bottleneck == "latency" and point.level.name and point.memory_bytes > 0
    return f"{LATENCY_OF}{point.level}" if of_memory else point.bottleneck
