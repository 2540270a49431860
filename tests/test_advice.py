"""Work-group advice: best, worst, and the smallest set of shapes that serves a family, exactly."""

from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.findings.advice import (
    WITHIN,
    BestShape,
    ShapeLoss,
    advise,
    one_size,
    shape_name,
    shape_of,
    smallest_set,
)
from gpureport.records.curves import Axis, Metric, Observation, ObservedPoint, PointKey, SweepKey
from tests.builders import altered


def search(variant: str, values: dict[str, float], kind: Any = "rate", quantity: Any = "work_group") -> Observation:
    """Return a search over shapes given as ``64x4``, with their values."""
    points = []
    for index, (shape, value) in enumerate(values.items()):
        sides = dict(zip(("local_x", "local_y"), map(int, shape.split("x")), strict=True))
        key = PointKey(label=shape, parameters=sides, work=1, work_items=1, working_set_bytes=1, x=index)
        points.append(ObservedPoint(point=key, time_s=1, value=value, ci_low=value, ci_high=value, samples=5))
    return Observation(
        key=SweepKey(family="family", variant=variant, sweep="work_group"),
        metric=Metric(kind=kind, unit="cells", label="cells"),
        axis=Axis(quantity=quantity, label="work-group"),
        points=tuple(points),
        features=(),
    )


def test_best_worst_and_their_ratio() -> None:
    (family,) = advise([search("a", {"64x1": 50.0, "16x16": 100.0, "1x256": 20.0})])
    (found,) = family.variants

    assert (found.value, found.unit, found.worst) == (100.0, "cells/s", "1 x 256")
    assert found.gain == pytest.approx(5)
    assert family.shapes == ("16 x 16",) == (found.use,)


def test_shapes_within_three_percent_of_the_best_are_ties() -> None:
    (family,) = advise([search("a", {"64x1": 98.0, "128x1": 97.5, "256x1": 99.0, "1024x1": 100.0, "32x1": 96.0})])

    assert family.choices == (family.variants[0].ties,) == (("64", "128", "256", "1024"),)


def test_overlapping_intervals_recommend_no_slower_shape() -> None:
    values = {"64x1": 100.0, "256x1": 90.0, "1024x1": 80.0}
    noisy = search("a", values)
    wide = tuple(altered(point, ci_low=50.0, ci_high=150.0) for point in noisy.points)
    (unclear,), (clear,) = (advise([each]) for each in (altered(noisy, points=wide), noisy))

    assert unclear.choices == clear.choices == (("64",),)


SHAPES = {"64x1": "64", "128x1": "128", "256x1": "256", "16x16": "16 x 16", "8x8": "8 x 8"}
RATES = st.dictionaries(st.sampled_from(sorted(SHAPES)), st.sampled_from([100.0, 98.0, 90.0]), min_size=2)


@given(st.lists(RATES, min_size=1, max_size=5))
def test_each_choice_completes_the_set(found: list[dict[str, float]]) -> None:
    """Exactly the shapes that serve all searches in place of a member, together with the others of the set."""
    (family,) = advise(search(str(number), rates) for number, rates in enumerate(found))
    shares = [{SHAPES[shape]: rate / max(rates.values()) for shape, rate in rates.items()} for rates in found]

    def serve(shapes: set[str]) -> bool:
        return all(any(each.get(shape, 0.0) >= 1 - WITHIN for shape in shapes) for each in shares)

    tried = {shape for each in shares for shape in each}
    for member, choices in zip(family.shapes, family.choices, strict=True):
        others = set(family.shapes) - {member}
        assert set(choices) == {shape for shape in tried - others if serve(others | {shape})}


def test_searches_of_one_variant_are_told_apart_by_their_sweeps() -> None:
    again = search("a", {"64x1": 1.0, "128x1": 2.0})
    large = altered(again, key=altered(again.key, sweep="work_group_large"))
    (family,) = advise([again, large, search("b", {"64x1": 1.0, "128x1": 2.0})])

    assert [found.name for found in family.variants] == ["a, work group", "a, work group large", "b"]


def test_the_order_of_searches_does_not_choose_between_equally_good_sets() -> None:
    """Two pairs serve four searches perfectly: the one whose last name comes last in the alphabet is taken."""
    served = {"128": (0, 1), "256": (0, 2), "64": (1, 3), "8 x 8": (2, 3)}
    for order in permutations(range(4)):
        for shapes in permutations(served):
            searches = [{shape: 1.0 if search in served[shape] else 0.5 for shape in shapes} for search in order]
            assert smallest_set(searches) == ("8 x 8", "128")


def test_only_searches_over_shapes_count() -> None:
    assert not advise([search("a", {"64x1": 1.0, "8x8": 2.0}, quantity="work_items"), search("b", {"64x1": 1.0})])


