"""Devices behind real, broken, crashing and hanging drivers; the drivers are libraries that a loader loads."""
# ruff: noqa: D103 - the names of the tests say what they check

import json
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpureport.cli import main
from gpureport.errors import DeviceError
from gpureport.measure import presence
from gpureport.measure.child import Child
from gpureport.measure.presence import Choice, choose_working, find_devices, kernel_problems
from gpureport.measure.runtimes import Candidate, Runtime
from gpureport.measure.selection import named
from tests.fake_backend import PRESENT
from tests.present import stand_in, working

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has ICD files")
Captured = pytest.CaptureFixture[str]
BUILD_FAILS = "common/check.cl does not build: unknown target CPU 'generic'"


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runtime with one CPU; the variable FAULT says what is wrong with it."""
    compiler = [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else [shutil.which("cc") or ""]
    if not compiler[0]:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("runtime") / "faulty.so"
    source = Path(__file__).parent / "data" / "faulty_runtime.c"
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def vendors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of ICD files that replaces the system's; those of this Python environment stay."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(folder))
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", 20.0)
    return folder


def install(vendors: Path, library: object, name: str = "a.icd") -> Path:
    path = vendors / name
    path.write_text(f"{library}\n")
    return path


@pytest.fixture
def isolated(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The faulty runtime is the only one."""
    monkeypatch.setenv("OCL_ICD_VENDORS", str(faulty))


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch, vendors: Path) -> Path:
    """No runtime of this Python environment is found."""
    monkeypatch.setattr(presence, "installed_runtimes", lambda: _of(vendors))
    return vendors


def _of(vendors: Path) -> tuple[Runtime, ...]:
    return tuple(Runtime(path.read_text().strip(), str(path)) for path in sorted(vendors.iterdir()))


def last_line(capsys: Captured) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err.splitlines()[-1]


def chosen(text: str) -> Choice:
    choice = choose_working(text)
    with choice.measurer:
        return choice


