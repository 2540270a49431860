"""What measured primitives change in a device, and what they leave alone."""

from collections.abc import Callable

import pytest

from gpureport.predict import limits_of, predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction, is_write_ceiling
from gpureport.spec.database import load_database
from gpureport.spec.models import Device, Transition
from gpureport.workloads import select
from gpureport.workloads.instructions.barrier import Barrier
from gpureport.workloads.instructions.latency import InstructionLatency, SubGroupLatency
from gpureport.workloads.instructions.rate import Rate, SubGroupRate
from gpureport.workloads.launch import Groups, Queued
from gpureport.workloads.local_memory import Bandwidth
from gpureport.workloads.memory.access import Scatter
from gpureport.workloads.memory.latency import PointerChase
from gpureport.workloads.memory.read import Read, ReadPrivate
from gpureport.workloads.memory.stream import Copy, PingPong, Write
from gpureport.workloads.model import Workload
from tests.toy import TOY, toy


def _predicted(workload: Workload, device: Device = TOY) -> list[Prediction]:
    """Predict every sweep of *workload*."""
    return [predict_sweep(device, workload, s, "specification") for s in workload.sweeps(device, limits_of(device))]


def _observed(prediction: Prediction, factors: dict[str, float]) -> Observation:
    """Observe what was predicted, the levels named in *factors* by so much more."""
    features = tuple(
        f.model_copy(update={"value": f.value * factors.get(str(f.level), 1.0)}) if f.feature == "rate" else f
        for f in prediction.features
    )
    return Observation(key=prediction.key, metric=prediction.metric, axis=prediction.axis, points=(), features=features)


def _with(workload: Workload, factors: dict[str, float], device: Device = TOY) -> Device:
    predictions = _predicted(workload, device)
    return calibrated(device, predictions, [_observed(p, factors) for p in predictions])


def test_rates_follow_their_cases() -> None:
    """Each class by its own case; classes with another predicted bottleneck stay; the rest of the device too."""
    device = _with(Rate(), {"fp32": 0.9, "int32_mul": 0.5, "barrier": 0.1})
    rates = device.architecture.rates_per_cycle

    assert rates["fp32"] == pytest.approx(0.9 * 128)
    assert rates["int32_mul"] == pytest.approx(0.5 * 64)
    assert rates["int32"] == pytest.approx(64)
    assert "barrier" not in rates
    assert device.architecture.latency_cycles == TOY.architecture.latency_cycles
    assert device.provenance["rates.fp32"].kind == "measured"
    assert "rates.barrier" not in device.provenance


def test_a_class_that_the_entry_lacks_is_learnt_from_its_kin() -> None:
    """The toy has no rate of bitwise operations: predicted as additions, it gets its own when measured."""
    device = _with(Rate(), {"ternary": 2.0})

    assert "ternary" not in TOY.architecture.rates_per_cycle
    assert device.architecture.rates_per_cycle["ternary"] == pytest.approx(2 * 64)
    assert device.architecture.rates_per_cycle["int32"] == pytest.approx(64)


def test_integers_follow_additions_unless_these_have_two_pipes() -> None:
    """Where additions are a class of their own, bitwise operations say what one pipe does."""
    listed = {**TOY.architecture.rates_per_cycle, "add": 128.0}
    two = toy(rates_per_cycle=listed)

    assert _with(Rate(), {"add": 0.9}).architecture.rates_per_cycle["int32"] == pytest.approx(0.9 * 64)
    rates = _with(Rate(), {"add": 0.9, "ternary": 0.8}, two).architecture.rates_per_cycle
    assert rates["add"] == pytest.approx(0.9 * 128)
    assert rates["int32"] == pytest.approx(0.8 * 64)


def test_latencies_follow_their_cases() -> None:
    """Chains change latencies, not rates."""
    device = _with(InstructionLatency(), {"local": 1.25, "add": 1.5})

    assert device.architecture.latency_cycles["local"] == pytest.approx(1.25 * 29)
    assert device.architecture.latency_cycles["int32"] == pytest.approx(6)
    assert device.architecture.rates_per_cycle == TOY.architecture.rates_per_cycle
    assert device.provenance["latencies.local"].kind == "measured"


def test_exchanges_calibrate_like_other_instructions() -> None:
    """Shuffles by rate and by latency."""
    assert _with(SubGroupRate(), {"shuffle": 0.5}).architecture.rates_per_cycle["shuffle"] == pytest.approx(16)
    assert _with(SubGroupLatency(), {"shuffle": 0.5}).architecture.latency_cycles["shuffle"] == pytest.approx(12)


