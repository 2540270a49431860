"""The host processor as the operating system reports it."""

import platform
from pathlib import Path

import pytest

from gpureport.measure.backends import sensors
from gpureport.spec.cores import cpu_values, host_values
from gpureport.spec.database import Database
from gpureport.spec.host import read_host
from tests.builders import altered, host_of, on_processor
from tests.fake_backend import PRESENT


def _cache(root: Path, index: int, **files: str) -> None:
    folder = root / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """Lay out a processor as Linux does: two threads a core, L3 for eight processors."""
    root = tmp_path / "cache"
    _cache(root, 0, level="1", type="Data", size="48K", shared_cpu_list="0,16")
    _cache(root, 1, level="1", type="Instruction", size="32K", shared_cpu_list="0,16")
    _cache(root, 2, level="2", type="Unified", size="2048K", shared_cpu_list="0,16")
    _cache(root, 3, level="3", type="Unified", size="32M", shared_cpu_list="0-3,16-19")
    _cache(root, 4, level="4", type="Unified", size="broken", shared_cpu_list="0")
    _cache(root, 5, level="2", type="Unified", size="-32K", shared_cpu_list="0")
    _cache(root, 6, level="2", type="Unified", size="32K", shared_cpu_list="3-0")
    return root


def test_caches_are_read_as_linux_lists_them(sysfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nmodel name\t: A processor\n")

    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(32))
    host = read_host(sysfs, cpuinfo)

    assert host == host_of(
        32,
        host.memory_bytes,
        clock_hz=host.facts.clock_hz,
        instruction_set=platform.machine(),
        name="A processor",
        l1=(48 << 10, 16, 2),
        l2=(2 << 20, 16, 2),
        l3=(32 << 20, 4, 8),
    )
    assert host.memory_bytes > 0


