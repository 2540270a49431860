"""AMD's sub-group back end, which no runtime in the tests can run: built for two generations by Zig's clang."""

import re
from pathlib import Path

import pytest

from gpureport import machine_code
from gpureport.workloads.bit_transpose import ballot, shuffle
from gpureport.workloads.bit_transpose.family import Transpose
from tests.offline_compiler import available, built

VARIANTS: tuple[Transpose, ...] = (*shuffle.WORKLOADS, *ballot.WORKLOADS)
LANES = {"gfx906": 64, "gfx1100": 32}

pytestmark = available


@pytest.mark.parametrize("generation", LANES)
@pytest.mark.parametrize("workload", VARIANTS, ids=lambda workload: workload.variant)
def test_what_is_built_keeps_rows_in_registers(workload: Transpose, generation: str, tmp_path: Path) -> None:
    """An array with a lane-dependent index would be in memory."""
    usage = machine_code.usage(
        built(workload, workload.verification()[0], generation, tmp_path, ["-emit-obj"]), "transpose"
    )
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
    code = built(workload, workload.verification()[0], generation, tmp_path, ["-S"]).decode()
    found = re.findall(r"ds_swizzle_b32 .*offset:swizzle\((\w+),\s*\"?(\w+)", code)
    assert {(kind, int(distance)) for kind, distance in found} == {("SWAP", distance) for distance in distances}


@pytest.mark.parametrize("generation", LANES)
def test_a_ballot_is_a_comparison_of_all_lanes(generation: str, tmp_path: Path) -> None:
    """It sets one bit per lane in scalar registers, two for 64 lanes."""
    workload = ballot.Ballot()
    code = built(workload, workload.verification()[0], generation, tmp_path, ["-S"]).decode()
    into = r"s\[\d+:\d+\]|vcc" if LANES[generation] == 64 else r"s\d+|vcc_lo"
    assert len(re.findall(rf"v_cmp_ne_u32_e(?:32|64) (?:{into}), 0, v\d+", code)) >= 32
