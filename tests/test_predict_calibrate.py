"""What measured values change in a device, how they combine with specified ones, and what they leave alone."""

from collections.abc import Callable
from math import log

import pytest

from gpureport.predict import limits_of, predict_sweep
from gpureport.predict.calibration.calibrate import calibrated, combined, noise
from gpureport.predict.sensitivity import specified_deviation
from gpureport.records.curves import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import Device, Transition
from gpureport.spec.uncertainty import SIGMA_RATE_TRANSFER
from gpureport.workloads import select
from gpureport.workloads.instructions import WORKLOADS
from gpureport.workloads.launch import Groups, Queued
from gpureport.workloads.local_memory import Bandwidth
from gpureport.workloads.memory.access import Scatter
from gpureport.workloads.memory.latency import PointerChase
from gpureport.workloads.memory.stream import Copy, PingPong, Read, ReadPrivate, Write
from gpureport.workloads.model import Workload
from tests.builders import altered
from tests.make_report import make_report
from tests.toy import TOY, toy

BARRIER, LATENCY, SUB_GROUP_LATENCY, _, RATE, SUB_GROUP_RATE, _ = WORKLOADS


def _predicted(workload: Workload, device: Device = TOY) -> list[Prediction]:
    """Predict every sweep of *workload*."""
    return [predict_sweep(device, workload, s, "specification") for s in workload.sweeps(device, limits_of(device))]


def _observed(prediction: Prediction, factors: dict[str, float]) -> Observation:
    """Observe what was predicted, the levels named in *factors* by so much more."""
    features = tuple(
        altered(f, value=f.value * factors.get(str(f.level), 1.0)) if f.feature == "rate" else f
        for f in prediction.features
    )
    return Observation(key=prediction.key, metric=prediction.metric, axis=prediction.axis, points=(), features=features)


def _with(workload: Workload, factors: dict[str, float], device: Device = TOY) -> Device:
    predictions = _predicted(workload, device)
    return calibrated(device, predictions, [_observed(p, factors) for p in predictions])


TWO_PIPES = toy(rates_per_cycle={**TOY.architecture.rates_per_cycle, "add": 128.0})


@pytest.mark.parametrize(
    ("workload", "factors", "device", "rates", "latencies"),
    [
        # Each class by its own case; classes with another predicted bottleneck stay.
        (RATE, {"fp32": 0.9, "int32_mul": 0.5, "barrier": 0.1}, TOY, {"fp32": 0.9 * 128, "int32_mul": 32}, {}),
        # The toy has no rate of bitwise operations: predicted as additions, it gets its own when measured.
        (RATE, {"ternary": 2.0}, TOY, {"ternary": 2 * 64}, {}),
        # Where additions are a class of their own, bitwise operations say what one pipe does.
        (RATE, {"add": 0.9}, TOY, {"int32": 0.9 * 64}, {}),
        (RATE, {"add": 0.9, "ternary": 0.8}, TWO_PIPES, {"add": 0.9 * 128, "ternary": 0.8 * 64, "int32": 51.2}, {}),
        (LATENCY, {"local": 1.25, "add": 1.5}, TOY, {}, {"local": 1.25 * 29, "int32": 6}),
        (SUB_GROUP_RATE, {"shuffle": 0.5}, TOY, {"shuffle": 16}, {}),
        (SUB_GROUP_LATENCY, {"shuffle": 0.5}, TOY, {}, {"shuffle": 12}),
        # What conflicts or wide accesses cost is no rate of the class.
        (Bandwidth(), {"4 B, stride 1": 0.8, "4 B, stride 32": 3.0, "16 B, stride 1": 2.0}, TOY, {"local": 25.6}, {}),
    ],
)
def test_instructions_follow_their_cases(
    workload: Workload,
    factors: dict[str, float],
    device: Device,
    rates: dict[str, float],
    latencies: dict[str, float],
) -> None:
    """Rates by throughput, latencies by chains; no other listed figure changes."""
    found = _with(workload, factors, device)
    before, after = device.architecture, found.architecture

    for old, new, expected in (
        (before.rates_per_cycle, after.rates_per_cycle, rates),
        (before.latency_cycles, after.latency_cycles, latencies),
    ):
        assert {name: new.get(name) for name in {**old, **expected}} == pytest.approx({**old, **expected})
        assert expected or new == old
    for path in (*(f"rates.{name}" for name in rates), *(f"latencies.{name}" for name in latencies)):
        assert found.provenance[path].kind == "measured"
    assert "barrier" not in after.rates_per_cycle


