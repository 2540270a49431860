"""The real thing once, on whatever OpenCL device is here: everything, two halves, and runs that are stopped."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpureport import data
from gpureport.cli import main
from gpureport.measure.backends import opencl
from gpureport.records.report import Report, load_report
from gpureport.run import pipeline
from gpureport.spec.check import check_folder
from gpureport.spec.database import load_database
from tests.present import opened, stand_in, working

COMMAND = (sys.executable, "-m", "gpureport", "measure", "--quick")
RUN = ("--workload", "bit_transpose/local,memory/copy", "-o")

pytestmark = pytest.mark.xdist_group("opencl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "sweep_budget_s", lambda *_, **__: 0.5)
        assert main(["--quick", "--workload", "launch/groups,particles/arrays", "-o", str(path), "--no-pdf"]) == 0
    return path


def test_a_quick_run_predicts_measures_finds_and_writes(folder: Path) -> None:
    report = load_report(folder)
    assert report.status == "complete"
    assert report.settings.command == "gpureport --quick --workload launch/groups --workload particles/arrays"
    assert {m.key.family for m in report.measurements} == {"launch", "particles"}
    assert all(m.verification and m.verification.passed for m in report.measurements)
    assert any(f.predicted and f.observed for f in report.findings)
    assert {p.kind for p in report.predictions} == {"specification", "calibrated"}
    assert "article" in (folder / "report.html").read_text()
    made = max(p.made_at for p in report.predictions if p.kind == "specification")
    assert made[:19] <= min(m.started_at for m in report.measurements)[:19]


def stopped(path: Path, number: signal.Signals, measured: int) -> tuple[subprocess.Popen[str], Report]:
    """Start a run, send a signal once it has saved *measured* sweeps, and return what is on disk then."""
    process = subprocess.Popen([*COMMAND, *RUN, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (path.exists() and len(load_report(path).measurements) >= measured):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    return process, load_report(path)


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_what_it_measured(tmp_path: Path) -> None:
    process, _ = stopped(tmp_path / "report.json", signal.SIGKILL, measured=1)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    report = load_report(tmp_path / "report.json")
    assert report.status == "partial"
    assert {m.key.family for m in report.measurements} == {"memory"}
    assert {p.key.family for p in report.predictions if p.kind == "specification"} == {"memory", "bit_transpose"}
    assert main(["render", str(tmp_path), "--no-pdf"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_where_the_partial_report_is(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    process, _ = stopped(path, number, measured=0)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert error.splitlines()[-1] == (
        f"gpureport: interrupted; {path} is marked partial and contains the finished sweeps; "
        f"--resume {path} continues the run"
    )
    assert "Traceback" not in error
    assert load_report(path).status == "partial"
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "kernels_cl"
    shutil.copytree(data.data_dir("kernels_cl"), copy)
    monkeypatch.setattr(opencl, "data_dir", lambda name: copy)  # noqa: ARG005 - of this process: it measures itself
    device = working().device.model_copy(update={"index": 0})
    stand_in(monkeypatch, device, make=lambda: opened(working()))
    return copy


def test_a_kernel_that_does_not_build_is_named_with_its_line(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = kernels / "bit_transpose" / "local.cl"
    source.write_text(source.read_text() + "\nkernel void broken() { undeclared = 1; }\n")
    assert main(["measure", "--quick", "-w", "bit_transpose/local", "-o", str(tmp_path / "r.json")]) == 1
    captured = capsys.readouterr()
    assert "Skipped bit_transpose/local: bit_transpose/local.cl does not build: " in captured.err
    assert "undeclared" in captured.err
    assert "Traceback" not in captured.err
    assert load_report(tmp_path / "r.json").workloads["bit_transpose/local"].skipped


def test_a_kernel_with_wrong_results_is_not_timed(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = kernels / "bit_transpose" / "local.cl"
    right = source.read_text()
    wrong = right.replace("to[i] = value;", "to[i] = ~value;")
    assert wrong != right
    source.write_text(wrong)
    assert main(["measure", "--quick", "-w", "bit_transpose/local", "-o", str(tmp_path / "r.json")]) == 1
    assert "gpureport: bit_transpose/local gave wrong results and was not timed" in capsys.readouterr().err
    report = load_report(tmp_path / "r.json")
    assert report.status == "failed"
    assert all(m.verification and not m.verification.passed and not m.points for m in report.measurements)


@pytest.mark.slow
def test_a_draft_of_what_is_here_validates_and_is_matched(tmp_path: Path) -> None:
    """In a short run, few sweeps have a transition; launch costs exist on every device."""
    path, report = tmp_path / "mine" / "here.yaml", str(tmp_path / "report.json")
    assert main(["measure", "--quick", "-w", "launch", "-o", report]) == 0
    assert main(["devices", "new", "--report", report, "-o", str(path)]) == 0
    assert [problem for problem in check_folder([path]) if problem.severity == "error"] == []
    match = load_database([path.parent]).match(working().device)
    assert match.entry == "here"
    assert match.device.provenance["launch.batched"].kind == "measured"
    assert match.device.provenance["compute_units"].kind == "queried"
