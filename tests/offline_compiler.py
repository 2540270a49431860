"""Builds kernels for GPUs that no runtime in the tests can run, by Zig's clang."""

import sys
from collections.abc import Sequence
from pathlib import Path
from platform import machine
from subprocess import run

import pytest

from gpureport.data import data_dir
from gpureport.workloads.model import Features, Parameters, Workload

AMD = Features(
    frozenset({"cl_amd_device_attribute_query", "cl_khr_fp16"}), "Advanced Micro Devices, Inc.", "gpu", 2**16
)
NVIDIA = Features(frozenset({"cl_nv_device_attribute_query", "cl_khr_fp64"}), "NVIDIA Corporation", "gpu", 48 << 10)
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

available = pytest.mark.skipif(
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
