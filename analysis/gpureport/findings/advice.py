"""Advice on work-group sizes: the best and the worst shape, and the fewest shapes that suit a family."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

from gpureport.grouping import grouped
from gpureport.records.curves import Observation, ObservedPoint, PointKey, SweepKey
from gpureport.records.prediction import PredictedPoint, Prediction

WITHIN = 0.03
"""A shape suits a variant if it loses at most this share of the variant's best rate."""

Shares = Mapping[str, float]
"""Rate by shape, as a share of the best shape's; 1 for the best."""
Of = TypeVar("Of")
_Rate = tuple[float, float, float]
"""Rate of a point, and its interval."""


@dataclass(frozen=True)
class VariantAdvice:
    """The shapes of one search.

    Attributes:
        name: the variant (and the sweep, if a variant has several searches).
        unit: of the value: ``cells/s``, ``s``.
        value: of the fastest shape.
        shares: rate of every shape / best rate.
        use: the best shape of the family's set for this variant.
    """

    name: str
    unit: str
    value: float
    shares: Shares
    use: str

    @property
    def worst(self) -> str:
        """The slowest shape."""
        return min(self.shares, key=lambda shape: self.shares[shape])

    @property
    def ties(self) -> tuple[str, ...]:
        """All shapes within :data:`WITHIN` of the best."""
        return tuple(sorted((shape for shape, share in self.shares.items() if share >= 1 - WITHIN), key=_order))

    @property
    def gain(self) -> float:
        """Rate of the best shape / rate of the worst."""
        return 1 / self.shares[self.worst]


@dataclass(frozen=True)
class FamilyAdvice:
    """The searches of one family, and the smallest set of shapes that suits them.

    Attributes:
        family: its name.
        variants: its searches.
        shapes: the smallest set.
        choices: for each member of the set, itself and all shapes that could replace it without loss of a median.
    """

    family: str
    variants: tuple[VariantAdvice, ...]
    shapes: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ShapeLoss:
    """The loss of one shape in one search.

    Attributes:
        key: the search.
        sides: the shape, without trailing ones.
        loss: 1 - its rate / best rate of the search; 0 if their intervals overlap.
    """

    key: SweepKey
    sides: tuple[int, ...]
    loss: float


@dataclass(frozen=True)
class BestShape:
    """The shape of a work-group size that suits most searches, of those that have several shapes of the size.

    Attributes:
        most: its largest loss.
        suits: number of searches in which it loses at most :data:`WITHIN`, or its interval overlaps the best's.
        searches: number of searches that have it.
    """

    most: ShapeLoss
    suits: int
    searches: int


@dataclass(frozen=True)
class OneSize:
    """One work-group size for all searches.

    Attributes:
        size: work-items of a work-group.
        losses: by search, 1 - rate of the best shape of this size / best rate; 0 if their intervals overlap.
        without: number of searches that lack the size.
        unclear: the losses above :data:`WITHIN` that count as 0, because intervals overlap.
        best_shape: ``None`` if no search has several shapes of this size.
        worst_shape: likewise.
    """

    size: int
    losses: Mapping[SweepKey, float]
    without: int = 0
    unclear: Mapping[SweepKey, float] = field(default_factory=dict)
    best_shape: BestShape | None = None
    worst_shape: ShapeLoss | None = None

    @property
    def worst(self) -> float:
        """The largest loss."""
        return max(self.losses.values())

    @property
    def losing(self) -> tuple[SweepKey, ...]:
        """The searches that lose more than :data:`WITHIN`, the largest loss first."""
        found = [key for key, loss in self.losses.items() if loss > WITHIN]
        return tuple(sorted(found, key=lambda key: -self.losses[key]))


