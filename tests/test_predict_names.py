"""Names and intervals of features of predicted curves, and summaries of predictions."""

from math import exp, hypot, log
from typing import Any

import numpy as np
import pytest

from gpureport.compare import contests
from gpureport.compare.contrast import is_shared
from gpureport.compare.records import BEYOND
from gpureport.compare.runs import ComparedPoint
from gpureport.predict import limits_of, predict
from gpureport.predict.ceilings import ceilings
from gpureport.predict.features import SIGMA_OTHER_CLIFFS, with_intervals, with_level_names
from gpureport.predict.residency import fraction_beyond, latency_levels
from gpureport.predict.sensitivity import Fact, fact
from gpureport.records.curves import Axis, CurveFeature, Level, Metric
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.forecast import outlook_table
from gpureport.report.text.tables import occupancy_text
from gpureport.spec.models import Cache, Device, Transition
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_MODEL
from gpureport.spec.values import Provenance
from gpureport.units import format_bytes, format_interval
from gpureport.workloads import select
from tests.builders import altered, predicted_point
from tests.toy import KIB, L2, MIB, TOY, toy

SIZES, ITEMS = Axis(quantity="working_set", label="size"), Axis(quantity="work_items", label="n")
NEAR = Level(name="L2", near=True)
RATE, TIME = Metric(kind="rate", unit="B", label="rate"), Metric(kind="time", unit="load", label="latency")


def _plateau(value: float, level: str = "level 1") -> CurveFeature:
    return CurveFeature(feature="rate", position="plateau", level=level, value=value, unit="B/s")


def _cliff(size: float, position: str = "midpoint", level: str | Level = "level 1") -> CurveFeature:
    return CurveFeature(feature="cliff", position=position, level=level, value=size, unit="B")


# Names


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (100.0, "L1"),
        (92.0, "L1"),
        (109.0, "L1"),
        (50.0, "L2"),  # two of three points near it
        (10.0, "DRAM"),
        (1000.0, "DRAM"),  # the last point, if none is near
        (75.0, "DRAM"),
    ],
)
def test_a_plateau_without_a_cliff_is_called_by_what_serves_most_of_its_points(value: float, level: str) -> None:
    places = [(100, "L1"), (100, "L1"), (100, "L1"), (50, "L1"), (50, "L2"), (51, "L2"), (10, "DRAM"), (10, "DRAM")]
    points = [predicted_point(2.0**i, v, served, "L2") for i, (v, served) in enumerate(places)]

    assert [str(f.level) for f in with_level_names([_plateau(value)], SIZES, points, TOY)] == [level]


def test_over_work_items_a_plateau_is_called_by_what_binds_it() -> None:
    points = [
        predicted_point(2.0**i, v, "L1", bound_by) for i, (v, bound_by) in enumerate([(1, "launch"), (9, "DRAM")] * 2)
    ]

    assert [str(f.level) for f in with_level_names([_plateau(1.0), _plateau(9.0)], ITEMS, points, TOY)] == [
        "launch",
        "DRAM",
    ]


@pytest.mark.parametrize(("bottleneck", "level"), [("latency", "L2 near partition"), ("L2", "L2")])
def test_only_latency_knows_the_near_partition(bottleneck: str, level: str) -> None:
    """Its cliff lies at half of the capacity: to bandwidth that is too early for any cache but L2."""
    points = [predicted_point(2.0**i, 1.0, NEAR, bottleneck) for i in range(20, 30)]

    assert [str(f.level) for f in with_level_names([_plateau(1.0)], SIZES, points, TOY)] == [level]
    (step,) = with_level_names([_cliff(33 * MIB)], SIZES, points, TOY)
    assert str(step.level) == ("L2 near partition" if bottleneck == "latency" else "unexplained transition at 33 MiB")


