"""Measuring in a separate process: if it ends for any reason, only one workload is lost."""

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpureport.cli import main, shared
from gpureport.errors import DeviceError
from gpureport.isolation import _BEGIN
from gpureport.measure import child
from gpureport.measure import measurer as remote
from gpureport.measure.backends import builds, opencl
from gpureport.measure.backends.builds import BuildLogs
from gpureport.measure.backends.runtimes import Runtime, RuntimeDevice
from gpureport.measure.child import Child, EndedError
from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Measured, Measurer
from gpureport.measure.sweep import Task
from gpureport.records.report import load_report
from gpureport.spec.database import load_database
from gpureport.workloads.model import Limits
from tests.fake_backend import PRESENT, Steps
from tests.faulty_workloads import After, Crashing, Endless, Faulty, Huge, Sound, Unbuildable, Wrong
from tests.present import working

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="signals and pipes are those of Linux"),
    pytest.mark.xdist_group("drivers"),
]
ROOT = str(Path(__file__).parent.parent)
PATH = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH", "")]))
LIMITS = Limits(max_bytes=2**22, max_buffer_bytes=2**21, max_work_group=64, quick=True)
Captured = pytest.CaptureFixture[str]
on_a_cpu = pytest.mark.skipif("working().device.kind != 'cpu'", reason="no such kernels on a real device")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measurer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PATH)
        patch.chdir(tmp_path_factory.mktemp("driver"))
        with Measurer(working()).opened() as opened:
            yield opened


@pytest.fixture
def measurer(opened: Measurer) -> Measurer:
    """One for all tests; in a new process if the last one has ended or is suspect."""
    if opened._suspect or opened._child.ended or opened._child._process.poll() is not None:
        opened._suspect = False
        opened.reopen()
    return opened


def begun(measurer: Measurer, workload: Faulty) -> None:
    device = load_database().match(measurer.device).device
    settings = SweepSettings(LIMITS, budget_s=0.2)
    measurer.start(Task(workload, workload.sweeps(device, LIMITS), settings))


def measured(measurer: Measurer, workload: Faulty, progress: Steps | None = None) -> Measured:
    begun(measurer, workload)
    return measurer.finish(progress or Steps())


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_measurements_arrive_with_progress_and_readings(measurer: Measurer) -> None:
    steps = Steps()
    found = measured(measurer, Sound(), steps)
    assert [each.key.sweep for each in found.measurements] == ["size", "many"]
    assert all(point.samples_s for each in found.measurements for point in each.points)
    assert all(each.verification and each.verification.passed for each in found.measurements)
    assert {label for label, _ in steps.seen} >= {"test/sound: checking results", "test/sound: size"}
    readings = found.readings
    began = [each.began_s for each in found.measurements]
    assert all(at is not None and readings[0].at_s <= at <= readings[-1].at_s for at in began)