def one_size(curves: Iterable[Observation | Prediction]) -> OneSize | None:
    """Return the work-group size that suits most searches of *curves*; ``None`` if there is no search.

    A size in more searches comes first, then one with fewer losses above :data:`WITHIN`, then the smallest worst loss.
    """
    every = tuple(curves)
    searches = {
        curve.key: found
        for curve in every
        if curve.axis.quantity == "work_group" and len(found := _best_by_size(curve)) > 1
    }
    losses = {key: _relative_to_best(rates) for key, rates in searches.items()}
    sizes = sorted({size for of in losses.values() for size in of})
    candidates = [
        OneSize(size, each, len(searches) - len(each), _unclear(size, searches, each))
        for size in sizes
        if (each := {key: of[size] for key, of in losses.items() if size in of})
    ]
    best = min(candidates, key=lambda each: (each.without, len(each.losing), each.worst), default=None)
    if best is None:
        return None
    several: list[ShapeLoss] = []
    for curve in (each for each in every if each.key in searches):
        of_shape = _relative_to_best(dict(_rates(curve)))
        of_size = [ShapeLoss(curve.key, shape, loss) for shape, loss in of_shape.items() if prod(shape) == best.size]
        several += of_size if len(of_size) > 1 else []
    worst = max(several, key=lambda each: each.loss, default=None)
    return replace(best, best_shape=_best_shape(several), worst_shape=worst)


def _unclear(
    size: int, searches: Mapping[SweepKey, Mapping[int, _Rate]], losses: Mapping[SweepKey, float]
) -> dict[SweepKey, float]:
    equal = ((key, searches[key]) for key, loss in losses.items() if not loss)
    plain = {key: 1 - rates[size][0] / max(rates.values())[0] for key, rates in equal}
    return {key: loss for key, loss in plain.items() if loss > WITHIN}


def _best_shape(losses: Iterable[ShapeLoss]) -> BestShape | None:
    found = [
        BestShape(max(of, key=lambda each: each.loss), sum(each.loss <= WITHIN for each in of), len(of))
        for of in grouped((each.sides, each) for each in losses).values()
    ]
    return max(found, key=lambda each: (each.suits, -each.most.loss, each.most.sides), default=None)


def _best_by_size(curve: Observation | Prediction) -> dict[int, _Rate]:
    best: dict[int, _Rate] = {}
    for shape, rate in _rates(curve):
        best[prod(shape)] = max(rate, best.get(prod(shape), rate))
    return best


def _relative_to_best(rates: Mapping[Of, _Rate]) -> dict[Of, float]:
    top = max(rates.values(), default=(0.0, 0.0, 0.0))
    return {key: 0.0 if rate[2] >= top[1] else 1 - rate[0] / top[0] for key, rate in rates.items()}


def _rates(curve: Observation | Prediction) -> Iterator[tuple[tuple[int, ...], _Rate]]:
    for point in curve.points:
        shape = shape_of(point.point)
        if shape is not None:
            yield shape, _rate(point, slow=curve.metric.kind == "time")


def _rate(point: ObservedPoint | PredictedPoint, *, slow: bool) -> _Rate:
    low, high = (point.ci_low, point.ci_high) if isinstance(point, ObservedPoint) else (point.value, point.value)
    return (1 / point.value, 1 / high, 1 / low) if slow else (point.value, low, high)


def shape_of(point: PointKey) -> tuple[int, ...] | None:
    """Return a point's work-group shape, without trailing ones; ``None`` if its parameters have none."""
    local = point.parameters.get("local", point.parameters.get("local_x"))
    if local is None:
        return None
    shape = [local, *(point.parameters.get(name, 1) for name in ("local_y", "local_z"))]
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    return tuple(shape)


def shape_name(point: PointKey) -> str:
    """Write a point's work-group shape: ``64 x 4``, ``256``; its label if its parameters have none."""
    shape = shape_of(point)
    return point.label if shape is None else " x ".join(map(str, shape))


def advise(observations: Iterable[Observation]) -> tuple[FamilyAdvice, ...]:
    """Summarise every search over work-group shapes by family, in the order of the observations."""
    searches = (each for each in observations if each.axis.quantity == "work_group" and len(each.points) > 1)
    return tuple(_family(*family) for family in grouped((search.key.family, search) for search in searches).items())


def _family(family: str, searches: list[Observation]) -> FamilyAdvice:
    shares = [_shares(search) for search in searches]
    suited = [_undistinguished(search, share) for search, share in zip(searches, shares, strict=True)]
    chosen = smallest_set(suited, shares)
    variants = [search.key.variant for search in searches]
    found = tuple(
        _variant(search, share, chosen, repeated=variants.count(search.key.variant) > 1)
        for search, share in zip(searches, shares, strict=True)
    )
    choices = tuple(_instead(shape, chosen, suited, shares) for shape in chosen)
    return FamilyAdvice(family, found, chosen, choices)


