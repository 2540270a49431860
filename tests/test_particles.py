"""Particles: the reference against known physics, the model's traffic, the sweeps, the kernels."""

import numpy as np
import pytest

from gpureport.predict import traffic
from gpureport.workloads import select
from gpureport.workloads.model import Limits, Sweep
from gpureport.workloads.particles.arrays import Arrays
from gpureport.workloads.particles.family import BOUNCING, STEP_S, Particles, advanced, drawn
from gpureport.workloads.particles.structs import ShortStructs, Structs, WholeStructs
from tests.toy import MIB, TOY

FAMILY = [workload for workload in select(("particles",)) if isinstance(workload, Particles)]
CPU = TOY.model_copy(update={"kind": "cpu"})
SMALL = Limits(max_bytes=256 * MIB, max_buffer_bytes=128 * MIB, max_work_group=128)


def _sweeps(workload: Particles, limits: Limits, *, cpu: bool = False) -> dict[str, Sweep]:
    return {sweep.name: sweep for sweep in workload.sweeps(CPU if cpu else TOY, limits)}


def _named(variant: str) -> Particles:
    return next(workload for workload in FAMILY if workload.variant == variant)


def test_a_particle_bounces() -> None:
    """It leaves the square for one step, turns, and comes back; without the bounce it moves on."""
    state = np.array([[0.999, 0.5, 2.0, 0.0], [0.5, 0.001, 0.0, -2.0]], dtype=np.float32)
    one, two = (advanced(state, steps, bounce=True) for steps in (1, 2))
    straight = advanced(state, 2, bounce=False)
    assert one[0, 0] > 1
    assert one[1, 1] < 0
    np.testing.assert_array_equal(one[:, 2:], [[-2, 0], [0, 2]])
    np.testing.assert_allclose(two[:, :2], state[:, :2], atol=1e-6)
    np.testing.assert_array_equal(straight[:, 2:], state[:, 2:])
    np.testing.assert_allclose(straight[:, :2], state[:, :2] + 2 * STEP_S * state[:, 2:], rtol=1e-6)


def test_as_many_bounce_as_the_model_says() -> None:
    """The share of particles that take the branch per step, counted over a few steps."""
    state = drawn(np.random.default_rng(1), 2**17)
    after = advanced(state, 1, bounce=True)
    turned = np.sum(after[:, 2:] != state[:, 2:]) / len(state)
    assert turned == pytest.approx(BOUNCING, rel=0.1)
    assert BOUNCING == 1 / 64


@pytest.mark.parametrize(
    ("workload", "requested", "moved"),
    [(Structs(), 32, 96), (WholeStructs(), 64, 64), (ShortStructs(), 32, 32), (Arrays(), 32, 32)],
    ids=lambda value: getattr(value, "variant", value),
)
def test_whole_structs_ask_for_more_and_move_less(workload: Particles, requested: float, moved: float) -> None:
    """Bytes requested per particle, and bytes transferred: half-written sectors are read first."""
    streams = workload.streams(1000)
    assert traffic.requested_bytes(streams) == 1000 * requested
    assert traffic.memory_bytes(streams, TOY, every_pass=False) == 1000 * moved


def test_the_bounce_is_in_the_model() -> None:
    """Only the published kernel branches; without the bounce there are fewer operations and the same traffic."""
    parameters = {"count": 4096, "local": 256}
    bouncing, straight = (_named(v).demand(parameters, TOY) for v in ("structs32", "structs32_straight"))
    assert bouncing.streams == straight.streams
    assert bouncing.operations["memory"] == straight.operations["memory"] + 4096 / 64
    assert bouncing.operations["fp32"] > straight.operations["fp32"]
    assert [w.variant for w in FAMILY if w.demand(parameters, TOY).branches] == ["structs32"]
