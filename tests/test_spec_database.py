"""Finding devices by name, matching present ones, drafting the rest."""

from pathlib import Path
from typing import Any

import pytest

from gpureport.errors import InputError
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database, load_database
from gpureport.spec.drafts import of_present, write_entry
from gpureport.spec.models import PresentDevice
from tests.builders import host_of, on_processor
from tests.make_report import H200

GIB = 1 << 30
OTHER = {"pci_id": None, "compute_capability": None, "wave_size": None}
AMD = {**OTHER, "vendor": "Advanced Micro Devices, Inc.", "platform": "AMD Accelerated Parallel Processing"}
INTEL = {
    **OTHER,
    "platform": "Intel(R) OpenCL Graphics",
    "vendor": "Intel(R) Corporation",
    "clock_hz": 0.9e9,
    "global_memory_bytes": 6 * GIB,
    "global_cache_bytes": 768 << 10,
}


def present(**changes: object) -> PresentDevice:
    return PresentDevice.model_validate(H200.model_dump() | changes)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("h200", "nvidia/h200_sxm"),
        ("nvidia/h200_sxm", "nvidia/h200_sxm"),
        ("GeForce RTX 2060", "nvidia/rtx_2060"),
        ("NVIDIA GeForce RTX 3080", "nvidia/rtx_3080"),
        ("rtx 3080 12gb", "nvidia/rtx_3080_12gb"),
        ("GTX 1060 6GB", "nvidia/gtx_1060_6gb"),
        ("amd 7900xt", "amd/rx_7900_xt"),
        ("AMD Radeon(TM) RX 7900 XT", "amd/rx_7900_xt"),
        ("h200-sxm", "nvidia/h200_sxm"),
        ("2070", "nvidia/rtx_2070"),
        ("hd520", "intel/hd_520"),
        ("x86-64 CPU", "cpu/x86_64"),
    ],
)
def test_a_device_is_found_by_any_of_its_names(database: Database, text: str, entry: str) -> None:
    assert database.resolve(text).id == entry


def test_names_that_mean_several_or_none_are_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^'vega' .* amd/rx_vega_64 or amd/vega_frontier; give one of these$"):
        database.resolve("vega")
    with pytest.raises(InputError, match=r"^'RTX' matches \d+ devices, such as .*--containing 'RTX'` lists them$"):
        database.resolve("RTX")
    with pytest.raises(InputError, match=r"has no device 'rtx 2090'; the nearest (is|are) nvidia/rtx_"):
        database.resolve("rtx 2090")
    with pytest.raises(InputError, match="has no device '!!!'"):
        own_entry(tmp_path, "{name: 显卡, vendor: V, architecture: x86_64, host: true}").resolve("!!!")


def test_values_keep_where_they_came_from(database: Database) -> None:
    """Spec, measured, derived and assumed values are distinguished, with their citations."""
    device = database.resolve("h200")

    assert device.provenance["memory.bandwidth"].source == "NVIDIA H200 Tensor Core GPU data sheet"
    assert "4.89" in device.provenance["memory.bandwidth"].note
    assert device.provenance["caches.L2.capacity"].kind == "queried"
    assert device.provenance["caches.L2.latency"].kind == "measured"
    assert device.provenance["memory.access"].kind == "assumed"
    assert device.memory.bandwidth_bytes_per_s == 4.8e12
    assert [(c.name, c.capacity_bytes) for c in device.caches] == [("L1", 256 << 10), ("L2", 60 << 20)]


def test_the_present_device_is_matched_by_pci_id_and_name(database: Database) -> None:
    by_id = database.match(present(name="Graphics Device"))
    by_name = database.match(present(pci_id=None))
    older = database.match(present(name="GeForce RTX 2070", compute_units=36, global_memory_bytes=8 * GIB, **OTHER))

    assert (by_id.entry, by_id.draft, by_id.notes) == ("nvidia/h200_sxm", False, ())
    assert "PCI id 10de:2335" in by_id.how
    assert by_name.entry == "nvidia/h200_sxm"
    assert "OpenCL name NVIDIA H200" in by_name.how
    assert older.entry == "nvidia/rtx_2070"


@pytest.mark.parametrize("name", ["Intel(R) HD Graphics 520", "Intel(R) Graphics Gen9 [0x1916]"])
def test_intel_is_matched_by_the_id_in_its_name(database: Database, name: str) -> None:
    found = database.match(present(name=name, compute_units=24, **INTEL))

    assert (found.entry, found.notes) == ("intel/hd_520", ())
    assert found.device.memory.size_bytes == 6 * GIB


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_an_arm_processor_takes_the_generic_entry_of_its_kind(database: Database, machine: str) -> None:
    """Under PoCL, with any name; the other generic entry keeps the values of its file."""
    host = host_of(4, 4 * GIB, name="Raspberry Pi 4 Model B Rev 1.4", instruction_set=machine)
    database = on_processor(database, host)
    found = database.match(present(name="cpu-cortex-a72", kind="cpu", compute_units=4, clock_hz=1.8e9, **OTHER))

    assert (found.entry, found.draft) == ("cpu/aarch64", False)
    assert found.how.startswith("cpu-cortex-a72 is a CPU: ")
    assert "the entry cpu/aarch64" in found.how
    assert (found.device.name, found.device.architecture.wave_size) == ("Raspberry Pi 4 Model B Rev 1.4", 4)
    assert found.device.clock_hz == 1.8e9
    assert database.resolve("cpu").id == "cpu/aarch64"
    other = database.resolve("cpu/x86_64")
    assert (other.name, other.clock_hz) == ("x86-64 CPU", 3e9)
    assert other.provenance["clock"].kind == "assumed"


