"""Work-group advice: the losses of shapes, one size for all searches, its best and its worst shape."""

from typing import Any

import pytest

from gpureport.findings.advice import BestShape, ShapeLoss, best_shape, one_size, searches, shape_of, worst_shape
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


def test_losses_of_shapes_and_the_worst_of_them() -> None:
    """The best of several points with one shape counts."""
    many = search("a", {"64x1": 50.0, "16x16": 100.0, "1x256": 20.0})
    twice = altered(many, points=(*many.points, altered(many.points[0], value=60.0, ci_low=60.0, ci_high=60.0)))
    (found,) = searches([twice])

    assert worst_shape(found).sides == (1, 256)
    assert worst_shape(found).gain == pytest.approx(5)
    assert [each.sides for each in found] == [(64,), (16, 16), (1, 256)]
    assert [each.loss for each in found] == pytest.approx([0.4, 0, 0.8])
    (times,) = searches([search("a", {"64x1": 2.0, "256x1": 1.0}, kind="time")])
    assert [each.loss for each in times] == [0.5, 0]


def test_only_searches_over_shapes_count() -> None:
    assert not searches([search("a", {"64x1": 1.0, "8x8": 2.0}, quantity="work_items"), search("b", {"64x1": 1.0})])
    assert best_shape([]) is None


def test_shapes_are_known_by_their_sides() -> None:
    """Trailing ones do not count, whatever the label says."""
    key = PointKey(
        label="big", parameters={"local_x": 64, "local_y": 1}, work=1, work_items=1, working_set_bytes=1, x=0
    )

    assert shape_of(key) == (64,)
    assert shape_of(altered(key, parameters={"local": 64})) == (64,)
    assert shape_of(altered(key, parameters={"local_x": 1, "local_y": 8, "local_z": 2})) == (1, 8, 2)
    assert shape_of(altered(key, parameters={"local": 1})) == (1,)
    assert shape_of(altered(key, parameters={})) is None


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
    assert (best.size, best.worst) == (256, 0.0)
    certain = one_size([tied, other])
    assert (certain.size, certain.worst) == (256, pytest.approx(0.1))
    assert certain.losing == (tied.key,)


def test_a_size_that_more_searches_have_comes_first() -> None:
    best = one_size([search("a", {"64x1": 100.0, "256x1": 50.0}), search("b", {"256x1": 50.0, "512x1": 100.0})])

    assert (best.size, best.without, best.worst) == (256, 0, 0.5)
    assert one_size([]) is None
    assert one_size([search("a", {"64x1": 1.0, "32x2": 2.0})]) is None


@pytest.mark.parametrize(("wave", "sides"), [(16, (16, 16)), (32, (32, 8)), (64, (64, 4)), (128, (16, 16))])
def test_of_shapes_that_are_alike_the_squarest_with_whole_waves_in_its_rows_is_best(
    wave: int, sides: tuple[int, int]
) -> None:
    alike = search("a", {"64x4": 100.0, "16x16": 99.0, "32x8": 98.0, "4x64": 97.5, "64x1": 50.0})
    best = one_size([alike], wave)
    assert best
    assert best.best_shape
    assert best.best_shape.most.sides == sides


def test_a_shape_that_fewer_searches_tried_may_be_best_if_it_suits_all_of_them() -> None:
    """If they are half of all. In quick runs, most searches try 16 x 16, which has no whole waves of 32."""
    searched = ({"64x4": 1.0, "16x16": 1.0}, {"64x4": 1.0, "16x16": 1.0, "32x8": 1.0}, {"32x8": 1.0, "16x16": 1.0})
    found = [search(str(i), {**each, "64x1": 0.5}) for i, each in enumerate(searched)]
    rest = search("rest", {"1x256": 1.0, "16x16": 1.0, "64x1": 0.5})
    shape = one_size([*found, rest], 32).best_shape
    assert (shape.most.sides, shape.suits, shape.searches) == ((32, 8), 2, 2)
    few = one_size([*found, rest, altered(rest, key=altered(rest.key, variant="other"))], 32).best_shape
    assert (few.most.sides, few.suits, few.searches) == ((16, 16), 5, 5)


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
    assert best.others == []
    fourth = search("e", {"1x256": 100.0, "64x4": 28.0, "64x1": 10.0})
    assert one_size([first, second, third, line, fourth]).others == [ShapeLoss(fourth.key, (1, 256), 0.0)]
    fifth = search("f", {"256x1": 100.0, "1x256": 50.0, "64x4": 60.0, "64x1": 10.0})
    assert one_size([first, second, third, line, fifth]).others == [ShapeLoss(fifth.key, (256,), 0.0)]
    noisy = one_size([with_intervals(search("e", {"256x1": 100.0, "16x16": 80.0, "64x1": 1.0}), 0.35)])
    assert noisy.worst_shape.loss == 0
    tied = one_size([search("f", {"256x1": 1.0, "16x16": 1.0, "32x8": 1.0, "64x1": 0.5})])
    assert tied.best_shape.most.sides == (16, 16)  # the size already says 256 in one dimension
    only_lines = one_size([line])
    assert only_lines.best_shape is only_lines.worst_shape is None
