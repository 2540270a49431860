"""Matching with recorded answers of drivers (``data/clinfo.yaml``) and with implausible ones."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpureport.measure.backends.answers import describe
from gpureport.spec.database import Database, Entry, load_database
from gpureport.spec.host import read_host
from gpureport.spec.models import DeviceMatch, PresentDevice
from tests.make_report import H200

CORPUS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "data" / "clinfo.yaml").read_text())
MIB = 1 << 20
UNSEEN = {"units": 8, "memory_mib": 8192, "clock_mhz": 0}
"""What a draft gets where its source does not show the figure."""
NOTES = {
    "units": "compute units; ",
    "memory": "of memory; ",
    "clock": "reports a clock of ",
    "part": "This is a part of",
    "cache": " of L",
    "software": "a program on the processor runs the kernels",
    "implausible units": "does not report a plausible number of compute units",
}
"""A part of each note, by its kind in ``data/clinfo.yaml``."""


@cache
def _shipped() -> Database:
    """Return the database on a machine whose processor is not known: notes about it depend on the machine."""
    database, nowhere = load_database(), Path("/nonexistent")
    database.host = read_host(nowhere, nowhere, nowhere)
    return database


@pytest.fixture(name="database", scope="module")
def shipped_database() -> Database:
    return _shipped()


def present(**answers: object) -> PresentDevice:
    unknown = dict.fromkeys(("clock_hz", "pci_id", "wave_size", "compute_capability"))
    usual = {"name": "", "compute_units": 8, "global_memory_bytes": 8192 * MIB, "global_cache_bytes": 0}
    return PresentDevice.model_validate(H200.model_dump() | unknown | usual | answers)


def recorded(database: Database, answers: Mapping[str, Any]) -> PresentDevice:
    """Make a device of the corpus; what its source does not show is as in its entry."""
    shown = UNSEEN | _listed(database, answers["entry"]) | dict(answers)
    return present(
        platform=answers["platform"],
        name=answers["name"],
        vendor=answers["vendor"],
        kind=answers.get("kind", "gpu"),
        version=answers.get("version", "OpenCL 2.0"),
        compute_units=shown["units"],
        clock_hz=shown["clock_mhz"] * 1e6 or None,
        global_memory_bytes=int(shown["memory_mib"] * MIB),
        global_cache_bytes=int(answers.get("cache_kib", 0)) << 10,
        pci_id=answers.get("pci"),
        board=answers.get("board"),
        compute_capability=answers.get("capability"),
    )


def _listed(database: Database, entry: str | None) -> dict[str, float]:
    if entry is None or database.entries[entry].file.host:
        return {}
    device = database.device(entry)
    units = device.opencl_compute_units or device.compute_units
    return {"units": units, "memory_mib": device.memory.size_bytes / MIB}


@pytest.mark.parametrize("answers", CORPUS, ids=lambda answers: f"{answers['name'][:40]}, {answers['platform'][:12]}")
def test_a_real_device_is_matched_to_its_entry_and_no_other(database: Database, answers: dict[str, Any]) -> None:
    found = database.match(recorded(database, answers))

    assert (found.entry, found.draft) == (answers["entry"], answers["entry"] is None), found.how
    if "architecture" in answers:
        assert found.device.architecture.id == answers["architecture"]
    if "predicted_units" in answers:
        assert found.device.compute_units == answers["predicted_units"]
    expected = answers.get("notes", [])
    assert len(found.notes) == len(expected), found.notes
    assert all(NOTES[what] in note for what, note in zip(expected, found.notes, strict=True)), found.notes
    if "cache" in expected:
        assert found.device.caches[-1].capacity_bytes == answers["cache_kib"] << 10
    else:
        _is_scaled(database, found, answers.get("share", 1.0))


def _is_scaled(database: Database, found: DeviceMatch, share: float) -> None:
    """Of a part, bandwidth and shared caches are its share; of a whole device, the entry's."""
    if found.entry is None or found.device.kind == "cpu":
        return
    listed = database.device(found.entry)
    assert found.device.memory.bandwidth_bytes_per_s == listed.memory.bandwidth_bytes_per_s * share
    for there, whole in zip(found.device.caches, listed.caches, strict=True):
        assert there.capacity_bytes == whole.capacity_bytes * (share if whole.scope == "device" else 1)


