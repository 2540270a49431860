"""Values of any CPU from its type of core."""

import pytest

from gpureport.spec.compilers import emitted_values
from gpureport.spec.cores import STREAMED_SHARE, core_values, listed_clock_hz, streamed_l3
from gpureport.spec.database import Database
from gpureport.spec.models import PresentDevice
from tests.builders import altered, host_of, on_processor
from tests.make_report import make_report

KIB, MIB = 1 << 10, 1 << 20
HOST = host_of(
    16,
    1 << 36,
    vendor="GenuineIntel",
    name="Intel(R) Xeon(R) Processor",
    family=6,
    model=207,
    hypervisor="KVM",
    flags=frozenset({"avx512f"}),
    l1=(48 * KIB, 16),
    l2=(2 * MIB, 16),
    l3=(260 * MIB, 1),
)


def _present(driver: str = "5.0", target: str = "skylake-avx512") -> PresentDevice:
    fields = {
        "kind": "cpu",
        "name": "cpu-Intel(R) Xeon(R) Processor",
        "vendor": "GenuineIntel",
        "platform": "Portable Computing Language",
        "version": f"OpenCL 3.0 PoCL HSTR: cpu-x86_64-pc-linux-gnu-{target}",
        "driver": driver,
        "compute_units": 16,
        "clock_hz": 2.1e9,
        "pci_id": None,
    }
    return make_report(families=1).machine.opencl.model_copy(update=fields)


@pytest.fixture(name="database")
def database_on_a_guest(database: Database) -> Database:
    return on_processor(database, HOST)


def test_a_cpu_uses_its_type_of_core_and_a_virtual_machine_has_a_part_of_the_l3(database: Database) -> None:
    match = database.match(_present())
    core = database.core_type("emerald_rapids")
    device = match.device
    _, l2, l3 = device.caches

    assert device.architecture.id == "emerald_rapids"
    assert match.entry == "cpu/x86_64"
    assert l2.latency_cycles / device.clock_hz == pytest.approx(core.l2_latency_s)
    assert l2.capacity_bytes == 2 * MIB
    assert 2.1e9 < device.clock_hz < 5 / core.l1_latency_s < 4e9
    for clock_hz in (2.1e9, 4e9):
        assert listed_clock_hz(database.match(altered(_present(), clock_hz=clock_hz)).device) == pytest.approx(clock_hz)
    assert l3.capacity_bytes == 260 * MIB
    assert l3.latency_transition.midpoint < l3.bandwidth_transition.midpoint < 0.9
    (note,) = match.notes
    assert "260 MiB" in note


def test_only_clocks_of_intel_fall_with_the_number_of_busy_cores(database: Database) -> None:
    core = database.host_core
    intel = core._replace(core=altered(core.core, l1_latency_s=1e-9))
    amd = core._replace(core=altered(intel.core, load_to_use_cycles=4, all_core_boost=True))

    assert core_values(amd, 2e9, 16)["clock"].value == pytest.approx(4e9)  # four cycles of the L1
    assert core_values(intel, 2e9, 16)["clock"].value == pytest.approx((2e9 * 5e9) ** 0.5)
    assert core_values(amd, 4.5e9, 16)["clock"].value == 4.5e9


def test_streams_find_more_of_the_l3_than_a_chain_at_most_one_and_a_half_times_its_size(database: Database) -> None:
    core = database.host_core
    parts = [float(streamed_l3(altered(core.core, l3_share=share), core.topology)) for share in (0.1, 0.2, 5.0)]

    assert parts[0] == pytest.approx(STREAMED_SHARE * 0.1 * core.topology.part**core.core.l3_share_exponent)
    assert parts[1:] == pytest.approx([2 * parts[0], 1.5])


EMULATED = {"rates.shuffle": 0.2, "rates.ballot": 0.07, "rates.barrier": 0.2}
WIDE = {"wave_size": 8, "rates.ternary": 24, "latencies.ternary": 1}
PIPES = {"wave_size": 8, "rates.instruction": 48, "rates.ternary": None}
ONE_BY_ONE = {"masked_lanes": None, "barrier_lanes": None}
AGAIN = {"masked_lanes": 8, "barrier_lanes": 8, "rates.barrier": None}
SKIPPED = {"rates.masked": 16 / 21.2}  # accesses that masks disable take time on Zen 4


@pytest.mark.parametrize(
    ("core", "driver", "target", "expected"),
    [
        ("emerald_rapids", "3.0-rc2", "icelake-client", WIDE | {"masked_lanes": 8, "barrier_lanes": 8}),
        ("emerald_rapids", "3.0-rc2", "icelake-client", {"rates.ballot": None}),
        ("emerald_rapids", "5.0", "skylake-avx512", WIDE | {"masked_lanes": None, "barrier_lanes": None}),
        ("emerald_rapids", "5.0", "skylake-avx512", {"rates.ballot": 0.07}),
        ("emerald_rapids", "3.0-rc2", "haswell", {"wave_size": 8, "rates.ternary": 8, "latencies.ternary": 2}),
        ("emerald_rapids", "3.0-rc2", "haswell", {"rates.ballot": None, "masked_lanes": None, "barrier_lanes": 8}),
        # LLVM emits 512 bits for Zen 4, whose pipes have 256, only if it knows it.
        ("zen4", "3.1", "skylake-avx512", PIPES | {"masked_lanes": 8}),
        ("zen4", "5.0", "skylake-avx512", PIPES | {"masked_lanes": None}),
        # PoCL 7 vectorises conditions and barriers again, as Debian's 6.0 does; exchanges stay emulated.
        *(("zen4", each, "skylake-avx512", PIPES | EMULATED | ONE_BY_ONE) for each in ("6.0", "5.0+debian")),
        *(("zen4", each, "skylake-avx512", PIPES | EMULATED | AGAIN | SKIPPED) for each in ("6.0+debian", "7.1")),
        ("emerald_rapids", "7.1", "skylake-avx512", AGAIN | {"rates.barrier": 0.4, "rates.masked": None}),
        ("zen4", "3.1", "znver4", dict.fromkeys((*PIPES, "masked_lanes"))),
        # Narrow cores keep their rates. PoCL 5 emulates exchanges and barriers on all cores.
        ("zen2", "3.0-rc2", "znver2", dict.fromkeys((*WIDE, *PIPES, *EMULATED)) | {"barrier_lanes": 8}),
        ("zen2", "5.0", "znver2", dict.fromkeys((*WIDE, *PIPES, "barrier_lanes")) | EMULATED),
    ],
)
def test_rates_are_those_of_the_vectors_that_the_compiler_emits(
    database: Database, core: str, driver: str, target: str, expected: dict[str, float | None]
) -> None:
    file = database.architecture(core)
    narrower = database.architecture(file.narrower or core)
    values = {path: value.value for path, value in emitted_values(_present(driver, target), file, narrower).items()}

    assert {path: values.get(path) for path in expected} == expected
    assert emitted_values(altered(_present(), platform="clvk"), file, narrower) == {}


@pytest.mark.parametrize(
    "platform", ["Intel(R) OpenCL", "Intel(R) CPU Runtime for OpenCL(TM)", "Experimental OpenCL 2.1 CPU Only Platform"]
)
@pytest.mark.parametrize("name", ["any", "Intel Core i7-7800X"])
def test_a_runtime_has_its_compiler_if_the_core_is_not_known(database: Database, name: str, platform: str) -> None:
    machine = on_processor(database, host_of(16))
    found = machine.match(altered(_present(), platform=platform, name=name, compute_units=12))

    assert found.device.architecture.compiler == "intel"