def test_the_rate_of_a_private_cache_is_taken_once_and_from_all_units() -> None:
    """Two sweeps show L1; the one with all compute units at work counts. What lies behind stays."""
    few, every = _predicted(ReadPrivate())
    device = calibrated(TOY, [few, every], [_observed(few, {"L1": 0.5, "L2": 0.5}), _observed(every, {"L1": 0.8})])

    assert device.caches[0].bandwidth_bytes_per_cycle == pytest.approx(0.8 * 128)
    assert device.caches[0].bandwidth_transition.midpoint == pytest.approx(TOY.caches[0].bandwidth_transition.midpoint)
    assert device.provenance["caches.L1.bandwidth_transition"].kind == "measured"
    assert device.caches[1] == TOY.caches[1]


def test_on_a_cpu_own_data_also_calibrate_the_shared_cache(cpu: Device) -> None:
    """Unless data that all threads read show a cliff: only then is it known which cache their plateau belongs to."""
    private, shared = _predicted(ReadPrivate(), cpu)[0], _predicted(Read(), cpu)[0]
    own, all_threads = _observed(private, {"L3": 2.0}), _observed(shared, {"L3": 0.5})
    flat = altered(all_threads, features=tuple(f for f in all_threads.features if f.feature == "rate"))
    assert {"L3", "DRAM"} <= {str(f.level) for f in shared.features}

    def share(*observations: Observation) -> float:
        device = calibrated(cpu, [private, shared], observations)
        return device.caches[2].bandwidth_bytes_per_cycle / cpu.caches[2].bandwidth_bytes_per_cycle

    assert share(own, flat) == share(own) > 1
    assert share(own, all_threads) == share(all_threads) < 1
    assert share(flat) == 1


def test_a_lone_dispatch_and_one_in_a_row_are_two_figures() -> None:
    """Traces are predicted by the one, everything else by the other."""
    isolated, row = _predicted(Queued())
    device = calibrated(TOY, [isolated, row], [_observed(isolated, {"1 group": 1.5}), _observed(row, {"1 group": 2.0})])

    assert device.launch.single_s == pytest.approx(1.5 * TOY.launch.single_s)
    assert device.launch.batched_s == TOY.launch.batched_s
    assert device.provenance["launch.single"].kind == "measured"


def _timed(prediction: Prediction, times_s: list[float]) -> Observation:
    """Observe these times at the points of *prediction*, and its features as predicted."""
    points = tuple(
        ObservedPoint(point=p.point, time_s=time_s, value=1, ci_low=1, ci_high=1, samples=5)
        for p, time_s in zip(prediction.points, times_s, strict=True)
    )
    return altered(_observed(prediction, {}), points=points)


def test_barriers_cost_their_waves_and_some_more() -> None:
    """Groups of w waves, of which each takes 2 cycles to arrive, while local memory is kept for 3."""
    (prediction,) = _predicted(BARRIER)
    times = []
    for p in prediction.points:
        size = p.point.parameters["local"]
        barriers = p.point.work / size / TOY.compute_units
        cycles = ((2 * size / 32) ** 4 + 3**4) ** 0.25
        times.append(TOY.launch.batched_s + TOY.cycles(barriers * cycles))
    device = calibrated(TOY, [prediction], [_timed(prediction, times)])

    assert device.architecture.barrier_cycles == pytest.approx(3.0, rel=1e-3)
    assert device.architecture.rates_per_cycle["barrier"] == pytest.approx(16.0, rel=1e-3)
    assert device.provenance["barrier_cycles"].kind == "measured"
    sweep = BARRIER.sweeps(TOY, limits_of(TOY))[0]
    again = predict_sweep(device, BARRIER, sweep, "calibrated")
    assert [p.time_s for p in again.points] == pytest.approx(times, rel=0.05)


