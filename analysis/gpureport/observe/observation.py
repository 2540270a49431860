"""Derive the observation of a sweep from its samples."""

import numpy as np

from gpureport.observe import statistics
from gpureport.observe.features import SEPARATE, Curve, curve_features, separate_features
from gpureport.records.curves import Metric, Observation, ObservedPoint
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.spec.uncertainty import NORMAL_95
from gpureport.units import format_number, format_percent

LEAST_NOISE = 1e-3
"""Least relative error of a median. Equal samples do not prove exactness, because timers have ticks."""

UNREPEATED = 0.1
"""Relative error of a sample if no point of a search or of separate cases has two (assumed)."""

FEWEST_TICKS = 20
"""Times with fewer timer ticks have an uncertainty of 5 % or more."""

_CALLS = 0.1
"""Least width of the interval of a time by the host's clock: calls of the driver take up to 5 % of a sample."""


def observe(measurement: Measurement) -> Observation | None:
    """Return points and features of one sweep with intervals, and warnings; ``None`` if nothing was sampled."""
    points = sorted((point for point in measurement.points if point.samples_s), key=lambda point: point.point.x)
    if not points:
        return None
    samples = [np.array(point.samples_s) for point in points]
    times = np.array([np.median(part) for part in samples])
    values = np.array([measurement.metric.value(p.point.work, t) for p, t in zip(points, times, strict=True)])
    counts = np.array([len(part) for part in samples])
    shaped = measurement.axis.quantity not in SEPARATE
    noise = np.maximum(statistics.sampling_noise(samples), statistics.curve_noise(np.log(values)) if shaped else 0.0)
    if not shaped and not np.any(noise):
        noise = np.full(len(points), UNREPEATED)
    dispatches = [point.dispatches_per_sample for point in points]
    tick = statistics.timer_tick(samples, dispatches) / np.array(dispatches) / times
    # A time may be anywhere within its tick, even if all samples are equal.
    noise = np.hypot(np.maximum(noise, LEAST_NOISE), tick / np.sqrt(12.0))
    warnings = _warnings(measurement, points, samples, tick)
    least = np.maximum(np.minimum(tick, 1.0), [_CALLS if point.method == "host" else 0.0 for point in points])
    stray = statistics.strays(np.log(values), noise, counts) if shaped else np.zeros(len(points), dtype=bool)
    if np.any(stray):
        names = ", ".join(point.point.label for point, odd in zip(points, stray, strict=True) if odd)
        warnings.append(f"Points that are far from both neighbours are not used for features: {names}.")
    observed = tuple(
        _observed(point, part, measurement.metric, float(error), float(share))
        for point, part, error, share in zip(points, samples, noise, least, strict=True)
    )
    missing: tuple[str, ...] = ()
    if shaped:
        items = np.array([float(point.point.work_items) for point in points])
        curve = Curve(items, np.array([point.point.working_set_bytes for point in points]), values, times, noise)
        features, missing = curve_features(measurement.axis, measurement.metric, curve.at(~stray))
    else:
        found = [(p.point.label, statistics.Estimate(p.value, p.ci_low, p.ci_high)) for p in observed]
        features = separate_features(measurement.axis, measurement.metric, found)
    return Observation(
        key=measurement.key,
        metric=measurement.metric,
        axis=measurement.axis,
        points=observed,
        features=features,
        warnings=(*warnings, *missing),
    )


def _observed(
    point: MeasuredPoint, samples: statistics.Floats, metric: Metric, error: float, least: float
) -> ObservedPoint:
    """Return a point's median with its interval; with few samples the relative standard *error* determines it.

    No interval is narrower than the *least* share of the time, such as a tick of the timer.
    """
    median = statistics.median_interval(samples)
    low, high = median.low or median.value, median.high or median.value
    if len(samples) < statistics.ENOUGH_SAMPLES:
        factor = float(np.exp(NORMAL_95 * error))
        low, high = min(low, median.value / factor), max(high, median.value * factor)
    low, high = min(low, median.value * (1.0 - least / 2.0)), max(high, median.value * (1.0 + least / 2.0))
    ends = sorted(metric.value(point.point.work, time) for time in (low, high))
    return ObservedPoint(
        point=point.point,
        time_s=median.value,
        value=metric.value(point.point.work, median.value),
        ci_low=ends[0],
        ci_high=ends[1],
        samples=len(samples),
    )


def _warnings(
    measurement: Measurement, points: list[MeasuredPoint], samples: list[statistics.Floats], tick: statistics.Floats
) -> list[str]:
    warnings = []
    if share := measurement.missing_share:
        late = ", ".join(point.point.label for point in measurement.points if point.late)
        warnings.append(f"Incomplete: {format_percent(share)} of the points have no samples ({late}).")
    few = sum(len(part) < statistics.ENOUGH_SAMPLES for part in samples)
    if few:
        warnings.append(
            f"{few} of {len(points)} points have fewer than {statistics.ENOUGH_SAMPLES} samples: "
            "their intervals use the scatter of the whole curve."
        )
    if np.any(tick > 1.0 / FEWEST_TICKS):
        warnings.append(
            f"{np.sum(tick > 1.0 / FEWEST_TICKS)} of {len(points)} points take less than {FEWEST_TICKS} timer ticks: "
            "their intervals are at least one tick wide."
        )
    ratio = statistics.clock_states(samples)
    if ratio is not None:
        warnings.append(
            f"The samples form two groups that differ by a factor of {format_number(ratio, '.2f')}: the device "
            "switched between two speeds (clock states), and a median may belong to either."
        )
    drifting = [
        p.point.label for p, s in zip(points, samples, strict=True) if statistics.drifts(s, np.array(p.taken_at_s))
    ]
    if drifting:
        warnings.append(f"Times drifted while these points were measured: {', '.join(drifting)}.")
    change = statistics.drift(samples, [np.array(point.taken_at_s) for point in points])
    if change is not None:
        warnings.append(
            f"Times drifted by {format_percent(change, '+.0f')} from the first to the last third of the run."
        )
    return warnings
