"""Shipped entries compared with listed peaks, memory interfaces and the counts and names of drivers."""

import re
from collections import Counter

import pytest

from gpureport.spec.database import Database
from gpureport.spec.models import PresentDevice
from tests.builders import altered
from tests.make_report import H200

PEAKS = {"k40": 4.291, "a10g": 35.0, "gh200": 66.9}
"""Listed FP32 peaks in TFLOP/s of entries without one (k40: NVIDIA, base clock; a10g: Amazon; gh200: a printout)."""

UNLISTED = {
    *("amd/mi300a", "amd/radeon_8060s", "amd/radeon_8050s", "amd/radeon_890m"),
    *("intel/arc_b390", "intel/arc_b580", "intel/hd_630"),
}
"""What lists a peak at other units or another clock than those known better, or without dual issue."""

INTERFACES = {
    "nvidia/k40": (384, 6.0), "nvidia/gtx_980": (256, 7.0), "nvidia/gtx_1080_ti": (352, 11),
    "nvidia/p100_sxm2": (4096, 1.43), "nvidia/v100s_pcie_32": (4096, 2.214), "nvidia/rtx_2080_ti": (352, 14),
    "nvidia/t4": (256, 10), "nvidia/a100_pcie_80": (5120, 3.024), "nvidia/rtx_3090": (384, 19.5),
    "nvidia/a10": (384, 12.5), "nvidia/rtx_4090": (384, 21), "nvidia/l4": (192, 12.5), "nvidia/rtx_5090": (512, 28),
    "nvidia/rtx_5080": (256, 30), "nvidia/rtx_5090_laptop": (256, 28), "nvidia/rtx_5070_ti_laptop": (192, 28),
    "nvidia/rtx_5060_laptop": (128, 24), "nvidia/rtx_4090_laptop": (256, 18), "nvidia/rtx_4060_laptop": (128, 16),
    "nvidia/rtx_3080_ti_laptop": (256, 16), "nvidia/rtx_3060_laptop": (192, 14), "nvidia/rtx_3050_6gb": (96, 14),
    "nvidia/rtx_pro_6000_server": (512, 25), "nvidia/rtx_pro_4000": (192, 28), "nvidia/rtx_pro_2000": (128, 18),
    "nvidia/rtx_4000_ada": (160, 18), "nvidia/rtx_a4500": (320, 16), "nvidia/a16": (128, 12.5), "nvidia/t500": (64, 10),
    "nvidia/h200_nvl": (6144, 6.25), "nvidia/gb10": (256, 8.533), "nvidia/p4": (256, 6), "nvidia/m4000": (256, 6),
    "nvidia/k20": (320, 5.2), "nvidia/k20x": (384, 5.2), "nvidia/k620": (128, 1.8),
    "nvidia/gtx_970": (224, 7.0), "nvidia/gtx_1660": (192, 8.0),
    "amd/hd_7970": (384, 5.5), "amd/r9_390": (512, 6), "amd/rx_580": (256, 8), "amd/r9_nano": (4096, 1),
    "amd/mi60": (4096, 2), "amd/mi300x": (8192, 5.2), "amd/mi325x": (8192, 6), "amd/rx_5700_xt": (256, 14),
    "amd/rx_6700_xt": (192, 16), "amd/rx_7900_xtx": (384, 20), "amd/rx_7800_xt": (256, 19.5),
    "amd/rx_9070_xt": (256, 20.1), "amd/rx_9070_gre": (192, 18), "amd/rx_9060": (128, 18), "amd/mi355x": (8192, 8),
    "amd/radeon_ai_pro_r9700": (256, 20.1), "amd/radeon_8060s": (256, 8), "amd/radeon_pro_w7800": (256, 18),
    "amd/radeon_pro_w7700": (256, 18), "amd/radeon_pro_w7500": (128, 10.8), "amd/rx_6950_xt": (256, 18),
    "amd/rx_6700": (160, 16), "amd/rx_6500_xt": (64, 18), "amd/radeon_pro_w6600": (128, 14),
    "amd/rx_5600_xt": (192, 12), "amd/mi50_32gb": (4096, 2), "amd/firepro_s9150": (512, 5),
    "amd/firepro_d700": (384, 5.48), "amd/r9_285": (256, 5.5), "amd/hd_7870": (256, 4.8),
    "nvidia/gtx_680": (256, 6.0), "nvidia/gtx_770": (256, 7.0), "nvidia/gtx_660": (192, 6.0),
    "nvidia/gtx_580": (384, 4.008), "nvidia/gtx_560_ti": (256, 4.008), "nvidia/m2090": (384, 3.696),
    "intel/uhd_630": (128, 2.666), "intel/arc_a770": (256, 17.5),
    "intel/arc_pro_b50": (128, 14), "intel/arc_pro_b60": (192, 19), "intel/flex_170": (256, 18),
    "intel/flex_140": (96, 14), "intel/arc_b390": (128, 9.6), "intel/hd_4600": (128, 1.6),
    "apple/m3_ultra": (1024, 6.4), "apple/m4_max": (512, 8.533), "apple/m5": (128, 9.6), "apple/m5_max": (512, 9.6),
    "intel/arc_b580": (192, 19), "intel/arc_140v": (128, 8.533), "intel/max_1550": (8192, 3.2),
    "apple/m1": (128, 4.267), "apple/m1_max": (512, 6.4), "apple/m4": (128, 7.5), "arm/mali_g610_mc4": (64, 4.267),
    "qualcomm/adreno_x1_85": (128, 8.448), "cpu/ryzen_7_3700x": (128, 3.2), "cpu/xeon_platinum_8568y": (512, 5.6),
    "cpu/raspberry_pi_5": (32, 4.267),
}  # fmt: skip
"""Width of the memory interface in bits, and Gbit/s of each."""

