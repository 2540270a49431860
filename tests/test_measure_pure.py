"""The parts of measuring without a device: logs, queries, selection, limits, sampling."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.errors import DeviceError, InputError
from gpureport.measure.backends import pci
from gpureport.measure.backends.answers import MAX_LOG_CHARACTERS, compilation, describe, first_error, kind, tidy, usage
from gpureport.measure.limits import run_limits, sweep_budget_s
from gpureport.measure.presence import choose, in_order
from gpureport.measure.rounds import MAX_DISPATCHES, dispatches, is_narrow, most_informative, sample_length_s
from gpureport.records.measurement import Usage
from gpureport.spec.models import Kind, PresentDevice
from gpureport.workloads.model import Dispatch, Local
from tests.fake_backend import PRESENT

PTXAS = """
ptxas info    : 0 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'transpose' for 'sm_90'
ptxas info    : Function properties for helper
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for transpose
    40 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 40 bytes cumulative stack size, 4096 bytes smem, 368 bytes cmem[0]
ptxas info    : Compiling entry function 'copy' for 'sm_90'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, 544 bytes cmem[0]
ptxas info    : Compiling entry function 'old' for 'sm_61'
ptxas info    : Used 8 registers, 1024+16 bytes smem, 360 bytes cmem[0]
"""


def test_ptxas_usage_is_read_kernel_by_kernel() -> None:
    assert usage(PTXAS) == {
        "transpose": Usage(
            reported_by="ptxas", registers_per_work_item=32, local_memory_bytes=4096, private_bytes=40, spill_bytes=24
        ),
        "copy": Usage(
            reported_by="ptxas", registers_per_work_item=10, local_memory_bytes=0, private_bytes=0, spill_bytes=0
        ),
        "old": Usage(reported_by="ptxas", registers_per_work_item=8, local_memory_bytes=1040),
    }
    assert usage("1 warning generated.") == {}


def test_log_and_queries_and_local_arguments_make_a_compilation() -> None:
    dispatch = Dispatch("transpose", (64,), (32,), ("data", Local(512), np.uint32(1)))
    facts = {"LOCAL_MEM_SIZE": 4096, "PRIVATE_MEM_SIZE": 7, "WORK_GROUP_SIZE": 768}
    made = compilation(dispatch, "-DX", PTXAS, facts)
    assert (made.registers_per_work_item, made.local_memory_bytes, made.private_bytes) == (32, 4608, 40)
    assert (made.max_work_group, made.wave_size, made.options) == (768, None, "-DX")
    silent = compilation(dispatch, "", "", facts)
    assert (silent.registers_per_work_item, silent.local_memory_bytes, silent.private_bytes) == (None, 4096, 7)


def test_logs_contain_no_folder_of_the_machine() -> None:
    log = (
        "error: /root/.cache/pocl/tempfile_ab12.cl:3:4: use of undeclared identifier 'x'\nsee /home/me/k/common.h:1\0\n"
    )
    assert tidy(log, "life.cl") == "error: life.cl:3:4: use of undeclared identifier 'x'\nsee common.h:1"
    assert len(tidy("x" * 100_000, "life.cl")) == MAX_LOG_CHARACTERS


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("warning: unused\nerror: life.cl:3: no 'x'\nerror: more", "life.cl:3: no 'x'"),
        ("life.cl:1:5: error: no 'x'\n", "life.cl:1:5: error: no 'x'"),
        ("ptxas fatal : Unresolved extern function 'f'", "ptxas fatal : Unresolved extern function 'f'"),
        ("something went wrong\n", "something went wrong"),
        ("", "the log is empty"),
    ],
)
def test_the_first_error_is_found(log: str, line: str) -> None:
    assert first_error(log) == line


def queries(**values: object) -> Callable[[str], object]:
    return values.get


def test_an_nvidia_device_is_described(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "0000:9b:02.1"
    folder.mkdir()
    (folder / "vendor").write_text("0x10de\n")
    (folder / "device").write_text("0x2335\n")
    monkeypatch.setattr(pci.pci_id, "__defaults__", (tmp_path,))
    present = describe(
        3,
        "NVIDIA CUDA\0",
        "OpenCL 3.0 CUDA",
        queries(
            TYPE=4,
            NAME="NVIDIA H200\0",
            VENDOR="NVIDIA Corporation",
            MAX_COMPUTE_UNITS=132,
            MAX_CLOCK_FREQUENCY=1980,
            PROFILING_TIMER_RESOLUTION=1000,
            EXTENSIONS="cl_khr_fp64 cl_nv_device_attribute_query ",
            PCI_DOMAIN_ID_NV=0,
            PCI_BUS_ID_NV=0x9B,
            PCI_SLOT_ID_NV=(2 << 3) + 1,
            WARP_SIZE_NV=32,
            COMPUTE_CAPABILITY_MAJOR_NV=9,
            COMPUTE_CAPABILITY_MINOR_NV=0,
        ),
    )
    assert (present.index, present.platform, present.name, present.kind) == (3, "NVIDIA CUDA", "NVIDIA H200", "gpu")
    assert present.clock_hz == 1.98e9
    assert present.timer_resolution_s == pytest.approx(1e-6)
    assert (present.pci_address, present.pci_id) == ("0000:9b:02.1", "10de:2335")
    assert (present.wave_size, present.compute_capability) == (32, "9.0")
    assert present.extensions == ("cl_khr_fp64", "cl_nv_device_attribute_query")


def test_an_amd_device_is_described() -> None:
    topology = SimpleNamespace(bus=-125, device=0, function=0)  # a signed byte in the vendor's structure
    amd = queries(TYPE=4, TOPOLOGY_AMD=topology, PCIE_ID_AMD=0x744C, WAVEFRONT_WIDTH_AMD=32)
    present = describe(0, "AMD", "2.1", amd)
    assert (present.pci_address, present.pci_id, present.wave_size) == ("0000:83:00.0", "1002:744c", 32)
    assert present.compute_capability is None


def test_queries_that_fail_leave_only_gaps() -> None:
    present = describe(0, "P", "1", queries())
    assert (present.name, present.clock_hz, present.pci_id, present.wave_size) == ("", None, None, None)
    assert kind(queries(TYPE=1 << 4)) is None
    assert [kind(queries(TYPE=bits)) for bits in (2, 4, 8, 5)] == ["cpu", "gpu", "accelerator", "gpu"]


def present(index: int, name: str, **changes: object) -> PresentDevice:
    return PRESENT.model_copy(update={"index": index, "name": name, **changes})


DEVICES = (
    present(0, "pthread-AMD EPYC", kind="cpu", platform="Portable Computing Language", compute_units=128),
    present(1, "Small GPU", compute_units=10),
    present(2, "Large GPU", compute_units=40),
    present(3, "Board", kind="accelerator", compute_units=1000),
    present(4, "Simulated GPU", platform="Oclgrind", compute_units=10_000),
)


@pytest.mark.parametrize(
    ("text", "index"), [("auto", 2), ("1", 1), ("epyc", 0), ("portable", 0), ("small gpu", 1), ("oclgrind", 4)]
)
def test_devices_are_selected(text: str, index: int) -> None:
    assert choose(DEVICES, text).index == index
    assert choose((DEVICES[0], DEVICES[3]), "auto").index == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [("9", "matches no device"), ("Radeon", "matches no device"), ("gpu", "matches several devices")],
)
def test_the_error_of_a_bad_selection_lists_the_devices(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        choose(DEVICES, text)
    assert "1 = Small GPU (Fake Platform, driver 1.0)" in str(caught.value)


OCLGRIND = ("Oclgrind", "Oclgrind Simulator", "gpu")
FPGA_EMULATOR = ("Intel(R) FPGA Emulation Platform for OpenCL(TM)", "Intel(R) FPGA Emulation Device", "accelerator")
LLVMPIPE = ("rusticl", "llvmpipe (LLVM 19.1.7, 256 bits)", "cpu")
POCL = ("Portable Computing Language", "pthread-AMD EPYC", "cpu")
INTEL_CPU = ("Intel(R) OpenCL", "AMD EPYC", "cpu")
NVIDIA = ("NVIDIA CUDA", "NVIDIA H200", "gpu")
FPGA = ("Intel(R) FPGA SDK for OpenCL(TM)", "pac_a10 : Intel PAC Platform", "accelerator")

Named = tuple[str, str, Kind]


def runtimes(*named: Named) -> tuple[PresentDevice, ...]:
    return tuple(
        present(n, name, platform=platform, kind=kind, compute_units=1000 - n)
        for n, (platform, name, kind) in enumerate(named)
    )


@pytest.mark.parametrize("simulator", [OCLGRIND, FPGA_EMULATOR, LLVMPIPE])
@pytest.mark.parametrize("real", [POCL, INTEL_CPU, NVIDIA, FPGA])
def test_auto_selects_the_real_device(simulator: Named, real: Named) -> None:
    """In either order, and even if the simulator reports a larger size."""
    assert choose(runtimes(simulator, real), "auto").name == real[1]
    assert choose(runtimes(real, simulator), "auto").name == real[1]


def test_auto_selects_the_newest_pocl_among_the_runtimes_of_one_cpu() -> None:
    cpus = runtimes(INTEL_CPU, POCL, POCL, POCL)
    drivers = ("2026.22.10.0", "3.1+debian", "6.0", "3.0-rc2")
    devices = [each.model_copy(update={"driver": driver}) for each, driver in zip(cpus, drivers, strict=True)]
    for order in (devices, devices[::-1]):
        assert [each.driver for each in in_order(order)] == ["6.0", "3.1+debian", "3.0-rc2", "2026.22.10.0"]


@pytest.mark.parametrize("simulator", [OCLGRIND, FPGA_EMULATOR, LLVMPIPE])
def test_a_simulator_must_be_selected_explicitly(simulator: Named) -> None:
    """``auto`` does not select it even if it is the only device; its name or index does."""
    devices = runtimes(simulator)
    with pytest.raises(InputError, match=f"or software renderer; select one of: 0 = {simulator[1][:5]}"):
        choose(devices, "auto")
    assert choose(devices, simulator[0].partition("(")[0]) == choose(devices, "0") == devices[0]


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_name_selects_no_device(text: str) -> None:
    with pytest.raises(InputError, match="no device given; use 'auto', an index, or a part of one name of: 0 = NVIDIA"):
        choose(runtimes(NVIDIA), text)


def test_memory_limits() -> None:
    gpu = run_limits(PRESENT, 1e12, quick=True)
    assert (gpu.max_bytes, gpu.max_buffer_bytes, gpu.quick) == (0.6 * 2**30, 2**28, True)
    cpu = run_limits(DEVICES[0], 2**28, quick=False)
    assert (cpu.max_bytes, cpu.max_buffer_bytes) == (0.4 * 2**28, 0.4 * 2**28)
    with pytest.raises(DeviceError, match="has 10 MiB of memory free; measuring needs 107 MiB"):
        run_limits(PRESENT, 10 * 2**20, quick=True)


def test_budgets() -> None:
    assert sweep_budget_s("gpu", quick=False, spent_s=30.0, sweeps_left=50) == pytest.approx(2.0)
    assert sweep_budget_s("gpu", quick=True, spent_s=5.0, sweeps_left=20) == pytest.approx(1.0)
    assert sweep_budget_s("cpu", quick=False, spent_s=0.0, sweeps_left=1) == 10.0
    assert sweep_budget_s("cpu", quick=False, spent_s=1e3, sweeps_left=10) == 2.0
    assert sweep_budget_s("gpu", quick=False, spent_s=1e3, sweeps_left=10) == 0.5


def test_points_are_added_where_a_curve_bends_and_not_on_straight_lines() -> None:
    sizes = [2.0 ** (step / 4) for step in range(41)]
    step = [1.0 if size < 40 else 4.0 for size in sizes]  # between the points 21 and 22
    known = [time if index % 4 == 0 else None for index, time in enumerate(step)]
    assert most_informative(sizes, known, 1) == [22]
    assert set(most_informative(sizes, known, 9)) == {18, 22, 26}
    for index in (18, 22, 26):
        known[index] = step[index]
    assert most_informative(sizes, known, 1) in ([21], [19])
    known = [1 / size if index % 4 == 0 else None for index, size in enumerate(sizes)]
    assert most_informative(sizes, known, 9) == most_informative([1.0], [1.0], 9) == []
    assert most_informative(sizes, [1.0, *[None] * 39, 5.0], 9) == []


def test_samples_are_long_compared_with_tick_and_launch_and_narrow_within_a_percent() -> None:
    assert sample_length_s(1e-9, 1e-6) == 200e-6
    assert sample_length_s(1e-6, 30e-6) == pytest.approx(600e-6)
    assert sample_length_s(1e-3, 30e-6) == pytest.approx(20e-3)
    assert is_narrow([1.0] * 3)
    assert is_narrow([1.0, 1.01, 1.015, 1.0, 1.005, 1.01, 1.01])
    assert not is_narrow([1.0, 1.03, 1.0, 1.0, 1.0, 1.03, 1.03])


@given(st.floats(1e-7, 1e-2), st.floats(0, 1), st.integers(1, 4))
def test_a_sample_is_the_fewest_whole_cycles_that_are_long_enough(length: float, each: float, cycle: int) -> None:
    count = dispatches(length, each, cycle)
    assert 1 <= count <= MAX_DISPATCHES
    if each >= length:
        assert count == 1
    else:
        assert count % cycle == 0
        assert count * each >= length * (1 - 1e-9) or count > MAX_DISPATCHES - cycle
        assert (count - cycle) * each <= length * (1 + 1e-9)
