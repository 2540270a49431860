"""Devices of working, broken, crashing and hanging drivers; the drivers are libraries that a loader loads."""

import json
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.errors import DeviceError
from gpureport.measure import child, presence
from gpureport.measure.backends.runtimes import Runtime
from gpureport.measure.child import Child, Message
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import choose_working, find_devices, kernel_checks, named
from gpureport.system import proc_is_missing
from tests.fake_backend import PRESENT
from tests.present import opened, stand_in, working

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has ICD files"),
    pytest.mark.xdist_group("drivers"),
]
Captured = pytest.CaptureFixture[str]
BUILD_FAILS = "common/check.cl does not build: unknown target CPU 'generic'"


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runtime with one CPU; the variable FAULT selects its fault."""
    return compiled(Path(__file__).parent / "data" / "faulty_runtime.c", tmp_path_factory.mktemp("runtime"))


def compiled(source: Path, folder: Path) -> Path:
    """A library, by the system's compiler, or by Zig's, whose first build takes minutes."""
    system = shutil.which("cc")
    compiler = [system] if system else [sys.executable, "-m", "ziglang", "cc"]
    if not system and not find_spec("ziglang"):
        pytest.skip("no C compiler")
    library = folder / source.with_suffix(".so").name
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def vendors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of ICD files that replaces the system's; of this Python environment the working runtime remains."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    here = working().runtime
    monkeypatch.setattr(child, "installed_runtimes", lambda: (*_of(folder), here))
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", 60.0)
    return folder


def install(vendors: Path, library: object, name: str = "a.icd") -> Path:
    path = vendors / name
    path.write_text(f"{library}\n")
    return path


@pytest.fixture
def isolated(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", str(faulty))


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch, vendors: Path) -> Path:
    monkeypatch.setattr(child, "installed_runtimes", lambda: _of(vendors))
    return vendors


def _of(vendors: Path) -> tuple[Runtime, ...]:
    return tuple(Runtime(path.read_text().strip(), str(path)) for path in sorted(vendors.iterdir()))


def last_line(capsys: Captured) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err.splitlines()[-1]


def chosen(text: str) -> Measurer:
    with choose_working(text) as measurer:
        return measurer


@pytest.mark.usefixtures("isolated")
def test_a_device_whose_kernels_do_not_build_is_listed_with_the_compilers_error(capsys: Captured) -> None:
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.split(r"\s{2,}", lines[1].strip())[4] == "runs kernels"
    assert re.split(r"\s{2,}", lines[3].strip())[4] == "no"
    (remark,) = (line for line in lines if line.startswith("0: This device runs no kernels"))
    assert remark.startswith(f"0: This device runs no kernels: {BUILD_FAILS}; install another OpenCL runtime")
    assert main(["devices", "--json"]) == 0
    (device,) = json.loads(capsys.readouterr().out)
    assert (device["runs_kernels"], device["problem"]) == (False, BUILD_FAILS)


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize("device", [pytest.param("Faulty", marks=pytest.mark.slow), "auto"])
def test_a_device_whose_kernels_do_not_build_is_not_measured(device: str, tmp_path: Path, capsys: Captured) -> None:
    report = tmp_path / "report.json"
    assert main(["measure", "--device", device, "-o", str(report)]) == 1
    message = last_line(capsys)
    assert BUILD_FAILS in message
    assert "package pocl-opencl-icd" in message
    assert not report.exists()


@pytest.mark.usefixtures("isolated")
def test_the_error_of_a_driver_that_crashes_contains_its_last_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "crash_when_built")
    with pytest.raises(DeviceError, match=r"its driver crashed \(SIGABRT\): FAULTY ERROR: no code for this CPU"):
        choose_working("0")


@pytest.mark.usefixtures("isolated")
def test_a_driver_that_hangs_while_building_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "hang_when_built")
    found = find_devices()
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", 0.7)
    assert [problem for _, problem in kernel_checks(found)] == ["its driver did not answer within 0.7 s"]


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(
    ("fault", "limit_s", "problem"),
    [
        ("crash_when_listed", 60.0, r"its driver crashed \(SIGABRT\)"),
        ("hang_when_listed", 0.5, r"its driver did not answer within 0.5 s"),
    ],
)
def test_the_error_contains_the_driver_that_does_not_list_its_devices(
    fault: str, limit_s: float, problem: str, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(presence, "ANSWER_LIMIT_S", limit_s)
    with pytest.raises(DeviceError, match=f"; OCL_ICD_VENDORS={re.escape(str(faulty))}: {problem}; repair these"):
        find_devices()
    monkeypatch.setattr(presence, "proc_is_missing", partial(proc_is_missing, Path("/nowhere")))
    with pytest.raises(DeviceError, match=f"{problem}; mount /proc, without which"):
        find_devices()


@pytest.mark.parametrize("fault", ["none", "crash_when_listed", "crash_when_built"])
def test_auto_skips_a_broken_runtime(fault: str, vendors: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the system's runtime is broken, one of this Python environment is used, and a remark gives the reason."""
    path = install(vendors, faulty)
    monkeypatch.setenv("FAULT", fault)
    choice = chosen("auto")
    assert choice.candidate.runtime.source != str(path)
    remarks = "; ".join(choice.remarks)
    if fault == "crash_when_listed":
        assert remarks.startswith(f"{path}: its driver crashed")
    elif choice.candidate.device.kind == "cpu":  # PoCL is preferred, and the others need not run kernels
        reason = BUILD_FAILS if fault == "none" else "its driver crashed (SIGABRT): FAULTY ERROR: no code for this CPU"
        name = "Faulty CPU (Faulty runtime, driver 1.0)"
        assert f"= {name}" in remarks or f"{name} is skipped because it runs no kernels: {reason}" in remarks