def test_local_memory_calibrates_its_rate_by_the_plain_case_only() -> None:
    """What conflicts or wide accesses cost is no rate of the class."""
    device = _with(Bandwidth(), {"4 B, stride 1": 0.8, "4 B, stride 32": 3.0, "16 B, stride 1": 2.0})

    assert device.architecture.rates_per_cycle == {
        **TOY.architecture.rates_per_cycle,
        "local": pytest.approx(0.8 * 32),
    }


def test_the_rate_of_a_private_cache_is_taken_once_and_from_all_units() -> None:
    """Two sweeps show L1; the one with all compute units at work counts. What lies behind stays."""
    few, every = _predicted(ReadPrivate())
    device = calibrated(TOY, [few, every], [_observed(few, {"L1": 0.5, "L2": 0.5}), _observed(every, {"L1": 0.8})])

    assert device.caches[0].bandwidth_bytes_per_cycle == pytest.approx(0.8 * 128)
    assert device.caches[0].bandwidth_transition.midpoint == pytest.approx(TOY.caches[0].bandwidth_transition.midpoint)
    assert device.provenance["caches.L1.bandwidth_transition"].kind == "measured"
    assert device.caches[1] == TOY.caches[1]


def test_on_a_cpu_own_data_also_calibrate_the_shared_cache() -> None:
    """Unless data that all threads read show a cliff: only then is it known which cache their plateau belongs to."""
    cpu = load_database().device("cpu/ryzen_7_3700x")
    private, shared = _predicted(ReadPrivate(), cpu)[0], _predicted(Read(), cpu)[0]
    own, all_threads = _observed(private, {"L3": 2.0}), _observed(shared, {"L3": 0.5})
    flat = all_threads.model_copy(update={"features": tuple(f for f in all_threads.features if f.feature == "rate")})
    assert {"L3", "DRAM"} <= {str(f.level) for f in shared.features}

    def share(*observations: Observation) -> float:
        device = calibrated(cpu, [private, shared], observations)
        return device.caches[2].bandwidth_bytes_per_cycle / cpu.caches[2].bandwidth_bytes_per_cycle

    assert share(own, flat) == share(own) > 1
    assert share(own, all_threads) == share(all_threads) < 1
    assert share(flat) == 1


def test_data_of_few_threads_do_not_calibrate_the_shared_cache() -> None:
    """Its own data must leave the other caches: where these are large, only some of the threads take part."""
    cpu = load_database().device("cpu/xeon_platinum_8480")
    private = _predicted(ReadPrivate(), cpu)[0]
    assert {point.point.parameters["groups"] for point in private.points} != {cpu.compute_units}

    device = calibrated(cpu, [private], [_observed(private, {"L2": 2.0, "L3": 2.0})])
    assert device.caches[1].bandwidth_bytes_per_cycle > cpu.caches[1].bandwidth_bytes_per_cycle
    assert device.caches[2].bandwidth_bytes_per_cycle == cpu.caches[2].bandwidth_bytes_per_cycle


def test_a_lone_dispatch_and_one_in_a_row_are_two_figures() -> None:
    """Traces are predicted by the one, everything else by the other."""
    isolated, row = _predicted(Queued())
    device = calibrated(TOY, [isolated, row], [_observed(isolated, {"1 group": 1.5}), _observed(row, {"1 group": 2.0})])

    assert device.launch.single_s == pytest.approx(1.5 * TOY.launch.single_s)
    assert device.launch.batched_s == TOY.launch.batched_s
    assert device.provenance["launch.single"].kind == "measured"


def test_observations_that_were_not_predicted_change_nothing() -> None:
    """There is nothing to hold them against."""
    observation = _observed(_predicted(Rate())[0], {"fp32": 0.5})

    assert calibrated(TOY, [], [observation]) == TOY


def _timed(prediction: Prediction, times_s: list[float]) -> Observation:
    """Observe these times at the points of *prediction*, and its features as predicted."""
    points = tuple(
        ObservedPoint(point=p.point, time_s=time_s, value=1, ci_low=1, ci_high=1, samples=5)
        for p, time_s in zip(prediction.points, times_s, strict=True)
    )
    return _observed(prediction, {}).model_copy(update={"points": points})