ENGINES = {"intel_xe_hpg": 16, "intel_xe_lpg": 16, "intel_xe2": 8, "intel_xe3": 8, "intel_xe_hpc": 8}
"""Vector engines of an Xe-core."""


def present(name: str, compute_units: int, memory_gib: float, pci_id: str | None = None) -> PresentDevice:
    """Return what NVIDIA's driver says of a device."""
    size = int(memory_gib * 2**30)
    said = altered(H200, name=name, compute_units=compute_units, global_memory_bytes=size, pci_id=pci_id)
    return altered(said, clock_hz=None, compute_capability=None)


def entries(database: Database, *folders: str) -> list[str]:
    """Return the ids of the entries in some folders."""
    return [entry for entry in database.entries if entry.split("/")[0] in folders]


def test_units_lanes_and_clock_give_the_listed_peak(database: Database) -> None:
    """A multiply-add counts as two; listed peaks of RDNA 3 and 4 count dual issue."""
    for entry in set(entries(database, "nvidia", "amd", "intel")) - UNLISTED:
        if entry.endswith("_laptop") and "flops" not in database.entries[entry].file.values:
            continue  # listed at the clock of a lower power limit
        file, device = database.entries[entry].file, database.device(entry)
        known = file.values.get("flops")
        listed = known.value if known else PEAKS[database.entries[entry].path.stem] * 1e12
        issued = device.architecture.dual_issue
        assert issued == (2 if device.architecture.id.startswith(("rdna3", "rdna4")) else 1)
        assert 2 * issued * device.rate_per_s("fp32") == pytest.approx(listed, rel=4e-3), entry


@pytest.mark.parametrize("entry", INTERFACES)
def test_width_and_data_rate_give_the_bandwidth(database: Database, entry: str) -> None:
    """In GB/s: to half a percent of NVIDIA's, since boards differ in the last digit; others round down by up to 3 %."""
    bits, rate = INTERFACES[entry]
    close = 5e-3 if entry.startswith("nvidia/") else 0.03

    assert database.device(entry).memory.bandwidth_bytes_per_s / 1e9 == pytest.approx(bits * rate / 8, rel=close)


def test_error_correction_of_gddr_takes_bandwidth_on_all_data_centre_cards(database: Database) -> None:
    devices = map(database.device, entries(database, "nvidia"))

    assert all(device.memory.stacked or device.memory.ecc for device in devices if " Tesla " in device.name)