def _as_listed(entry: Entry, name: str, pci: str | None) -> PresentDevice:
    """Make a device exactly as in *entry*, with one of its names."""
    device = _shipped().device(entry.id)
    return present(
        name=name,
        vendor=device.vendor,
        kind=device.kind,
        platform="",
        compute_units=device.opencl_compute_units or device.compute_units,
        global_memory_bytes=int(device.memory.size_bytes),
        pci_id=pci,
    )


ENTRIES = [entry for entry in _shipped().entries.values() if entry.file.opencl_names]
FAST = {entry.file.architecture: entry.id for entry in ENTRIES}.values()


@pytest.mark.parametrize(
    "entry", [pytest.param(e, id=e.id, marks=() if e.id in FAST else pytest.mark.slow) for e in ENTRIES]
)
def test_every_entry_is_found_and_never_for_another(database: Database, entry: Entry) -> None:
    """By each PCI id with its names; by a name alone the entry itself or, if products share the name, none."""
    for pci in entry.file.pci_ids:
        found = database.match(_as_listed(entry, entry.file.opencl_names[-1], pci))
        assert found.entry in (entry.id, None), found.how
        assert found.notes == ()
    named = {database.match(_as_listed(entry, name, None)).entry for name in entry.file.opencl_names}
    assert {entry.id} <= named <= {entry.id, None}


PUBLISHED = {
    "nvidia/b300": "B300 SXM6 AC", "nvidia/gb10": "GB10 (DGX Spark)", "nvidia/a16": "A16 (1 GPU)",
    "nvidia/rtx_5090_laptop": "GeForce RTX 5090M", "nvidia/rtx_4080_laptop": "GeForce RTX 4080M",
    "nvidia/rtx_3080_ti_laptop": "GeForce RTX 3080M Ti", "nvidia/rtx_a5000_laptop": "RTX A5000M",
    "nvidia/rtx_3050_6gb": "GeForce RTX 3050 6GB", "nvidia/rtx_4000_ada": "RTX 4000 Ada", "nvidia/p4": "Tesla P4",
    "nvidia/gtx_660_oem": "GeForce GTX 660 OEM", "nvidia/k20x": "Tesla K20X",
    "amd/radeon_pro_w6600": "AMD Radeon PRO W6600",
    "amd/radeon_ai_pro_r9700": "Radeon AI PRO R9700", "amd/radeon_8060s": "Radeon 8060S (Max+ 395)",
    "amd/mi50_32gb": "Instinct MI50 32GB", "amd/rx_6700m": "Radeon RX 6700M",
    "amd/radeon_vega_8": "Radeon Vega 8 (3500U)",
    "amd/firepro_d700": "AMD Radeon HD - FirePro D700 Compute Engine", "amd/firepro_s9150": "Hawaii",
    "amd/hd_7750": "Capeverde", "amd/r7_260x": "Bonaire", "intel/arc_pro_b60": "Arc Pro B60",
    "intel/arc_b390": "Arc B390 (Ultra X7 358H)", "intel/hd_4600": "HD Graphics 4600",
    "apple/m3_ultra": "Apple M3 Ultra", "nvidia/t1000": "NVIDIA T1000 8GB", "nvidia/t400": "NVIDIA T400 4GB",
    "nvidia/rtx_a2000": "NVIDIA RTX A2000 12GB",
}  # fmt: skip
"""Names in published tables of measurements, by entry."""


@pytest.mark.parametrize("entry", PUBLISHED)
def test_an_entry_is_found_by_its_name_in_published_tables(database: Database, entry: str) -> None:
    """Not for a device with that name and other units: more than any entry of the name has."""
    there = _as_listed(database.entries[entry], PUBLISHED[entry], None)
    other = present(**{**there.model_dump(), "compute_units": 4 * there.compute_units + 1})

    assert (database.match(there).entry, database.match(other).entry) == (entry, None)


def test_a_target_without_a_pci_id_is_doubted(database: Database) -> None:
    card = _as_listed(database.entries["amd/radeon_pro_w7500"], "gfx1102", None)
    known = present(**{**card.model_dump(), "pci_id": "1002:7489"})

    assert database.match(card).how.endswith("matches amd/radeon_pro_w7500. Other cards may have this name, too.")
    assert "Other cards" not in database.match(known).how


