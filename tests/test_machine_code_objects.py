"""Binaries of AMD and Intel GPUs: resources of kernels, bytes of paths, and instructions beside the model's."""

import msgpack
import pytest

from gpureport import machine_code
from gpureport.records.measurement import Usage
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
        reported_by="code object",
        registers_per_work_item=40,
        local_memory_bytes=1024,
        private_bytes=12,
        spill_bytes=12,
        wave_size=32,
    )
    assert machine_code.usage(AMD, "step") == expected
    assert machine_code.usage(b"a bundle's header" + INTEL + AMD, "step") != expected
    assert machine_code.usage(b"a bundle's header" + AMD + INTEL, "step") == expected
    assert machine_code.usage(AMD, "absent") is machine_code.usage(INTEL, "absent") is None
    assert machine_code.code(AMD, "step") is None


def test_impossible_counts_are_unknown() -> None:
    kernel = {".name": "step", ".vgpr_count": -1, ".wavefront_size": True, ".private_segment_fixed_size": 1 << 40}
    binary = elf(AMDGPU, note=note(b"AMDGPU", 32, msgpack.packb({"amdhsa.kernels": [kernel]})))
    assert machine_code.usage(binary, "step") == Usage(reported_by="code object")


def test_intel_zebin() -> None:
    step = machine_code.usage(INTEL, "step")
    assert step == Usage(reported_by="code object", local_memory_bytes=4096, spill_bytes=16, wave_size=16)
    lean = machine_code.usage(INTEL, "lean")
    assert lean == Usage(reported_by="code object", local_memory_bytes=0, spill_bytes=0, wave_size=32)


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
        INTEL[:-96] + b"\xff" * 7 + b"\x7f" + INTEL[-88:],  # the size of the section
    ],
)
def test_damaged_binaries_have_no_usage(binary: bytes) -> None:
    assert machine_code.usage(binary, "step") is None