@pytest.mark.parametrize(("workload", "name"), [(Write(), "sector"), (Scatter(), "line")])
def test_writes_calibrate_the_rates_of_sectors_and_lines_where_these_were_to_bind(
    workload: Workload, name: str
) -> None:
    """Times half as long: twice the rate; a device that lists none keeps none.

    Of scattered writes those count where every work-item writes to a line of its own.
    """
    rate = f"{name}_writes_per_cycle"
    for device, expected in ((toy(**{rate: 0.04}), pytest.approx(0.08)), (TOY, None)):
        prediction = _predicted(workload, device)[0]
        times = [p.time_s / (2 if p.point.parameters.get("stride", 32) >= 32 else 9) for p in prediction.points]
        found = calibrated(device, [prediction], [_timed(prediction, times)])
        assert getattr(found.architecture, rate) == expected


def _sooner(prediction: Prediction, factor: float = 0.7) -> Observation:
    """Return an observation whose cliffs lie at seven tenths (or another *factor*) of the predicted sizes."""
    features = tuple(altered(f, value=f.value * factor) if f.feature == "cliff" else f for f in prediction.features)
    return altered(_observed(prediction, {}), features=features)


@pytest.mark.parametrize(
    ("workload", "moved", "others"),
    [(Copy(), "write_transition", (Read(),)), (PingPong(), "ping_pong_transition", (Read(), Copy()))],
)
def test_a_copy_says_where_kernels_that_do_the_same_leave_a_cache(
    workload: Workload, moved: str, others: tuple[Workload, ...]
) -> None:
    """One way, or there and back; the cliffs of others stay where they were."""
    prediction = _predicted(workload)[0]
    device = calibrated(TOY, [prediction], [_sooner(prediction)])
    usual = TOY.caches[-1].bandwidth_transition
    transition = getattr(device.caches[-1], moved)

    assert transition.midpoint == pytest.approx(0.7 * usual.midpoint)
    assert altered(device.caches[-1], **{moved: None}) == TOY.caches[-1]
    assert _midpoint(_predicted(workload, device)[0]) == pytest.approx(0.7 * _midpoint(prediction), rel=0.02)
    for other in others:
        assert _midpoint(_predicted(other, device)[0]) == pytest.approx(_midpoint(_predicted(other)[0]), rel=0.02)


def _midpoint(prediction: Prediction) -> float:
    return next(f.value for f in prediction.features if f.feature == "cliff" and f.position == "midpoint")


def test_a_search_for_work_groups_calibrates_nothing() -> None:
    """Slow ones among them say nothing of the memory; the same times of the sweep over sizes would."""
    predictions = {p.key.sweep: p for p in _predicted(Copy())}
    for name, changed in (("working_set", True), ("work_group", False)):
        predicted = altered(predictions[name], points=predictions["working_set"].points)
        assert (calibrated(TOY, [predicted], [_slowed(predicted, lambda _: 3.0)]) != TOY) is changed


def _slowed(prediction: Prediction, factor: Callable[[PredictedPoint], float]) -> Observation:
    """Observe each point of a sweep over rates at so many times its predicted time, and no features."""
    return altered(_timed(prediction, [p.time_s * factor(p) for p in prediction.points]), features=())


def test_dispatches_of_eight_groups_and_fewer_show_what_a_launch_costs() -> None:
    """Larger ones show nothing of it."""
    (prediction,) = _predicted(Groups())
    device = calibrated(TOY, [prediction], [_slowed(prediction, lambda p: 1.5 if p.point.work <= 8 else 9.0)])

    assert {p.point.work for p in prediction.points} > {1.0, 8.0}
    assert device.launch.batched_s == pytest.approx(1.5 * TOY.launch.batched_s)
    assert device.launch.groups_per_cycle == TOY.launch.groups_per_cycle
    assert device.provenance["launch.batched"].kind == "measured"
    assert "launch.groups_per_cycle" not in device.provenance
    faster = calibrated(TOY, [prediction], [_observed(prediction, {"groups": 3.0})])
    assert faster.launch.groups_per_cycle == pytest.approx(3.0 * TOY.launch.groups_per_cycle)
    assert faster.launch.batched_s == TOY.launch.batched_s


def test_a_copy_of_four_times_the_last_cache_shows_the_share_of_the_bandwidth() -> None:
    """Smaller ones are none of memory."""
    prediction = next(p for p in _predicted(Copy()) if p.key.sweep == "working_set")
    beyond = 4 * TOY.caches[-1].capacity_bytes
    device = calibrated(
        TOY, [prediction], [_slowed(prediction, lambda p: 2.0 if p.point.working_set_bytes >= beyond else 9.0)]
    )
    small = altered(prediction, points=tuple(p for p in prediction.points if p.point.working_set_bytes < beyond))

    assert device.memory.efficiency == pytest.approx(TOY.memory.efficiency / 2)
    assert device.provenance["memory.efficiency"].kind == "measured"
    assert calibrated(TOY, [small], [_slowed(small, lambda _: 2.0)]).memory == TOY.memory


