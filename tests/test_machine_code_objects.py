"""Binaries of AMD and Intel GPUs: resources of kernels, bytes of paths, and instructions beside the model's."""

import msgpack
import pytest

from gpureport import machine_code
from gpureport.findings.evidence import differing, instruction_counts, unclassified
from gpureport.machine_code import Usage, ptx
from gpureport.machine_code.instructions import Moved, moved
from gpureport.records.measurement import MachineCode
from gpureport.workloads.model import Demand
from tests.builders import altered
from tests.elf_files import AMDGPU, INTEL_GT, elf, note

AMD_KERNEL = {
    ".name": "step",
    ".symbol": "step.kd",
    ".vgpr_count": 40,
    ".sgpr_count": 22,
    ".vgpr_spill_count": 3,
    ".sgpr_spill_count": 0,
    ".group_segment_fixed_size": 1024,
    ".private_segment_fixed_size": 12,
    ".wavefront_size": 32,
}
METADATA = msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": [{**AMD_KERNEL, ".name": "other"}, AMD_KERNEL]})
AMD = elf(AMDGPU, note=note(b"AMDGPU", 32, METADATA))

ZE_INFO = b"""---
version: '1.39'
kernels:
  - name: step
    execution_env:
      barrier_count: 1
      grf_count: 128
      simd_size: 16
      slm_size: 4096
      spill_size: 256
  - name: lean
    execution_env:
      grf_count: 128
      simd_size: 32
...
"""
INTEL = elf(INTEL_GT, ze_info=ZE_INFO)


def test_amd_metadata() -> None:
    expected = Usage(
        "code object", registers=40, local_memory_bytes=1024, private_bytes=12, spill_bytes=12, wave_size=32
    )
    assert machine_code.usage(AMD, "step") == expected
    assert machine_code.usage(b"a bundle's header" + INTEL + AMD, "step") != expected
    assert machine_code.usage(b"a bundle's header" + AMD + INTEL, "step") == expected
    assert machine_code.usage(AMD, "absent") is machine_code.usage(INTEL, "absent") is None
    assert machine_code.code(AMD, "step") is None


def test_intel_zebin() -> None:
    step = machine_code.usage(INTEL, "step")
    assert step == Usage("code object", local_memory_bytes=4096, spill_bytes=16, wave_size=16)
    lean = machine_code.usage(INTEL, "lean")
    assert lean == Usage("code object", local_memory_bytes=0, spill_bytes=0, wave_size=32)


@pytest.mark.parametrize(
    "binary",
    [
        b"",
        AMD[:200],
        elf(AMDGPU, note=note(b"AMDGPU", 32, b"\xc1")),
        elf(AMDGPU, note=note(b"AMDGPU", 32, msgpack.packb({"amdhsa.kernels": ["step"]}))),
        elf(AMDGPU, note=note(b"AMDGPU", 32, msgpack.packb([1]))),
        elf(AMDGPU, note=note(b"GNU", 32, METADATA)),
        elf(INTEL_GT, ze_info=b"kernels: [unclosed"),
        elf(INTEL_GT, ze_info=b"\xff\xfe\x00"),
        elf(INTEL_GT, ze_info=b"kernels: {step: 1}"),
    ],
)
def test_damaged_binaries_have_no_usage(binary: bytes) -> None:
    assert machine_code.usage(binary, "step") is None


GUARD = "@%p1 bra END;"
LOAD, WIDE, STORE = (
    "ld.global.u32 %r1, [%rd1];",
    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
    "st.global.u32 [%rd2], %r1;",
)
BOTH_COPIES = f"@%p2 bra SLOW; {WIDE} bra.uni STORE; SLOW: {LOAD} {LOAD} STORE: {STORE}"


