"""The selection of ``--device auto`` among devices with the names of real runtimes."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest

from gpureport.errors import InputError
from gpureport.measure.presence import choose, in_order
from gpureport.spec.models import Kind, PresentDevice
from tests.fake_backend import PRESENT

OCLGRIND = ("Oclgrind", "Oclgrind Simulator", "gpu")
FPGA_EMULATOR = ("Intel(R) FPGA Emulation Platform for OpenCL(TM)", "Intel(R) FPGA Emulation Device", "accelerator")
POCL = ("Portable Computing Language", "pthread-AMD EPYC", "cpu")
INTEL_CPU = ("Intel(R) OpenCL", "AMD EPYC", "cpu")
NVIDIA = ("NVIDIA CUDA", "NVIDIA H200", "gpu")
FPGA = ("Intel(R) FPGA SDK for OpenCL(TM)", "pac_a10 : Intel PAC Platform", "accelerator")

Named = tuple[str, str, Kind]


def present(*named: Named) -> tuple[PresentDevice, ...]:
    return tuple(
        PRESENT.model_copy(
            update={"index": n, "platform": platform, "name": name, "kind": kind, "compute_units": 1000 - n}
        )
        for n, (platform, name, kind) in enumerate(named)
    )


@pytest.mark.parametrize("simulator", [OCLGRIND, FPGA_EMULATOR])
@pytest.mark.parametrize("real", [POCL, INTEL_CPU, NVIDIA, FPGA])
def test_auto_selects_the_real_device(simulator: Named, real: Named) -> None:
    """In either order, and even if the simulator reports a larger size."""
    assert choose(present(simulator, real), "auto").name == real[1]
    assert choose(present(real, simulator), "auto").name == real[1]


def test_auto_selects_the_newest_pocl_among_the_runtimes_of_one_cpu() -> None:
    cpus = present(INTEL_CPU, POCL, POCL, POCL)
    drivers = ("2026.22.10.0", "3.1+debian", "6.0", "3.0-rc2")
    devices = [each.model_copy(update={"driver": driver}) for each, driver in zip(cpus, drivers, strict=True)]
    for order in (devices, devices[::-1]):
        assert [each.driver for each in in_order(order)] == ["6.0", "3.1+debian", "3.0-rc2", "2026.22.10.0"]


@pytest.mark.parametrize("simulator", [OCLGRIND, FPGA_EMULATOR])
def test_a_simulator_must_be_selected_explicitly(simulator: Named) -> None:
    """``auto`` does not select it even if it is the only device; its name or index does."""
    devices = present(simulator)
    with pytest.raises(InputError, match=f"selects no simulator or emulator; select one of: 0 = {simulator[1][:5]}"):
        choose(devices, "auto")
    assert choose(devices, simulator[0].partition("(")[0]) == choose(devices, "0") == devices[0]


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_name_selects_no_device(text: str) -> None:
    with pytest.raises(InputError, match="no device given; use 'auto', an index, or a part of one name of: 0 = NVIDIA"):
        choose(present(NVIDIA), text)
