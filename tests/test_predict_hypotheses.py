"""Hypotheses: each explains an observation simulated under it, and none explains one that is as predicted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
import pytest

from gpureport.explain import hypotheses as vary
from gpureport.explain.hypotheses import HYPOTHESES, Hypothesis
from gpureport.explain.trials import NOTHING_TO_EXPLAIN, explain
from gpureport.predict.model import PointModel
from gpureport.records.curves import SweepKey
from gpureport.records.finding import Explanation
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Stream
from tests.builders import altered
from tests.toy import KIB, L1, L2, TOY, on_cpu

KEY = SweepKey(family="family", variant="variant", sweep="sweep")
NAMES = [hypothesis.name for hypothesis in HYPOTHESES]


CPU = altered(on_cpu(wave_size=8), compute_units=8)
MANY = tuple(round(2 ** (power / 2)) * 256 for power in range(8, 38))
"""Work-items of growing dispatches: from 16 work-groups to more than the capacity of caches."""
AT_L1 = tuple(round(2 ** (power / 8)) * 256 for power in range(69, 110))
"""Work-items of :func:`_resident` whose data are 0.1 to 3 L1 caches."""
FEW = tuple(256 * groups for groups in (30, 90, 110, 130, 180, 220, 330, 420, 510, 620, 790, 805, 1000))
"""Work-items of dispatches whose last round has few work-groups."""


def _copy(items: int, *, elements: float = 1.0, record: int = 4, used: int = 4, write: bool = True) -> Demand:
    return Demand(
        items,
        (256,),
        (Stream("from", items * elements, record, used), Stream("to", items * elements, record, used, write=write)),
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
    return tuple(PointModel(device, demand(n)) for n in sizes)


def _isolated(items: int) -> Demand:
    return replace(_resident(items), work_items=items, loaded=False)


def _mixed(items: int) -> Demand:
    return replace(_copy(items), operations={"int32": 500.0 * items})


def _stores(items: int) -> Demand:
    """Many work-groups that compute little and store even less: their places limit the speed."""
    return replace(_copy(items, elements=0.01), chain={"int32": 200.0}, loaded=False)


COPIES, COMPUTES = _over(TOY, MANY, _copy), _over(TOY, MANY, _compute)
SWEEPS = {
    "shared cores": _over(CPU, AT_L1, _resident),
    "cold caches": _over(TOY, MANY, _isolated),
    "one pipe": COMPUTES,
    "scalar code": _over(CPU, MANY, _compute),
    "vector code": _over(CPU, MANY, lambda n: _compute(n, branches=True)),
    "no overlap": _over(TOY, MANY, _mixed),
    "reads and writes in turn": COPIES,
    "two rounds of loads": _over(TOY, FEW, lambda n: _stencil(n, 1.0)),
    "stores wait": _over(TOY, MANY, _stores),
    "far partition": _over(TOY, FEW, lambda n: _stencil(n, 1.0)),
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

    assert (explanation.hypothesis, explanation.outcome) == (hypothesis.name, "explained")
    assert explanation.error < 0.02 < explanation.base_error


@pytest.mark.parametrize("name", NAMES)
def test_what_is_as_predicted_needs_no_explanation(name: str) -> None:
    assert _explained(SWEEPS[name], _noisy([point.time_s for point in SWEEPS[name]])) is None


def test_masks_are_no_scalar_code() -> None:
    intel = altered(CPU, architecture=altered(CPU.architecture, compiler="intel"))

    assert not any(map(vary.scalar_code, _over(intel, MANY, _compute)))


def test_near_enough_is_five_percent() -> None:
    points = SWEEPS["cold caches"]
    below, above = ([point.time_s * exp(NOTHING_TO_EXPLAIN * share) for point in points] for share in (0.99, 1.01))

    assert _explained(points, below) is None
    assert _explained(points, above) is not None


def test_parts_of_a_dispatch_follow_each_other() -> None:
    """Loads, instructions and stores; a part without content is omitted, and a single part changes nothing."""
    (mixed,) = _over(TOY, [2**20], _mixed)
    loads, instructions, stores = vary.no_overlap(mixed)

    assert ([s.buffer for s in loads.demand.streams], dict(loads.demand.operations)) == (["from"], {})
    assert (instructions.demand.streams, instructions.demand.operations) == ((), mixed.demand.operations)
    assert ([s.buffer for s in stores.demand.streams], stores.demand.memory_chain) == (["to"], 0.0)
    assert len(vary.no_overlap(_over(TOY, [2**20], _compute)[0])) == 0
    assert len(vary.reads_and_writes_in_turn(mixed)) == 2
    assert vary.reads_and_writes_in_turn(_over(TOY, [2048], _resident)[0]) == ()


def test_a_thread_has_half_of_a_core_of_two() -> None:
    """Half of its instructions, private caches and bandwidth; that of the second cache is listed per thread."""
    device = altered(CPU, caches=(L1, altered(L1, name="L2"), altered(L2, name="L3")))
    (point,) = _over(device, [2048], _compute)
    (varied,) = vary.shared_cores(point)
    caches = varied.device.caches

    assert [c.capacity_bytes / KIB for c in caches] == [128, 128, 64 * 1024]
    assert [c.bandwidth_bytes_per_cycle for c in caches] == [64, 128, 16]
    assert varied.device.architecture.rates_per_cycle["fp32"] == 64
    assert vary.shared_cores(SWEEPS["one pipe"][0]) == ()
