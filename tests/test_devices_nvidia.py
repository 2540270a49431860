"""The NVIDIA part of the database, held against listed peaks, memory interfaces and driver names."""

from collections import Counter

import pytest

from gpureport.spec.database import Database, load_database, plain
from gpureport.spec.models import PresentDevice

PEAKS = {
    "gtx_titan": 4.709, "gtx_780_ti": 5.345, "k40": 4.291, "k80": 4.113, "gtx_750": 1.111, "gtx_750_ti": 1.389,
    "gtx_960": 2.413, "gtx_970": 3.920, "gtx_980": 4.981, "gtx_980_ti": 6.060, "gtx_titan_x": 6.691, "m40": 6.832,
    "m60": 4.825, "gtx_1050_ti": 2.138, "gtx_1060_3gb": 3.935, "gtx_1060_6gb": 4.375, "gtx_1070": 6.463,
    "gtx_1070_ti": 8.186, "gtx_1080": 8.873, "gtx_1080_ti": 11.34, "titan_xp": 12.15, "p6000": 12.63, "p40": 11.76,
    "p100_pcie_16": 9.526, "p100_sxm2": 10.61, "v100_pcie_16": 14.13, "v100_pcie_32": 14.13, "v100_sxm2_16": 15.67,
    "v100_sxm2_32": 15.67, "v100s_pcie_32": 16.35, "titan_v": 14.90, "quadro_gv100": 16.66, "gtx_1650": 2.984,
    "gtx_1660": 5.027, "gtx_1660_super": 5.027, "gtx_1660_ti": 5.437, "rtx_2060": 6.451, "rtx_2060_super": 7.181,
    "rtx_2070": 7.465, "rtx_2070_super": 9.062, "rtx_2080": 10.07, "rtx_2080_super": 11.15, "rtx_2080_ti": 13.45,
    "titan_rtx": 16.31, "quadro_rtx_6000": 16.31, "quadro_rtx_8000": 16.31, "t1000": 2.500, "t4": 8.141, "a30": 10.32,
    "a100_pcie_40": 19.49, "a100_pcie_80": 19.49, "a100_sxm_40": 19.49, "a100_sxm_80": 19.49, "rtx_3050": 9.098,
    "rtx_3060": 12.74, "rtx_3060_ti": 16.20, "rtx_3070": 20.31, "rtx_3070_ti": 21.75, "rtx_3080": 29.77,
    "rtx_3080_12gb": 30.64, "rtx_3080_ti": 34.10, "rtx_3090": 35.58, "rtx_3090_ti": 40.00, "a2": 4.531, "a10": 31.24,
    "a10g": 35.0, "a40": 37.42, "rtx_a2000": 7.987, "rtx_a4000": 19.17, "rtx_a5000": 27.77, "rtx_a6000": 38.71,
    "rtx_4060": 15.11, "rtx_4060_ti": 22.06, "rtx_4070": 29.15, "rtx_4070_super": 35.48, "rtx_4070_ti": 40.09,
    "rtx_4070_ti_super": 44.10, "rtx_4080": 48.74, "rtx_4080_super": 52.22, "rtx_4090": 82.58, "rtx_6000_ada": 91.06,
    "l4": 30.29, "l40": 90.52, "l40s": 91.61, "h100_pcie": 51.22, "h100_sxm": 66.91, "h100_nvl": 60.32, "gh200": 66.91,
    "h200_sxm": 66.91, "rtx_5060": 19.18, "rtx_5060_ti": 23.70, "rtx_5070": 30.87, "rtx_5070_ti": 43.94,
    "rtx_5080": 56.28, "rtx_5090": 104.8, "rtx_pro_6000": 126.0, "b200": 74.45,
}  # fmt: skip
"""Listed FP32 peaks in TFLOP/s (TechPowerUp; k40: NVIDIA's, at the base clock; a10g: Amazon's)."""

