"""NVIDIA entries compared with listed peaks, memory interfaces and driver names."""

from collections import Counter

import pytest

from gpureport.spec.database import Database
from gpureport.spec.models import PresentDevice
from gpureport.spec.names import plain
from tests.builders import altered
from tests.make_report import H200

PEAKS = {"k40": 4.291, "a10g": 35.0, "gh200": 66.9}
"""Listed FP32 peaks in TFLOP/s of entries without one (k40: NVIDIA, base clock; a10g: Amazon; gh200: a printout)."""

INTERFACES = {
    "k40": (384, 6.0), "gtx_980": (256, 7.0), "gtx_1080_ti": (352, 11), "p100_sxm2": (4096, 1.43),
    "v100s_pcie_32": (4096, 2.214), "rtx_2080_ti": (352, 14), "t4": (256, 10), "a100_pcie_80": (5120, 3.024),
    "rtx_3090": (384, 19.5), "a10": (384, 12.5), "rtx_4090": (384, 21), "l4": (192, 12.5), "rtx_5090": (512, 28),
    "rtx_5080": (256, 30), "gtx_970": (224, 7.0), "gtx_1660": (192, 8.0),
}  # fmt: skip
"""Width of the memory interface in bits, and Gbit/s of each."""


REPORTED = (
    ("NVIDIA GeForce GTX 1060 3GB", 9, 1759, "gtx_1060_3gb"),
    ("GeForce GTX 1080", 20, 1733, "gtx_1080"),
    ("GeForce GTX 750", 4, 1137, "gtx_750"),
    ("GeForce GTX 960", 8, 1329, "gtx_960"),
    ("GeForce GTX 980", 16, 1266, "gtx_980"),
    ("GeForce GTX TITAN", 14, 928, "gtx_titan"),
    ("GeForce RTX 2080", 46, 1815, "rtx_2080"),
    ("GeForce RTX 2080 SUPER", 48, 1830, "rtx_2080_super"),
    ("GeForce RTX 2080 Ti", 68, 1650, "rtx_2080_ti"),
    ("TITAN V", 80, 1455, "titan_v"),
    ("NVIDIA TITAN V", 80, 1455, "titan_v"),
    ("Quadro GV100", 80, 1627, "quadro_gv100"),
    ("Tesla K40c", 15, 745, "k40"),
    ("Tesla K80", 13, 823, "k80"),
    ("Tesla P40", 30, 1531, "p40"),
    ("Tesla T4", 40, 1590, "t4"),
    ("Tesla V100-PCIE-32GB", 80, 1380, "v100_pcie_32"),
    ("NVIDIA Tesla V100-SXM2-16GB", 80, 1530, "v100_sxm2_16"),
    ("NVIDIA GeForce RTX 5060", 30, 2512, "rtx_5060"),
    ("NVIDIA GH200 480GB", 132, 1980, "gh200"),
)
"""Name, units and clock in MHz as drivers report them (krrishnarraj/clpeak logs; GH200: mredenti/PowerCapping)."""


def present(
    name: str, compute_units: int, memory_gib: float, pci_id: str | None = None, clock_mhz: float = 0.0
) -> PresentDevice:
    """Return what NVIDIA's driver says of a device."""
    answers = {"name": name, "compute_units": compute_units, "clock_hz": clock_mhz * 1e6 or None, "pci_id": pci_id}
    return altered(H200, **answers, global_memory_bytes=int(memory_gib * 2**30), compute_capability=None)


def test_units_lanes_and_clock_give_the_listed_peak(database: Database) -> None:
    """A multiply-add counts as two."""
    for entry in (entry for entry in database.entries.values() if entry.id.startswith("nvidia/")):
        listed = entry.file.flops.value if entry.file.flops else PEAKS[entry.path.stem] * 1e12
        assert 2 * database.device(entry.id).rate_per_s("fp32") == pytest.approx(listed, rel=2e-3), entry.id