def bytes_of(body: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    code = ptx.read(f".entry k()\n{{\n{body} END: ret;\n}}", "k")
    assert code is not None
    return code.loaded_bytes, code.stored_bytes


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        (f"{LOAD} {STORE}", (4, 4), (4, 4)),
        (f"{GUARD} {LOAD} {STORE}", (4, 4), (4, 4)),  # the path beyond the end of the data does not count
        (f"{LOAD} {GUARD} {STORE}", (4, 4), (0, 4)),
        (f"{LOAD} @!%p1 {STORE}", (4, 4), (0, 4)),
        (f"@%p2 ret; {LOAD} {STORE}", (4, 4), (4, 4)),
        (f"{GUARD} {BOTH_COPIES}", (8, 16), (4, 4)),
        (f"{BOTH_COPIES} {WIDE}", (24, 32), (4, 4)),
        (f"bra.uni OVER; {WIDE} OVER: {STORE}", (0, 0), (4, 4)),
        (f"{LOAD} AGAIN: add.u32 %r1, %r1, %r1; @%p1 bra AGAIN; {STORE}", (4, 4), (4, 4)),
        (f"AGAIN: {LOAD} @%p1 bra AGAIN; {STORE}", None, None),
        (f"AGAIN: @%p2 bra NOT; {LOAD} NOT: @%p1 bra AGAIN; {STORE}", None, None),
        (f"{LOAD} call.uni helper, (); {STORE}", None, None),
        (f"{LOAD} brx.idx %r1, TABLE; {STORE}", None, None),
        ("", (0, 0), (0, 0)),
    ],
)
def test_least_and_most(body: str, loads: tuple[int, int] | None, stores: tuple[int, int] | None) -> None:
    """One of two copies counts; predicated and skipped accesses may count; loops must not access memory."""
    assert bytes_of(body) == (loads, stores)


def test_many_branches_need_no_deep_recursion() -> None:
    body = " ".join(f"@%p{n} bra L{n}; {LOAD} L{n}: add.u32 %r1, %r1, %r1;" for n in range(3000))
    assert bytes_of(f"{STORE} {body}") == ((0, 12_000), (4, 4))
    assert moved([]) == Moved((0, 0), (0, 0), idle=True)


CODE = MachineCode(
    form="PTX",
    counts={"logic": 12, "int": 5, "int multiply": 3, "global load": 2, "shared store": 1, "branch": 1, "move": 9},
    global_loads={4: 2},
    global_stores={},
    loops=False,
)


def demand(**operations: float) -> Demand:
    return Demand(work_items=12, work_group=(4,), operations=operations, idle_items=2)


def test_operations_are_those_of_a_work_item_that_works() -> None:
    """Ten of twelve; classes that the model does not count are left out."""
    counts = instruction_counts(CODE, demand(int32=120.0, int32_mul=30.0, memory=20.0, instruction=400.0))

    assert counts == {"arithmetic": (20, 15.0), "global access": (2, 2.0)}
    assert differing(counts, 0.0) == ()


@pytest.mark.parametrize(("int32", "differs"), [(90.0, True), (100.0, False), (400.0, False), (410.0, True)])
def test_a_difference_beyond_a_factor_of_two_is_reported(int32: float, differs: bool) -> None:
    found = differing(instruction_counts(CODE, demand(int32=int32, memory=20.0)), 0.0)

    assert found == ("arithmetic",) * differs


def test_counts_of_several_branches_are_not_judged() -> None:
    """Three loads in the code, of which a work-item executes two."""
    more = altered(CODE, counts={**CODE.counts, "global load": 3})

    assert differing(instruction_counts(more, demand(int32=1.0, memory=20.0)), 0.0) is None


@pytest.mark.parametrize("changes", [{"loops": True}, {"calls": ("helper",)}, {"form": "x86-64"}])
def test_only_straight_ptx_is_compared(changes: dict[str, object]) -> None:
    counts = instruction_counts(CODE.model_copy(update=changes), demand(int32=120.0))

    assert counts == {}
    assert differing(counts, 0.0) is None


def test_instructions_for_indices_count_once() -> None:
    """They are arithmetic in compiled code, and in no class of the model."""
    declared = demand(fp32=10.0, memory=20.0, instruction=220.0)
    counts = instruction_counts(CODE, declared)

    assert unclassified(declared) == 19
    assert unclassified(demand(int32=10.0)) == 0
    assert differing(counts, unclassified(declared)) == ()
    assert differing(counts, 8.0) == ("arithmetic",)
