"""What ``--device auto`` takes among devices that call themselves as real runtimes do."""

import pytest

from gpureport.errors import InputError
from gpureport.measure.selection import choose, in_order
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
    """Return devices of these platforms and names; the earlier, the larger."""
    return tuple(
        PRESENT.model_copy(
            update={"index": n, "platform": platform, "name": name, "kind": kind, "compute_units": 1000 - n}
        )
        for n, (platform, name, kind) in enumerate(named)
    )


@pytest.mark.parametrize("pretender", [OCLGRIND, FPGA_EMULATOR])
@pytest.mark.parametrize("real", [POCL, INTEL_CPU, NVIDIA, FPGA])
def test_auto_takes_the_real_device(pretender: Named, real: Named) -> None:
    """Whichever comes first, and however much larger the other says it is."""
    assert choose(present(pretender, real), "auto").name == real[1]
    assert choose(present(real, pretender), "auto").name == real[1]


def test_auto_takes_a_gpu_of_all_these() -> None:
    """One machine with everything on it."""
    devices = present(OCLGRIND, FPGA_EMULATOR, FPGA, POCL, INTEL_CPU, NVIDIA)
    assert choose(devices, "auto").name == NVIDIA[1]


def test_auto_takes_the_newest_pocl_of_the_runtimes_of_one_cpu() -> None:
    """Whichever comes first, and whatever the others are called."""
    cpus = present(INTEL_CPU, POCL, POCL, POCL)
    drivers = ("2026.22.10.0", "3.1+debian", "6.0", "3.0-rc2")
    devices = [each.model_copy(update={"driver": driver}) for each, driver in zip(cpus, drivers, strict=True)]
    for order in (devices, devices[::-1]):
        assert [each.driver for each in in_order(order)] == ["6.0", "3.1+debian", "3.0-rc2", "2026.22.10.0"]


@pytest.mark.parametrize("pretender", [OCLGRIND, FPGA_EMULATOR])
def test_a_simulator_must_be_named(pretender: Named) -> None:
    """Alone it is not taken either; by its name or number it is."""
    devices = present(pretender)
    with pytest.raises(InputError, match=f"takes no simulator or emulator; name one of: 0 = {pretender[1][:5]}"):
        choose(devices, "auto")
    assert choose(devices, pretender[0].partition("(")[0]) == choose(devices, "0") == devices[0]


@pytest.mark.parametrize("text", ["", " "])
def test_nothing_names_no_device(text: str) -> None:
    """Though every name contains it."""
    with pytest.raises(InputError, match="no device given; use 'auto', an index, or a part of one name of: 0 = NVIDIA"):
        choose(present(NVIDIA), text)
