"""Further number formats and matrix units: listed peaks, exact references, fragments, and what is left out."""

import re
from itertools import pairwise

import numpy as np
import pytest

from gpureport.cli.app import RunOptions
from gpureport.cli.measuring import command_line
from gpureport.cli.shared import chosen
from gpureport.errors import InputError
from gpureport.findings import key_figures as figures
from gpureport.predict import limits_of, predict
from gpureport.results.opening import predicted
from gpureport.spec.database import Database
from gpureport.workloads import select
from gpureport.workloads.instructions import ARITHMETIC, PRECISIONS, WORKLOADS, Operation
from gpureport.workloads.matrix import FORMATS, MOST, UNITS, Format, MatrixRate, Unit, unit_of
from tests.fake_backend import having
from tests.toy import TOY, toy

*_, LATENCY, _, _, RATE = WORKLOADS
FACTORS = {"fp16x2": 4, "bf16x2": 4, "dot_int8": 8, "int64": 1}
LISTED = {
    # White papers and data sheets of NVIDIA (dense, without sparsity), TFLOP/s or TOP/s.
    "nvidia/p100_sxm2": {"fp64": 5.3, "fp16x2": 21.2},
    "nvidia/p40": {"dot_int8": 47},
    "nvidia/gtx_1080_ti": {"fp64": 0.354},
    "nvidia/v100_sxm2_32": {"fp64": 7.8, "fp16x2": 31.4, "dot_int8": 62.7},
    "nvidia/t4": {"fp16x2": 16.3, "fp64": 0.254},
    "nvidia/a100_sxm_80": {
        "fp64": 9.7,
        "fp16x2": 78,
        "bf16x2": 39,
        "matrix_fp16": 312,
        "matrix_bf16": 312,
        "matrix_tf32": 156,
        "matrix_int8": 624,
    },
    "nvidia/rtx_3090": {"fp16x2": 35.6, "matrix_fp16": 71, "matrix_tf32": 35.6, "matrix_int8": 284},
    "nvidia/a40": {"matrix_fp16": 149.7, "matrix_tf32": 74.8, "matrix_int8": 299.3},
    "nvidia/a10": {"matrix_fp16": 125, "matrix_tf32": 62.5, "matrix_int8": 250},
    "nvidia/rtx_4090": {
        "fp64": 1.29,
        "fp16x2": 82.6,
        "matrix_fp16": 165.2,
        "matrix_tf32": 82.6,
        "matrix_int8": 660.6,
        "matrix_fp8": 330.3,
    },
    "nvidia/l40s": {"matrix_fp16": 362.05, "matrix_tf32": 183, "matrix_int8": 733, "matrix_fp8": 733},
    "nvidia/l4": {"matrix_fp16": 121, "matrix_fp8": 242.5},
    "nvidia/l20": {"matrix_fp16": 119.5, "matrix_fp8": 239},
    "nvidia/a16": {"matrix_fp16": 17.9},
    "nvidia/rtx_5000_ada": {"matrix_fp8": 522.2},
    "nvidia/rtx_4000_sff_ada": {"matrix_fp8": 153.4},
    "nvidia/rtx_a1000": {"matrix_fp16": 26.9},
    "nvidia/k20x": {"fp64": 1.31},
    "nvidia/m2090": {"fp64": 0.665},
    "nvidia/gtx_580": {"fp64": 0.198},
    "nvidia/h100_sxm": {"fp64": 33.5, "fp16x2": 133.8, "bf16x2": 133.8},
    "nvidia/rtx_5090": {"matrix_fp16": 209.5, "matrix_tf32": 104.8, "matrix_int8": 838, "matrix_fp8": 419},
    # White papers and product pages of AMD.
    "amd/hd_7970": {"fp64": 0.947},
    "amd/r9_390x": {"fp64": 0.739},
    "amd/r9_fury_x": {"fp64": 0.538},
    "amd/rx_580": {"fp64": 0.386},
    "amd/rx_vega_64": {"fp64": 0.786, "fp16x2": 25.3},
    "amd/mi60": {"fp64": 7.4, "fp16x2": 29.5, "dot_int8": 58.9},
    "amd/radeon_vii": {"fp64": 3.36},
    "amd/mi100": {"fp64": 11.5, "matrix_fp16": 184.6, "matrix_bf16": 92.3, "matrix_int8": 184.6},
    "amd/mi210": {"fp64": 22.6, "matrix_fp16": 181, "matrix_bf16": 181, "matrix_int8": 181},
    "amd/mi300x": {
        "fp64": 81.7,
        "matrix_fp16": 1307.4,
        "matrix_bf16": 1307.4,
        "matrix_tf32": 653.7,
        "matrix_int8": 2614.9,
        "matrix_fp8": 2614.9,
    },
    "amd/mi355x": {"fp64": 78.6, "matrix_fp16": 2516.6, "matrix_int8": 5033.2, "matrix_fp8": 5033.2},
    "amd/firepro_s9150": {"fp64": 2.53},
    "amd/hd_7870": {"fp64": 0.16},
    "amd/radeon_pro_vii": {"fp64": 6.5},
    "amd/radeon_ai_pro_r9700": {"matrix_fp16": 191, "matrix_fp8": 383},
    "amd/rx_6900_xt": {"fp64": 1.44, "fp16x2": 46.1},
    "amd/rx_7900_xtx": {"fp64": 1.92, "matrix_fp16": 122.8},
    "amd/rx_9070_xt": {"fp64": 1.52, "matrix_fp16": 195, "matrix_int8": 389, "matrix_fp8": 389},
    # Product pages of Intel.
    "intel/max_1550": {"fp64": 52.4, "matrix_bf16": 839, "matrix_tf32": 419, "matrix_int8": 1678},
}