@on_a_cpu
@pytest.mark.parametrize(
    ("workload", "reason"),
    [(Endless(), "its driver did not answer within 8 s"), (Crashing(), "its driver crashed (SIGSEGV)")],
    ids=["endless", "crashing"],
)
def test_a_kernel_that_ends_the_process_loses_the_rest_of_its_workload(
    measurer: Measurer, workload: Faulty, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as limited:
        limited.setattr(remote, "SILENCE_LIMIT_S", 8.0)
        first, second = measured(measurer, workload).measurements
    assert all(point.samples_s for point in first.points)
    assert not first.failed
    assert second.failed
    assert (second.skipped or "").startswith(reason)
    assert f"{workload.name}: many" in (second.skipped or "")
    assert all(point.samples_s for each in measured(measurer, After()).measurements for point in each.points)


def test_an_end_that_loses_only_builds_is_no_failure(measurer: Measurer) -> None:
    os.kill(measurer._child._process.pid, signal.SIGKILL)
    sweeps = Sound().sweeps(load_database().match(measurer.device).device, LIMITS)
    assert set(measurer.compiled(Sound(), sweeps)["size"]) == {None}
    found = measured(measurer, Sound())
    assert not any(each.failed for each in found.measurements)


def test_a_process_in_which_a_kernel_failed_is_replaced(measurer: Measurer) -> None:
    first = measurer._child._process.pid
    assert all(each.failed for each in measured(measurer, Unbuildable()).measurements)
    assert not any(each.failed for each in measured(measurer, Sound()).measurements)
    assert measurer._child._process.pid != first


def test_wrong_results_and_too_little_memory_affect_only_their_own_points(measurer: Measurer) -> None:
    first = measurer._child._process.pid
    for each in measured(measurer, Wrong()).measurements:
        assert (each.skipped or "").startswith("wrong results: ")
    (huge,) = measured(measurer, Huge()).measurements
    fits, does_not = huge.points
    assert fits.samples_s
    assert (does_not.skipped or "").startswith("needs ")
    assert measured(measurer, Sound()).measurements[0].points[0].samples_s
    assert measurer._child._process.pid == first


def test_a_process_that_is_killed_is_replaced(measurer: Measurer) -> None:
    os.kill(measurer._child._process.pid, signal.SIGKILL)
    lost = measured(measurer, Sound()).measurements
    assert [each.skipped for each in lost] == ["its driver crashed (SIGKILL) (while measuring test/sound)"] * 2
    assert not any(each.failed for each in measured(measurer, Sound()).measurements)


def test_a_process_that_does_not_read_a_large_request_is_ended() -> None:
    def blocked(*_: object) -> None:
        raise AssertionError("the request blocks")

    before = signal.signal(signal.SIGALRM, blocked)
    child = Child(working().runtime)
    signal.alarm(30)
    try:
        os.kill(child._process.pid, signal.SIGSTOP)
        child.send("devices", bytes(2**24))
        with pytest.raises(EndedError, match=r"its driver did not answer within 0\.4 s"):
            child.answer(0.4)
        assert child.ended
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        child.end()


def test_a_builder_leaves_logs_for_the_process_that_measures_and_ends(tmp_path: Path) -> None:
    """Also of a program that does not build; the next process finds logs of builds that began."""
    keys = [("common/check.cl", f"-DGROUP={size}") for size in ("8", "4", "(")]
    builder = Child(working().runtime, tmp_path)
    builder.send("build_ahead", working(), keys[1:], tmp_path)
    builder.close()
    assert builder._process.wait(60) == 0
    builder.end()

    logs = BuildLogs(tmp_path)
    assert len([*tmp_path.glob("*.log")]) == 2
    with logs.written(*keys[0]) as log:
        log += ["Used 11 ", "registers"]
    assert logs.read(*keys[0]) == "Used 11 registers"
    assert logs.read("common/hold.cl", "") == ""


def test_a_driver_that_gives_no_log_leaves_that_of_the_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl, "tidy", lambda *_: "")
    logs = BuildLogs(tmp_path)
    with logs.written("common/hold.cl", "") as log:
        log.append("Used 11 registers")
    backend = opencl.OpenCLBackend(working(), logs)
    assert backend._programs[backend.build("common/hold.cl", "")].log == "Used 11 registers"


