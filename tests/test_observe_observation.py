"""From a measurement's samples to its observation."""

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from gpureport.observe import observe
from gpureport.records.curves import Axis, Metric, PointKey, SweepKey
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.units import format_percent
from tests.builders import altered
from tests.curves import features_of_curve

RATE = Metric(kind="rate", unit="B", label="bandwidth")
TIME = Metric(kind="time", unit="loads", label="latency")
KIB = 1024.0


def measurement(
    metric: Metric,
    quantity: Literal["working_set", "work_items", "work_group"],
    sizes: Any,
    seconds: Callable[[float], float],
    samples: int = 12,
    noise: float = 0.01,
) -> Measurement:
    """Measure work of one unit a byte, in random order, with Gaussian noise."""
    rng = np.random.default_rng(0)
    points = [
        MeasuredPoint(
            point=PointKey(label=f"{x:g}", parameters={}, work=x, work_items=256, working_set_bytes=x, x=x),
            samples_s=tuple(seconds(x) * np.exp(noise * rng.standard_normal(samples))),
            taken_at_s=tuple(np.sort(rng.uniform(0, 30, samples))),
        )
        for x in rng.permutation(sizes)
    ]
    return Measurement(
        key=SweepKey(family="memory", variant="read", sweep="working_set"),
        metric=metric,
        axis=Axis(quantity=quantity, label="size"),
        points=tuple(points),
    )


SIZES = 4 * KIB * 2.0 ** np.arange(0, 14, 0.25)


def cached(x: float) -> float:
    return x / (1e12 if x <= 1024 * KIB else 0.25e12)


def test_nothing_sampled_is_nothing_observed() -> None:
    skipped = altered(measurement(RATE, "working_set", SIZES[:0], cached), skipped="no memory")

    assert observe(skipped) is None
    assert observe(measurement(RATE, "working_set", SIZES[:3], cached, samples=0)) is None


def test_points_are_medians_in_the_order_of_the_axis() -> None:
    """Whatever the order in which they were taken; intervals are in the metric's unit."""
    observation = observe(measurement(RATE, "working_set", SIZES, cached))

    assert [point.point.x for point in observation.points] == pytest.approx(sorted(SIZES))
    assert all(point.ci_low <= point.value <= point.ci_high for point in observation.points)
    assert observation.points[0].value == pytest.approx(1e12, rel=0.02)
    assert observation.points[0].samples == 12
    assert observation.warnings == ()


def test_a_bandwidth_falls_and_a_latency_rises_at_the_same_cliff() -> None:
    """The cliff lies between 1 MiB and the next point; plateaus are in the metric's unit."""
    for metric, seconds, plateaus, unit in (
        (RATE, cached, [1e12, 0.25e12], "B/s"),
        (TIME, lambda x: x * (2e-9 if x <= 1024 * KIB else 9e-9), [2e-9, 9e-9], "s"),
    ):
        observation = observe(measurement(metric, "working_set", SIZES, seconds))
        cliff = {f.position: f for f in observation.features if f.feature == "cliff"}
        rates = [f for f in observation.features if f.feature == "rate"]

        assert cliff.keys() == {"onset", "midpoint", "end"}
        for feature in cliff.values():
            assert 0.99 < feature.ci_low / (1024 * KIB) <= feature.value / (1024 * KIB) <= 2**0.25
            assert feature.ci_high <= 2**0.25 * 1.01 * 1024 * KIB
        assert [f.value for f in rates] == pytest.approx(plateaus, rel=0.01)
        assert [str(f.level) for f in rates] == ["level 1", "level 2"]
        assert {f.unit for f in rates} == {unit}
        assert all(f.ci_low <= f.value <= f.ci_high for f in rates if f.ci_low is not None and f.ci_high)


def test_predicted_and_measured_curves_share_their_definitions() -> None:
    """A measured curve with next to no noise has the features of the same curve without any."""
    measured = measurement(RATE, "working_set", SIZES, cached, noise=1e-5)
    observation = observe(measured)
    values = np.array([x / cached(x) for x in SIZES])

    exact = features_of_curve(measured.axis, RATE, np.full(len(SIZES), 256), SIZES, values, SIZES / values)

    assert [f.value for f in observation.features] == pytest.approx([f.value for f in exact], rel=1e-3)
    assert all(f.ci_low is None for f in exact)
    assert all(f.ci_low is not None for f in observation.features)


