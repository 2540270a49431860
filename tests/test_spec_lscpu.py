"""What ``lscpu`` says, which core that is, and how a machine lists its topology."""

import pytest

from gpureport.errors import InputError
from gpureport.spec.cores import core_of_machine, core_type_name, generic_name, host_values, how_listed, topology
from gpureport.spec.database import Database
from gpureport.spec.host import HostProcessor, ListedCache, ProcessorFacts, parse_lscpu
from tests.builders import altered, on_processor

TEXT = """Architecture:           x86_64
CPU(s):                 8
Vendor ID:              AuthenticAMD
Model name:             AMD EPYC 7B13
CPU family:             25
Model:                  1
Thread(s) per core:     2
Socket(s):              1
CPU max MHz:            3500,0000
Flags:                  fpu avx2
Hypervisor vendor:      KVM
L1d cache:              128 KiB (4 instances)
L1i cache:              128 KiB (4 instances)
L2 cache:               2 MiB (4 instances)
L3 cache:               32 MiB (1 instance)
NUMA node(s):           1
"""


def facts(**changes: object) -> ProcessorFacts:
    return parse_lscpu(TEXT).model_copy(update=changes)


def test_facts_are_in_base_units() -> None:
    read = parse_lscpu(TEXT)

    assert (read.vendor, read.family, read.model) == ("AuthenticAMD", 25, 1)
    assert (read.processors, read.threads_per_core, read.sockets) == (8, 2, 1)
    assert read.clock_hz == 3.5e9
    assert read.l1 == ListedCache(instance_bytes=32 << 10, instances=4)
    assert read.l3 == ListedCache(instance_bytes=32 << 20, instances=1)
    assert "avx2" in read.flags


@pytest.mark.parametrize(
    ("text", "size", "instances"),
    [
        ("32K", 32 << 10, None),
        ("128 KiB", 32 << 10, 4),
        ("1.5 MiB (2 instances)", 0.75 * (1 << 20), 2),
        ("131072 (4 instances)", 32 << 10, 4),
    ],
)
def test_old_and_new_versions_list_sizes(text: str, size: float, instances: int | None) -> None:
    read = parse_lscpu(TEXT.replace("128 KiB (4 instances)", text, 1))

    assert read.l1 == ListedCache(instance_bytes=size, instances=instances)


def test_one_thread_of_a_core_of_two_has_its_caches() -> None:
    values = host_values(HostProcessor(facts(processors=1, l1=ListedCache(instance_bytes=32 << 10))))

    assert values["caches.L1.capacity"].value == 32 << 10


TERMINAL = """Architecture:             aarch64
  CPU op-mode(s):         64-bit
CPU(s):                   8
Vendor ID:                Apple
  Model name:             Icestorm-M1
    Thread(s) per core:   1
    Socket(s):            -
    CPU max MHz:          2064.0000
  Model name:             Firestorm-M1
    Thread(s) per core:   1
    Socket(s):            -
    CPU max MHz:          3204.0000
Caches (sum of all):
  L1d:                    768 KiB (8 instances)
  L1i:                    1.3 MiB (8 instances)
  L2:                     16 MiB (2 instances)
"""


def test_several_types_of_core_on_a_terminal(database: Database) -> None:
    read = parse_lscpu(TERMINAL)

    assert (read.name, read.processors, read.clock_hz) == ("Icestorm-M1 and Firestorm-M1", 8, 3.204e9)
    assert read.l1 == ListedCache(instance_bytes=96 << 10, instances=8)
    assert read.l2 == ListedCache(instance_bytes=8 << 20, instances=2)
    assert core_of_machine(read, database).architecture == "aarch64"


@pytest.mark.parametrize(("named", "clock_hz"), [("2.50GHz", 2.5e9), ("0.00GHz", None), ("9999999GHz", None)])
def test_the_clock_in_a_name_counts_if_it_is_plausible(named: str, clock_hz: float | None) -> None:
    text = TEXT.replace("CPU max MHz", "Other").replace("Model:", f"Model name: CPU @ {named}\nModel:")

    assert parse_lscpu(text).clock_hz == clock_hz


