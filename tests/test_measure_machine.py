"""Description of the machine, and queries of NVIDIA's management library, through a fake of the library."""

import getpass
import platform
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from gpureport.measure.backends import machine, nvidia, pci, sensors
from tests.builders import altered, host_of
from tests.fake_backend import PRESENT

GPU = PRESENT.model_copy(update={"vendor": "NVIDIA Corporation", "pci_address": "0000:9b:00.0"})


def test_the_machine_is_described_without_names_of_users_or_folders() -> None:
    facts = machine.machine_facts()
    assert facts["cores"] >= 1
    assert facts["memory_bytes"] > 2**28
    assert facts["packages"]["gpureport"]
    assert platform.python_version() in facts["python"]
    text = repr(facts)
    assert str(Path.home()) not in text
    assert platform.node() not in text.split()
    assert f"/{getpass.getuser()}" not in text


def test_a_container_limits_memory(tmp_path: Path) -> None:
    assert machine.cgroup_free_bytes(tmp_path) == float("inf")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.cgroup_limit_bytes(tmp_path) == float("inf")
    (tmp_path / "memory.max").write_text("1000\n")
    assert machine.cgroup_free_bytes(tmp_path) == 1000
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 50\n")
    assert machine.cgroup_free_bytes(tmp_path) == 350
    cpu = PRESENT.model_copy(update={"kind": "cpu", "global_memory_bytes": 1000})
    assert sensors.free_memory_bytes(cpu) == 1000  # never more than the device has


@pytest.mark.parametrize(
    ("name", "listed_hz", "clock_hz"),
    [("Portable Computing Language", None, None), ("Portable Computing Language", 3e9, 1e9), ("Intel(R)", None, 1e9)],
)
def test_pocl_s_clock_counts_if_the_system_lists_one(
    name: str, listed_hz: float | None, clock_hz: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Arm, PoCL takes BogoMIPS for a clock that the system does not list: 50 MHz of an Ampere Altra."""
    monkeypatch.setattr(sensors, "read_host", lambda: host_of(1, clock_hz=listed_hz))
    device = altered(PRESENT, platform=name, kind="cpu")
    assert sensors.with_system(device).clock_hz == clock_hz


class FakeNvml(ModuleType):
    """Supports some queries of one device."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, *, driver: bool = True) -> None:
        super().__init__("pynvml")
        self.driver = driver
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        if not self.driver:
            raise self.NVMLError
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByPciBusId(self, address: bytes) -> object:  # noqa: N802
        if address != b"0000:9b:00.0":
            raise self.NVMLError
        return "handle"

    def nvmlDeviceGetMemoryInfo(self, handle: object) -> SimpleNamespace:  # noqa: N802
        assert handle == "handle"
        return SimpleNamespace(free=12345)

    def nvmlDeviceGetClockInfo(self, handle: object, clock: int) -> int:  # noqa: ARG002, N802
        return {1: 1980, 2: 3201}[clock]

    def nvmlDeviceGetPowerUsage(self, handle: object) -> int:  # noqa: ARG002, N802
        return 118_400

    def __getattr__(self, name: str) -> object:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def refuse(*_: object) -> object:
            raise self.NVMLError

        return refuse


def test_supported_queries_are_stored_and_others_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert sensors.facts(GPU) == {"power": "118 W", "memory clock": "3201 MHz"}
    assert sensors.free_memory_bytes(GPU) == 12345
    assert library.open == 0


@pytest.mark.parametrize("case", ["no library", "no driver", "no address", "other device"])
def test_values_are_unknown_if_anything_is_missing(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    device = {"no address": PRESENT, "other device": GPU.model_copy(update={"pci_address": "0000:01:00.0"})}
    monkeypatch.setitem(sys.modules, "pynvml", None if case == "no library" else FakeNvml(driver=case != "no driver"))
    assert sensors.facts(device.get(case, GPU)) == {}
    assert sensors.free_memory_bytes(device.get(case, GPU)) == GPU.global_memory_bytes


def test_the_only_device_needs_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a virtual machine, slot numbers may differ from those of the driver."""
    library = FakeNvml()
    library.nvmlDeviceGetCount = lambda: 1
    library.nvmlDeviceGetHandleByIndex = lambda index: "handle" if index == 0 else None
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert sensors.free_memory_bytes(GPU.model_copy(update={"pci_address": "0000:01:00.0"})) == 12345
    intel = GPU.model_copy(update={"vendor": "Intel"})
    assert sensors.free_memory_bytes(intel) == intel.global_memory_bytes


def test_an_error_while_the_library_is_open_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library := FakeNvml())
    with pytest.raises(FakeNvml.NVMLError), nvidia.opened(GPU):
        raise FakeNvml.NVMLError
    assert library.open == 0


def test_a_slot_is_device_and_function_or_only_the_device(tmp_path: Path) -> None:
    assert pci.nvidia_address(0, 0, 6, tmp_path) == "0000:00:00.6"
    (tmp_path / "0000:00:06.0").mkdir()
    assert pci.nvidia_address(0, 0, 6, tmp_path) == "0000:00:06.0"
