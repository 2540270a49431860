"""``gpureport devices new``: drafts of present devices and of relatives; measured values are marked."""

import re
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpureport.cli import main, measuring
from gpureport.errors import DeviceError
from gpureport.measure import presence, sweep
from gpureport.records.measurement import Verification
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database, load_database
from gpureport.spec.drafts import Draft, drafted_device, of_present, of_relative, quantity, write_entry
from gpureport.spec.files import DeviceFile
from gpureport.spec.models import Device
from gpureport.spec.values import Leaf, Provenance, Quantity, Value
from tests.builders import altered, host_of
from tests.fake_backend import A40, HOSTILE, PRESENT
from tests.fake_gpu import CLOCK_HZ, GPU, GROUPS_PER_S, INTEGER_CYCLES, KIB, L1, L2, LAUNCH_S, MEMORY, FakeGpu
from tests.present import stand_in

Captured = pytest.CaptureFixture[str]
MICROBENCHMARKS = "launch,memory/latency,memory/read,memory/read_private,memory/copy"
GIVES_OUT = 0.973 / 1.04
"""Where the latency of the fake GPU's L2 is half way to the memory's, in log, of where an NVIDIA GPU's is."""


@pytest.fixture(autouse=True)
def present(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three devices without a back end, and one whose memory can be measured."""
    monkeypatch.chdir(tmp_path)
    stand_in(monkeypatch, PRESENT, HOSTILE, A40, GPU.model_copy(update={"index": 3}), make=FakeGpu)
    monkeypatch.setattr(sweep, "verify", lambda *_: Verification(passed=True, cases=()))
    monkeypatch.setattr(measuring, "LONGEST_SWEEP_S", 1.0)


def new(*arguments: str) -> Device:
    """Draft an entry, check it, and return the device that it describes."""
    assert main(["devices", "new", "-o", "drafts/new.yaml", "--force", *arguments]) == 0
    assert {problem.severity for problem in check_folder([Path("drafts/new.yaml")])} <= {"warning"}
    return load_database([Path("drafts")]).device("new")


def new_of_run(*arguments: str) -> Device:
    """Measure a device, and draft its entry from the report."""
    assert main(["measure", "-w", MICROBENCHMARKS, "-o", "run.json", *arguments]) == 0
    return new("--report", "run.json")


def failure(capsys: Captured, *arguments: str) -> str:
    assert main(["devices", "new", *arguments]) in (1, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("gpureport: ").rstrip("\n")


@pytest.mark.parametrize("text", ["0", "A40", "[red]"])
def test_a_draft_of_queries_passes_the_check(text: str) -> None:
    kinds = {path: known.kind for path, known in new("--device", text).provenance.items()}
    assert kinds["compute_units"] == kinds["memory.size"] == "queried"
    assert kinds["memory.bandwidth"] == "assumed"


def test_a_draft_on_standard_output_is_the_file(capsys: Captured) -> None:
    new("--device", "2")
    assert "a40.yaml already describes this device. To start from it, use --from nvidia/a40." in capsys.readouterr().err
    assert main(["devices", "new", "--device", "2"]) == 0
    text = capsys.readouterr().out
    assert text == Path("drafts/new.yaml").read_text()
    assert "$schema" not in text
    assert yaml.safe_load(text)["name"] == "NVIDIA A40"


def test_a_draft_beside_a_schema_names_it() -> None:
    Path("drafts").mkdir()
    Path("device.schema.json").touch()
    new("--from", "A40")
    assert Path("drafts/new.yaml").read_text().startswith("# yaml-language-server: $schema=../device.schema.json\n")


@pytest.mark.parametrize("name", ["d.yml", "d.json", "d"])
def test_a_draft_with_another_ending_is_refused(name: str, capsys: Captured) -> None:
    sentence = failure(capsys, "--from", "A40", "-o", f"x/{name}")
    assert sentence == f"x/{name}: the file name must end in .yaml; rename it to d.yaml"
    assert not Path("x").exists()


def test_what_a_draft_leaves_to_its_author_is_a_warning() -> None:
    device, path = new("--from", "A40"), Path("drafts/new.yaml")
    problems = check_folder([path])
    assert {"clock", "compute_units", "memory.bandwidth", "caches.L2.capacity"} <= {p.field for p in problems}
    (message,) = {p.message for p in problems}
    assert message.startswith("is as drafted; ")
    line = next(line for line in path.read_text().splitlines() if line.startswith("clock: "))
    path.write_text(path.read_text().replace(line, f"clock: {{value: {device.clock_hz / 1e9} GHz, source: sheet}}"))
    path.write_text(path.read_text() + "sources: {sheet: A sheet}\n")
    assert [p.field for p in check_folder([path])] == [p.field for p in problems if p.field != "clock"]


def test_a_draft_overwrites_nothing(capsys: Captured) -> None:
    Path("mine.yaml").write_text("mine")
    sentence = failure(capsys, "-o", "mine.yaml")
    assert sentence.startswith("mine.yaml: already exists; use --force ")
    assert Path("mine.yaml").read_text() == "mine"


def test_microbenchmarks_measure_the_values_of_the_device() -> None:
    """An unknown card of a known architecture: its second level was a guess, and its first is the architecture's."""
    device = new_of_run("--device", "3")
    first, second = device.caches

    assert second.capacity_bytes == pytest.approx(GIVES_OUT * L2.capacity, rel=0.03)
    assert first.latency_cycles == pytest.approx(L1.latency, rel=0.04)
    assert second.latency_cycles == pytest.approx(L2.latency, rel=0.02)
    assert device.memory.latency_cycles == pytest.approx(MEMORY.latency, rel=0.02)
    reached = device.memory.bandwidth_bytes_per_s * device.memory.efficiency
    assert reached == pytest.approx(MEMORY.bandwidth, rel=0.1)
    assert device.level_bandwidth_bytes_per_s(first) == pytest.approx(L1.bandwidth, rel=0.15)
    assert device.level_bandwidth_bytes_per_s(second) == pytest.approx(L2.bandwidth, rel=0.1)
    assert device.launch.batched_s == pytest.approx(LAUNCH_S, rel=0.02)
    assert device.launch.single_s == pytest.approx(LAUNCH_S, rel=0.02)
    assert device.launch.groups_per_cycle == pytest.approx(GROUPS_PER_S / CLOCK_HZ, rel=0.05)
    caches = ("caches.L2.capacity", "caches.L1.latency", "caches.L2.bandwidth")
    for path in (*caches, "memory.bandwidth", "memory.latency"):
        assert device.provenance[path].kind == "measured"
    written = yaml.safe_load(Path("drafts/new.yaml").read_text())
    values = (written["memory"]["latency"]["value"], written["caches"]["L2"]["capacity"]["value"])
    numbers = [value.split()[0] for value in values]
    assert numbers == [f"{float(number):.4g}" for number in numbers]  # zeros at the end are left out
    assert max(len(re.sub(r"\D", "", number)) for number in numbers) >= 3


def test_a_value_whose_microbenchmark_gave_wrong_results_stays_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = Verification(passed=True, cases=()), Verification(passed=False, cases=(), message="bytes = 3")
    monkeypatch.setattr(sweep, "verify", lambda _, workload, *__: right if workload.family == "launch" else wrong)
    assert main(["measure", "-w", MICROBENCHMARKS, "-o", "run.json", "--device", "3"]) == 1
    assert new("--report", "run.json").provenance["memory.bandwidth"].kind == "assumed"


@pytest.mark.slow
def test_the_end_of_the_near_partition_yields_the_whole_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    hopper = GPU.model_copy(update={"name": "NVIDIA H99", "compute_capability": "9.0"})
    stand_in(monkeypatch, hopper, make=FakeGpu)

    def chase(_: FakeGpu, size: int, steps: int) -> float:
        near, far = L1.share(size), L1.__class__(L2.capacity / 2, 0, 0).share(size)
        cycles = near * L1.latency + (1 - near) * (far * L2.latency + (1 - far) * MEMORY.latency)
        return steps * (cycles + INTEGER_CYCLES) / CLOCK_HZ

    monkeypatch.setattr(FakeGpu, "_chase", chase)

    device = new_of_run()
    assert device.caches[-1].partitions == 2
    assert device.caches[-1].capacity_bytes == pytest.approx(GIVES_OUT * L2.capacity, rel=0.03)
    note = device.provenance["caches.L2.capacity"].note
    assert note == "cliff of memory/latency (near partition)"


def test_a_step_that_no_cache_answers_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = GPU.model_copy(update={"name": "Mali", "compute_capability": None, "compute_units": 64})
    stand_in(monkeypatch, stranger, make=FakeGpu)
    device = new_of_run()
    assert [cache.name for cache in device.caches] == ["L2"]
    assert device.caches[0].capacity_bytes == pytest.approx(L2.capacity, rel=0.1)


def test_a_documented_size_that_is_contradicted_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the first level: the draft contains the measured value, its note the documented one."""
    monkeypatch.setattr("tests.fake_gpu.L1", L1.__class__(32 * KIB, L1.latency, L1.bandwidth))
    device = new_of_run("--device", "3")
    assert device.provenance["caches.L1.capacity"].kind == "measured"
    assert "; conflict: 96 KiB (spec: " in device.provenance["caches.L1.capacity"].note


def test_a_relative_lends_its_values_to_be_checked() -> None:
    device, a40 = new("--from", "A40"), load_database().device("nvidia/a40")
    assert device.name == "like NVIDIA A40"
    assert "\n# opencl:" in Path("drafts/new.yaml").read_text()
    assert re.search("(?s)\nmemory:.*\ncaches:.*\nlink:.*\nrates:", Path("drafts/new.yaml").read_text())
    assert device.memory == a40.memory
    assert device.caches == a40.caches
    for path in ("compute_units", "clock", "memory.bandwidth", "caches.L2.capacity"):
        assert device.provenance[path].kind == "assumed"
        assert device.provenance[path].note.startswith("as NVIDIA A40 (spec: TechPowerUp GPU database")


def test_what_is_present_comes_before_its_relative() -> None:
    device = new("--from", "A40", "--device", "3")
    assert (device.name, device.compute_units, device.architecture.id) == (GPU.name, 40, "ampere_86")
    assert device.provenance["clock"].kind == "queried"
    assert device.memory.bandwidth_bytes_per_s == 695.8e9
    assert device.provenance["memory.bandwidth"].note.startswith("as NVIDIA A40")


def test_every_device_can_be_a_relative(database: Database, tmp_path: Path) -> None:
    """Also those that drop a level of their architecture, or whose values have units of every kind."""
    entries = [entry for entry in database.entries.values() if not entry.file.host]
    for number, entry in enumerate(entries):
        (tmp_path / f"relative_{number}.yaml").write_text(write_entry(of_relative(entry)))
    relatives = load_database([tmp_path])
    for number, entry in enumerate(entries):
        device, original = relatives.device(f"relative_{number}"), database.device(entry.id)
        assert device.caches == original.caches
        assert drafted_device(of_relative(entry), database).notes == device.notes
        assert (device.memory, device.launch, device.clock_hz) == (original.memory, original.launch, original.clock_hz)


def test_a_relative_of_another_kind_is_refused(capsys: Captured) -> None:
    sentence = failure(capsys, "--from", "x86-64 CPU", "--device", "0")
    assert sentence == "--from: cpu/x86_64 is a cpu, Fake Device is a gpu"
    assert "has no device 'RTX 99999'" in failure(capsys, "--from", "RTX 99999")


def test_without_a_device_nothing_is_drafted(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise DeviceError("no OpenCL device found; install one")

    monkeypatch.setattr(presence, "present", absent)
    assert failure(capsys).startswith("no OpenCL device found; install one")


def test_an_arm_processor_is_drafted_as_one(database: Database) -> None:
    """Under its own name, without what PoCL puts before it; a driver's name for it stays that of the match."""
    there = Database(database.entries, database.architecture_paths)
    there.host = host_of(4, instruction_set="aarch64")
    processor = PRESENT.model_copy(update={"kind": "cpu", "name": "pthread-Cortex-A72", "vendor": "ARM"})
    draft = of_present(processor, there)
    assert (draft.file.architecture, draft.file.name, draft.file.vendor) == ("aarch64", "Cortex-A72", "Arm")
    assert draft.file.opencl_names == ("pthread-Cortex-A72",)
    assert drafted_device(draft, there).architecture.id == "aarch64"
    part = of_present(altered(processor, name="cpu-neoverse-n1-0xd0c"), there)
    assert part.file.name == "cpu-neoverse-n1-0xd0c"


@given(st.floats(1, 1e13))
def test_sizes_are_written_to_six_digits(size: float) -> None:
    text = quantity("memory.size", size)
    assert Leaf[Annotated[float, Quantity("bytes")]].model_validate(text).value == pytest.approx(size, rel=1e-5)


@given(st.text(), st.text())
def test_names_and_notes_stay_what_they_are(name: str, note: str) -> None:
    known = Value(1e9, Provenance(kind="queried", source="", note=note))
    file = DeviceFile(name="n", vendor="v", architecture="generic_gpu").model_copy(update={"name": name})
    text = write_entry(Draft(file, {"clock": known}, queried=note, remarks=(note,)))
    read = yaml.safe_load(text)
    assert read["name"].split() == "".join(c if c.isprintable() else " " for c in name).split()
    assert read.keys() == {"name", "vendor", "architecture", "sources", "clock"}