def test_a_slice_is_identified_by_its_name_with_the_source_of_its_fraction(database: Database) -> None:
    """It has only one L2 partition; of fewer units without a slice's name the bandwidth does not change."""
    name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    found = database.match(present(name=name, compute_units=14, global_memory_bytes=4864 * MIB, pci_id="10de:20b0"))
    fewer = database.match(present(name="NVIDIA A40", compute_units=42, global_memory_bytes=48 << 30))

    assert found.device.name == "NVIDIA A100 SXM4 40 GB, MIG 1g.5gb"
    assert (found.device.caches[-1].capacity_bytes, found.device.caches[-1].partitions) == (5 * MIB, 1)
    assert found.device.provenance["memory.bandwidth"].kind == "derived"
    assert "MIG User Guide" in found.device.provenance["caches.L2.capacity"].source
    assert fewer.notes[0].startswith("The device reports 42 compute units; NVIDIA A40 has 84. It is a part of")
    assert fewer.device.memory.bandwidth_bytes_per_s == database.device("nvidia/a40").memory.bandwidth_bytes_per_s


ENTRY = """
name: NVIDIA Two
vendor: NVIDIA
architecture: ampere_86
compute_units: {value: 80, kind: assumed}
clock: {value: 1 GHz, source: s}
memory: {size: {value: 16 GiB, source: s}, bandwidth: {value: 800 GB/s, source: s}}
caches: {L2: {value: 8 MiB, source: s}}
sources: {s: test}
opencl: {names: [NVIDIA Two], parts: {value: 4, source: s}}
"""


def test_equal_parts_that_show_as_devices_have_their_share(tmp_path: Path) -> None:
    """An entry says how many there are; a count that is no multiple of a part's is units switched off."""
    (tmp_path / "two.yaml").write_text(ENTRY)
    mine = load_database([tmp_path])
    quarter, half, odd = (mine.match(present(name="Two", compute_units=n)) for n in (20, 40, 36))

    assert (quarter.device.name, half.device.name) == ("NVIDIA Two, 1 of 4 parts", "NVIDIA Two, 2 of 4 parts")
    assert quarter.device.memory.bandwidth_bytes_per_s == 200e9
    assert half.device.caches[-1].capacity_bytes == 4 * MIB
    assert (odd.device.name, odd.device.memory.bandwidth_bytes_per_s) == ("NVIDIA Two", 800e9)
    assert odd.device.compute_units == 36


@pytest.mark.parametrize(("memory_mib", "ecc"), [(15079, 0.12), (15949, None)])
def test_the_memory_that_a_card_reports_shows_error_correction(
    database: Database, memory_mib: int, ecc: float | None
) -> None:
    found = database.match(present(name="Tesla T4", compute_units=40, global_memory_bytes=memory_mib * MIB))

    assert (found.entry, found.device.memory.ecc, found.notes) == ("nvidia/t4", ecc, ())


def test_virtual_gpus_match_their_card_with_less_memory(database: Database) -> None:
    """``A40-8Q`` is all of an A40, some of the time, with 8 GB."""
    found = database.match(present(name="NVIDIA A40-8Q", compute_units=84, global_memory_bytes=8 << 30))

    assert (found.entry, found.device.compute_units) == ("nvidia/a40", 84)
    assert [note.split(";")[0] for note in found.notes] == ["The device reports 8 GiB of memory"]


@pytest.mark.parametrize(
    ("answers", "entry"),
    [
        # Only the whole name counts.
        *(({"name": f"NVIDIA {name}"}, None) for name in ("A40 Laptop GPU", "A400", "A40 D", "RTX A40", "H200 NVL2")),
        ({"name": "NVIDIA GeForce RTX 2080 with Max-Q Design", "compute_units": 46}, None),
        ({"name": "NVIDIA GeForce GTX 1070", "compute_units": 16}, None),
        ({"name": "gfx906+sram-ecc-xnack", "vendor": "AMD", "compute_units": 64}, "amd/mi60"),
        # A name is not enough.
        ({"name": "A40", "vendor": "Intel(R) Corporation", "compute_units": 84}, None),
        ({"name": "NVIDIA A40", "kind": "cpu", "compute_units": 84}, "cpu/x86_64"),
        ({"name": "A40", "vendor": "somebody", "compute_units": 84}, "nvidia/a40"),
        # Without SMT, each core is one thread.
        ({"name": "Intel Core i7-7800X", "kind": "cpu", "compute_units": 6}, "cpu/core_i7_7800x"),
        # A card that calls itself another: the id is the hardware's.
        ({"name": "NVIDIA GeForce RTX 2070", "compute_units": 30, "pci_id": "10de:1f08"}, "nvidia/rtx_2060"),
    ],
)
def test_a_name_counts_as_a_whole_and_with_vendor_kind_units_and_pci_id(
    database: Database, answers: dict[str, Any], entry: str | None
) -> None:
    """Of an NVIDIA device of compute capability 8.6, if nothing else is said."""
    found = database.match(present(**{"compute_capability": "8.6", **answers}))

    assert (found.entry, found.draft) == (entry, entry is None)
    assert ("assumed sizes of caches" in found.how) == (entry == "cpu/x86_64")


