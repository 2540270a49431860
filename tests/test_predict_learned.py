"""What microbenchmarks show of a device: the draft is one device, the observations are those of another, known one."""

from typing import Any

import pytest

from gpureport.predict.calibration.learned import Learned, ObservedSweep, learned
from gpureport.records.curves import CurveFeature
from gpureport.spec.models import Device
from gpureport.spec.values import Provenance
from tests.builders import altered, shown
from tests.toy import KIB, L1, L2, MIB, TOY

ASSUMED = Provenance(kind="assumed", source="a guess")
SPEC = Provenance(kind="spec", source="a data sheet")
DRAFT = altered(TOY, provenance=dict.fromkeys(("caches.L1.capacity", "caches.L2.capacity"), ASSUMED))
CHASE = ("memory/latency",)
MICROBENCHMARKS = (
    "memory/latency",
    "memory/read_private",
    "memory/read",
    "memory/copy",
    "launch/groups",
    "launch/queued",
)


def _with_l2(device: Device = DRAFT, **changes: Any) -> Device:
    return altered(device, caches=(device.caches[0], device.caches[1].model_copy(update=changes)))


def _learned(real: Device, names: tuple[str, ...] = CHASE, draft: Device = DRAFT) -> Learned:
    return learned(draft, shown(real, draft, names))


def test_every_figure_of_another_device_is_learned() -> None:
    fast = altered(L1, latency_cycles=40, bandwidth_bytes_per_cycle=96)
    large = altered(
        L2, capacity_bytes=96 * MIB, latency_cycles=300, far_latency_cycles=640, bandwidth_bytes_per_cycle=40
    )
    memory = altered(TOY.memory, latency_cycles=1000, bandwidth_bytes_per_s=1.5e12)
    launch = altered(TOY.launch, single_s=7e-6, batched_s=3e-6, groups_per_cycle=0.5)
    real = altered(DRAFT, caches=(fast, large), memory=memory, launch=launch)
    found = _learned(real, MICROBENCHMARKS)

    truth = {
        "caches.L1.capacity": 256 * KIB,
        "caches.L1.latency": 40,
        "caches.L1.bandwidth": 96,
        "caches.L2.capacity": 96 * MIB,
        "caches.L2.latency": 300,
        "caches.L2.far_latency": 640,
        "caches.L2.bandwidth": 40,
        "memory.latency": 1000,
        "memory.bandwidth": 1.5e12,
        "launch.single": 7e-6,
        "launch.batched": 3e-6,
        "launch.groups_per_cycle": 0.5,
    }
    values = {path: value.value for path, value in found.values.items()}
    assert truth.keys() - values.keys() <= {"caches.L2.far_latency"}
    for path, value in values.items():
        assert value == pytest.approx(truth[path], rel=0.08), path
    assert {value.provenance.kind for value in found.values.values()} == {"measured"}
    assert found.remarks == ()


def test_an_interval_of_a_step_becomes_that_of_the_capacity() -> None:
    """The step lies at 64 MiB, and between half and twice that."""
    flat = _with_l2(partitions=1, far_latency_cycles=None)
    (one,) = shown(flat, flat, CHASE)
    last = max(f.value for f in one.observation.features if f.position == "midpoint")

    def ends(feature: CurveFeature) -> CurveFeature:
        wide = feature.position == "midpoint" and feature.value == last
        return altered(feature, ci_low=last / 2, ci_high=last * 2) if wide else feature

    features = tuple(map(ends, one.observation.features))
    wide = ObservedSweep(one.workload, one.sweep, altered(one.observation, features=features))
    capacity = learned(flat, [wide]).values["caches.L2.capacity"]

    assert capacity.value == pytest.approx(64 * MIB)
    assert capacity.provenance.source == "cliff of memory/latency"
    assert "(32 to 128)" in capacity.provenance.note


@pytest.mark.parametrize(("factor", "agrees"), [(0.78, False), (0.88, True), (1.13, True), (1.35, False)])
def test_a_documented_capacity_stays_unless_it_is_off_by_a_fifth(factor: float, agrees: bool) -> None:
    documented = altered(DRAFT, provenance={"caches.L1.capacity": ASSUMED, "caches.L2.capacity": SPEC})
    draft = _with_l2(documented, partitions=1, far_latency_cycles=None)
    real = _with_l2(draft, capacity_bytes=factor * 64 * MIB)
    found = _learned(real, CHASE, draft)

    assert ("caches.L2.capacity" in found.values) != agrees
    if agrees:
        assert any(r.startswith("L2: measured as ") and r.endswith("agrees with 64 MiB (spec)") for r in found.remarks)
    else:
        capacity = found.values["caches.L2.capacity"]
        assert capacity.value == pytest.approx(factor * 64 * MIB, rel=0.05)
        assert capacity.provenance.note.endswith("; conflict: 64 MiB (spec: a data sheet)")


@pytest.mark.parametrize("factor", [0.125, 0.25, 0.5, 2.0])
def test_steps_answer_each_other_in_order_if_there_are_as_many(factor: float) -> None:
    flat = _with_l2(partitions=1, far_latency_cycles=None)
    found = _learned(_with_l2(flat, capacity_bytes=factor * 64 * MIB), CHASE, flat)

    assert found.values["caches.L2.capacity"].value == pytest.approx(factor * 64 * MIB, rel=0.05)
    assert found.remarks == ()


def test_a_step_at_a_thirtieth_of_a_capacity_is_not_that_caches() -> None:
    flat = _with_l2(partitions=1, far_latency_cycles=None)
    found = _learned(_with_l2(flat, capacity_bytes=64 * MIB / 30), CHASE, flat)

    assert "caches.L2.capacity" not in found.values
    assert "L2: no cliff was observed; its capacity remains assumed" in found.remarks
    assert sum(r.startswith("memory/latency has another cliff at 2.1") for r in found.remarks) == 1


def test_a_cache_that_the_draft_lacks_is_a_remark() -> None:
    """The draft knows of an L2 only; another 512 KiB cache lies before it."""
    isolated = altered(DRAFT, caches=(altered(L2, partitions=1, far_latency_cycles=None),))
    real = altered(isolated, caches=(altered(L1, capacity_bytes=512 * KIB), *isolated.caches))
    found = _learned(real, CHASE, isolated)

    also = [r for r in found.remarks if "has another cliff at" in r]
    assert len(also) == 1
    assert also[0].endswith("which no cache of the architecture explains")
    assert float(also[0].removeprefix("memory/latency has another cliff at ").split()[0]) == pytest.approx(
        512, rel=0.05
    )
    assert found.values["caches.L2.capacity"].value == pytest.approx(64 * MIB, rel=0.05)
