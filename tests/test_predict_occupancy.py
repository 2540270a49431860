"""Occupancy equals the vendors' published rules on cases worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict.occupancy import compiled_resources, local_memory_in_use_bytes, occupancy
from gpureport.records.measurement import Compilation, MachineCode
from gpureport.spec.models import Architecture
from tests.builders import altered
from tests.toy import ADRENO_RULES, APPLE_RULES, ARCHITECTURE, GEN9_RULES, KIB, MALI_RULES, RDNA3_RULES, TURING_RULES

TURING = altered(ARCHITECTURE, occupancy=TURING_RULES)
RDNA3 = altered(ARCHITECTURE, occupancy=RDNA3_RULES)
TOGETHER = {"units": 2, "max_waves": 64, "max_groups": 32, "registers": 4 * 1536 * 32, "register_parts": 4}
LOCAL = {"local_memory_bytes": 128 * KIB, "local_memory_of_group_bytes": 64 * KIB}
RDNA3_PAIRS = altered(ARCHITECTURE, occupancy=altered(RDNA3_RULES, **TOGETHER, **LOCAL))
"""Work-group processors of two compute units."""
RDNA3_WAVE64 = altered(RDNA3, wave_size=64)
GEN9 = altered(ARCHITECTURE, occupancy=GEN9_RULES, wave_size=16, max_work_group=256)
APPLE = altered(ARCHITECTURE, occupancy=APPLE_RULES)
MALI = altered(ARCHITECTURE, occupancy=MALI_RULES, wave_size=16)
ADRENO = altered(ARCHITECTURE, occupancy=ADRENO_RULES, wave_size=128)


@pytest.mark.parametrize(
    ("architecture", "work_group", "registers", "local", "groups", "limiter"),
    [
        # Compute capability 9.0: 64 warps, 32 groups, 64 Ki registers in 4 sub-partitions.
        (ARCHITECTURE, (256,), 32, 0, 8, "waves"),
        (ARCHITECTURE, (32,), 32, 0, 32, "work-groups"),
        # 40 registers: 1280 a warp, 12 warps a sub-partition, 48 warps.
        (ARCHITECTURE, (256,), 40, 0, 6, "registers"),
        # 33 registers round up to 1280 a warp as well: granules of 256 for a warp are 8 for a work-item.
        (ARCHITECTURE, (256,), 33, 0, 6, "registers"),
        (ARCHITECTURE, (1024,), 65, 0, 0, "registers"),
        # 227 KiB and the reserve fill the unit; one granule more does not fit.
        (ARCHITECTURE, (64,), 32, 227 * 1024, 1, "local memory"),
        (ARCHITECTURE, (64,), 32, 227 * 1024 + 1, 0, "local memory"),
        (ARCHITECTURE, (32, 64), 32, 0, 0, "work-group size"),
        # Compute capability 7.5: 32 warps, 16 groups, no reserve.
        (TURING, (64,), 32, 0, 16, "waves"),
        (TURING, (256,), 32, 32 * 1024, 2, "local memory"),
        # RDNA3 of 1.5 times the registers, a compute unit of 2 SIMDs: 16 waves a SIMD.
        (RDNA3, (256,), 96, 0, 4, "waves"),
        (RDNA3, (256,), 97, 0, 3, "registers"),
        (RDNA3_WAVE64, (64,), 49, 0, 24, "registers"),
        (RDNA3, (64,), 24, 33 * 1024, 1, "local memory"),
        # Work-group processors: twice the waves, registers, groups and local memory; 64 KiB for one group at most.
        (RDNA3_PAIRS, (256,), 96, 0, 8, "waves"),
        (RDNA3_PAIRS, (64,), 24, 64 * 1024, 2, "local memory"),
        (RDNA3_PAIRS, (64,), 24, 65 * 1024, 0, "local memory"),
        # Gen9: 56 threads of a subslice; 20 KiB takes 32 KiB.
        (GEN9, (256,), 32, 0, 3, "waves"),
        (GEN9, (64,), 32, 20 * 1024, 2, "local memory"),
        # Apple 7: 3072 work-items of a core; 60 KiB.
        (APPLE, (256,), 16, 0, 12, "waves"),
        (APPLE, (256,), 20, 0, 10, "registers"),
        (APPLE, (256,), 16, 61 * 1024, 0, "local memory"),
        # Valhall: 1024 work-items up to 32 registers, half as many up to 64; local memory is ordinary memory.
        (MALI, (256,), 32, 32 * 1024, 4, "waves"),
        (MALI, (256,), 33, 0, 2, "registers"),
        # Adreno 640: 16 waves of 128; a pool holds 48 vectors of 4 registers for all waves in it.
        (ADRENO, (256,), 24, 0, 8, "waves"),
        (ADRENO, (256,), 25, 0, 6, "registers"),
        (ADRENO, (128,), 16, 12 * 1024, 2, "local memory"),
    ],
)
def test_matches_the_rules(
    architecture: Architecture, work_group: tuple[int, ...], registers: int, local: int, groups: int, limiter: str
) -> None:
    """Groups that fit, and what stops one more."""
    found = occupancy(architecture, work_group, registers, local)

    assert (found.groups_per_compute_unit, found.limiter) == (groups, limiter)


@given(st.integers(1, 255), st.integers(0, 200_000), st.sampled_from([32, 64, 96, 128, 256, 512, 1024]))
def test_more_resources_never_raise_occupancy(registers: int, local: int, size: int) -> None:
    """Occupancy falls, or stays, when a kernel needs more."""
    less = occupancy(ARCHITECTURE, (size,), registers, local)
    more = occupancy(ARCHITECTURE, (size,), registers + 8, local + 128)

    assert 0 <= more.fraction <= less.fraction <= 1


@pytest.mark.parametrize(
    ("size", "local", "groups", "taken"),
    [(256, 0, 100, 8), (256, 4096, 100, 64), (256, 48 * 1024, 100, 196), (1, 0, 0.01, 8)],
)
def test_local_memory_takes_a_whole_carveout(size: int, local: int, groups: float, taken: int) -> None:
    """Eight groups' reserves take 8 KiB, with 4 KiB each 40 KiB round up to 64; four of 49 KiB take 196 KiB.

    Of a single group the reserve of one KiB counts, however many would fit.
    """
    resident = occupancy(ARCHITECTURE, (size,), 32, local)

    assert local_memory_in_use_bytes(ARCHITECTURE, resident, groups=groups) == taken * KIB


def test_a_compiler_that_reports_no_local_memory_uses_none() -> None:
    """One that does not report registers reports nothing that the model could use."""
    told = Compilation(kernel="copy", options="", registers_per_work_item=40)

    for local in (None, 512):
        found = {"registers": 40, "local_memory_bytes": local or 0, "compiled": True}
        assert compiled_resources(altered(told, local_memory_bytes=local)) == found
    assert compiled_resources(altered(told, registers_per_work_item=None)) == compiled_resources(None) == {}


def test_code_for_a_cpu_shows_whether_it_has_vectors() -> None:
    """It says nothing about registers."""
    code = MachineCode(form="x86-64", counts={}, global_loads={}, global_stores={}, vectorised=False)
    told = Compilation(kernel="copy", options="", code=code)

    assert compiled_resources(told) == {"vectorised": False, "instructions_per_stored_byte": 0.0}
    assert compiled_resources(altered(told, code=altered(code, vectorised=None))) == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 2.0),
        ({"counts": {"vector arithmetic": 126, "branch": 2}}, 0.0),  # a condition, or a second loop
        ({"scalar_loops": 1}, 0.0),
        ({"calls": ("memcpy",)}, 0.0),
        ({"global_stores": {}}, 0.0),
    ],
)
def test_the_instructions_of_a_straight_loop_of_vectors_are_known(change: dict[str, object], expected: float) -> None:
    """128 instructions store 64 bytes."""
    code = MachineCode(
        form="x86-64",
        counts={"vector arithmetic": 127, "branch": 1},
        global_loads={32: 9},
        global_stores={32: 2},
        vectorised=True,
        vector_loops=1,
    )
    compilation = Compilation(kernel="step", options="", code=code.model_copy(update=change))

    assert compiled_resources(compilation)["instructions_per_stored_byte"] == expected