INTERFACES = {
    "k40": (384, 6.0), "gtx_980": (256, 7.0), "gtx_1080_ti": (352, 11), "p100_sxm2": (4096, 1.43),
    "v100s_pcie_32": (4096, 2.214), "rtx_2080_ti": (352, 14), "t4": (256, 10), "a100_pcie_80": (5120, 3.024),
    "rtx_3090": (384, 19.5), "a10": (384, 12.5), "rtx_4090": (384, 21), "l4": (192, 12.5), "rtx_5090": (512, 28),
    "rtx_5080": (256, 30), "b200": (7680, 7.99), "gtx_970": (224, 7.0), "gtx_1660": (192, 8.0),
}  # fmt: skip
"""Width of the memory interface in bits, and Gbit/s of each."""


@pytest.fixture(scope="module")
def database() -> Database:
    """Read the shipped database once."""
    return load_database()


def present(name: str, compute_units: int, memory_gib: float, pci_id: str | None = None) -> PresentDevice:
    """Return what NVIDIA's driver says of a device."""
    return PresentDevice(
        index=0,
        platform="NVIDIA CUDA",
        platform_version="OpenCL 3.0 CUDA",
        name=name,
        vendor="NVIDIA Corporation",
        kind="gpu",
        driver="580.126.09",
        version="OpenCL 3.0 CUDA",
        compute_units=compute_units,
        clock_hz=1.5e9,
        global_memory_bytes=int(memory_gib * 2**30),
        max_allocation_bytes=2**30,
        global_cache_bytes=compute_units << 15,
        cache_line_bytes=128,
        local_memory_bytes=48 << 10,
        max_work_group=1024,
        max_work_item_sizes=(1024, 1024, 64),
        timer_resolution_s=1e-6,
        extensions=(),
        pci_id=pci_id,
        wave_width=32,
    )


def test_every_entry_has_a_listed_peak(database: Database) -> None:
    """So that none escapes the next test."""
    assert {entry.removeprefix("nvidia/") for entry in database.entries if entry.startswith("nvidia/")} == set(PEAKS)


@pytest.mark.parametrize("name", PEAKS)
def test_units_lanes_and_clock_give_the_listed_peak(database: Database, name: str) -> None:
    """A multiply-add counts as two."""
    assert 2 * database.device(f"nvidia/{name}").rate_per_s("fp32") / 1e12 == pytest.approx(PEAKS[name], rel=2e-3)


@pytest.mark.parametrize("name", INTERFACES)
def test_width_and_data_rate_give_the_bandwidth(database: Database, name: str) -> None:
    """In GB/s, to half a percent, since boards differ in the last digit of the clock."""
    bits, rate = INTERFACES[name]
    device = database.device(f"nvidia/{name}")

    assert device.memory.bandwidth_bytes_per_s / 1e9 == pytest.approx(bits * rate / 8, rel=5e-3)


def test_no_two_entries_have_a_name_in_common(database: Database) -> None:
    """A name alone finds one entry."""
    entries = [entry for entry in database.entries.values() if entry.id.startswith("nvidia/")]
    names = [{plain(name) for name in (entry.file.name, *entry.file.opencl.names)} for entry in entries]

    assert [name for name, count in Counter(n for called in names for n in called).items() if count > 1] == []


def test_pci_ids_are_shared_only_where_subsystems_tell_boards_apart(database: Database) -> None:
    """Quadro RTX 6000 and 8000."""
    ids = Counter(pci_id for entry in database.entries.values() for pci_id in entry.file.pci_ids)

    assert sorted(pci_id for pci_id, count in ids.items() if count > 1) == ["10de:1e30", "10de:1e78"]


def test_a_name_with_and_without_the_vendor_finds_the_same_entry(database: Database) -> None:
    """Drivers since 2021 put NVIDIA before it, older ones and those of Quadro and Tesla cards do not."""
    for entry in [entry for entry in database.entries.values() if entry.id.startswith("nvidia/")]:
        device = database.device(entry.id)
        gib = device.memory.size_bytes / 2**30
        for name in entry.file.opencl.names:
            bare = name.removeprefix("NVIDIA ")
            for said in (bare, f"NVIDIA {bare}"):
                assert database.match(present(said, device.compute_units, gib)).entry_id == entry.id


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
    """They have other clocks and bandwidths; where only the name is the same, more units tell."""
    assert database.match(present(name, units, memory_gib)).entry_id is None


def test_boards_that_share_a_name_are_told_apart_by_the_pci_id(database: Database) -> None:
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
