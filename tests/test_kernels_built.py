"""Kernels of GPUs that no runtime in the tests can run, built by Zig's clang: AMD's sub-groups, formats, matrices."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from platform import machine
from subprocess import run

import pytest

from gpureport import machine_code
from gpureport.data import data_dir
from gpureport.workloads.bit_transpose import WORKLOADS, Ballot, Hybrid, Shuffle, Transpose, Vector
from gpureport.workloads.instructions import WORKLOADS as INSTRUCTIONS
from gpureport.workloads.matrix import MatrixRate
from gpureport.workloads.model import Parameters, Workload
from gpureport.workloads.sub_group import Exchanging
from tests.fake_backend import having

VARIANTS: tuple[Transpose, ...] = tuple(w for w in WORKLOADS if isinstance(w, Exchanging))
LANES = {"gfx906": 64, "gfx1100": 32}
generations = pytest.mark.parametrize("generation", [pytest.param("gfx906", marks=pytest.mark.slow), "gfx1100"])
AMD = having("cl_amd_device_attribute_query", "cl_khr_fp16", local_memory_bytes=2**16)
NVIDIA = having("cl_nv_device_attribute_query", "cl_khr_fp64", local_memory_bytes=48 << 10)
# Zig leaves out the header in which clang keeps the types and functions of OpenCL C.
_DECLARED = """
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong, size_t;
typedef uint uint4 __attribute__((ext_vector_type(4)));
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half half2 __attribute__((ext_vector_type(2)));
#endif
size_t __attribute__((const)) get_global_id(uint);
size_t __attribute__((const)) get_local_id(uint);
size_t __attribute__((const)) get_local_size(uint);
size_t __attribute__((const)) get_group_id(uint);
void __attribute__((convergent)) barrier(uint);
#define CLK_LOCAL_MEM_FENCE 1
#define as_int(x) __builtin_astype(x, int)
#define as_uint(x) __builtin_astype(x, uint)
#define as_float(x) __builtin_astype(x, float)
#define as_ushort(x) __builtin_astype(x, ushort)
#define as_half(x) __builtin_astype(x, half)
#define as_half2(x) __builtin_astype(x, half2)
#define convert_int(x) ((int)(x))
#define convert_int_rtz(x) ((int)(x))
#define convert_float(x) ((float)(x))
#define convert_double(x) ((double)(x))
#define fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#define native_recip(x) __builtin_amdgcn_rcpf(x)
"""
_TRIPLES = {"gfx": "amdgcn-amd-amdhsa", "sm_": "nvptx64-nvidia-cuda"}

MATRIX = {
    ("mma.sync", "matrix_fp16"): ("sm_80", r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16"),
    ("mma.sync", "matrix_bf16"): ("sm_80", r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16"),
    ("mma.sync", "matrix_tf32"): ("sm_80", r"mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.tf32"),
    ("mma.sync", "matrix_int8"): ("sm_80", r"mma\.sync\.aligned\.m16n8k32\.row\.col\.s32\.s8"),
    ("mma.sync", "matrix_fp8"): ("sm_89", r"mma\.sync\.aligned\.m16n8k32\.row\.col\.f32\.e4m3"),
    ("MFMA", "matrix_fp16"): ("gfx942", r"v_mfma_f32_16x16x16_f16"),
    ("MFMA", "matrix_bf16"): ("gfx942", r"v_mfma_f32_16x16x16_bf16"),
    ("MFMA", "matrix_tf32"): ("gfx942", r"v_mfma_f32_16x16x8_xf32"),
    ("MFMA", "matrix_int8"): ("gfx942", r"v_mfma_i32_16x16x32_i8"),
    ("MFMA", "matrix_fp8"): ("gfx942", r"v_mfma_f32_16x16x32_fp8_fp8"),
    ("WMMA", "matrix_fp16"): ("gfx1100", r"v_wmma_f32_16x16x16_f16"),
    ("WMMA", "matrix_bf16"): ("gfx1100", r"v_wmma_f32_16x16x16_bf16"),
    ("WMMA", "matrix_int8"): ("gfx1100", r"v_wmma_i32_16x16x16_iu8"),
}
PRECISION = {
    ("sm_80", "fp64"): r"fma\.rn\.f64",
    ("sm_80", "fp16"): r"fma\.rn\.f16 ",
    ("sm_80", "fp16x2"): r"fma\.rn\.f16x2",
    ("sm_80", "bf16x2"): r"fma\.rn\.bf16x2",
    ("sm_80", "dot_int8"): r"dp4a\.s32\.s32",
    ("sm_80", "int64"): r"add\.s64",
    ("sm_80", "transcendental"): r"rcp\.approx\.ftz\.f32",
    ("sm_80", "conversion"): r"cvt\.rzi\.s32\.f32",
    ("gfx906", "fp64"): r"v_fma_f64",
    ("gfx906", "fp16x2"): r"v_pk_fma_f16",
    ("gfx906", "dot_int8"): r"v_dot4_i32_i8",
    ("gfx906", "transcendental"): r"v_rcp_f32",
    ("gfx1100", "fp16x2"): r"v_pk_fma_f16",
    ("gfx1100", "dot_int8"): r"v_dot4_i32_iu8",
}

pytestmark = pytest.mark.skipif(
    (sys.platform, machine()) != ("linux", "x86_64"), reason="the development packages have a clang for x86-64 only"
)


def built(workload: Workload, point: Parameters, target: str, folder: Path, how: Sequence[str]) -> bytes:
    """Build a point's kernels with the options for a *target* such as ``gfx906`` or ``sm_90``."""
    (folder / "declared.h").write_text(_DECLARED)
    kernels, output = data_dir("kernels_cl"), folder / "built"
    nvidia = target.startswith("sm_")
    options = f"{workload.build_options(point)} {workload.options(NVIDIA if nvidia else AMD)}".split()
    line = [sys.executable, "-m", "ziglang", "clang", "-cc1", "-triple", _TRIPLES[target[:3]], "-target-cpu", target]
    line += ["-x", "cl", "-cl-std=CL1.2", "-O2", "-Werror", "-include", f"{folder}/declared.h", "-I", str(kernels)]
    line += ["-D__NV_CL_C_VERSION=120"] if nvidia else []
    line += [*options, *how, "-o", str(output), str(kernels / workload.source)]
    done = run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