def test_one_loss_by_exchanged_lines_is_assumed_for_all_of_nvidia(database: Database) -> None:
    assert {database.device(entry).memory.exchange for entry in entries(database, "nvidia")} == {0.45}


def test_power_is_that_of_one_device_of_a_board(database: Database) -> None:
    devices = map(database.device, entries(database, "nvidia", "amd", "intel"))
    parts = [each for each in devices if any(re.match("The (board|card) has", note) for note in each.notes)]

    assert {"nvidia/a16", "amd/mi250x", "intel/flex_140"} < {device.id for device in parts}
    powers = (device.provenance["board_power"].note for device in parts if device.board_power_w)
    assert all(" W of the board / " in note for note in powers)


def test_pci_ids_are_shared_only_if_subsystem_ids_distinguish_boards(database: Database) -> None:
    """Quadro RTX 6000 and 8000."""
    ids = Counter(pci_id for entry in database.entries.values() for pci_id in entry.file.pci_ids)
    shared = sorted(pci_id for pci_id, count in ids.items() if count > 1)

    assert [pci_id for pci_id in shared if pci_id.startswith("10de:")] == ["10de:1e30", "10de:1e78"]


def test_the_pci_id_distinguishes_boards_that_share_a_name(database: Database) -> None:
    """The RTX 3080 with 12 GiB has two units more; Quadro RTX 6000 and 8000 share ids, but not names."""
    larger = present("NVIDIA GeForce RTX 3080", 70, 12, "10de:220a")

    assert database.match(larger).entry == "nvidia/rtx_3080_12gb"
    assert database.match(present("NVIDIA GeForce RTX 3080", 68, 10, "10de:2206")).entry == "nvidia/rtx_3080"
    assert database.match(present("Quadro RTX 8000", 72, 48, "10de:1e30")).entry == "nvidia/quadro_rtx_8000"


def test_a_card_sold_with_two_sizes_of_memory_takes_what_is_there(database: Database) -> None:
    """Without a warning: neither is the wrong one."""
    found = database.match(present("NVIDIA GeForce RTX 4060 Ti", 34, 15.7, "10de:2805"))

    assert (found.entry, found.notes) == ("nvidia/rtx_4060_ti", ())
    assert found.device.memory.size_bytes == pytest.approx(15.7 * 2**30, abs=1)


def test_opencl_counts_pairs_of_rdna_s_units_and_engines_of_xe_cores(database: Database) -> None:
    """And of all others the units themselves; of processors cores or hardware threads."""
    for entry in entries(database, "amd", "intel", "apple", "arm", "qualcomm"):
        device = database.device(entry)
        reported, architecture = device.opencl_compute_units or device.compute_units, device.architecture.id
        if architecture.startswith("rdna"):
            assert 2 * reported == device.compute_units, entry
        else:
            assert reported == ENGINES.get(architecture, 1) * device.compute_units, entry


@pytest.mark.parametrize(
    ("entry", "dies", "units"),
    [("amd/mi300x", 8, 38), ("amd/mi325x", 8, 38), ("amd/mi300a", 6, 38), ("amd/mi355x", 8, 32)],
)
def test_a_die_of_cdna_3_and_4_has_its_units_and_4_mib(database: Database, entry: str, dies: int, units: int) -> None:
    """The runtime reports the L2 of one die; a single work-item uses no other."""
    device = database.device(entry)
    l2 = next(cache for cache in device.caches if cache.name == "L2")

    assert (l2.partitions, l2.capacity_bytes / dies, device.compute_units / dies) == (dies, 4 << 20, units)
    assert l2.far_latency_cycles == next(c.latency_cycles for c in device.caches if c.name == "LLC")


def test_a_listed_processor_needs_no_machine(database: Database) -> None:
    """Its cores start as many groups as they can, whatever the machine that this runs on."""
    for entry in set(entries(database, "cpu")) - {"cpu/x86_64"}:
        device = database.device(entry)
        assert device.architecture.groups_as_loops
        assert device.launch.groups_per_cycle == pytest.approx(0.025 * device.compute_units), entry
        assert [provenance.kind for provenance in device.provenance.values() if provenance.kind == "queried"] == []