@pytest.mark.parametrize("name", INTERFACES)
def test_width_and_data_rate_give_the_bandwidth(database: Database, name: str) -> None:
    """In GB/s, to half a percent, since boards differ in the last digit of the clock."""
    bits, rate = INTERFACES[name]
    device = database.device(f"nvidia/{name}")

    assert device.memory.bandwidth_bytes_per_s / 1e9 == pytest.approx(bits * rate / 8, rel=5e-3)


def test_only_two_entries_share_a_name(database: Database) -> None:
    """Drivers report the same name for both RTX 3080; the name selects the entry with exactly that title."""
    entries = [entry for entry in database.entries.values() if entry.id.startswith("nvidia/")]
    names = [{plain(name) for name in (entry.file.name, *entry.file.opencl.names)} for entry in entries]

    assert [name for name, count in Counter(n for each_names in names for n in each_names).items() if count > 1] == [
        "rtx3080"
    ]
    assert database.resolve("NVIDIA GeForce RTX 3080").id == "nvidia/rtx_3080"
    assert database.resolve("rtx 3080 12gb").id == "nvidia/rtx_3080_12gb"


def test_pci_ids_are_shared_only_if_subsystem_ids_distinguish_boards(database: Database) -> None:
    """Quadro RTX 6000 and 8000."""
    ids = Counter(pci_id for entry in database.entries.values() for pci_id in entry.file.pci_ids)
    shared = sorted(pci_id for pci_id, count in ids.items() if count > 1)

    assert [pci_id for pci_id in shared if pci_id.startswith("10de:")] == ["10de:1e30", "10de:1e78"]


@pytest.mark.parametrize(("name", "units", "clock_mhz", "entry"), REPORTED, ids=[case[0] for case in REPORTED])
def test_what_drivers_report_finds_the_entry(
    database: Database, name: str, units: int, clock_mhz: float, entry: str
) -> None:
    """With its own clock: at least a tenth below the listed one is another board."""
    listed = database.device(f"nvidia/{entry}")
    found = database.match(present(name, units, listed.memory.size_bytes / 2**30, clock_mhz=clock_mhz))

    assert found.entry_id == listed.id
    assert clock_mhz * 1e6 > 0.9 * listed.clock_hz


@pytest.mark.parametrize(
    ("name", "units", "memory_gib"),
    [
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 76, 16),
        ("NVIDIA GeForce RTX 3080 Ti Laptop GPU", 58, 16),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", 30, 6),
        ("NVIDIA RTX A5000 Laptop GPU", 48, 16),
        ("NVIDIA GeForce RTX 2080 with Max-Q Design", 46, 8),
        ("NVIDIA GeForce GTX 1070", 16, 8),
    ],
)
def test_laptop_parts_are_not_their_desktop_namesakes(
    database: Database, name: str, units: int, memory_gib: float
) -> None:
    """They have other clocks and bandwidths; if only the name is the same, the number of units distinguishes them."""
    assert database.match(present(name, units, memory_gib)).entry_id is None


def test_the_pci_id_distinguishes_boards_that_share_a_name(database: Database) -> None:
    """The RTX 3080 with 12 GiB has two units more; Quadro RTX 6000 and 8000 share ids, but not names."""
    larger = present("NVIDIA GeForce RTX 3080", 70, 12, "10de:220a")

    assert database.match(larger).entry_id == "nvidia/rtx_3080_12gb"
    assert database.match(present("NVIDIA GeForce RTX 3080", 68, 10, "10de:2206")).entry_id == "nvidia/rtx_3080"
    assert database.match(present("Quadro RTX 8000", 72, 48, "10de:1e30")).entry_id == "nvidia/quadro_rtx_8000"


def test_a_card_sold_with_two_sizes_of_memory_takes_what_is_there(database: Database) -> None:
    """Without a warning: neither is the wrong one."""
    found = database.match(present("NVIDIA GeForce RTX 4060 Ti", 34, 15.7, "10de:2805"))

    assert (found.entry_id, found.notes) == ("nvidia/rtx_4060_ti", ())
    assert found.device.memory.size_bytes == pytest.approx(15.7 * 2**30, abs=1)