@pytest.mark.parametrize(("metric", "best"), [(RATE, 3.0), (TIME, 3.0)])
def test_the_best_work_group_is_the_peak(metric: Metric, best: float) -> None:
    """The highest rate or the least time, with its own interval and no other feature."""
    observation = observe(measurement(metric, "work_group", np.arange(1.0, 7.0), lambda x: x * (1 + (x - best) ** 2)))

    (peak,) = observation.features
    assert (peak.feature, peak.position, str(peak.level)) == ("rate", "peak", "device")
    assert peak.value == pytest.approx(1.0, rel=0.03)
    assert peak.ci_low < peak.value < peak.ci_high


def test_few_samples_are_said_and_widen_the_intervals() -> None:
    observation = observe(measurement(RATE, "working_set", SIZES, cached, samples=2, noise=0.03))

    assert observation.warnings[0].startswith(f"{len(SIZES)} of {len(SIZES)} points have fewer than 6 samples")
    width = np.median([np.log(point.ci_high / point.ci_low) for point in observation.points])
    assert width > 0.06


def test_falls_at_the_end_and_between_distant_points_have_no_size_and_are_said() -> None:
    """The last two points are on their way to the next level; sizes four times apart only bracket a fall."""
    last, distant = SIZES[-2], 4 * KIB * 4.0 ** np.arange(10)
    falling = observe(
        measurement(RATE, "working_set", SIZES, lambda x: x / 1e12 * (1 if x < last else 3 * (x / last) ** 2))
    )
    coarse = observe(measurement(RATE, "working_set", distant, cached))

    assert "next level was not reached" in falling.warnings[-1]
    assert not [f for f in falling.features if f.feature == "cliff"]
    assert [f.position for f in coarse.features] == ["plateau", "plateau"]
    (warning,) = coarse.warnings
    assert re.search(r"between 1\.1\d MiB and 3\.\d+ MiB", warning)


@pytest.mark.parametrize("samples", [3, 12])
def test_clock_states_are_said_however_few_the_samples(samples: int) -> None:
    """A third of the samples, at random, take 1.3 times as long; noise alone is one state."""
    rng = np.random.default_rng(5)
    measured = measurement(TIME, "working_set", SIZES, lambda x: x * 1e-9, samples)
    switched = tuple(
        altered(point, samples_s=tuple(s * (1.3 if rng.uniform() < 1 / 3 else 1.0) for s in point.samples_s))
        for point in measured.points
    )

    one, two = observe(measured), observe(altered(measured, points=switched))

    assert not any("two groups" in warning for warning in one.warnings)
    (warning,) = (warning for warning in two.warnings if "two groups" in warning)
    (ratio,) = re.findall(r"\d+\.\d+", warning)
    assert 1.25 < float(ratio) < 1.35


@pytest.mark.parametrize("drift", [0.3, -0.3])
def test_drift_is_said_and_is_no_cliff(drift: float) -> None:
    """A device that slows down by 30 % while a flat curve is sampled in random order; each sample knows its time."""
    measured = measurement(TIME, "working_set", SIZES, lambda x: x * 1e-9)
    points = tuple(
        altered(
            point,
            samples_s=tuple(
                s * (1 + drift * when / 30) for s, when in zip(point.samples_s, point.taken_at_s, strict=True)
            ),
        )
        for point in measured.points
    )

    observation = observe(altered(measured, points=points))

    assert [f.position for f in observation.features] == ["plateau"]
    assert any(f"drifted by {format_percent(drift, '+.0f')[0]}" in warning for warning in observation.warnings)


def test_times_of_few_ticks_are_known_to_a_tick() -> None:
    """A timer of 1 us: twelve equal samples of 4 us are no proof of 4.00 us."""
    measured = measurement(TIME, "working_set", SIZES, lambda x: 4e-6 * (x / SIZES[0]) ** 0.3)
    points = tuple(altered(point, samples_s=tuple(np.round(np.array(point.samples_s), 6))) for point in measured.points)

    observation = observe(altered(measured, points=points))

    first = observation.points[0]
    assert len(set(next(p.samples_s for p in points if p.point == first.point))) == 1
    assert first.ci_high - first.ci_low == pytest.approx(1e-6 / SIZES[0])
    assert any("20 timer ticks" in warning for warning in observation.warnings)


def test_a_stray_point_is_named_and_left_out() -> None:
    odd = SIZES[12]
    observation = observe(
        measurement(RATE, "working_set", SIZES, lambda x: cached(x) * (4 if x == odd else 1), samples=1)
    )

    assert any(warning.endswith(f"{odd:g}.") for warning in observation.warnings)
    assert [f.position for f in observation.features if f.feature == "cliff"] == ["onset", "midpoint", "end"]