def test_two_observations_of_one_quantity_do_not_compound() -> None:
    """The later one counts: ratios refer to the entry."""
    for name in ("memory/copy", "launch/groups"):
        predictions = [p for workload in select((name,)) for p in _predicted(workload)]
        observations = [_slowed(prediction, lambda _: 2.0) for prediction in predictions]
        once = calibrated(TOY, predictions, observations)
        assert once != TOY
        assert calibrated(TOY, predictions, [*observations, *observations]) == once


def test_each_position_of_a_cliff_moves_by_its_own_ratio() -> None:
    """Unless they would change places: then they stay one hundredth apart."""
    prediction = next(p for p in _predicted(Copy()) if p.key.sweep == "working_set")
    transition = TOY.caches[-1].bandwidth_transition

    def written(**ratios: float) -> Transition:
        features = tuple(altered(f, value=f.value * ratios.get(f.position, 1)) for f in prediction.features)
        seen = altered(_observed(prediction, {}), features=features)
        found = calibrated(TOY, [prediction], [seen]).caches[-1].write_transition
        assert found is not None
        return found

    moved = written(onset=0.8, midpoint=0.9, end=1.1)
    assert moved.onset == pytest.approx(0.8 * transition.onset)
    assert moved.midpoint == pytest.approx(0.9 * transition.midpoint)
    assert moved.end == pytest.approx(1.1 * transition.end)
    crossed = written(onset=1.4, midpoint=1.0, end=0.7)
    assert crossed.onset == pytest.approx(0.99 * transition.midpoint)
    assert crossed.end == pytest.approx(1.01 * transition.midpoint)


def test_each_level_has_a_latency_of_its_own() -> None:
    """The near partition's goes by its own name."""
    prediction = _predicted(PointerChase())[0]
    device = calibrated(
        TOY, [prediction], [_observed(prediction, {"L1": 1.1, "L2 near partition": 1.2, "L2": 1.3, "DRAM": 1.4})]
    )
    levels = {str(f.level) for f in prediction.features if f.feature == "rate"}

    assert levels >= {"L1", "L2 near partition", "DRAM"}
    assert device.caches[0].latency_cycles == pytest.approx(1.1 * 32)
    assert device.caches[0].far_latency_cycles == TOY.caches[0].far_latency_cycles
    assert device.caches[1].latency_cycles == pytest.approx(1.2 * 256)
    assert device.caches[1].far_latency_cycles == pytest.approx((1.3 if "L2" in levels else 1.0) * 512)
    assert device.memory.latency_cycles == pytest.approx(1.4 * 800)
    assert {"caches.L1.latency", "caches.L2.latency", "memory.latency"} <= device.provenance.keys()
    assert "caches.L1.far_latency" not in device.provenance


def _with_fp32(device: Device, rate: float) -> Device:
    rates = {**device.architecture.rates_per_cycle, "fp32": rate}
    return altered(device, architecture=altered(device.architecture, rates_per_cycle=rates))


def test_a_noisy_value_counts_less(cpu: Device) -> None:
    listed = cpu.architecture.rates_per_cycle["fp32"]
    measured = _with_fp32(cpu, listed / 4)
    moved = [
        log(combined(cpu, measured, {"rates.fp32": n}).architecture.rates_per_cycle["fp32"] / listed) / log(1 / 4)
        for n in (0.0, 0.3, 3.0)
    ]

    specified = specified_deviation(cpu, "rates.fp32")
    assert moved[0] == pytest.approx(specified**2 / (specified**2 + SIGMA_RATE_TRANSFER**2))
    assert moved[0] > moved[1] > moved[2] > 0
    assert moved[2] < 0.02


def _observation(width: float) -> Observation:
    found = make_report(families=1).observations[0]
    points = (altered(p, ci_low=p.value / width, ci_high=p.value * width) for p in found.points)
    return altered(found, points=tuple(points))


def test_noise_follows_from_the_intervals() -> None:
    assert noise(_observation(1.0)) == 0
    assert noise(_observation(1.5)) == pytest.approx(log(1.5) / 1.96)
