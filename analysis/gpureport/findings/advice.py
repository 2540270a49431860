"""Advice on work-group sizes: the size that suits most searches, and the best and the worst shape."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from gpureport.grouping import grouped
from gpureport.records.curves import Observation, ObservedPoint, PointKey, SweepKey
from gpureport.records.prediction import Prediction

WITHIN = 0.03
"""A size or shape suits a search if it loses at most this share of the search's best rate."""

Shape = tuple[int, ...]
"""Sides of a work-group, without trailing ones."""
_Rate = tuple[float, float, float]
"""Rate of a point, and its interval."""


class ShapeLoss(NamedTuple):
    """The loss of one shape in one search: 1 - its rate / best rate; 0 if their intervals overlap."""

    key: SweepKey
    sides: Shape
    loss: float

    @property
    def size(self) -> int:
        """Work-items of a work-group."""
        return prod(self.sides)

    @property
    def gain(self) -> float:
        """Best rate of the search / rate of the shape."""
        return 1 / (1 - self.loss)


Search = Sequence[ShapeLoss]
"""The losses of the shapes of one search."""


class BestShape(NamedTuple):
    """The shape that suits the largest share of several searches."""

    most: ShapeLoss
    """Its largest loss."""
    suits: int
    """Number of searches in which it loses at most :data:`WITHIN`, or its interval overlaps the best's."""
    searches: int
    """Number of searches that have it."""


class OneSize(NamedTuple):
    """One work-group size for all searches."""

    size: int
    losses: Mapping[SweepKey, float]
    """Loss of the best shape of this size, by search."""
    without: int
    """Number of searches that lack the size."""
    best_shape: BestShape | None
    """Best shape of more than one dimension in searches that have several of this size; ``None`` without one."""
    others: Search
    """Best shapes of this size, of any dimensions, in the searches that have several but not that one."""
    worst_shape: ShapeLoss | None
    """Worst shape of the same searches."""

    @property
    def worst(self) -> float:
        """The largest loss."""
        return max(self.losses.values())

    @property
    def losing(self) -> tuple[SweepKey, ...]:
        """The searches that lose more than :data:`WITHIN`, the largest loss first."""
        found = [key for key, loss in self.losses.items() if loss > WITHIN]
        return tuple(sorted(found, key=lambda key: -self.losses[key]))


def searches(curves: Iterable[Observation | Prediction]) -> list[Search]:
    """Return the searches of *curves* over several work-group shapes."""
    found = (_search(curve) for curve in curves if curve.axis.quantity == "work_group")
    return [search for search in found if len(search) > 1]


def _search(curve: Observation | Prediction) -> Search:
    rates: dict[Shape, _Rate] = {}
    for point in curve.points:
        if shape := shape_of(point.point):
            ends = (point.ci_low, point.ci_high) if isinstance(point, ObservedPoint) else (point.value, point.value)
            rate = (point.value, *ends)
            if curve.metric.kind == "time":
                rate = 1 / point.value, 1 / ends[1], 1 / ends[0]
            rates[shape] = max(rate, rates.get(shape, rate))
    top, low, _ = max(rates.values(), default=(0.0, 0.0, 0.0))
    return [ShapeLoss(curve.key, sides, 0.0 if high >= low else 1 - r / top) for sides, (r, _, high) in rates.items()]


def worst_shape(search: Search) -> ShapeLoss:
    """Return the slowest shape of a search, or of several ones."""
    return max(search, key=lambda each: each.loss)


def one_size(curves: Iterable[Observation | Prediction], wave: int = 1) -> OneSize | None:
    """Return the work-group size that suits most searches of *curves*; ``None`` if there is no search over sizes.

    A size in more searches comes first, then one with fewer losses above :data:`WITHIN`, then the smallest worst loss.
    *wave*: as for :func:`best_shape`.
    """
    found = [search for search in searches(curves) if len({each.size for each in search}) > 1]
    sizes = sorted({each.size for search in found for each in search})
    candidates = (_one_size(size, found, wave) for size in sizes)
    return min(candidates, key=lambda each: (each.without, len(each.losing), each.worst), default=None)


def _one_size(size: int, found: Sequence[Search], wave: int) -> OneSize:
    parts = [part for search in found if (part := [each for each in search if each.size == size])]
    several = [part for part in parts if len(part) > 1]
    shapes = [each for part in several for each in part]
    losses = {part[0].key: min(each.loss for each in part) for part in parts}
    best = best_shape((each for each in shapes if len(each.sides) > 1), wave)
    lacking = [part for part in several if best and best.most.sides not in {each.sides for each in part}]
    others = [shape.most for part in lacking if (shape := best_shape(part, wave))]
    return OneSize(size, losses, len(found) - len(parts), best, others, worst_shape(shapes) if shapes else None)


def best_shape(losses: Iterable[ShapeLoss], wave: int = 1) -> BestShape | None:
    """Return the shape that suits the largest share of the searches that tried it; ``None`` without *losses*.

    Shapes that fewer than half of the searches tried come last. Of shapes that lose at most :data:`WITHIN`, those with
    whole waves in their rows come first, each of *wave* work-items, then those that more searches tried, then the
    squarest. Of the shapes predicted to be alike on an H200, an H100 and a Zen 4, this was among the best when
    measured. Rows of half a wave lost up to 26 % on these GPUs.
    """
    every = list(losses)
    number = len({each.key for each in every})
    best = (
        BestShape(worst_shape(of), sum(each.loss <= WITHIN for each in of), len(of))
        for of in grouped((each.sides, each) for each in every).values()
    )

    def preference(shape: BestShape) -> tuple[bool, float, float, bool, int, float, float, Shape]:
        (_, sides, loss), tried = shape.most, shape.searches
        squareness = min(sides) / max(sides) if len(sides) > 1 else 0.0
        share, whole = shape.suits / tried, sides[0] >= wave
        return 2 * tried >= number, share, -max(loss, WITHIN), whole, tried, squareness, -loss, sides

    return max(best, key=preference, default=None)


def shape_of(point: PointKey) -> Shape | None:
    """Return a point's work-group shape; ``None`` if its parameters have none."""
    local = point.parameters.get("local", point.parameters.get("local_x"))
    if local is None:
        return None
    shape = [local, *(point.parameters.get(name, 1) for name in ("local_y", "local_z"))]
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    return tuple(shape)