@pytest.mark.usefixtures("isolated")
def test_a_device_whose_kernels_do_not_build_is_listed_with_the_compilers_reason(capsys: Captured) -> None:
    assert main(["devices"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert re.split(r"\s{2,}", lines[1].strip())[4] == "runs kernels"
    assert re.split(r"\s{2,}", lines[3].strip())[4] == "no"
    assert lines[-1].startswith(f"0: It runs no kernels: {BUILD_FAILS}; install another OpenCL runtime")


def test_where_another_runtime_of_the_cpu_works_no_other_is_asked_for(
    vendors: Path, faulty: Path, capsys: Captured
) -> None:
    install(vendors, faulty)
    assert main(["devices"]) == 0

    (told,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("0: It runs no kernels"))
    assert told == f"0: It runs no kernels: {BUILD_FAILS}."


@pytest.mark.usefixtures("isolated")
def test_json_has_the_reason_too(capsys: Captured) -> None:
    assert main(["devices", "--json"]) == 0

    (device,) = json.loads(capsys.readouterr().out)
    assert device["runs_kernels"] is False
    assert device["problem"] == BUILD_FAILS


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize("device", ["Faulty", "0", "auto"])
def test_a_device_whose_kernels_do_not_build_is_not_measured(device: str, tmp_path: Path, capsys: Captured) -> None:
    report = tmp_path / "report.json"
    assert main(["measure", "--device", device, "-o", str(report)]) == 1

    told = last_line(capsys)
    assert BUILD_FAILS in told
    assert "package pocl-opencl-icd" in told
    assert not report.exists()


@pytest.mark.usefixtures("isolated")
def test_a_driver_that_crashes_while_building_says_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "crash_when_built")
    with pytest.raises(DeviceError, match=r"its driver crashed \(SIGABRT\): FAULTY ERROR: no code for this CPU"):
        choose_working("0")


@pytest.mark.usefixtures("isolated")
def test_a_driver_that_hangs_while_building_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "hang_when_built")
    found = find_devices()
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", 1.5)
    assert kernel_problems(found.candidates) == ("its driver did not answer within 1.5 s",)


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("crash_when_listed", r"its driver crashed \(SIGABRT\)"),
        ("hang_when_listed", "its driver did not answer within 3 s"),
    ],
)
def test_a_driver_that_does_not_list_its_devices_is_named(
    fault: str, problem: str, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", 3.0)
    none = "OpenCL runtimes are installed, but none offers a device"
    told = f"^{none}; OCL_ICD_VENDORS={re.escape(str(faulty))}: {problem}; repair these"
    with pytest.raises(DeviceError, match=told):
        find_devices()


@pytest.mark.parametrize("fault", ["none", "crash_when_listed", "crash_when_built"])
def test_auto_passes_over_a_broken_runtime(
    fault: str, vendors: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with the system's runtime, one of this Python environment is taken, and a remark says so."""
    path = install(vendors, faulty)
    monkeypatch.setenv("FAULT", fault)
    choice = chosen("auto")
    assert choice.candidate.runtime.source != str(path)
    told = "; ".join(choice.remarks)
    if fault == "crash_when_listed":
        assert told.startswith(f"{path}: its driver crashed")
    elif choice.candidate.device.kind == "cpu":  # a PoCL, which comes before others, needs no look at them
        reason = BUILD_FAILS if fault == "none" else "its driver crashed (SIGABRT): FAULTY ERROR: no code for this CPU"
        name = "Faulty CPU (Faulty runtime, driver 1.0)"
        assert f"= {name}" in told or f"{name} is skipped, because it runs no kernels: {reason}" in told


@pytest.mark.parametrize(
    ("content", "reason"),
    [("/nowhere/libnone.so", "No such file or directory"), (__file__, "invalid ELF header")],
    ids=["missing", "text"],
)
def test_an_icd_file_that_names_no_library_is_named(
    content: str, reason: str, nothing_else: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = install(nothing_else, content)
    for command in (["devices"], ["measure", "-o", str(tmp_path / "report.json")]):
        assert main(command) == 1
        told = last_line(capsys)
        none = "OpenCL runtimes are installed, but none offers a device"
        assert told.startswith(f"gpureport: {none}; {path}: its library cannot be loaded (")
        assert reason in told


def test_nothing_installed_is_another_sentence(nothing_else: Path, capsys: Captured) -> None:
    assert not list(nothing_else.iterdir())
    assert main(["devices"]) == 1
    assert last_line(capsys).startswith("gpureport: no OpenCL runtime is installed; install the device's OpenCL driver")


def test_a_broken_runtime_is_a_note_where_others_work(vendors: Path, capsys: Captured) -> None:
    path = install(vendors, "/nowhere/libnone.so")
    assert main(["devices", "--json"]) == 0
    captured = capsys.readouterr()
    assert f"Note: {path}: its library cannot be loaded" in captured.err
    assert any(device["runs_kernels"] for device in json.loads(captured.out))


def test_one_driver_that_is_registered_twice_is_listed_once(vendors: Path, faulty: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(faulty, copy)
    install(vendors, faulty)
    install(vendors, copy, "b.icd")
    devices = find_devices().devices
    assert [device.index for device in devices] == list(range(len(devices)))
    assert [device.name for device in devices].count("Faulty CPU") == 1


def test_two_runtimes_of_one_cpu_are_told(vendors: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The better one is taken: a PoCL before others, the newer before the older."""
    install(vendors, faulty)
    found = find_devices()
    versions = {"Faulty CPU": "PoCL 9.0"}

    def renamed(each: Candidate) -> Candidate:
        driver = versions.get(each.device.name, "PoCL 1.0").removeprefix("PoCL ")
        pocl = {"kind": "cpu", "platform": "Portable Computing Language", "driver": driver}
        return replace(each, device=each.device.model_copy(update=pocl))

    two = replace(found, candidates=tuple(renamed(each) for each in (found.candidates[0], working())))
    two = replace(
        two,
        candidates=tuple(
            replace(each, device=each.device.model_copy(update={"index": n})) for n, each in enumerate(two.candidates)
        ),
    )
    stand_in(monkeypatch, *two.devices)
    choice = chosen("auto")
    assert choice.candidate.device.name == "Faulty CPU"
    (told,) = choice.remarks
    assert told == f"PoCL 9.0 is used for this CPU; --device selects another runtime: 1 = {named(two.devices[1])}"


def test_a_gpu_that_runs_no_kernels_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = PRESENT.model_copy(update={"index": 1, "kind": "cpu", "name": "Some CPU"})
    stand_in(monkeypatch, PRESENT, cpu, problems={0: "it is on fire"})
    choice = chosen("auto")
    assert choice.candidate.device == cpu
    (told,) = choice.remarks
    assert told == "Fake Device (Fake Platform, driver 1.0) is skipped, because it runs no kernels: it is on fire"
    with pytest.raises(
        DeviceError, match=r"^Fake Device .* runs no kernels: it is on fire; install its current driver"
    ):
        choose_working("Fake Device")


def test_where_no_device_runs_kernels_each_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = PRESENT.model_copy(update={"index": 1, "kind": "cpu", "name": "Some CPU"})
    stand_in(monkeypatch, PRESENT, cpu, problems={0: "it is on fire", 1: "it is flooded"})
    with pytest.raises(
        DeviceError, match=r"^no device here runs kernels; .* on fire; .* flooded; install another OpenCL"
    ):
        choose_working("auto")


def test_a_device_runs_a_kernel_with_the_right_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is looked at as well: one that does something else is a problem."""
    from gpureport.measure import driver_process
    from gpureport.measure.opencl import OpenCLBackend

    backend = OpenCLBackend(working())
    assert driver_process.kernel_problem(backend) is None
    read = backend.read
    monkeypatch.setattr(backend, "read", lambda buffer, nbytes: read(buffer, nbytes)[::-1].copy())
    assert driver_process.kernel_problem(backend) == "a kernel gave wrong results"


def test_a_file_in_the_working_folder_is_not_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert find_devices().devices


@pytest.mark.usefixtures("vendors")
def test_a_runtime_that_is_named_and_lists_no_device_is_a_failure(
    vendors: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Exit code 1 with its reason; what no runtime is called is a usage error, which lists the reasons as well."""
    install(vendors, faulty, "broken.icd")
    monkeypatch.setenv("FAULT", "crash_when_listed")
    for name, code in (("broken", 1), ("Radeon", 2)):
        assert main(["measure", "--device", name]) == code
        assert "broken.icd: its driver crashed (SIGABRT)" in last_line(capsys)


def test_without_a_process_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert main(["devices"]) == 1
    told = "no process can be started for the OpenCL runtime (Resource temporarily unavailable)"
    assert last_line(capsys) == f"gpureport: {told}"


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_a_home_that_cannot_be_written_takes_no_device_away(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL writes what it compiles there."""
    before = find_devices().devices
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    found = find_devices()
    assert [each.name for each in found.devices] == [each.name for each in before]
    assert kernel_problems(found.candidates)[working().device.index] is None


def test_a_limit_of_memory_is_given_with_a_failure(
    vendors: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A library that does not fit is not broken."""
    large = tmp_path / "large.c"
    large.write_text("char large[1L << 31];")
    compiler = [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else [shutil.which("cc") or ""]
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", large.with_suffix(".so"), large], check=True)
    path = install(vendors, large.with_suffix(".so"))
    popen, limits = subprocess.Popen, (3 * 2**29, resource.getrlimit(resource.RLIMIT_AS)[1])

    def limited(*line: Any, **options: Any) -> Any:
        return popen(*line, **options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits))

    monkeypatch.setattr(subprocess, "Popen", limited)
    (told,) = (each for each in find_devices().failures if each.startswith(str(path)))
    assert told.startswith(f"{path}: its library cannot be loaded (")
    assert told.endswith("; memory is limited to 1536 MiB (ulimit -v)")


def test_an_interrupt_ends_what_was_asked(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", str(faulty))
    monkeypatch.setenv("FAULT", "hang_when_listed")
    asked: list[Child] = []
    wait = Child._wait

    def interrupt(self: Child, seconds: float) -> None:
        asked.append(self)
        wait(self, seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(Child, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        find_devices()
    assert asked[0]._process.poll() == -9