@pytest.mark.parametrize(
    ("clock", "predicted", "notes"),
    [(1.3e9, 1.3e9, 1), (1.6e9, 1.74e9, 0), (1.9e9, 1.74e9, 0), (2.4e9, 2.4e9, 1), (1e6, 1.74e9, 0), (1e13, 1.74e9, 0)],
)
def test_nvidia_s_clock_is_believed_where_it_can_be_one(
    database: Database, clock: float, predicted: float, notes: int
) -> None:
    """Near the listed one, the listed one is kept; far from it, the board is another."""
    found = database.match(present(name="NVIDIA A40", compute_units=84, clock_hz=clock, global_memory_bytes=48 << 30))

    assert (found.device.clock_hz, len(found.notes)) == (predicted, notes)


@pytest.mark.parametrize(("cache", "predicted"), [(512, 768), (768, 768), (384, 384), (0, 768)])
def test_intel_s_cache_is_believed_where_it_is_quite_another(database: Database, cache: int, predicted: int) -> None:
    """Drivers of Gen9 say 512 KiB or 768 KiB of the same cache; a half is a smaller one."""
    intel = {"platform": "Intel(R) OpenCL Graphics", "vendor": "Intel(R) Corporation", "compute_units": 24}
    found = database.match(present(name="Intel(R) HD Graphics 520", global_cache_bytes=cache << 10, **intel))

    assert found.device.caches[-1].capacity_bytes == predicted << 10
    assert len(found.notes) == (predicted != 768)


TEXT = st.text(max_size=60) | st.sampled_from(
    ["\x1b[31mRTX\x1b[0m", "<script>alert(1)</script>", "{{ 7 * 7 }}", "gfx1100:", "(", "[0x", " MIG 1g.0gb", "…" * 300]
)
NUMBERS = st.integers(0, 2**64)
ANSWERS = st.fixed_dictionaries(
    {
        "name": TEXT | st.sampled_from(["NVIDIA A40", "gfx1100", "NVIDIA A40 MIG 9g.999gb"]),
        "vendor": TEXT | st.sampled_from(["NVIDIA Corporation", "AMD", "Intel", "Apple"]),
        "platform": TEXT | st.sampled_from(["NVIDIA CUDA", "rusticl", "clvk", "Apple"]),
        "board": st.none() | TEXT,
        "compute_capability": st.none() | TEXT,
        "kind": st.sampled_from(["gpu", "accelerator", "cpu"]),
        "compute_units": NUMBERS,
        "global_memory_bytes": NUMBERS,
        "global_cache_bytes": NUMBERS,
        "local_memory_bytes": NUMBERS,
        "max_work_group": NUMBERS,
        "wave_size": NUMBERS,
        "clock_hz": st.none() | st.floats(0, 1e30),
        "pci_id": st.none() | TEXT | st.sampled_from(["10de:2235", "1002:744c"]),
    }
)


@settings(max_examples=25, deadline=None)
@given(ANSWERS)
def test_nothing_that_a_driver_says_breaks_the_match(answers: dict[str, Any]) -> None:
    found = _shipped().match(present(**answers))

    assert found.device.compute_units >= 1
    assert found.device.clock_hz > 0
    assert found.device.memory.size_bytes > 0
    assert all(text.isprintable() for text in (found.how, found.device.name, *found.notes))


def test_what_steers_a_terminal_does_not_get_past_the_driver() -> None:
    answers = {"NAME": "\x1b[31mRTX\x1b[0m\0\0", "VENDOR": "a\nb\x07"}
    answers |= {"VERSION": "OpenCL\t3.0", "BOARD_NAME_AMD": "\x9b2J"}
    device = describe(0, "p\x1b", "v", answers.get)

    assert (device.name, device.vendor, device.version, device.board) == ("[31mRTX [0m", "a b", "OpenCL 3.0", "2J")