def _instead(shape: str, chosen: Sequence[str], suited: Sequence[Shares], shares: Sequence[Shares]) -> tuple[str, ...]:
    """Return *shape*, and the shapes that replace it in all searches that it alone suits of those *chosen*.

    The medians of these must be within :data:`WITHIN`: overlapping intervals do not recommend a shape.
    """
    others = [other for other in chosen if other != shape]
    only = [
        medians
        for intervals, medians in zip(suited, shares, strict=True)
        if not any(intervals.get(other, 0.0) >= 1 - WITHIN for other in others)
    ]
    found = {each for medians in only for each in medians if each not in others}
    as_good = {each for each in found if all(medians.get(each, 0.0) >= 1 - WITHIN for medians in only)}
    return tuple(sorted({shape, *as_good}, key=_order))


def _shares(search: Observation) -> dict[str, float]:
    """Return the share of the best rate by shape; the best of several points with one shape counts."""
    rates: dict[str, float] = {}
    for point in search.points:
        rate = point.value if search.metric.kind == "rate" else 1 / point.value
        shape = shape_name(point.point)
        rates[shape] = max(rate, rates.get(shape, 0.0))
    best = max(rates.values())
    return {shape: rate / best for shape, rate in rates.items()}


def _undistinguished(search: Observation, shares: Shares) -> dict[str, float]:
    losses = _relative_to_best(dict(_rates(search)))
    equal = {" x ".join(map(str, shape)) for shape, loss in losses.items() if not loss}
    return {shape: 1.0 if shape in equal else share for shape, share in shares.items()}


def _variant(search: Observation, shares: Shares, chosen: tuple[str, ...], *, repeated: bool) -> VariantAdvice:
    values = [point.value for point in search.points]
    return VariantAdvice(
        name=f"{search.key.variant}, {search.key.sweep_name}" if repeated else search.key.variant,
        unit=search.metric.value_unit,
        value=max(values) if search.metric.kind == "rate" else min(values),
        shares=shares,
        use=max(chosen, key=lambda shape: shares.get(shape, 0.0)),
    )


def smallest_set(searches: Sequence[Shares], medians: Sequence[Shares] = ()) -> tuple[str, ...]:
    """Return the fewest shapes of which one is within :data:`WITHIN` of the best of each search.

    Exact: sets are tried by increasing size. A shape is left out if another suits the same searches with a better sum
    of rates, or suits these and more. Of several smallest sets, the one with the best sum of the searches' rates is
    returned (by *medians* where *searches* equate shapes that are not significantly slower); of equal ones, the last by
    name, so that the order of the searches does not matter.
    """
    for size, _ in enumerate(searches, start=1):
        sets = list(_covers(_serving(searches, medians or searches), frozenset(range(len(searches))), size))
        if sets:
            best = max(sets, key=lambda shapes: (_total(shapes, medians or searches), sorted(shapes, reverse=True)))
            return tuple(sorted(best, key=_order))
    return ()


def _serving(searches: Sequence[Shares], medians: Sequence[Shares]) -> dict[str, frozenset[int]]:
    """Return the searches that each shape suits, without shapes that need not be tried."""
    shapes = sorted({shape for shares in searches for shape in shares})
    shapes.sort(key=lambda shape: -_total(frozenset({shape}), medians))
    first: dict[frozenset[int], str] = {}
    for shape in shapes:
        suited = frozenset(i for i, shares in enumerate(searches) if shares.get(shape, 0.0) >= 1 - WITHIN)
        first.setdefault(suited, shape)
    return {shape: suited for suited, shape in first.items() if not any(suited < other for other in first)}


def _covers(serving: Mapping[str, frozenset[int]], left: frozenset[int], size: int) -> Iterator[frozenset[str]]:
    """Yield the sets of at most *size* shapes that suit all searches in *left*, the most difficult one first."""
    if not left:
        yield frozenset()
    elif size:
        by_search = {search: [shape for shape, suited in serving.items() if search in suited] for search in left}
        hardest = min(sorted(left), key=lambda search: len(by_search[search]))
        for shape in by_search[hardest]:
            for others in _covers(serving, left - serving[shape], size - 1):
                yield others | {shape}


def _total(shapes: frozenset[str], searches: Sequence[Shares]) -> float:
    return sum(max(shares.get(shape, 0.0) for shape in shapes) for shares in searches)


def _order(shape: str) -> tuple[int, str]:
    sides = [int(side) for side in shape.split(" x ") if side.isdigit()]
    return prod(sides), shape