def test_barriers_cost_their_waves_and_some_more() -> None:
    """Groups of w waves, of which each takes 2 cycles to arrive, while local memory is kept for 3."""
    (prediction,) = _predicted(Barrier())
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
    sweep = Barrier().sweeps(TOY, limits_of(TOY))[0]
    again = predict_sweep(device, Barrier(), sweep, "calibrated")
    assert [p.time_s for p in again.points] == pytest.approx(times, rel=0.05)


def test_only_groups_of_several_sizes_show_what_a_barrier_adds() -> None:
    """Of too few nothing is taken; where groups of one wave take no longer than their waves, nothing adds."""
    listed = toy(barrier_cycles=3.0)
    (prediction,) = _predicted(Barrier(), listed)
    for few in (prediction.points[1:], prediction.points[:2], prediction.points[:1]):
        some = prediction.model_copy(update={"points": few})
        assert calibrated(listed, [some], [_timed(some, [1.0] * len(few))]) == listed

    waves = [TOY.launch.batched_s + TOY.cycles(p.point.work / TOY.compute_units / 16) for p in prediction.points]
    device = calibrated(listed, [prediction], [_timed(prediction, waves)])
    assert device.architecture.barrier_cycles == pytest.approx(0.0, abs=0.1)
    assert device.architecture.rates_per_cycle["barrier"] == pytest.approx(16.0)
    three = prediction.model_copy(update={"points": prediction.points[:3]})
    device = calibrated(listed, [three], [_timed(three, waves[:3])])
    assert device.architecture.rates_per_cycle["barrier"] == pytest.approx(16.0)  # three sizes are enough


def test_writes_calibrate_the_rate_of_sectors_where_it_was_to_bind() -> None:
    """Times half as long: twice the rate; a device that lists none keeps none."""
    slow = toy(sector_writes_per_cycle=0.04)
    for device, expected in ((slow, pytest.approx(0.08)), (TOY, None)):
        prediction = next(p for p in _predicted(Write(), device) if p.key.sweep == "working_set")
        observation = _timed(prediction, [p.time_s / 2 for p in prediction.points])
        assert calibrated(device, [prediction], [observation]).architecture.sector_writes_per_cycle == expected


@pytest.mark.parametrize(("launches", "counts"), [(19, False), (21, True), (39, True)])
def test_dispatches_of_less_than_twenty_launches_do_not_show_the_rate_of_writes(launches: int, counts: bool) -> None:
    """Their time may be that of the launch. All measured dispatches take half of the predicted time."""
    slow = toy(sector_writes_per_cycle=0.04)
    prediction = next(p for p in _predicted(Write(), slow) if p.key.sweep == "working_set")
    points = tuple(
        p.model_copy(update={"time_s": launches * slow.launch.batched_s})
        for p in prediction.points
        if is_write_ceiling(p.bottleneck)
    )
    alike = prediction.model_copy(update={"points": points})
    found = calibrated(slow, [alike], [_timed(alike, [p.time_s / 2 for p in points])])

    assert points
    assert found.architecture.sector_writes_per_cycle == pytest.approx(0.08 if counts else 0.04)


def test_scattered_writes_calibrate_the_rate_of_lines() -> None:
    """Times half as long where every work-item writes to a line of its own: twice the rate; others do not count."""
    slow = toy(line_writes_per_cycle=0.04)
    for device, expected in ((slow, pytest.approx(0.08)), (TOY, None)):
        (prediction,) = _predicted(Scatter(), device)
        times = [p.time_s / (2 if p.point.parameters["stride"] >= 32 else 9) for p in prediction.points]
        found = calibrated(device, [prediction], [_timed(prediction, times)])
        assert found.architecture.line_writes_per_cycle == expected


def _sooner(prediction: Prediction, factor: float = 0.7) -> Observation:
    """Return an observation whose cliffs lie at seven tenths (or another *factor*) of the predicted sizes."""
    features = tuple(
        f.model_copy(update={"value": f.value * factor}) if f.feature == "cliff" else f for f in prediction.features
    )
    return _observed(prediction, {}).model_copy(update={"features": features})


def test_a_copy_says_where_kernels_that_write_leave_a_cache() -> None:
    """The cliff of reads stays where it was."""
    prediction = next(p for p in _predicted(Copy()) if p.key.sweep == "working_set")
    device = calibrated(TOY, [prediction], [_sooner(prediction)])
    cache = device.caches[-1]

    assert cache.write_transition.midpoint == pytest.approx(0.7 * TOY.caches[-1].bandwidth_transition.midpoint)
    assert cache.bandwidth_transition == TOY.caches[-1].bandwidth_transition
    read, copied = (
        next(p for p in _predicted(workload, device) if p.key.sweep == "working_set") for workload in (Read(), Copy())
    )
    assert _midpoint(copied) == pytest.approx(0.7 * _midpoint(prediction), rel=0.02)
    assert _midpoint(read) == pytest.approx(_midpoint(_predicted(Read())[0]), rel=0.02)