def test_a_clock_of_zero_is_unknown() -> None:
    assert [parse_lscpu(TEXT.replace("3500,0000", text)).clock_hz for text in ("0.0000", "0,0", "0")] == [None] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("root:x:0:0:root:/root:/bin/bash\n", "CPU(s)"),
        ('{"lscpu": [{"field": "CPU(s):", "data": "8"}]}', "CPU(s)"),
        (TEXT.replace("25", "Zen"), "CPU family"),
        (TEXT.replace("CPU(s):                 8", "CPU(s): -8"), "CPU(s)"),
        (TEXT.replace("32 MiB (1", "999999999999 TiB (1"), "L3 cache must be less"),
        (TEXT.replace("3500,0000", "inf"), "CPU max MHz must be a number"),
        (TEXT.replace("32 MiB (1 instance)", "much"), "L3 cache"),
        (TEXT.replace("32 MiB (1 instance)", "-32 MiB"), "L3 cache"),
        (TEXT.replace("CPU(s):                 8", "CPU(s): 8000000.0"), "CPU(s) must be at most 1000000"),
        (TEXT.replace("CPU(s):                 8", "CPU(s): 900000"), "L1d cache must be from 900000 B"),
        (TEXT.replace("(s):              1", "(s): 99999999").replace(" (1 instance)", ""), "each processor or socket"),
        (TEXT.replace("(s):              1", "(s): 2").replace("32 MiB (1 instance)", "1048576T"), "to 1 EiB"),
    ],
)
def test_other_text_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        parse_lscpu(text)

    assert words in str(error.value)
    assert str(error.value).startswith("lscpu: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name", "core"),
    [
        ("AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor", "zen3"),
        ("AuthenticAMD", 25, 0x61, "AMD Ryzen 9 7950X 16-Core Processor", "zen4"),
        ("AuthenticAMD", 26, 68, "AMD Ryzen 9 9950X 16-Core Processor", "zen5_client"),
        ("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "skylake_server"),
        ("GenuineIntel", 6, 173, "Intel(R) Xeon(R) 6975P-C", "granite_rapids"),
        ("GenuineIntel", 6, 9999, "Intel(R) Something new", None),
        ("ARM", None, 1, "Neoverse-V2", "neoverse_v2"),
        ("Cavium", None, 1, "ThunderX2-99xx", "thunderx2"),
        ("ARM", None, 1, "Cortex-A76", None),
    ],
)
def test_a_processor_has_one_core_type(
    vendor: str, family: int | None, model: int, name: str, core: str | None, database: Database
) -> None:
    one = facts(vendor=vendor, family=family, model=model, name=name)
    found = [
        other for other, file in database.architectures().items() if core_type_name(one, {other: file}) is not None
    ]

    assert found == ([core] if core else [])


def test_an_unknown_core_is_typical_of_its_instruction_set(database: Database) -> None:
    unknown = facts(vendor="Unheard", instruction_set="aarch64", l2=ListedCache(instance_bytes=3 << 20))

    host = core_of_machine(unknown, database)

    assert host.architecture == generic_name(unknown, database.architectures()) == "aarch64"
    assert host.core.l2_bytes == 3 << 20
    assert host.core.memory_latency_s == database.core_type("aarch64").memory_latency_s
    other = facts(vendor="Unheard", flags=frozenset({"avx512f"}))
    assert generic_name(other, database.architectures()) == "x86_64_avx512"
    assert core_of_machine(facts(family=99), database).architecture == "amd_cpu"
    there = on_processor(database, HostProcessor(parse_lscpu(TEXT.replace("Vendor ID", "Nothing"))))
    assert there.device("cpu/x86_64").architecture.id == "x86_64"
    assert there.host_core is not None


def test_the_listing_says_how_far_it_is_that_of_the_hardware(database: Database) -> None:
    core = database.core_type("zen3")
    default = ListedCache(instance_bytes=64 << 10, instances=8)

    assert how_listed(facts(), core) == "plain"
    assert how_listed(facts(threads_per_core=1), core) == "hidden threads"
    assert how_listed(facts(threads_per_core=1, hypervisor=""), core) == "plain"
    assert how_listed(facts(threads_per_core=1, l1=default), core) == "default caches"
    assert how_listed(facts(threads_per_core=1, sockets=8), core) == "hidden cores"
    generic = facts(name="AMD EPYC-Milan Processor")
    assert how_listed(altered(generic, threads_per_core=1), core) == "model of the hypervisor"
    assert how_listed(altered(generic, hypervisor="Microsoft"), core) == "whole threads"


def test_topology_by_hand(database: Database) -> None:
    core = database.core_type("zen3")  # sockets of 64 cores, 8 of which share an L3 of 32 MiB
    own = topology(facts(), core)
    default = ListedCache(instance_bytes=64 << 10, instances=32)
    listed = facts(processors=32, threads_per_core=1, l1=default, l3=ListedCache(instance_bytes=16 << 20, instances=32))
    hidden = topology(listed, core)
    sockets = topology(facts(processors=20, threads_per_core=1, sockets=20), core)

    assert (own.processors, own.cores, own.sockets, own.part) == (8, 4, 1, 4 / 64)
    assert (own.l3_bytes, own.l3_instances) == (32 << 20, 1)
    assert (hidden.l3_bytes, hidden.l3_instances) == (32 << 20, 4)
    assert hidden.core_share < 1
    assert (sockets.cores, sockets.sockets) == (10, 1)