@pytest.mark.parametrize("entry", LISTED)
def test_rates_clock_and_units_give_the_listed_peaks(database: Database, entry: str) -> None:
    device = database.device(entry)
    found = {name: FACTORS.get(name, 2) * device.rate_per_s(name) / 1e12 for name in LISTED[entry]}
    assert found == pytest.approx(LISTED[entry], rel=0.02)


def _stepped(name: str, word: int, *operands: int) -> int:
    (case,) = (case for case in PRECISIONS if case.name == name)
    words = (np.array([word], dtype=np.uint32),)
    return int(case.step(words, tuple(np.array([k], dtype=np.uint32) for k in operands), 0)[0][0])


def _half(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def _brain(value: float) -> int:
    return int(np.float32(value).view(np.uint32)) >> 16


def test_steps_that_no_runtime_in_the_tests_runs() -> None:
    """By hand: 2 * 2 - 1, 1 * 1 - 2; four products of bytes."""
    assert _stepped("fp16", _half(2), _half(-1)) == _half(3)
    assert _stepped("fp16x2", _half(2) | _half(1) << 16, _half(-1) | _half(-2) << 16) == _half(3) | _half(-1) << 16
    assert (
        _stepped("bf16x2", _brain(2) | _brain(1) << 16, _brain(-1) | _brain(-2) << 16) == _brain(3) | _brain(-1) << 16
    )
    assert _stepped("dot_int8", 0xFF_02_80_01, 0x03_04_01_05, 7) == (-1 * 3 + 2 * 4 - 128 * 1 + 1 * 5 + 7) % 2**32


@pytest.mark.parametrize("case", [ARITHMETIC[0], *PRECISIONS], ids=lambda case: case.name)
def test_chains_stay_in_their_initial_range(case: Operation) -> None:
    """After many steps words still are numbers of the same kind: bounded, exact, and not all equal."""
    rng = np.random.default_rng(1)
    words = tuple(case.loaded(case.initial(rng, 1)) for _ in range(case.states))
    operands = tuple(case.loaded(case.operands(rng, 1)) for _ in range(4))
    for step in range(100):
        words = case.step(words, operands, step)
    if case.name == "fp32":
        assert np.abs(words[0].view(np.float32)).max() <= 2
    if case.name == "fp64":
        assert np.abs(words[0].view(np.int32)).max() <= 2
    if case.name == "fp16x2":
        assert np.abs(words[0].view(np.float16)).max() <= 2
    if case.name == "transcendental":
        assert np.abs(np.log2(np.abs(words[0].view(np.float32)))).max() <= 28
    if case.name == "conversion":
        values = words[0].view(np.float32)
        assert ((values >= 2**13) & (values < 2**14)).all()
    assert len(set(words[0].tolist())) > 1


def test_only_listed_operations_are_predicted_and_measured() -> None:
    rates = {**TOY.architecture.rates_per_cycle, "fp64": 64.0, "int64": 16.0}
    device = toy(rates_per_cycle=rates, latency_cycles={**TOY.architecture.latency_cycles, "fp64": 8.0})
    limits = limits_of(device)
    (rate,), (latency,) = (predict(device, workload, limits) for workload in (RATE, LATENCY))
    assert {p.point.label: p.value for p in rate.points} == pytest.approx(
        {"fp64": 64 * 100 * 1e9, "int64": 16 * 100 * 1e9}, rel=0.02
    )
    assert {p.point.label: p.value for p in latency.points} == pytest.approx({"fp64": 8e-9}, rel=0.05)
    assert predict(TOY, RATE, limits) == predict(TOY, MatrixRate(), limits) == ()
    (sweep,) = RATE.sweeps(device, limits)
    assert {p["case"] for p in RATE.to_verify([sweep])} == {p["case"] for p in sweep.points}


def test_an_operation_without_its_extension_is_left_out_with_the_reason() -> None:
    workload = RATE

    def lacking(*extensions: str) -> set[str]:
        features = having(*extensions)
        points = [point for point in workload.verification() if workload.unsupported(point, features)]
        assert all("does not support" in (workload.unsupported(point, features) or "") for point in points)
        return {workload.case(point).name for point in points}

    assert lacking() == {"fp64", "fp16", "fp16x2", "bf16x2", "dot_int8"}
    assert lacking("cl_khr_fp64", "cl_khr_fp16") == {"bf16x2", "dot_int8"}
    assert lacking("cl_khr_fp64", "cl_nv_device_attribute_query") == set()


CASES = [(unit, form) for unit in UNITS for form in FORMATS if form.name in unit.formats]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_small_integers_are_exact_in_every_format(form: Format) -> None:
    elements = np.random.default_rng(2).integers(-MOST, MOST + 1, (16, form.per_word))
    assert form.elements(form.words(elements)).tolist() == elements.tolist()
    assert form.sums(np.array([-3])).tolist() == [2**32 - 3 if form.integer_sums else 0xC0400000]


def test_fp8_has_four_bits_of_exponent_with_a_bias_of_seven() -> None:
    def value(bits: int) -> float:
        return (-1) ** (bits >> 7) * 2.0 ** ((bits >> 3 & 15) - 7) * (1 + (bits & 7) / 8)

    (form,) = (form for form in FORMATS if form.name == "matrix_fp8")
    assert [value(bits) if bits else 0 for bits in form.encoded] == list(range(-MOST, MOST + 1))


@pytest.mark.parametrize(("unit", "form"), CASES, ids=lambda value: getattr(value, "instruction", "") or value.name)
def test_fragments_contain_every_element(unit: Unit, form: Format) -> None:
    """Once, or in both halves of a wave; products are those of whole matrices."""
    fragments = unit.fragments(form)
    copies = unit.lanes // unit.shared_lanes
    for (rows, columns), shape, times in (
        (fragments.a, (fragments.m, fragments.k), copies),
        (fragments.b, (fragments.k, fragments.n), copies),
        (fragments.d, (fragments.m, fragments.n), 1),
    ):
        counts = np.zeros(shape, dtype=int)
        np.add.at(counts, (rows, columns), 1)
        assert (counts == times).all()
    rng = np.random.default_rng(3)
    a = rng.integers(-2, 3, (fragments.m, fragments.k))
    b = rng.integers(-2, 3, (fragments.k, fragments.n))
    held = fragments.product(a[fragments.a], b[fragments.b])
    assert (held == (a @ b)[fragments.d]).all()


def test_fragments_of_mma_are_those_of_the_ptx_manual() -> None:
    """m16n8k16 and m16n8k32: element i of lane 9 (group 2, second of the group)."""
    half, byte = (UNITS[0].fragments(form) for form in FORMATS if form.name in ("matrix_fp16", "matrix_int8"))
    assert (half.m, half.n, half.k, byte.k) == (16, 8, 16, 32)
    places = list(zip(half.a[0][9].ravel().tolist(), half.a[1][9].ravel().tolist(), strict=True))
    assert places == [(2, 2), (2, 3), (10, 2), (10, 3), (2, 10), (2, 11), (10, 10), (10, 11)]
    assert half.b[0][9].ravel().tolist() == [2, 3, 10, 11]
    assert set(half.b[1][9].ravel().tolist()) == {2}
    assert byte.a[1][9].ravel().tolist() == [4, 5, 6, 7, 4, 5, 6, 7, 20, 21, 22, 23, 20, 21, 22, 23]
    sums = list(zip(half.d[0][9].ravel().tolist(), half.d[1][9].ravel().tolist(), strict=True))
    assert sums == [(2, 2), (2, 3), (10, 2), (10, 3)]


def test_narrower_formats_are_never_slower(database: Database) -> None:
    narrower = ("matrix_tf32", "matrix_fp16", "matrix_int8")
    for entry in database.entries:
        rates = database.device(entry).architecture.rates_per_cycle
        for wide, narrow in pairwise(name for name in narrower if name in rates):
            assert rates[wide] <= rates[narrow], entry
        assert rates.get("fp64", 0) <= rates["fp32"], entry
        assert 2 * rates.get("fp16x2", 0) <= 4 * rates["fp32"], entry


def test_devices_with_another_matrix_peak_reach_it_by_the_instruction_that_documents_name(database: Database) -> None:
    devices = (device for device in map(database.device, database.entries) if device.matrix_peak_flop_per_s)
    units = ((device.architecture.id, unit_of(device.architecture)) for device in devices)
    assert {(architecture, unit.beyond) for architecture, unit in units if unit} == {("hopper_90", "wgmma")}


def test_key_figures_come_from_the_selected_workloads(database: Database) -> None:
    report = predicted(database.device("nvidia/h100_sxm"), select(()), quick=True)[0]
    found = figures.key_figures(report)
    workloads = {figure.place.workload for figure in found if figure.place}
    assert workloads == {*figures.WORKLOADS, "transfer/pageable"}  # which varies too much for fleets of such runs
    names = {figure.name for figure in found}
    assert {
        "fp64 FMA rate",
        "Packed fp16 FMA rate (inline PTX)",
        "int8 dot product rate",
        "Matrix bf16 (mma.sync)",
    } <= names
    by_name = {figure.name: figure for figure in found}
    assert by_name["Packed fp16 FMA rate (inline PTX)"].specification == pytest.approx(133.8e12, rel=2e-3)
    assert by_name["Packed fp16 FMA rate (inline PTX)"].predicted is not None


def test_only_key_figures_selects_their_workloads() -> None:
    assert chosen((), "key-figures") == figures.WORKLOADS
    assert chosen(["memory"], None) == ("memory",)
    assert chosen((), None) == ()
    with pytest.raises(InputError, match="--workload"):
        chosen(["memory"], "key-figures")
    command = command_line(RunOptions(workloads=figures.WORKLOADS, only="key-figures"))
    assert re.fullmatch(r"gpureport --only key-figures", command)