def test_shapes_are_known_by_their_sides() -> None:
    """Trailing ones do not count, whatever the label says; without parameters the label is used."""
    key = PointKey(
        label="big", parameters={"local_x": 64, "local_y": 1}, work=1, work_items=1, working_set_bytes=1, x=0
    )

    assert shape_of(key) == (64,)
    assert shape_of(altered(key, parameters={"local": 64})) == (64,)
    assert shape_of(altered(key, parameters={"local_x": 1, "local_y": 8, "local_z": 2})) == (1, 8, 2)
    assert shape_of(altered(key, parameters={"local": 1})) == (1,)
    assert shape_name(altered(key, parameters={})) == "big"


searches = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.9, 1.0), min_size=1, max_size=6), min_size=1, max_size=5
)


@given(searches)
def test_no_smaller_set_serves_all(shares: list[dict[str, float]]) -> None:
    best = [max(found.values()) for found in shares]
    relative = [{shape: rate / top for shape, rate in found.items()} for found, top in zip(shares, best, strict=True)]

    def serves(shapes: tuple[str, ...]) -> bool:
        return all(max(found.get(shape, 0.0) for shape in shapes) >= 1 - WITHIN for found in relative)

    chosen = smallest_set(relative)

    assert serves(chosen)
    assert not any(serves(shapes) for size in range(1, len(chosen)) for shapes in combinations("abcdef", size))


def with_intervals(search: Observation, share: float) -> Observation:
    """Return a search whose intervals extend by *share* on both sides."""
    points = tuple(altered(p, ci_low=p.value * (1 - share), ci_high=p.value * (1 + share)) for p in search.points)
    return altered(search, points=points)


def test_one_size_suits_most_searches() -> None:
    first = search("a", {"64x1": 90.0, "16x16": 100.0, "256x1": 50.0, "512x1": 99.0})
    second = search("b", {"64x1": 100.0, "256x1": 98.0, "512x1": 88.0})
    best = one_size([first, second])

    assert (best.size, best.without, best.losing) == (256, 0, ())
    assert best.losses == {first.key: 0.0, second.key: pytest.approx(0.02)}
    assert best.worst == pytest.approx(0.02)


def test_times_are_better_if_shorter() -> None:
    slow = search("a", {"64x1": 2.0, "256x1": 1.0, "512x1": 1.25}, kind="time")
    best = one_size([slow])

    assert (best.size, best.losses) == (256, {slow.key: 0.0})
    fixed = one_size([slow, search("b", {"512x1": 1.0, "1024x1": 1.0})])
    assert (fixed.size, fixed.losses[slow.key]) == (512, pytest.approx(0.2))


def test_sizes_whose_intervals_overlap_the_best_lose_nothing() -> None:
    tied = search("a", {"64x1": 100.0, "256x1": 90.0})
    other = search("b", {"64x1": 80.0, "256x1": 100.0})

    best = one_size([with_intervals(tied, 0.06), other])
    assert (best.size, best.worst, len(best.unclear)) == (256, 0.0, 1)
    certain = one_size([tied, other])
    assert (certain.size, certain.worst) == (256, pytest.approx(0.1))
    assert certain.losing == (tied.key,)


def test_a_size_that_more_searches_have_comes_first() -> None:
    best = one_size([search("a", {"64x1": 100.0, "256x1": 50.0}), search("b", {"256x1": 50.0, "512x1": 100.0})])

    assert (best.size, best.without, best.worst) == (256, 0, 0.5)
    assert one_size([]) is None
    assert one_size([search("a", {"64x1": 1.0, "32x2": 2.0})]) is None


def test_one_size_has_its_best_and_its_worst_shape() -> None:
    """The best suits most searches with several shapes. A shape whose interval overlaps the best's loses nothing."""
    first = search("a", {"256x1": 100.0, "16x16": 80.0, "1x256": 20.0, "64x1": 50.0})
    second = search("b", {"256x1": 70.0, "16x16": 99.0, "64x4": 100.0, "64x1": 50.0})
    third = search("c", {"256x1": 60.0, "16x16": 100.0, "64x1": 10.0})
    line = search("d", {"256x1": 1.0, "64x1": 0.9})
    best = one_size([first, second, third, line])

    assert best.size == 256
    assert best.best_shape == BestShape(ShapeLoss(first.key, (16, 16), pytest.approx(0.2)), suits=2, searches=3)
    assert best.worst_shape == ShapeLoss(first.key, (1, 256), pytest.approx(0.8))
    noisy = one_size([with_intervals(search("e", {"256x1": 100.0, "16x16": 80.0, "64x1": 1.0}), 0.35)])
    assert noisy.worst_shape.loss == 0
    only_lines = one_size([line])
    assert only_lines.best_shape is only_lines.worst_shape is None