def test_vector_engines_are_parts_of_cores(database: Database) -> None:
    """Intel's OpenCL counts 512 engines in an A770 of 32 cores; a card without an entry is drafted likewise."""
    card = database.match(present(name="Intel(R) Arc(TM) A770 Graphics", compute_units=512, **INTEL))
    drafted = database.match(present(name="Intel(R) Arc(TM) A760A Graphics", compute_units=384, **INTEL))

    assert (card.entry, card.device.compute_units, drafted.device.vendor) == ("intel/arc_a770", 32, "Intel")
    assert (drafted.draft, drafted.device.compute_units, drafted.device.opencl_compute_units) == (True, 24, 384)
    assert "384 vector engines" in drafted.device.provenance["compute_units"].note


def own_entry(folder: Path, text: str) -> Database:
    """Return the database with an entry ``mine`` of the user's own."""
    (folder / "mine.yaml").write_text(text)
    return load_database([folder])


def test_a_cpu_s_own_entry_comes_before_the_generic_one(database: Database, tmp_path: Path) -> None:
    processor = present(name="pthread-A processor", kind="cpu", compute_units=2, global_memory_bytes=4 * GIB, **OTHER)
    entry = write_entry(of_present(processor, database)).replace("clock: {value: ", "clock: {value: 3.21 GHz} #")

    found = own_entry(tmp_path, entry).match(processor)

    assert (found.entry, found.draft) == ("mine", False)
    assert found.how == "The OpenCL name pthread-A processor matches mine."
    assert (found.device.clock_hz, found.device.launch.groups_per_cycle) == (3.21e9, pytest.approx(0.05))
    assert found.device.architecture.max_work_group == processor.max_work_group
    assert found.device.provenance["max_work_group"].kind == "queried"


def test_an_own_entry_of_a_cpu_may_take_the_host_s_sizes(tmp_path: Path) -> None:
    entry = "{name: Mine, vendor: V, architecture: x86_64, host: true, opencl: {names: [a cpu]}, notes: [mine]}"
    found = own_entry(tmp_path, entry).match(present(name="a cpu", kind="cpu", compute_units=7, **OTHER))

    assert (found.entry, found.device.compute_units) == ("mine", 7)
    assert "mine" in found.device.notes


def test_a_cpu_without_a_third_level_has_none(database: Database) -> None:
    """A level that the operating system does not list, while it lists others, is not there."""
    there = on_processor(database, host_of(4, l1=(32 << 10, 4), l2=(1 << 20, 1)))

    assert [cache.name for cache in there.resolve("cpu").caches] == ["L1", "L2"]
    assert "L3: null" in write_entry(of_present(present(name="cpu", kind="cpu", compute_units=2, **OTHER), there))


@pytest.mark.parametrize(
    ("changes", "architecture"),
    [
        ({"name": "NVIDIA GeForce RTX 3090", "pci_id": None, "compute_capability": "8.6"}, "ampere_86"),
        ({"name": "NVIDIA X", "pci_id": None, "compute_capability": "8.8"}, "ampere_86"),
        ({"name": "NVIDIA X", "pci_id": None, "compute_capability": "99.0"}, "blackwell_120"),
        ({"name": "gfx90a:sramecc+:xnack-", **AMD}, "cdna2"),
        ({"name": "gfx1030", **AMD}, "rdna2"),
        ({"name": "Intel(R) UHD Graphics 630", **INTEL}, "intel_gen9"),
        ({"name": "Intel(R) UHD Graphics 770", **INTEL}, "intel_xe_lp"),
        ({"name": "Mali-G78", "vendor": "ARM", **OTHER}, "mali_valhall"),
        ({"name": "Intel(R) Arc(TM) A760A Graphics", **INTEL}, "intel_xe_hpg"),
        ({"name": "Apple M3 Max", "vendor": "Apple", **OTHER}, "apple_m3"),
        ({"name": "PowerVR Rogue", "vendor": "Imagination", **OTHER}, "generic_gpu"),
        ({"name": "Mali", "vendor": "ARM", "clock_hz": 0.0, **OTHER}, "generic_gpu"),
    ],
)
def test_an_unknown_device_is_drafted_from_its_family(
    database: Database, changes: dict[str, Any], architecture: str, tmp_path: Path
) -> None:
    """The draft is marked, complete and usable; its YAML validates and gives the same device."""
    unknown = present(**changes)
    found = database.match(unknown)
    path = tmp_path / "draft.yaml"
    path.write_text(write_entry(of_present(unknown, database)))

    assert (found.draft, found.entry, found.device.id) == (True, None, "draft")
    assert found.device.architecture.id == architecture
    assert found.device.provenance["memory.bandwidth"].kind == "assumed"
    assert found.device.provenance["memory.size"].kind == "queried"
    assert [p for p in check_folder([path]) if p.severity == "error"] == []
    written = load_database([tmp_path]).device("draft")
    assert written.compute_units == found.device.compute_units
    sizes = [[d.memory.size_bytes, *(c.capacity_bytes for c in d.caches)] for d in (written, found.device)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-5)
