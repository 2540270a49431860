"""Entries of other vendors compared with listed peaks, memory interfaces and the counts of drivers."""

import pytest

from gpureport.spec.database import Database
from gpureport.spec.models import CpuOccupancy

OTHERS = ("amd", "apple", "arm", "cpu", "intel", "qualcomm")
UNLISTED = {"amd/mi300a", "intel/arc_b580", "intel/hd_630"}
"""What lists a peak at other units or another clock than those known better."""

INTERFACES = {
    "amd/hd_7970": (384, 5.5), "amd/r9_390": (512, 6), "amd/rx_580": (256, 8),
    "amd/r9_nano": (4096, 1), "amd/mi60": (4096, 2), "amd/mi300x": (8192, 5.2),
    "amd/mi325x": (8192, 6), "amd/rx_5700_xt": (256, 14), "amd/rx_6700_xt": (192, 16), "amd/rx_7900_xtx": (384, 20),
    "amd/rx_7800_xt": (256, 19.5), "amd/rx_9070_xt": (256, 20.1), "intel/uhd_630": (128, 2.666),
    "intel/arc_a770": (256, 17.5), "intel/arc_b580": (192, 19), "intel/arc_140v": (128, 8.533),
    "intel/max_1550": (8192, 3.2), "apple/m1": (128, 4.267), "apple/m1_max": (512, 6.4), "apple/m4": (128, 7.5),
    "arm/mali_g610_mc4": (64, 4.267), "qualcomm/adreno_x1_85": (128, 8.448), "cpu/ryzen_7_3700x": (128, 3.2),
    "cpu/xeon_platinum_8568y": (512, 5.6), "cpu/raspberry_pi_5": (32, 4.267),
}  # fmt: skip
"""Width of the memory interface in bits, and Gbit/s of each."""

ENGINES = {"intel_xe_hpg": 16, "intel_xe2": 8, "intel_xe_hpc": 8}
"""Vector engines of an Xe-core."""


def others(database: Database, *folders: str) -> list[str]:
    """Return the ids of the entries in some folders."""
    return [entry for entry in database.entries if entry.split("/")[0] in (folders or OTHERS)]


def test_units_lanes_and_clock_give_the_listed_peak(database: Database) -> None:
    """A multiply-add counts as two; listed peaks of RDNA 3 and 4 count dual issue."""
    for entry in set(others(database, "amd", "intel")) - UNLISTED:
        listed = database.entries[entry].file.flops
        assert listed is not None, entry
        device = database.device(entry)
        issued = device.architecture.dual_issue
        assert issued == (2 if device.architecture.id.startswith(("rdna3", "rdna4")) else 1)
        assert 2 * issued * device.rate_per_s("fp32") == pytest.approx(listed.value, rel=4e-3), entry


@pytest.mark.parametrize("entry", INTERFACES)
def test_width_and_data_rate_give_the_bandwidth(database: Database, entry: str) -> None:
    """In GB/s; vendors round down by up to three percent."""
    bits, rate = INTERFACES[entry]

    assert database.device(entry).memory.bandwidth_bytes_per_s / 1e9 == pytest.approx(bits * rate / 8, rel=0.03)


def test_opencl_counts_pairs_of_rdna_s_units_and_engines_of_xe_cores(database: Database) -> None:
    """And of all others the units themselves; of processors cores or hardware threads."""
    for entry in others(database, "amd", "intel", "apple", "arm", "qualcomm"):
        device = database.device(entry)
        reported, architecture = device.opencl_compute_units or device.compute_units, device.architecture.id
        if architecture.startswith("rdna"):
            assert 2 * reported == device.compute_units, entry
        else:
            assert reported == ENGINES.get(architecture, 1) * device.compute_units, entry


def test_boards_of_one_name_and_size_differ_in_their_pci_ids(database: Database) -> None:
    """Otherwise the PCI id distinguishes them: Radeon VII and MI50, RX 6600 XT and 6650 XT, MI210 and MI250."""
    seen: dict[tuple[str, int, int, tuple[str, ...]], str] = {}
    for entry in others(database, "amd", "intel"):
        device = database.device(entry)
        for name in device.opencl_names:
            key = (name.lower(), device.compute_units, round(device.memory.size_bytes / 2**30), device.pci_ids)
            assert key not in seen, (entry, seen.get(key))
            seen[key] = entry


@pytest.mark.parametrize(("entry", "dies"), [("amd/mi300x", 8), ("amd/mi325x", 8), ("amd/mi300a", 6)])
def test_a_die_of_cdna_3_has_38_units_and_4_mib(database: Database, entry: str, dies: int) -> None:
    """The runtime reports the L2 of one die; a single work-item uses no other."""
    device = database.device(entry)
    l2 = next(cache for cache in device.caches if cache.name == "L2")

    assert (l2.partitions, l2.capacity_bytes / dies, device.compute_units / dies) == (dies, 4 << 20, 38)
    assert l2.far_latency_cycles == next(c.latency_cycles for c in device.caches if c.name == "LLC")


def test_a_listed_processor_needs_no_machine(database: Database) -> None:
    """Its cores start as many groups as they can, whatever the machine that this runs on."""
    for entry in set(others(database, "cpu")) - {"cpu/x86_64"}:
        device = database.device(entry)
        assert isinstance(device.architecture.occupancy, CpuOccupancy)
        assert device.launch.groups_per_cycle == pytest.approx(0.025 * device.compute_units), entry
        assert [provenance.kind for provenance in device.provenance.values() if provenance.kind == "queried"] == []