def test_a_cliff_far_away_within_a_wide_interval_calibrates_nothing() -> None:
    """At a fifth of its size, a cliff is matched by the interval of the prediction only."""
    prediction = next(p for p in _predicted(Copy()) if p.key.sweep == "working_set")
    wide = tuple(
        f.model_copy(update={"ci_low": f.value / 10, "ci_high": f.value * 2}) if f.feature == "cliff" else f
        for f in prediction.features
    )
    seen = _sooner(prediction, 0.2)
    device = calibrated(TOY, [prediction.model_copy(update={"features": wide})], [seen])

    assert device.caches[-1].write_transition is None


def test_a_copy_there_and_back_says_where_kernels_leave_a_cache_that_do_the_same() -> None:
    """The cliff of copies one way stays where it was."""
    prediction = _predicted(PingPong())[0]
    device = calibrated(TOY, [prediction], [_sooner(prediction)])
    cache = device.caches[-1]

    assert cache.write_transition is None
    assert cache.ping_pong_transition.midpoint == pytest.approx(0.7 * TOY.caches[-1].bandwidth_transition.midpoint)
    back, there = (_midpoint(_predicted(workload, device)[0]) for workload in (PingPong(), Copy()))
    assert back == pytest.approx(0.7 * _midpoint(prediction), rel=0.02)
    assert there == pytest.approx(_midpoint(_predicted(Copy())[0]), rel=0.02)


def test_reads_say_where_passes_in_order_leave_a_cache_that_lists_it() -> None:
    """What is known of other orders stays, and so does what is listed of writes, which a copy would show."""
    last = TOY.caches[-1]
    ordered, written = (last.bandwidth_transition.model_copy(update={"midpoint": middle}) for middle in (0.9, 0.8))
    cache = last.model_copy(update={"cyclic_transition": ordered, "write_transition": written})
    listed = TOY.model_copy(update={"caches": (TOY.caches[0], cache)})
    prediction = next(p for p in _predicted(Read(), listed) if p.key.sweep == "working_set")
    found = calibrated(listed, [prediction], [_sooner(prediction)])
    now = found.caches[-1]

    assert now.cyclic_transition.midpoint == pytest.approx(0.7 * 0.9)
    assert (now.bandwidth_transition, now.write_transition) == (cache.bandwidth_transition, written)
    assert found.provenance["caches.L2.cyclic_transition"].kind == "measured"


def _midpoint(prediction: Prediction) -> float:
    return next(f.value for f in prediction.features if f.feature == "cliff" and f.position == "midpoint")


def test_a_search_for_work_groups_calibrates_nothing() -> None:
    """Slow ones among them say nothing of the memory; the same times of the sweep over sizes would."""
    predictions = {p.key.sweep: p for p in _predicted(Copy())}
    slow = [
        ObservedPoint(
            point=p.point, time_s=3 * p.time_s, value=p.value / 3, ci_low=p.value / 3, ci_high=p.value / 3, samples=5
        )
        for p in predictions["working_set"].points
    ]
    for name, changed in (("working_set", True), ("work_group", False)):
        observation = _observed(predictions[name], {}).model_copy(update={"points": tuple(slow)})
        predicted = predictions[name].model_copy(update={"points": predictions["working_set"].points})
        assert (calibrated(TOY, [predicted], [observation]) != TOY) is changed


def _slowed(prediction: Prediction, factor: Callable[[PredictedPoint], float]) -> Observation:
    """Observe each point of a sweep over rates at so many times its predicted time, and no features."""
    points = tuple(
        ObservedPoint(
            point=p.point,
            time_s=p.time_s * factor(p),
            value=p.value / factor(p),
            ci_low=p.value / factor(p),
            ci_high=p.value / factor(p),
            samples=7,
        )
        for p in prediction.points
    )
    return _observed(prediction, {}).model_copy(update={"points": points, "features": ()})


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
    small = prediction.model_copy(
        update={"points": tuple(p for p in prediction.points if p.point.working_set_bytes < beyond)}
    )

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
        features = tuple(
            f.model_copy(update={"value": f.value * ratios.get(f.position, 1)}) for f in prediction.features
        )
        seen = _observed(prediction, {}).model_copy(update={"features": features})
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
