"""What microbenchmarks show of a device without an entry; the observations are those of a known one."""

from collections.abc import Sequence
from typing import Any

import pytest

from gpureport.predict.calibration.learned import FURTHER, Learned, learned
from gpureport.spec.models import Device, Link, Tlb, Transition
from gpureport.spec.values import Provenance
from tests.builders import altered, shown
from tests.toy import KIB, L1, L2, MIB, TOY, TOY_WITH_FORMATS, toy

SPEC = Provenance(kind="spec", source="a data sheet")
SHARP = Transition(onset=0.9, midpoint=1.0, end=1.2)
DRAFT = altered(
    TOY_WITH_FORMATS,
    link=Link.pcie(5, 16),
    provenance=dict.fromkeys(("caches.L1.sector", "caches.L1.capacity", "caches.L2.capacity"), SPEC),
)


def _tlb(name: str, reach: float, cycles: float) -> Tlb:
    return Tlb(name=name, reach_bytes=reach, page_bytes=2 << 20, miss_cycles=cycles, transition=SHARP)


def _with_l1(device: Device = DRAFT, **changes: Any) -> Device:
    return altered(device, caches=(L1.model_copy(update=changes), L2))


def _found(real: Device, draft: Device = DRAFT, names: Sequence[str] = FURTHER) -> Learned:
    return learned(draft, shown(real, draft, names))


def test_a_device_like_its_draft_adds_the_latency_of_its_link() -> None:
    found = _found(DRAFT)

    assert set(found.values) == {"link.latency", "link.call"}
    assert found.values["link.latency"].value == pytest.approx(1.45e-6, rel=0.01)
    assert any("to device" in remark and "GB/s to host" in remark for remark in found.remarks)


@pytest.mark.parametrize(("sector", "access"), [(32, 64), (64, 64), (64, 128)])
def test_pairs_of_loads_show_sectors(sector: int, access: int) -> None:
    memory = altered(DRAFT.memory, access_bytes=access)
    real = altered(_with_l1(sector_bytes=sector), memory=memory)
    found = _found(real, names=("memory/sectors",))

    assert found.values["memory.access"].value == access
    assert ("caches.L1.sector" in found.values) == (sector != 32)
    if sector != 32:
        assert found.values["caches.L1.sector"].provenance.kind == "measured"
        assert "conflict: 32 B (spec: a data sheet)" in found.values["caches.L1.sector"].provenance.note


def test_reaches_of_listed_translation_buffers_are_measured() -> None:
    draft = altered(DRAFT, tlb=(_tlb("L1", 64 * MIB, 60), _tlb("L2", 4096 * MIB, 500)))
    real = altered(DRAFT, tlb=(_tlb("L1", 32 * MIB, 80), _tlb("L2", 8192 * MIB, 600)))
    found = _found(real, draft, ("memory/translation",)).values

    assert found["tlb.L1.reach"].value == pytest.approx(32 * MIB, rel=0.1)
    assert found["tlb.L2.reach"].value == pytest.approx(8192 * MIB, rel=0.1)
    assert found["tlb.L1.miss"].value == pytest.approx(80, rel=0.05)
    assert found["tlb.L2.miss"].value == pytest.approx(600, rel=0.05)
    assert "tlb.L1.page" not in found


def test_unknown_translation_buffers_are_complete_levels() -> None:
    real = altered(DRAFT, tlb=(_tlb("L1", 64 * MIB, 80), _tlb("L2", 4096 * MIB, 600)))
    found = _found(real, names=("memory/translation",)).values

    assert found["tlb.L1.reach"].value == pytest.approx(64 * MIB, rel=0.1)
    assert found["tlb.L2.miss"].value == pytest.approx(600, rel=0.05)
    assert found["tlb.L1.page"].provenance.kind == found["tlb.L2.transition"].provenance.kind == "assumed"


def test_rates_that_contradict_the_architecture_are_values() -> None:
    rates = DRAFT.architecture.rates_per_cycle
    found = _found(toy(DRAFT, rates_per_cycle={**rates, "fp64": 2, "matrix_bf16": 512}))

    assert found.values["rates.fp64"].value == pytest.approx(2, rel=0.05)
    assert found.values["rates.matrix_bf16"].value == pytest.approx(512, rel=0.05)
    assert "rates.int64" not in found.values


ASSUMED = Provenance(kind="assumed", source="a guess")
ASSUMED_CACHES = altered(TOY, provenance=dict.fromkeys(("caches.L1.capacity", "caches.L2.capacity"), ASSUMED))
CHASE = ("memory/latency",)
MICROBENCHMARKS = (
    "memory/latency",
    "memory/read_private",
    "memory/read",
    "memory/copy",
    "launch/groups",
    "launch/queued",
)


def _with_l2(device: Device = ASSUMED_CACHES, **changes: Any) -> Device:
    return altered(device, caches=(device.caches[0], device.caches[1].model_copy(update=changes)))


def test_every_figure_of_another_device_is_learned() -> None:
    fast = altered(L1, latency_cycles=40, bandwidth_bytes_per_cycle=96)
    large = altered(
        L2, capacity_bytes=96 * MIB, latency_cycles=300, far_latency_cycles=640, bandwidth_bytes_per_cycle=40
    )
    memory = altered(TOY.memory, latency_cycles=1000, bandwidth_bytes_per_s=1.5e12)
    launch = altered(TOY.launch, single_s=7e-6, batched_s=3e-6, groups_per_cycle=0.5)
    real = altered(ASSUMED_CACHES, caches=(fast, large), memory=memory, launch=launch)
    found = _found(real, ASSUMED_CACHES, MICROBENCHMARKS)

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


@pytest.mark.parametrize(("factor", "agrees"), [(0.78, False), (0.88, True), (1.13, True), (1.35, False)])
def test_a_documented_capacity_stays_unless_it_is_off_by_a_fifth(factor: float, agrees: bool) -> None:
    documented = altered(ASSUMED_CACHES, provenance={"caches.L1.capacity": ASSUMED, "caches.L2.capacity": SPEC})
    draft = _with_l2(documented, partitions=1, far_latency_cycles=None)
    real = _with_l2(draft, capacity_bytes=factor * 64 * MIB)
    found = _found(real, draft, CHASE)

    assert ("caches.L2.capacity" in found.values) != agrees
    if not agrees:
        capacity = found.values["caches.L2.capacity"]
        assert capacity.value == pytest.approx(factor * 64 * MIB, rel=0.05)
        assert capacity.provenance.source == "cliff of memory/latency"
        assert capacity.provenance.note == "conflict: 64 MiB (spec: a data sheet)"


@pytest.mark.parametrize("factor", [0.125, 0.25, 0.5, 2.0])
def test_steps_answer_each_other_in_order_if_there_are_as_many(factor: float) -> None:
    flat = _with_l2(partitions=1, far_latency_cycles=None)
    found = _found(_with_l2(flat, capacity_bytes=factor * 64 * MIB), flat, CHASE)

    assert found.values["caches.L2.capacity"].value == pytest.approx(factor * 64 * MIB, rel=0.05)
    assert found.remarks == ()


def test_a_step_at_a_thirtieth_of_a_capacity_is_not_that_caches() -> None:
    flat = _with_l2(partitions=1, far_latency_cycles=None)
    found = _found(_with_l2(flat, capacity_bytes=64 * MIB / 30), flat, CHASE)

    assert "caches.L2.capacity" not in found.values
    assert "L2: no cliff was observed; its capacity remains assumed" in found.remarks
