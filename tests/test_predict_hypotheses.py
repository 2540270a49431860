"""Hypotheses: each explains an observation simulated under it, and none explains one that is as predicted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np
import pytest

from gpureport.explain import variations as vary
from gpureport.explain.hypotheses import HYPOTHESES, Hypothesis
from gpureport.explain.point_model import PointModel, TimingConditions, point_model
from gpureport.explain.trials import NOTHING_TO_EXPLAIN, explain
from gpureport.predict.occupancy import Resources
from gpureport.predict.residency import fraction_beyond
from gpureport.records.finding import Explanation
from gpureport.records.keys import Axis, SweepKey
from gpureport.spec.models import CpuOccupancy, Device, Transition
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Demand, Stream, Sweep
from tests.toy import KIB, L1, L2, TOY, toy

KEY = SweepKey(family="family", variant="variant", sweep="sweep")
NAMES = [hypothesis.name for hypothesis in HYPOTHESES]


LOOKED_UP = toy(lines_per_access=4.0)
PIPED = toy(pipes={"ALU": ("int32", "shuffle")})
CPU = toy(kind="cpu", wave_size=8, occupancy=CpuOccupancy(local_memory_bytes=32 * KIB)).model_copy(
    update={"kind": "cpu", "compute_units": 8}
)
LATER = Transition(onset=1.2, midpoint=1.5, end=1.8)
PARTED = toy(sector_writes_per_cycle=0.25).model_copy(
    update={"caches": (L1, L2.model_copy(update={"ping_pong_transition": LATER}))}
)
WHOLE = TOY.model_copy(update={"caches": (L1, L2.model_copy(update={"partitions": 1}))})
SLOW = TOY.model_copy(update={"memory": TOY.memory.model_copy(update={"bandwidth_bytes_per_s": 4e11})})
MANY = tuple(round(2 ** (power / 2)) * 256 for power in range(8, 38))
"""Work-items of growing dispatches: from 16 work-groups to more than the capacity of caches."""
AT_L1 = tuple(round(2 ** (power / 8)) * 256 for power in range(69, 110))
"""Work-items of :func:`_resident` whose data are 0.1 to 3 L1 caches."""
AT_L2 = tuple(round(2 ** (power / 8)) * 2**17 for power in range(32, 60))
"""Work-items of :func:`_copy` whose data are a quarter to three times the L2 cache."""
FEW = tuple(256 * groups for groups in (30, 90, 110, 130, 180, 220, 330, 420, 510, 620, 790, 805, 1000))
"""Work-items of dispatches whose last round has few work-groups."""


def _copy(items: int, *, elements: float = 1.0, record: int = 4, used: int = 4, write: bool = True) -> Demand:
    return Demand(
        items,
        (256,),
        (
            Stream("from", items * elements, record, used),
            Stream("to", items * elements, record, used, write=write),
        ),
        {"memory": 2.0 * items},
        memory_chain=1.0,
    )


def _stencil(items: int, outer: float, loads: float = 1.0) -> Demand:
    read = Stream("from", items, 16, 16, passes=5.0, outer_passes=outer)
    return Demand(items, (256,), (read,), {"memory": 5.0 * items}, memory_chain=loads, reused="kernel")


def _resident(items: int, **changes: Any) -> Demand:
    """A kernel that reads its data again and again: from a few KiB to more than the capacity of L1 caches."""
    data = Stream("data", items / 16, 4, 4, passes=1e5, outer_passes=1e5)
    return replace(Demand(51200, (256,), (data,), memory_chain=1.0, reused="kernel"), **changes)


def _compute(items: int, **changes: Any) -> Demand:
    operations = {"int32": 4e3 * items, "shuffle": 2e3 * items, "local": 1e3 * items, "memory": 2.0 * items}
    return replace(Demand(items, (256,), (), operations, chain={"int32": 200.0}), **changes)


def _over(device: Device, sizes: Sequence[int], demand: Callable[[int], Demand]) -> tuple[PointModel, ...]:
    """Return a sweep over work-items."""
    demands = [demand(n) for n in sizes]
    return tuple(
        PointModel(device, d, Resources(32, d.local_memory_bytes), conditions=TimingConditions(1.3e9)) for d in demands
    )


def _in_place(items: int) -> Demand:
    demand = _copy(items, elements=2.0)
    return replace(demand, streams=tuple(replace(stream, buffer="one") for stream in demand.streams))


def _isolated(items: int) -> Demand:
    return replace(_resident(items), work_items=items, loaded=False)


def _mixed(items: int) -> Demand:
    return replace(_copy(items), operations={"int32": 500.0 * items})


COPIES, COMPUTES, ROUNDS = _over(TOY, MANY, _copy), _over(TOY, MANY, _compute), _over(TOY, FEW, _compute)
RECORDS = _over(TOY, MANY, lambda n: _copy(n, record=128, used=16))
SWEEPS = {
    "measured microbenchmarks": tuple(replace(point, calibrated=replace(point, device=SLOW)) for point in COPIES),
    "one partition": _over(TOY, AT_L2, _copy),
    "full capacity": _over(TOY, AT_L2, _copy),
    "no carve out": _over(TOY, AT_L1, lambda n: _resident(n, local_memory_bytes=48 * 1024)),
    "shared cores": _over(CPU, AT_L1, _resident),
    "warm caches": _over(TOY, AT_L1, lambda n: _resident(n, reused="dispatch")),
    "cold caches": _over(TOY, MANY, _isolated),
    "replicated data": _over(TOY, MANY, lambda n: _resident(n, shared=False)),
    "distributed data": _over(TOY, AT_L1, _resident),
    "one buffer": _over(TOY, AT_L2, _copy),
    "separate footprints": _over(WHOLE, AT_L2, _in_place),
    "no crossing": _over(PARTED, AT_L2, lambda n: replace(_copy(n), ping_pong=True)),
    "partition crossing": _over(PARTED, AT_L2, _copy),
    "useful bytes": RECORDS,
    "whole lines": RECORDS,
    "no fill": RECORDS,
    "fill": COPIES,
    "no reuse": _over(TOY, MANY, lambda n: _stencil(n, 1.0)),
    "full reuse": _over(TOY, MANY, lambda n: _stencil(n, 5.0)),
    "hoisted": tuple(replace(point, once=replace(point.demand, operations={})) for point in COMPUTES),
    "no bank conflicts": _over(TOY, MANY, lambda n: _compute(n, local_conflicts=16.0)),
    "bank conflicts": COMPUTES,
    "one line per wave": _over(TOY, MANY, lambda n: replace(_copy(n), lines_per_access=32.0)),
    "no line conflicts": _over(
        LOOKED_UP, MANY, lambda n: replace(_copy(n), lines_per_access=32.0, line_conflicts=32.0)
    ),
    "one line per lane": COPIES,
    "dependent loads": _over(TOY, FEW, lambda n: _stencil(n, 1.0)),
    "independent loads": _over(TOY, FEW, lambda n: _stencil(n, 1.0, loads=5.0)),
    "one pipe": COMPUTES,
    "separate pipes": _over(PIPED, MANY, _compute),
    "scalar code": _over(CPU, MANY, _compute),
    "vector code": _over(CPU, MANY, lambda n: _compute(n, branches=True)),
    "loaded latency": _over(TOY, FEW, lambda n: replace(_copy(n), loaded=False, memory_chain=20.0)),
    "unloaded latency": _over(TOY, FEW, lambda n: replace(_copy(n), memory_chain=20.0)),
    "no overlap": _over(TOY, MANY, _mixed),
    "isolated dispatches": COPIES,
    "wave by wave": _over(TOY, MANY, lambda n: Demand(n, (256,), (), {"instruction": float(n)})),
    "measured clock": COMPUTES,
    "timer ticks": tuple(replace(point, conditions=TimingConditions(tick_s=5e-6)) for point in COPIES),
}
"""A sweep on which the hypothesis of that name shows."""


def _explained(points: Sequence[PointModel], times: Sequence[float]) -> Explanation | None:
    return explain(KEY, "specification", points, times)


def _noisy(times: Sequence[float]) -> list[float]:
    rng = np.random.default_rng(3)
    return [float(time * exp(error)) for time, error in zip(times, rng.normal(0, 0.01, len(times)), strict=True)]


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=NAMES)
def test_what_a_hypothesis_makes_is_explained_by_it(hypothesis: Hypothesis) -> None:
    """With one percent of noise it is found and leaves about the noise."""
    points = SWEEPS[hypothesis.name]
    explanation = _explained(points, _noisy([hypothesis.time_s(point) for point in points]))

    assert explanation is not None
    assert (explanation.hypothesis, explanation.outcome) == (hypothesis.name, "explained")
    assert explanation.error is not None
    assert explanation.error < 0.02 < explanation.base_error
    assert hypothesis.statement in explanation.sentence


@pytest.mark.parametrize("name", NAMES)
def test_what_is_as_predicted_needs_no_explanation(name: str) -> None:
    """Noise needs no explanation."""
    points = SWEEPS[name]

    assert _explained(points, _noisy([point.time_s for point in points])) is None


def test_what_no_hypothesis_makes_is_not_explained() -> None:
    """A ripple of a factor of two is nothing that any mechanism does."""
    points = SWEEPS["one buffer"]
    times = [point.time_s * (2 if i % 2 else 0.5) for i, point in enumerate(points)]
    explanation = _explained(points, times)

    assert explanation is not None
    assert explanation.outcome == "unexplained"
    assert explanation.sentence.startswith("No tested hypothesis")


def test_one_factor_throughout_is_said_to_be_one() -> None:
    """It points to a clock or a rate; the sentence gives it."""
    points = SWEEPS["wave by wave"]
    explanation = explain(KEY, "calibrated", points, [3 * point.time_s for point in points], ())

    assert explanation is not None
    assert explanation.hypothesis is None
    assert "throughout 3.00 times as slow" in explanation.sentence
    assert explanation.base_error == pytest.approx(log(3))


def test_two_that_do_equally_well_are_both_named() -> None:
    """Half way between eight and ten times as slow, both fit."""
    eight, ten = (Hypothesis(f"{n} times", f"it is done {n} times", partial(_times, n)) for n in (8, 10))
    between = _noisy([sqrt(80) * point.time_s for point in COPIES])
    explanation = explain(KEY, "calibrated", COPIES, between, (eight, ten))

    assert explanation is not None
    assert explanation.outcome == "ambiguous"
    assert all(hypothesis.statement in explanation.sentence for hypothesis in (eight, ten))


def _times(count: int, point: PointModel) -> list[PointModel]:
    return [point] * count


def test_near_enough_is_five_percent() -> None:
    """There is an explanation just above it, and none just below it."""
    points = SWEEPS["one buffer"]
    below, above = ([point.time_s * exp(NOTHING_TO_EXPLAIN * share) for point in points] for share in (0.99, 1.01))

    assert _explained(points, below) is None
    assert _explained(points, above) is not None


def test_hypotheses_change_nothing_of_the_case_itself() -> None:
    """They are pure: the point stays as it was."""
    for hypothesis in HYPOTHESES:
        points = SWEEPS[hypothesis.name]
        before = [(point.device.model_copy(deep=True), point.demand, point.resources) for point in points[:2]]
        for point in points[:2]:
            hypothesis.vary(point)
        assert [(point.device, point.demand, point.resources) for point in points[:2]] == before


def test_names_are_unique() -> None:
    """They identify hypotheses in reports."""
    assert len(set(NAMES)) == len(NAMES)


def test_a_point_has_the_demand_of_one_repeat() -> None:
    """A transposition repeated a thousand times computes a thousandth if its loop is hoisted."""
    workload = next(w for w in all_workloads() if w.name == "bit_transpose/shuffle")
    sweep = Sweep("matrices", Axis(quantity="work_items", label="work-items"), (), "")
    parameters = {"tiles": 1024, "local": 256, "repeats": 1001}
    point = point_model(TOY, workload, sweep, parameters, None, TimingConditions())

    assert point.once is not None
    assert point.demand.operations["shuffle"] == pytest.approx(1001 * point.once.operations["shuffle"])
    assert point_model(TOY, workload, sweep, {**parameters, "repeats": 1}, None, TimingConditions()).once is None


def test_an_isolated_dispatch_stays_isolated_and_pays_its_launch_once() -> None:
    """Other dispatches do not affect it."""
    point = SWEEPS["no overlap"][-1]
    isolated = replace(point, demand=replace(point.demand, isolated=True))

    assert vary.isolated_dispatches(isolated) == ()
    single, batched = (sum(part.time_s for part in vary.no_overlap(each)) for each in (isolated, point))
    assert single - batched == pytest.approx(TOY.launch.single_s - TOY.launch.batched_s)


def test_a_whole_cache_serves_working_sets_up_to_its_capacity() -> None:
    """The curve is halfway down at the capacity; onset and end are 2 % below and above it."""
    (point,) = vary.full_capacity(SWEEPS["full capacity"][0])

    for cache in point.device.caches:
        for transition in (cache.bandwidth_transition, cache.latency_transition, cache.write_transition):
            assert transition
            shares = [
                fraction_beyond(size * cache.capacity_bytes, cache.capacity_bytes, transition)
                for size in (0.98, 1, 1.02)
            ]
            assert shares == pytest.approx([0.05, 0.5, 0.95])


def test_ticks_round_up() -> None:
    """2.1 ticks are reported as three."""
    (point, *_) = SWEEPS["timer ticks"]
    coarse = replace(point, conditions=TimingConditions(tick_s=point.time_s / 2.1), rounded=True)

    assert coarse.time_s == pytest.approx(3 * coarse.conditions.tick_s)
    assert ceil(point.time_s / coarse.conditions.tick_s) == 3


def test_groups_that_start_wave_by_wave_take_eight_times_as_long_to_start() -> None:
    """A group of 256 work-items has eight waves of 32; the toy starts one group in each cycle of 1 ns."""
    groups = 10**7
    (point,) = _over(TOY, [groups * 256], lambda n: Demand(n, (256,)))
    (slow,) = vary.wave_by_wave(point)

    assert point.time_s == pytest.approx(groups * 1e-9, rel=0.01)
    assert slow.time_s == pytest.approx(8 * groups * 1e-9, rel=0.01)
    (odd,) = vary.wave_by_wave(replace(point, demand=Demand(groups * 33, (33,))))
    assert odd.time_s == pytest.approx(2 * groups * 1e-9, rel=0.01)


STENCIL = replace(_stencil(2048, 3.0, loads=4.0), local_conflicts=4.0, lines_per_access=8.0, line_conflicts=2.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bank_conflicts", {"local_conflicts": 32.0}),
        ("no_bank_conflicts", {"local_conflicts": 1.0}),
        ("one_line_per_wave", {"lines_per_access": 1.0, "line_conflicts": 1.0}),
        ("no_line_conflicts", {"lines_per_access": 8.0, "line_conflicts": 1.0}),
        ("one_line_per_lane", {"lines_per_access": 32.0, "line_conflicts": 2.0}),
        ("dependent_loads", {"memory_chain": 5.0}),
        ("independent_loads", {"memory_chain": 1.0}),
        ("no_reuse", {"outer_passes": 5.0}),
        ("full_reuse", {"outer_passes": 1.0}),
    ],
)
def test_hypotheses_set_how_often_accesses_are_executed(name: str, expected: dict[str, float]) -> None:
    """A stencil loads five words in four dependent rounds; a wave has 32 lanes, local memory 32 banks."""
    (point,) = _over(TOY, [2048], lambda _: STENCIL)
    (varied,) = getattr(vary, name)(point)

    assert {key: getattr(varied.demand, key, varied.demand.streams[0].outer_passes) for key in expected} == expected


@pytest.mark.parametrize(("banks", "lanes", "conflicts"), [(16, 32, 16.0), (32, 8, 8.0), (64, 32, 32.0)])
def test_bank_conflicts_are_limited_by_lanes_and_banks(banks: int, lanes: int, conflicts: float) -> None:
    """Neither more than the lanes of a wave nor more than the banks."""
    (point,) = _over(toy(local_memory_banks=banks, wave_size=lanes), [2048], _compute)
    (varied,) = vary.bank_conflicts(point)

    assert varied.demand.local_conflicts == conflicts


def test_an_independent_load_cannot_wait_less() -> None:
    """Hypotheses that change nothing of a point do not apply to it."""
    (point,) = _over(TOY, [2048], lambda n: _stencil(n, 1.0))

    assert vary.independent_loads(point) == ()
    assert vary.full_reuse(point) == ()
    assert vary.no_bank_conflicts(point) == ()
    assert vary.one_line_per_wave(point) == ()


def test_one_partition_of_two_has_half_of_the_capacity() -> None:
    """Transitions measured on both partitions do not apply to one."""
    (varied,) = vary.one_partition(SWEEPS["partition crossing"][0])
    first, last = varied.device.caches

    assert (first.capacity_bytes, last.capacity_bytes) == (L1.capacity_bytes, L2.capacity_bytes / 2)
    assert last.ping_pong_transition is None
    assert last.bandwidth_transition == L2.bandwidth_transition


def test_a_thread_has_half_of_a_core_of_two() -> None:
    """Half of its instructions, private caches and bandwidth; that of the second cache is listed per thread."""
    second = L1.model_copy(update={"name": "L2"})
    third = L2.model_copy(update={"name": "L3"})
    device = CPU.model_copy(update={"caches": (L1, second, third)})
    (point,) = _over(device, [2048], _compute)
    (varied,) = vary.shared_cores(point)
    caches = varied.device.caches

    assert [c.capacity_bytes / KIB for c in caches] == [128, 128, 64 * 1024]
    assert [c.bandwidth_bytes_per_cycle for c in caches] == [64, 128, 16]
    assert varied.device.architecture.rates_per_cycle["fp32"] == 64
    assert vary.shared_cores(SWEEPS["bank conflicts"][0]) == ()


@pytest.mark.parametrize(("access", "expected"), [(32, 128), (256, 256)])
def test_whole_lines_move_where_sectors_did(access: int, expected: int) -> None:
    """Between caches, and from memory unless it moves more anyway."""
    memory = TOY.memory.model_copy(update={"access_bytes": access})
    (point,) = _over(TOY.model_copy(update={"memory": memory}), [2048], _copy)
    (varied,) = vary.whole_lines(point)

    assert [cache.sector_bytes for cache in varied.device.caches] == [128, 128]
    assert varied.device.memory.access_bytes == expected


def test_a_device_without_caches_has_no_lines_to_move() -> None:
    """The access size of memory stays."""
    (point,) = _over(TOY.model_copy(update={"caches": ()}), [2048], _copy)

    assert vary.whole_lines(point) == ()
    assert vary.full_capacity(point) == ()
    assert vary.partition_crossing(point) == ()


def test_only_used_bytes_of_records_move() -> None:
    """Of 128 bytes a record 16 are used."""
    (varied,) = vary.useful_bytes(RECORDS[0])

    assert [stream.record_bytes for stream in varied.demand.streams] == [16, 16]
