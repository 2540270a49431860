"""Binaries of AMD and Intel GPUs: resources of kernels, bytes of paths, and instructions beside the model's."""

import msgpack
import pytest

from gpureport import machine_code
from gpureport.machine_code import Usage, ptx
from gpureport.machine_code.instructions import Moved, moved
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
