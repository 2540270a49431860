"""Instructions of number formats and matrix units that no runtime in the tests can run: built for their GPUs."""

import re
from pathlib import Path

import pytest

from gpureport.workloads.instructions.rate import PrecisionRate
from gpureport.workloads.matrix.rate import MatrixRate
from tests.offline_compiler import available, built

pytestmark = available

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


@pytest.mark.parametrize(("unit", "form"), MATRIX)
def test_steps_of_matrices_are_single_instructions(unit: str, form: str, tmp_path: Path) -> None:
    """Each chain of each unrolled step has one."""
    workload = MatrixRate()
    target, instruction = MATRIX[unit, form]
    points = workload.verification()
    (point,) = (p for p in points if (workload.unit(p).instruction, workload.form(p).name) == (unit, form))
    code = built(workload, point, target, tmp_path, ["-S"]).decode()

    found = len(re.findall(instruction, code))
    assert found >= point["chains"] * point["steps"]
    assert found % (point["chains"] * point["steps"]) == 0


def test_every_format_of_every_unit_is_built() -> None:
    """Every point that is verified."""
    workload = MatrixRate()

    assert {(workload.unit(p).instruction, workload.form(p).name) for p in workload.verification()} == set(MATRIX)


@pytest.mark.parametrize(("target", "name"), PRECISION)
def test_steps_are_the_instructions_that_their_rates_are_listed_for(target: str, name: str, tmp_path: Path) -> None:
    """At least one of each unrolled step."""
    workload = PrecisionRate()
    point = next(p for p in workload.verification() if workload.case(p).name == name and p["lanes"] == 1)
    code = built(workload, point, target, tmp_path, ["-S"]).decode()

    assert len(re.findall(PRECISION[target, name], code)) >= point["chains"] * point["steps"]