def test_a_plateau_has_the_name_of_the_cliff_that_ends_it() -> None:
    points = [predicted_point(2.0**i, 7.0, "DRAM", "DRAM") for i in range(20, 30)]
    features = [_cliff(60 * MIB, "onset"), _cliff(66 * MIB), _cliff(90 * MIB, "end"), _plateau(7.0)]
    taper = CurveFeature(feature="taper", position="n90", level="device", value=1.0, unit="work-items")
    peak = altered(_plateau(3.0, "device"), position="peak")
    case = altered(_plateau(3.0, "add"), position="case")
    found = with_level_names([*features, taper, peak, case], SIZES, points, TOY)

    assert [str(f.level) for f in found] == ["L2"] * 4 + ["device", "device", "add"]


def test_the_nearest_cache_counts_on_the_logarithmic_axis() -> None:
    """Between 4 and 64 MiB the border lies at 16 MiB; no transition starts before the smallest onset.

    Beyond four times the largest cache there is none.
    """
    small = altered(L2, name="L2", capacity_bytes=4 * MIB)
    early = Transition(onset=0.1, midpoint=0.5, end=1.25)
    large = altered(L2, name="L3", bandwidth_transition=early)
    points = [predicted_point(2.0**i, 1.0, "L2", "L2") for i in range(20, 30)]

    def names(*sizes: float, caches: tuple[Cache, ...] = (small, large)) -> list[str]:
        device = altered(TOY, caches=caches)
        return [str(with_level_names([_cliff(size * MIB)], SIZES, points, device)[0].level) for size in sizes]

    assert names(3.3, 5, 15, 17, 250) == ["L2", "L2", "L2", "L3", "L3"]
    assert names(3.0) == ["cache"]  # no cache that large
    assert names(1.0, caches=()) == ["cache"]
    assert names(1023, 1025, caches=(altered(large, capacity_bytes=256 * MIB),)) == [
        "L3",
        "unexplained transition at 1 GiB",
    ]


# Intervals


def _factor(feature: CurveFeature, metric: Metric, points: list[PredictedPoint], moved: Any) -> float:
    facts = [Fact(path, kind, sigma) for path, kind, sigma in FACTS]
    (found,) = with_intervals([feature], metric, points, np.asarray(moved, dtype=float), facts)
    assert found.ci_high / found.value == pytest.approx(found.value / found.ci_low, rel=1e-3)
    return log(found.ci_high / found.value) / NORMAL_95


FACTS = (
    ("caches.L2.capacity", "assumed", 0.3),
    ("caches.L2.bandwidth_transition", "assumed", 0.4),
    ("caches.L2.write_transition", "derived", 0.2),
    ("caches.L2.latency_transition", "assumed", 0.1),
    ("caches.L1.capacity", "assumed", 0.5),
    ("caches.L1.bandwidth_transition", "here", 0.01),
)
"""Path, kind and relative deviation."""


def test_a_cliff_is_as_uncertain_as_its_capacity_and_the_transition_that_moves_the_curve() -> None:
    points = [predicted_point(2.0**i, 1.0, "L2", "L2") for i in range(4)]
    reads, writes = np.zeros((4, 6)), np.zeros((4, 6))
    reads[2, 1], writes[2, 2] = -0.1, 0.05

    def sigma(level: str | Level, metric: Metric, moved: Any) -> float:
        return _factor(_cliff(4.0, level=level), metric, points, moved)

    assert sigma("L2", RATE, reads) == pytest.approx(hypot(0.3, 0.4), rel=1e-3)
    assert sigma("L2", RATE, writes) == pytest.approx(hypot(0.3, 0.2), rel=1e-3)
    assert sigma(NEAR, TIME, reads) == pytest.approx(hypot(0.3, 0.1), rel=1e-3)
    assert sigma("L1", RATE, reads) == pytest.approx(0.01, rel=1e-2)  # measured here: the position itself
    assert sigma("L1 TLB", RATE, reads) == pytest.approx(SIGMA_OTHER_CLIFFS, rel=1e-3)


