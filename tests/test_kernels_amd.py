"""AMD's sub-group back end, which no runtime in the tests can run: built for two generations by Zig's clang."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from platform import machine
from subprocess import run

import pytest

from gpureport import machine_code
from gpureport.data import data_dir
from gpureport.workloads.bit_transpose import ballot, shuffle
from gpureport.workloads.bit_transpose.family import Transpose
from gpureport.workloads.model import Features

VARIANTS: tuple[Transpose, ...] = (*shuffle.WORKLOADS, *ballot.WORKLOADS)
LANES = {"gfx906": 64, "gfx1100": 32}
AMD = Features(frozenset({"cl_amd_device_attribute_query"}), "Advanced Micro Devices, Inc.", "gpu", 2**16)
# Zig leaves out the header in which clang keeps the types and functions of OpenCL C.
DECLARED = """
typedef unsigned int uint;
typedef unsigned long ulong, size_t;
typedef uint uint4 __attribute__((ext_vector_type(4)));
size_t __attribute__((const)) get_local_id(uint);
size_t __attribute__((const)) get_local_size(uint);
size_t __attribute__((const)) get_group_id(uint);
void __attribute__((convergent)) barrier(uint);
#define CLK_LOCAL_MEM_FENCE 1
"""

pytestmark = pytest.mark.skipif(
    (sys.platform, machine()) != ("linux", "x86_64"), reason="the development packages have a clang for x86-64 only"
)


def built(workload: Transpose, generation: str, folder: Path, how: Sequence[str]) -> bytes:
    """Build a variant's kernels with the options for an AMD device."""
    (folder / "declared.h").write_text(DECLARED)
    kernels, output = data_dir("kernels_cl"), folder / "built"
    options = f"{workload.build_options(workload.verification()[0])} {workload.options(AMD)}".split()
    line = [sys.executable, "-m", "ziglang", "clang", "-cc1", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", generation]
    line += ["-x", "cl", "-cl-std=CL1.2", "-O2", "-Werror", "-include", f"{folder}/declared.h", "-I", str(kernels)]
    line += [*options, *how, "-o", str(output), str(kernels / workload.source)]
    done = run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


@pytest.mark.parametrize("generation", LANES)
@pytest.mark.parametrize("workload", VARIANTS, ids=lambda workload: workload.variant)
def test_what_is_built_keeps_rows_in_registers(workload: Transpose, generation: str, tmp_path: Path) -> None:
    """An array with a lane-dependent index would be in memory."""
    usage = machine_code.usage(built(workload, generation, tmp_path, ["-emit-obj"]), "transpose")
    assert usage is not None
    assert usage.wave_size == LANES[generation]
    assert (usage.private_bytes, usage.spill_bytes) == (0, 0)
    assert usage.registers


@pytest.mark.parametrize("generation", LANES)
@pytest.mark.parametrize(
    ("workload", "distances"),
    [(shuffle.Shuffle(), {1, 2, 4, 8, 16}), (shuffle.Vector(), {1, 2, 4}), (shuffle.Hybrid(), {1, 2, 4})],
    ids=lambda value: getattr(value, "variant", ""),
)
def test_every_distance_is_an_instruction_of_its_own(
    workload: Transpose, generation: str, distances: set[int], tmp_path: Path
) -> None:
    """The pattern of an exchange within 32 lanes is part of the instruction."""
    code = built(workload, generation, tmp_path, ["-S"]).decode()
    found = re.findall(r"ds_swizzle_b32 .*offset:swizzle\((\w+),\s*\"?(\w+)", code)
    assert {(kind, int(distance)) for kind, distance in found} == {("SWAP", distance) for distance in distances}


@pytest.mark.parametrize("generation", LANES)
def test_a_ballot_is_a_comparison_of_all_lanes(generation: str, tmp_path: Path) -> None:
    """It sets one bit per lane in scalar registers, two for 64 lanes."""
    code = built(ballot.Ballot(), generation, tmp_path, ["-S"]).decode()
    into = r"s\[\d+:\d+\]|vcc" if LANES[generation] == 64 else r"s\d+|vcc_lo"
    assert len(re.findall(rf"v_cmp_ne_u32_e(?:32|64) (?:{into}), 0, v\d+", code)) >= 32