@pytest.mark.parametrize(
    ("content", "reason"),
    [("/nowhere/libnone.so", "No such file or directory"), (__file__, "invalid ELF header")],
    ids=["missing", "text"],
)
def test_the_error_contains_the_icd_file_without_a_library(
    content: str, reason: str, nothing_else: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = install(nothing_else, content)
    for command in (["devices"], ["measure", "-o", str(tmp_path / "report.json")]):
        assert main(command) == 1
        message = last_line(capsys)
        assert f"; {path}: its library cannot be loaded (" in message
        assert reason in message


def test_nothing_installed_has_its_own_error(nothing_else: Path, capsys: Captured) -> None:
    assert not list(nothing_else.iterdir())
    assert main(["devices"]) == 1
    assert last_line(capsys).startswith("gpureport: no OpenCL runtime is installed; install the device's OpenCL driver")


def test_one_driver_that_is_registered_twice_is_listed_once(vendors: Path, faulty: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(faulty, copy)
    install(vendors, faulty)
    install(vendors, copy, "b.icd")
    devices = find_devices().devices
    assert [device.index for device in devices] == list(range(len(devices)))
    assert [device.name for device in devices].count("Faulty CPU") == 1


def test_other_runtimes_of_the_cpu_are_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The better one is used: the newer PoCL before the older."""
    pocl = PRESENT.model_copy(update={"kind": "cpu", "platform": "Portable Computing Language", "driver": "9.0"})
    older = pocl.model_copy(update={"index": 1, "driver": "1.0"})
    stand_in(monkeypatch, pocl, older)
    choice = chosen("auto")
    assert choice.candidate.device == pocl
    (remark,) = choice.remarks
    assert remark.startswith("PoCL 9.0 is used for this CPU")
    assert remark.endswith(f": 1 = {named(older)}")


def test_a_gpu_that_runs_no_kernels_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = PRESENT.model_copy(update={"index": 1, "kind": "cpu", "name": "Some CPU"})
    stand_in(monkeypatch, PRESENT, cpu, problems={0: "it is on fire"})
    choice = chosen("auto")
    assert choice.candidate.device == cpu
    assert [remark.endswith("it is on fire") for remark in choice.remarks] == [True]
    with pytest.raises(DeviceError, match=r"^Fake Device .* runs no kernels: it is on fire; install its current"):
        choose_working("Fake Device")
    stand_in(monkeypatch, PRESENT, cpu, problems={0: "it is on fire", 1: "it is flooded"})
    with pytest.raises(DeviceError, match=r"^no device of this machine runs kernels; .* on fire; .* flooded; install"):
        choose_working("auto")


def test_the_results_of_the_test_kernel_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpureport.measure import driver_process

    backend = opened(working())
    assert driver_process.kernel_problem(backend) is None
    read = backend.read
    monkeypatch.setattr(backend, "read", lambda buffer, nbytes: read(buffer, nbytes)[::-1].copy())
    assert driver_process.kernel_problem(backend) == "a kernel gave wrong results"


def test_a_file_in_the_working_folder_is_not_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert find_devices().devices


@pytest.mark.usefixtures("vendors")
def test_a_selected_runtime_without_devices_is_a_failure(
    vendors: Path, faulty: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Exit code 1 with its reason; a name that matches no runtime is a usage error, which lists the reasons too."""
    install(vendors, faulty, "broken.icd")
    monkeypatch.setenv("FAULT", "crash_when_listed")
    for name, code in (("broken", 1), ("Radeon", 2)):
        assert main(["measure", "--device", name]) == code
        assert "broken.icd: its driver crashed (SIGABRT)" in last_line(capsys)


def test_an_interrupt_ends_the_processes(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", str(faulty))
    monkeypatch.setenv("FAULT", "hang_when_listed")
    waiting: list[Child] = []

    def interrupt(self: Child, _: float) -> Message:
        waiting.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Child, "_receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        find_devices()
    assert waiting[0]._process.poll() == -9