def running(program: str, monkeypatch: pytest.MonkeyPatch) -> Child:
    """A process that executes a program after it got a request."""
    runtime, popen = working().runtime, subprocess.Popen

    def start(_: object, **options: Any) -> Any:
        return popen([sys.executable, "-c", program, str(os.getpid())], **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    child = Child(runtime)
    child.send("devices")
    return child


@pytest.mark.parametrize("sent", [b"printed", _BEGIN + b"\x80", _BEGIN + pickle.dumps("a message")[:-4]])
def test_a_process_that_stops_within_a_message_is_ended_after_the_limit(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"import os, time; os.write(1, {sent!r}); time.sleep(30)"
    stopped = running(program, monkeypatch)
    began = time.monotonic()
    with pytest.raises(EndedError, match=r"did not answer within 0\.4 s"):
        stopped.answer(0.4)
    assert stopped.ended
    assert 0.3 < time.monotonic() - began < 15.0
    with pytest.raises(EndedError, match="has ended"):
        stopped.answer(60.0)


def test_the_limit_counts_from_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """So several processes that hang cost no more than one."""
    hanging = running("import time; time.sleep(30)", monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 59.0)
    began = time.time()
    with pytest.raises(EndedError, match="did not answer within 60 s"):
        hanging.answer(60.0)
    assert 0.9 < time.time() - began < 15.0


def test_only_the_end_of_the_output_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os; os.dup2(2, 1)\nfor _ in range(2**9): print('x' * 2**15)\nprint('no device')\nexit(3)"
    talking = running(program, monkeypatch)
    with pytest.raises(EndedError, match=r"its driver ended with exit code 3: no device$"):
        talking.answer(30.0)
    assert len(talking._printed) == child._OUTPUT_BYTES


def test_output_damages_no_message_and_descendants_end_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
        import os, pickle, subprocess, time
        print("before the first message", flush=True)
        from gpureport.isolation import channel
        requests, replies = channel()
        assert pickle.load(requests) == ("devices", ())
        subprocess.run(["echo", "of a descendant"])
        assert not os.read(0, 1)
        started = subprocess.Popen(["sleep", "60"])
        for message in ("item", "half"), ("answer", started.pid):
            os.write(1, b"of a driver\\n")
            replies.write(pickle.dumps(message))
            replies.flush()
        pickle.load(requests)
        os.abort()
    """
    talking, items = running(textwrap.dedent(program), monkeypatch), list[str]()
    descendant = Path(f"/proc/{talking.answer(30.0, items=items)}")
    assert items == ["half"]
    assert descendant.exists()
    talking.send("devices")
    with pytest.raises(EndedError, match=r"its driver crashed \(SIGABRT\): of a driver$"):
        talking.answer(30.0)
    until = time.monotonic() + 10.0
    with suppress(FileNotFoundError, ProcessLookupError):
        while "zombie" not in (descendant / "status").read_text(encoding="ascii"):
            assert time.monotonic() < until
    assert b"before" not in talking._printed
    assert b"of a descendant" in talking._printed


@pytest.mark.slow
def test_a_process_that_ended_leaves_no_children_or_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    before = children()
    with Measurer(working()).opened() as opened:
        assert len(children() - before) == 1
        assert measured(opened, Sound()).measurements
    until = time.monotonic() + 10.0
    while children() - before or list(folder.iterdir()):  # a thread ends it
        assert time.monotonic() < until


def test_builders_end_with_the_process_that_measures_and_none_is_necessary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the folder is removed, in which a driver might store a program again."""
    monkeypatch.setattr(remote, "usable_cores", lambda: frozenset(range(4)))
    answers = _BEGIN + 2 * pickle.dumps(("answer", None))
    program, popen = f"import os, time; os.write(1, {answers!r}); time.sleep(60)", subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: popen([sys.executable, "-c", program], **options))
    measurer = Measurer(RuntimeDevice(PRESENT, Runtime(""), 0))
    measurer.build_ahead([("kernels.cl", f"-DN={number}") for number in range(33)])
    measuring = measurer._child
    assert measuring.answer(30.0) is None
    assert len(measuring.builders) == 2
    os.kill(measuring._process.pid, signal.SIGKILL)
    with pytest.raises(EndedError):
        measuring.answer(0.5)
    assert all(each._process.poll() == -signal.SIGKILL for each in measuring.builders)
    assert not measuring.folder.exists()

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(measuring, "send", lambda _: None)
    measurer.build_ahead([("kernels.cl", "")])
    assert len(measuring.builders) == 2


def test_the_log_of_a_build_that_does_not_end_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if only a part was written; and a folder that was removed is not created again."""
    monkeypatch.setattr(builds, "_WAIT_S", 0.05)
    logs = BuildLogs(tmp_path / "folder")
    with pytest.raises(FileNotFoundError), logs.written("kernels.cl", ""):
        pass
    assert not logs.folder.exists()
    logs.folder.mkdir()
    with logs.written("kernels.cl", "") as log:
        log.append("\xe9")
        assert logs.read("kernels.cl", "") == ""
    assert logs.read("kernels.cl", "") == "\xe9"
    (file,) = logs.folder.iterdir()
    file.write_bytes(file.read_bytes()[:1])
    assert logs.read("kernels.cl", "") == ""


def test_a_process_without_an_owner_leaves_no_files(tmp_path: Path) -> None:
    program = """
        from gpureport.measure.backends.runtimes import Runtime
        from gpureport.measure.child import Child
        Child(Runtime(""))
        raise KeyboardInterrupt
    """
    command, environment = [sys.executable, "-c", textwrap.dedent(program)], {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.stderr.endswith("KeyboardInterrupt\n")
    assert not list(tmp_path.iterdir())


def test_drivers_end_with_the_inner_context_and_if_one_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[object] = []

    class Fake(Child):
        def __init__(self, runtime: Runtime) -> None:
            if runtime.library == "none":
                raise DeviceError("no process")

        def send(self, *_: object) -> None: ...

        def kill(self) -> None: ...

        def end(self) -> None:
            ended.append(self)

    monkeypatch.setattr(child, "Child", Fake)
    monkeypatch.setattr(child, "installed_runtimes", lambda: (Runtime("a"),))
    with child.drivers() as outer, child.drivers() as inner:
        assert list(outer.values()) == list(inner.values())
        assert len(outer) == 1
    monkeypatch.setattr(child, "installed_runtimes", lambda: (Runtime("a"), Runtime("none")))
    with pytest.raises(DeviceError, match="no process"), child.drivers():
        pass
    assert len(ended) == 2


def install(monkeypatch: pytest.MonkeyPatch, *workloads: Faulty) -> None:
    here = working().runtime
    monkeypatch.setattr(child, "installed_runtimes", lambda: (here,))
    monkeypatch.setattr(shared, "selected", lambda *_, **__: workloads)


@pytest.mark.slow
@on_a_cpu
def test_a_run_continues_after_a_crash_and_a_hang(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(remote, "SILENCE_LIMIT_S", 6.0)
    install(monkeypatch, Sound(), Crashing(), Endless(), After())
    assert main(["measure", "--quick", "-o", "r.json"]) == 0
    assert re.search("2 of 4 workloads .*: test/crashing, test/endless", capsys.readouterr().err)
    report = load_report(Path("r.json"))
    assert report.status == "complete"
    times = [reading.at_s for each in report.conditions for reading in each.readings]
    assert times == sorted(times)
    assert {m.key.variant for m in report.measurements if m.failed} == {"crashing", "endless"}
    complete = {m.key.variant for m in report.measurements if all(point.samples_s for point in m.points) and m.points}
    assert complete == {"sound", "crashing", "endless", "after"}  # the faulty ones with their first sweep


def test_a_run_stops_when_the_device_is_lost(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    install(monkeypatch, Sound(), After())
    finish = Measurer.finish

    def lose(self: Measurer, progress: Steps) -> Measured:
        found = finish(self, progress)
        self._child.end()
        self.candidate = replace(self.candidate, position=99)
        return found

    monkeypatch.setattr(Measurer, "finish", lose)
    assert main(["measure", "--quick", "-o", "r.json"]) == 1

    reason = "its driver no longer lists it"
    assert re.search(f"device was lost.*{reason}.*r.json", capsys.readouterr().err.splitlines()[-1])
    report = load_report(Path("r.json"))
    assert (report.status, report.stopped) == ("partial", reason)
    assert {m.key.variant for m in report.measurements} == {"sound"}
    assert main(["render", "r.json", "--no-pdf"]) == 0
    assert reason in Path("r.html").read_text()


@pytest.mark.slow
@on_a_cpu
def test_an_interrupt_ends_an_endless_kernel_at_once(tmp_path: Path) -> None:
    program = """
        import sys
        from gpureport.cli import run, shared
        from tests.faulty_workloads import Endless, Sound
        shared.selected = lambda names, **_: (Sound(), Endless())
        sys.exit(run())
    """
    command = [sys.executable, "-c", textwrap.dedent(program), "measure", "--quick", "-o", "r.json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    until = time.monotonic() + 60.0
    while process.stderr.readline() != "test/endless …\n":
        assert time.monotonic() < until
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    assert process.wait(5.0) == 130
    assert "r.json is marked partial" in process.stderr.read()
    process.stderr.close()
    report = load_report(tmp_path / "r.json")
    assert [(m.key.variant, m.key.sweep) for m in report.measurements] == [
        ("sound", "size"),
        ("sound", "many"),
        ("endless", "size"),
    ]
    assert report.unfinished == ("test/endless",)


def test_completed_sweeps_are_known_before_the_workload_ends(measurer: Measurer) -> None:
    begun(measurer, Sound())
    until = time.monotonic() + 30.0
    while len(found := measurer.so_far().measurements) < 2:
        assert time.monotonic() < until
    assert [each.key.sweep for each in found] == ["size", "many"]
    measurer._child.end()


def test_an_interrupt_loses_no_completed_sweep(measurer: Measurer) -> None:
    begun(measurer, Sound())
    with pytest.raises(KeyboardInterrupt):
        measurer.finish(Steps("test/sound: many"))
    assert measurer.so_far().measurements[0].key.sweep == "size"
    measurer._child.end()