def test_a_rate_is_as_uncertain_as_the_points_of_its_plateau() -> None:
    """Those within 10 % of it, or the nearest; a case is its own point."""
    points = [predicted_point(2.0**i, value, "L2", "L2") for i, value in enumerate((100.0, 108.0, 93.0, 50.0, 20.0))]
    moved = np.zeros((5, 6))
    moved[:, 0] = (0.1, 0.2, 0.3, 0.5, 0.9)

    def sigma(feature: CurveFeature) -> float:
        return _factor(feature, RATE, points, moved)

    assert sigma(_plateau(100.0)) == pytest.approx(hypot(0.2, SIGMA_MODEL), rel=1e-3)
    assert sigma(_plateau(45.0)) == pytest.approx(hypot(0.5, SIGMA_MODEL), rel=1e-3)
    assert sigma(_plateau(30.0)) == pytest.approx(hypot(0.9, SIGMA_MODEL), rel=1e-3)
    case = altered(_plateau(100.0, "8"), position="case")
    assert sigma(case) == pytest.approx(hypot(0.5, SIGMA_MODEL), rel=1e-3)


# Outlooks


@pytest.fixture(scope="module")
def reads() -> Prediction:
    return predict(TOY, select(("memory/read",))[0], limits_of(TOY, quick=True))[0]


def test_the_best_of_several_sweeps_counts_and_cliffs_are_those_of_the_first_that_shows_them(reads: Prediction) -> None:
    points = tuple(altered(p, value=10 * p.value, spread=2.0) for p in reads.points)
    moved = tuple(altered(f, value=3 * f.value) for f in reads.features)
    key = altered(reads.key, sweep="other")
    (row,) = outlook_table([reads, altered(reads, key=key, points=points, features=moved)]).rows

    value, sizes = max(p.value for p in points), sorted(f.value for f in reads.features if f.position == "midpoint")
    best = format_interval(value, value / 2, 2 * value, reads.metric.value_unit)
    assert row[:2] == (reads.key.workload, best)
    assert [cliff.split(maxsplit=1)[1] for cliff in row[3].split(", ")] == list(map(format_bytes, sizes))
    assert row[5] == occupancy_text(min(reads.occupancy, key=lambda entry: entry.fraction))


# Contrasts


def test_facts_that_both_share_cancel_and_all_others_add_up_in_squares() -> None:
    """The first's second fact is the other's first; times move, so that a slower first raises the ratio alike."""
    moves = np.array([0.3, 0.2]), np.array([0.5, 0.4, 0.1])
    halves = [NORMAL_95 * hypot(*moved, SIGMA_MODEL) for moved in moves]
    first, other = (
        ComparedPoint(RATE, "4", exp(n), (exp(n - half), exp(n + half)), exp(n), False, "", 1.0, True, None, moved)
        for n, half, moved in zip((1, 2), halves, moves, strict=True)
    )
    key = ("memory", "copy", BEYOND)
    (contest,) = contests({"a": {key: first}, "b": {key: other}}, "a", {"a": ([], []), "b": ([0], [1])})
    ratio = contest.standings[1].to_baseline

    assert ratio
    assert ratio.value == pytest.approx(exp(1.0))
    sigma = (0.3**2 + (0.2 - 0.5) ** 2 + 0.4**2 + 0.1**2 + 2 * SIGMA_MODEL**2) ** 0.5
    assert log(ratio.ci_high / ratio.value) == pytest.approx(NORMAL_95 * sigma, rel=1e-6)
    assert log(ratio.value / ratio.ci_low) == pytest.approx(NORMAL_95 * sigma, rel=1e-6)