@pytest.mark.parametrize(("usable", "units", "instances"), [(3, 3, 1), (12, 12, 2), (3, 32, 4)])
def test_usable_processors_share_caches_as_listed(
    usable: int, units: int, instances: int, sysfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if their number is no multiple of those that share a cache, or OpenCL uses more."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(usable))
    values = host_values(read_host(sysfs), units)

    assert (values["caches.L1.capacity"].value, values["caches.L2.capacity"].value) == (24 << 10, 1 << 20)
    assert values["caches.L1.capacity"].provenance.note == "48 KiB for 2 hardware threads"
    assert (values["caches.L3.capacity"].value, values["caches.L3.partitions"].value) == (instances << 25, instances)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("model name\t:\nmodel name\t: A processor\nModel\t: A board\n", "A processor"),
        (
            "BogoMIPS\t: 108.00\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
            "Raspberry Pi 4 Model B",
        ),
    ],
)
def test_arm_reports_the_board_if_it_reports_no_processor(content: str, name: str, sysfs: Path, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(content)

    assert read_host(sysfs, tmp_path / "cpuinfo").facts.name.startswith(name)


NEOVERSE = """\
processor\t: {number}
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs
CPU implementer\t: {implementer}
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: {part}
CPU revision\t: 1

"""
"""As Linux on machines with Neoverse cores lists each processor: without vendor, family and name."""


def _cpuinfo(*parts: str, implementer: str = "0x41") -> str:
    return "".join(
        NEOVERSE.format(number=number, part=part, implementer=implementer) for number, part in enumerate(parts)
    )


@pytest.mark.parametrize(
    ("implementer", "parts", "name", "architecture"),
    [
        ("0x41", ["0xd0c", "0xd0c"], "Neoverse-N1", "neoverse_n1"),
        ("0x41", ["0xd40"], "Neoverse-V1", "neoverse_v1"),
        ("0x41", ["0xd49"], "Neoverse-N2", "neoverse_n2"),
        ("0x41", ["0xd4f"], "Neoverse-V2", "neoverse_v2"),
        ("0x41", ["0xd84"], "Neoverse-V3", "neoverse_v3"),
        ("0x6d", ["0xd49"], "arm", "neoverse_n2"),  # Microsoft
        ("0x43", ["0x0af"], "arm", "thunderx2"),
        ("0x46", ["0x001"], "arm", "a64fx"),
        ("0x61", ["0x022", "0x023"], "arm", "aarch64"),  # Apple
        ("0x00", ["0x000"], "arm", "aarch64"),  # the same in a virtual machine of macOS
        ("0x41", ["0xd0b"], "Cortex-A76", "aarch64"),
        ("0x41", ["0xd05", "0xd05", "0xd0b"], "Cortex-A55 and Cortex-A76", "aarch64"),
        ("0x41", ["0xfff"], "arm", "aarch64"),
    ],
)
def test_arm_s_cores_are_known_by_their_part(
    implementer: str,
    parts: list[str],
    name: str,
    architecture: str,
    sysfs: Path,
    tmp_path: Path,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cores without a file, and several types of core, get the values of any Arm core."""
    (tmp_path / "cpuinfo").write_text(_cpuinfo(*parts, implementer=implementer))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setattr("platform.processor", lambda: "arm")
    here = on_processor(database, read_host(sysfs, tmp_path / "cpuinfo", kernel=tmp_path / "none"))
    device, core = here.device("cpu/aarch64"), here.core_type(architecture)

    assert (here.host.facts.name, here.host.emulated) == (name, False)
    assert device.architecture.id == architecture
    assert device.cycles(device.caches[1].latency_cycles) == pytest.approx(core.l2_latency_s)
    assert [cache.capacity_bytes for cache in device.caches[:2]] == [24 << 10, 1 << 20]  # two threads share each


X86 = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : AMD EPYC\ncpu MHz : 2596\n"


@pytest.mark.parametrize(
    ("machine", "cpuinfo", "kernel"),
    [
        ("aarch64", X86, ""),  # QEMU in user mode before version 8.2 shows the kernel's own file
        ("x86_64", _cpuinfo("0xd0c"), ""),
        ("aarch64", _cpuinfo("0x051", implementer="0x00"), ""),  # later versions write one: of QEMU's own model,
        ("aarch64", _cpuinfo("0xd0c"), "x86_64"),  # or of a model of a real core
        ("x86_64", X86, "aarch64"),
    ],
)
def test_an_emulated_processor_is_not_that_of_the_machine(
    machine: str,
    cpuinfo: str,
    kernel: str,
    sysfs: Path,
    tmp_path: Path,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linux before version 6.1 does not state its own instruction set."""
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    if kernel:
        (tmp_path / "arch").write_text(f"{kernel}\n")
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("platform.processor", lambda: "")
    here = on_processor(database, read_host(sysfs, tmp_path / "cpuinfo", kernel=tmp_path / "arch"))
    facts = here.host.facts
    monkeypatch.setattr(sensors, "read_host", lambda: here.host)
    found = here.match(sensors.with_system(altered(PRESENT, kind="cpu", name="cpu")))

    assert (facts.name, facts.vendor, facts.clock_hz, here.host.emulated) == (machine, "", None, True)
    assert (found.entry, found.draft, found.device.architecture.name) == (None, True, "software")
    assert "of the emulation" in found.notes[0]
    assert here.match(altered(PRESENT, name="GeForce RTX 3090")).entry == "nvidia/rtx_3090"


@pytest.mark.parametrize(("machine", "cpuinfo"), [("armv7l", _cpuinfo("0xd08")), ("i686", X86)])
def test_a_32_bit_system_is_not_emulated(
    machine: str, cpuinfo: str, sysfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert not read_host(sysfs, tmp_path / "cpuinfo").emulated


@pytest.mark.parametrize(
    ("machine", "family"), [("aarch64", "aarch64"), ("arm64", "aarch64"), ("x86_64", "x86_64"), ("AMD64", "x86_64")]
)
def test_the_operating_system_s_words_for_an_instruction_set(machine: str, family: str) -> None:
    assert host_of(1, instruction_set=machine).facts.generic == family


def test_capacities_are_those_of_a_compute_unit() -> None:
    """Private caches are shared out among hardware threads; instances of L3 add up."""
    values = host_values(host_of(16, l1=(48 << 10, 8), l2=(2 << 20, 8), l3=(32 << 20, 2)))

    assert values["caches.L1.capacity"].value == 24 << 10
    assert values["caches.L2.capacity"].value == 1 << 20
    assert values["caches.L3.capacity"].value == 64 << 20
    assert values["caches.L3.partitions"].value == 2
    assert values["caches.L1.capacity"].provenance.kind == "queried"
    assert values["compute_units"].value == 16
    assert values["memory.bandwidth"].value == 200e9
    assert values["memory.bandwidth"].provenance.kind == "assumed"


def test_memory_is_not_known_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr("psutil.virtual_memory", missing)
    assert read_host(tmp_path / "nowhere", tmp_path / "neither").memory_bytes is None


def test_what_opencl_reports_wins_and_the_last_level_is_assumed_without_sysfs(tmp_path: Path) -> None:
    """A container may see fewer compute units than the host has processors."""
    present = altered(PRESENT, kind="cpu", compute_units=2, clock_hz=2.4e9)
    seen = cpu_values(host_of(16, clock_hz=3.5e9), None, present)
    host = read_host(tmp_path / "nowhere", tmp_path / "neither")
    values = host_values(host_of(4))

    assert (seen["compute_units"].value, seen["clock"].value, seen["memory.bandwidth"].value) == (2, 2.4e9, 50e9)
    assert host.facts.l1 is host.facts.l2 is host.facts.l3 is None
    assert host.facts.name
    assert values["caches.L3.capacity"].value == 8 << 20
    assert values["caches.L3.capacity"].provenance.kind == values["clock"].provenance.kind == "assumed"