@generations
@pytest.mark.parametrize("workload", VARIANTS, ids=lambda workload: workload.variant)
def test_what_is_built_keeps_rows_in_registers(workload: Transpose, generation: str, tmp_path: Path) -> None:
    usage = machine_code.usage(
        built(workload, workload.verification()[0], generation, tmp_path, ["-emit-obj"]), "transpose"
    )
    assert usage is not None
    assert usage.wave_size == LANES[generation]
    assert (usage.private_bytes, usage.spill_bytes) == (0, 0)
    assert usage.registers_per_work_item


@generations
@pytest.mark.parametrize(
    ("workload", "distances"),
    [(Shuffle(), {1, 2, 4, 8, 16}), (Vector(), {1, 2, 4}), (Hybrid(), {1, 2, 4})],
    ids=lambda value: getattr(value, "variant", ""),
)
def test_every_distance_is_an_instruction_of_its_own(
    workload: Transpose, generation: str, distances: set[int], tmp_path: Path
) -> None:
    """The pattern of an exchange within 32 lanes is part of the instruction."""
    code = built(workload, workload.verification()[0], generation, tmp_path, ["-S"]).decode()
    found = re.findall(r"ds_swizzle_b32 .*offset:swizzle\((\w+),\s*\"?(\w+)", code)
    assert {(kind, int(distance)) for kind, distance in found} == {("SWAP", distance) for distance in distances}


@generations
def test_a_ballot_is_a_comparison_of_all_lanes(generation: str, tmp_path: Path) -> None:
    """It sets one bit per lane in scalar registers, two for 64 lanes."""
    workload = Ballot()
    code = built(workload, workload.verification()[0], generation, tmp_path, ["-S"]).decode()
    into = r"s\[\d+:\d+\]|vcc" if LANES[generation] == 64 else r"s\d+|vcc_lo"
    assert len(re.findall(rf"v_cmp_ne_u32_e(?:32|64) (?:{into}), 0, v\d+", code)) >= 32


@pytest.mark.parametrize(("unit", "form"), MATRIX)
def test_steps_of_matrices_are_single_instructions(unit: str, form: str, tmp_path: Path) -> None:
    workload = MatrixRate()
    target, instruction = MATRIX[unit, form]
    points = workload.verification()
    (point,) = (p for p in points if (workload.unit(p).instruction, workload.form(p).name) == (unit, form))
    code = built(workload, point, target, tmp_path, ["-S"]).decode()
    found = len(re.findall(instruction, code))
    assert found >= point["chains"] * point["steps"]
    assert found % (point["chains"] * point["steps"]) == 0


def test_every_format_of_every_unit_is_built() -> None:
    workload = MatrixRate()
    assert {(workload.unit(p).instruction, workload.form(p).name) for p in workload.verification()} == set(MATRIX)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "name"), PRECISION)
def test_steps_are_the_instructions_that_their_rates_are_listed_for(target: str, name: str, tmp_path: Path) -> None:
    workload = INSTRUCTIONS[-1]
    point = next(p for p in workload.verification() if workload.case(p).name == name and p["lanes"] == 1)
    code = built(workload, point, target, tmp_path, ["-S"]).decode()
    assert len(re.findall(PRECISION[target, name], code)) >= point["chains"] * point["steps"]