def test_one_figure_is_that_of_one_architecture_from_one_source() -> None:
    paths = ("rates.fp32", "caches.L2.latency", "caches.L2.capacity", "clock", "memory.bandwidth", "launch.single")
    source = Provenance(kind="spec", source="a")
    one = altered(TOY, provenance=dict.fromkeys(paths, source))
    twin = altered(one, id="twin")
    unsourced = altered(twin, provenance={})
    stranger = toy(twin, id="another")

    def shared(other: Device) -> list[bool]:
        return [is_shared((one, other), path) for path in paths]

    assert shared(one) == [True] * 6
    assert shared(twin) == [True, True, False, False, False, False]
    assert shared(unsourced) == [False] * 6
    assert shared(stranger) == [False] * 6
    assert [is_shared((unsourced, altered(unsourced, id="x")), path) for path in paths] == [False] * 6


# Levels, ceilings, limits


@pytest.mark.parametrize(
    ("partitions", "far", "names"),
    [
        (1, None, ["L2", "DRAM"]),
        (1, 512.0, ["L2", "DRAM"]),
        (2, None, ["L2", "DRAM"]),
        (4, 512.0, ["L2 near partition", "L2", "DRAM"]),
    ],
)
def test_only_a_cache_in_parts_of_two_latencies_is_two_levels(
    partitions: int, far: float | None, names: list[str]
) -> None:
    cache = altered(L2, partitions=partitions, far_latency_cycles=far)
    levels = latency_levels(altered(TOY, caches=(cache,)), [64 * MIB])

    assert [str(level.name) for level in levels] == names
    assert [level.cost for level in levels] == ([256, 512, 800] if len(names) == 3 else [256, 800])
    assert levels[0].capacity_bytes == 64 * MIB / (4 if len(names) == 3 else 1)
    assert levels[-2].capacity_bytes == 64 * MIB


def test_no_data_have_left_no_cache() -> None:
    transition = Transition(onset=0.8, midpoint=1.0, end=1.25)

    assert fraction_beyond(0.0, 64.0, transition) == 0.0
    assert fraction_beyond(1.0, 0.0, transition) == fraction_beyond(0.0, 0.0, transition) == 1.0
    assert [fraction_beyond(x, 64.0, transition) for x in (1.0, 64 * 0.8, 64.0, 80.0, 1e3)] == pytest.approx(
        [0, 0.05, 0.5, 0.95, 1]
    )
    assert fraction_beyond(64 * 0.8**0.5, 64.0, transition) == pytest.approx(0.275)
    assert fraction_beyond(64 * 1.25**0.5, 64.0, transition) == pytest.approx(0.725)


def test_all_limits_of_a_device_are_listed_from_the_outside_in() -> None:
    """Products of facts, with the intervals of their factors."""
    found = {(each.kind, each.name): each for each in ceilings(TOY)}
    names = [*found]

    assert names[:3] == [("bandwidth", "DRAM"), ("bandwidth", "L2"), ("bandwidth", "L1")]
    assert names[4:7] == [("latency", "DRAM"), ("latency", "L2"), ("latency", "L1")]
    assert [name for kind, name in names if kind == "rate"] == ["fp32", "int32", "int32_mul", "shuffle", "instruction"]
    expected = {
        ("bandwidth", "DRAM"): 0.9e12,
        ("bandwidth", "L1"): 128 * 100e9,
        ("bandwidth", "local memory"): 4 * 32 * 100e9,
        ("latency", "L2"): 256e-9,
        ("launch", "one dispatch"): 3e-6,
        ("launch", "work-groups"): 1e9,
        ("rate", "fp32"): 2 * 128 * 100e9,
    }
    assert {key: found[key].value for key in expected} == pytest.approx(expected)
    sizes = {name: (each.capacity_bytes, each.each) for (kind, name), each in found.items() if kind == "bandwidth"}
    assert (sizes["L2"], sizes["local memory"]) == ((64 * MIB, False), (228 * KIB, True))
    memory = found["bandwidth", "DRAM"]
    sigma = hypot(fact(TOY, "memory.bandwidth").relative, fact(TOY, "memory.efficiency").relative)
    assert memory.ci_high / memory.value == pytest.approx(exp(NORMAL_95 * sigma), rel=1e-6)
