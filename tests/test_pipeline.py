"""One run: its saved states and its report."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.compare import excerpt
from gpureport.measure.measurer import Measured
from gpureport.records.report import load_report, save_report
from gpureport.report.curves import curves
from gpureport.report.run.page_one import State, page_one
from gpureport.run.pipeline import _Run, run, wrong_results
from gpureport.run.workload_run import WorkloadRun
from gpureport.spec.database import load_database
from tests.fake_backend import LIMITS, PRESENT, FakeBackend, Steps
from tests.fake_run import Again, Copy, Missing, Two, plan, saved_reports
from tests.present import LocalMeasurer
from tests.toy import TOY


def test_predictions_of_the_specification_are_saved_before_the_first_dispatch() -> None:
    backend = FakeBackend()
    dispatched: list[int] = []
    run(plan(Copy(), Again()), LocalMeasurer(backend), lambda report: dispatched.append(len(backend.log)), Steps())  # noqa: ARG005
    assert dispatched[0] == 0
    assert dispatched[1] > 0


def test_a_report_is_saved_after_each_workload_and_at_the_end() -> None:
    """Predictions of the specification do not change once measuring began; primitives calibrate others only."""
    saved = saved_reports(Copy(), Again())
    assert [len(report.measurements) for report in saved] == [0, 1, 2, 2]
    assert [report.status for report in saved] == ["partial", "partial", "partial", "complete"]
    specified = [[p for p in report.predictions if p.kind == "specification"] for report in saved]
    assert all(before == after for before, after in pairwise(specified))
    assert [str(p.key) for p in specified[0]] == ["test/copy/size", "test/again/size"]
    assert [str(p.key) for p in saved[-1].predictions if p.kind == "calibrated"] == ["test/again/size"]
    compared = {(f.key.variant, f.feature) for f in saved[-1].findings if f.predicted and f.observed}
    assert {("copy", "rate"), ("again", "rate")} <= compared


def test_predictions_are_the_same_if_they_are_calibrated_while_another_workload_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [saved_reports(Copy(), Again(), Two())[-1]]
    monkeypatch.setattr(_Run, "_may_overlap", lambda *_: False)
    found.append(saved_reports(Copy(), Again(), Two())[-1])
    first, second = ([(p.kind, p.key, *p.points) for p in report.predictions] for report in found)
    assert first == second


@pytest.mark.parametrize("program", [{"name": "llvmpipe (LLVM 19.1.7, 256 bits)"}, {"emulated": True}])
def test_nothing_is_predicted_for_software(
    program: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor compared, and page one says that it is no hardware. Its file has a sweep without points."""
    software = PRESENT.model_copy(update={"kind": "cpu"} | program)
    match = load_database().match(software)
    planned = replace(plan(Copy(), Again(), Missing()), match=match)
    report = run(planned, LocalMeasurer(FakeBackend(), software), [].append, Steps())
    assert len(report.observations) == 2
    assert (report.predictions, list(report.findings), report.explanations) == ((), [], ())
    assert (report.match.entry, report.device.architecture.name) == (None, "software")
    save_report(report, tmp_path / "report.json")
    assert load_report(tmp_path / "report.json").measurements == report.measurements
    assert (excerpt(report).figures, excerpt(report).limits) == ((), ())
    assert main(["validate", str(tmp_path)]) == 2
    assert "a program takes the place of its device, so that nothing is predicted" in capsys.readouterr().err
    store = ["--store", str(tmp_path / "store")]
    assert main(["fleet", "add", f"node={tmp_path}", *store]) == 0
    assert main(["fleet", "report", *store]) == 2
    assert "no run with predictions, which runs on software or emulated devices lack" in capsys.readouterr().err
    page = page_one(report, curves(report))
    assert page.state is State.SOFTWARE
    assert page.trust.startswith("Nothing was predicted.")
    assert {(each.predicted, each.specification, each.efficiency) for each in page.figures} <= {(None, None, None)}


def test_a_workload_that_the_device_cannot_run_says_why() -> None:
    report = saved_reports(Copy(), Missing())[-1]
    assert report.workloads["test/missing"].skipped == "the device has no such thing"
    assert report.workloads["test/copy"].skipped is None
    assert report.status == "complete"


def test_a_workload_without_measured_sweeps_says_why_the_first_was_skipped() -> None:
    measurements = saved_reports(Two())[-1].measurements
    for number in range(9):
        skipped = (each.model_copy(update={"skipped": f"{each.key.sweep}: {number}"}) for each in measurements)
        part = WorkloadRun(Two(), TOY, Two().sweeps(TOY, LIMITS))
        part.add(Measured(tuple(skipped)), PRESENT)
        assert part.skipped == f"size: {number}"


def test_wrong_results_are_named_and_not_observed() -> None:
    report = saved_reports(Copy(), Again(), backend=FakeBackend(wrong=True))[-1]
    assert wrong_results(report) == ("test/copy", "test/again")
    assert not report.observations
    assert (report.workloads["test/copy"].skipped or "").startswith("wrong results: ")


def test_the_same_seed_gives_the_same_samples() -> None:
    first, second = (saved_reports(Copy())[-1] for _ in range(2))
    assert [p.samples_s for m in first.measurements for p in m.points] == [
        p.samples_s for m in second.measurements for p in m.points
    ]
