"""Interrupted runs that are continued."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.errors import DeviceError, InputError
from gpureport.files import reserved
from gpureport.measure import Progress
from gpureport.measure.measurer import Measured
from gpureport.records.curves import Points
from gpureport.records.report import FILE_NAME, Report, load_report, save_report
from gpureport.run import workload_run
from gpureport.run.earlier import changes, keep_measurements, kept_measurements
from gpureport.run.pipeline import run
from tests.fake_backend import PRESENT, FakeBackend, Steps
from tests.fake_run import Again, Copy, Missing, Slow, Two, Wide, install, plan, saved_reports
from tests.kept import render_html
from tests.present import LocalMeasurer, stand_in

Captured = pytest.CaptureFixture[str]
WORKLOADS = (Copy(), Wide(), Again(), Missing())


def states(earlier: Report | None = None, backend: FakeBackend | None = None) -> list[Report]:
    return saved_reports(*WORKLOADS, backend=backend, earlier=earlier)


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    install(monkeypatch, FakeBackend, WORKLOADS)
    return monkeypatch


@pytest.mark.parametrize("at", range(6))
def test_a_run_that_is_continued_ends_with_the_measurements_of_one_that_was_not(at: int) -> None:
    """Whatever state it had saved; the random data and orders depend on the workload and not on what ran before."""
    whole = states()
    assert [report.status for report in whole] == ["partial"] * 5 + ["complete"]
    continued = states(whole[at])[-1]
    assert continued.status == "complete"
    assert_equal(continued, whole[-1])
    assert continued.workloads == whole[-1].workloads
    assert continued.created_at == whole[-1].created_at
    assert len(continued.resumed_at) == 1


def test_calibrated_predictions_of_unmeasured_workloads_are_made_again() -> None:
    """On a GPU the report may be saved while the next workload, already calibrated, is measured."""
    workloads = Copy(), Again(), Two()

    def calibrated(report: Report) -> set[str]:
        return {each.key.variant for each in report.predictions if each.kind == "calibrated"}

    saved = saved_reports(*workloads)
    half = next(report for report in saved if calibrated(report) > {m.key.variant for m in report.measurements[1:]})
    first, *_, last = saved_reports(*workloads, earlier=half)
    assert calibrated(half) == calibrated(last) == {"again", "two"}
    assert calibrated(first) == {"again"}


def test_finished_workloads_are_not_measured_again() -> None:
    half = states()[3]
    assert {m.key.variant for m in half.measurements} == {"copy", "wide", "missing"}
    backend = FakeBackend()
    continued = states(half, backend)[-1]
    assert [m for m in continued.measurements if m.key.variant != "again"] == list(half.measurements)
    assert set(backend.built) == {"-DLOCAL=1"}  # not that of the wide one


def test_microbenchmarks_are_kept_for_later_runs_on_the_same_device() -> None:
    first = states()[-1]
    assert first.machine
    facts = first.machine.opencl, first.device, first.settings, WORKLOADS
    keep_measurements(first, WORKLOADS, ["test/copy"])
    keep_measurements(first.model_copy(update={"created_at": "2026-01-01T00:00:00+00:00"}), WORKLOADS[:1], [])
    assert kept_measurements(*facts) is kept_measurements(*facts[:3], WORKLOADS[:1]) is None
    keep_measurements(first, WORKLOADS, [])
    backend, saved = FakeBackend(), list[Report]()
    again = replace(plan(*WORKLOADS), kept=kept_measurements(*facts))
    run(again, LocalMeasurer(backend), saved.append, Steps())
    assert (saved[-1].calibrated_at, first.calibrated_at) == (first.created_at, "")
    assert "-DLOCAL=2" not in backend.built
    assert [m.points for m in saved[-1].measurements] == [m.points for m in first.measurements]
    assert saved[-1].findings == first.findings
    fuller = facts[0].model_copy(update={"global_memory_bytes": 1, "clock_hz": None})
    assert kept_measurements(fuller, *facts[1:])
    other = facts[0].model_copy(update={"driver": "0.9"})
    assert kept_measurements(other, *facts[1:]) is None


def test_a_workload_that_failed_is_measured_again() -> None:
    failing = states(backend=FakeBackend(refused_options="-DLOCAL=2"))[3]
    assert set(failing.failed_variants) == {"test/wide"}
    continued = states(failing)[-1]
    assert not continued.failed_variants
    assert sorted({m.key.variant for m in continued.measurements}) == ["again", "copy", "missing", "wide"]
    assert len(continued.measurements) == 4


def test_the_command_continues_with_the_settings_of_the_run(fake: pytest.MonkeyPatch) -> None:
    """The system has less memory than before."""
    assert main(["measure", "--quick", "--seed", "5", "-o", f"out/{FILE_NAME}"]) == 0
    report = load_report(Path("out"))
    save_report(
        report.model_copy(update={"status": "partial", "measurements": report.measurements[:1]}), Path("out", FILE_NAME)
    )
    stand_in(fake, PRESENT.model_copy(update={"global_memory_bytes": PRESENT.global_memory_bytes // 2}))
    assert main(["measure", "--resume", "out"]) == 0
    continued = load_report(Path("out"))
    assert (continued.settings.quick, continued.settings.seed) == (True, 5)
    assert len(continued.measurements) == len(report.measurements)


def test_of_a_complete_run_only_the_documents_are_written(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert main(["-o", "out", "--no-pdf"]) == 0
    Path("out/report.html").unlink()
    before = Path("out", FILE_NAME).read_bytes()
    fake.setattr(FakeBackend, "time", lambda *_: pytest.fail("measured"))
    assert main(["--resume", "out", "--no-pdf"]) == 0
    captured = capsys.readouterr()
    assert "out is complete; nothing is left to measure.\n" in captured.err
    assert captured.out.endswith("\nWritten: out/report.html\n")
    assert Path("out/report.html").exists()
    assert Path("out", FILE_NAME).read_bytes() == before


def test_documents_of_a_run_that_is_continued_are_named_after_its_report() -> None:
    assert main(["measure", "-o", "m2.json"]) == 0
    Path("m1.html").write_text("of another report")
    Path("report.html").write_text("of another report")
    assert main(["--resume", "m2.json", "--no-pdf"]) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["m1.html", "m2.html", "m2.json", "report.html"]
    assert Path("report.html").read_text() == "of another report"


@pytest.mark.parametrize("options", [["--quick"], ["--kernel", "k.cl"], ["--seed", "1", "--runs", "2"]])
def test_settings_beside_it_are_refused(capsys: Captured, options: list[str]) -> None:
    for command in ([], ["measure"]):
        assert main([*command, "--resume", "out", *options]) == 2
        assert "cannot be combined with --resume" in capsys.readouterr().err


def test_another_device_does_not_continue_it(capsys: Captured) -> None:
    assert main(["measure", "-o", "r.json"]) == 0
    report = load_report(Path("r.json"))
    assert report.machine
    machine = report.machine.model_copy(update={"opencl": report.machine.opencl.model_copy(update={"driver": "0.9"})})
    save_report(report.model_copy(update={"status": "partial", "machine": machine}), Path("r.json"))
    before = Path("r.json").read_bytes()
    assert main(["measure", "--resume", "r.json"]) == 2
    message = "its driver was 0.9 (OpenCL 3.0), and now it is 1.0 (OpenCL 3.0); measure again without --resume\n"
    assert capsys.readouterr().err.endswith(message)
    assert Path("r.json").read_bytes() == before


Change = Callable[[Report], Report]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda r: r, ""),
        (lambda r: r.model_copy(update={"tool_version": "0.1"}), "it was made by gpureport 0.1"),
        (
            lambda r: r.model_copy(update={"device": r.device.model_copy(update={"name": "X"})}),
            "entry of X has changed",
        ),
        (lambda r: r.model_copy(update={"machine": None}), "nothing in it was measured"),
        (lambda r: _asked(r, quick=False, workloads=("memory",)), "settings were different (quick, workloads)"),
        (lambda r: _present(r, name="Other"), "measured on Other (Fake Platform"),
        (lambda r: _present(r, compute_units=5, board="X"), "another setup (compute units, board)"),
        (lambda r: _present(r, index=7, global_memory_bytes=1, max_allocation_bytes=1, clock_hz=1.0), ""),
    ],
)
def test_each_change_is_named(change: Change, text: str) -> None:
    report = states()[2]
    assert report.machine
    found = "; ".join(changes(change(report), report.machine.opencl, report.device, report.settings))
    assert text in found
    assert bool(text) == bool(found)


def _asked(report: Report, **values: object) -> Report:
    return report.model_copy(update={"settings": report.settings.model_copy(update=values)})


def _present(report: Report, **values: object) -> Report:
    assert report.machine
    opencl = report.machine.opencl.model_copy(update=values)
    return report.model_copy(update={"machine": report.machine.model_copy(update={"opencl": opencl})})


def test_a_run_that_has_not_ended_is_not_continued(capsys: Captured) -> None:
    assert main(["measure", "-o", "r.json"]) == 0
    before = Path("r.json").read_bytes()
    with reserved(Path("r.lock")):
        assert main(["measure", "--resume", "r.json"]) == 2
    assert "another gpureport is writing " in capsys.readouterr().err
    assert main(["measure", "--resume", "nowhere/r.json"]) == 2
    assert "--resume: nowhere/r.json: there is no such report; give the report.json of " in capsys.readouterr().err
    assert not Path("nowhere").exists()
    assert Path("r.json").read_bytes() == before


def interrupted(progress: Steps, measurer: LocalMeasurer | None = None, earlier: Report | None = None) -> Report:
    """What a run of a workload with one sweep and one with two has saved when it is interrupted."""
    saved: list[Report] = []
    with pytest.raises(KeyboardInterrupt):
        run(plan(Copy(), Two()), measurer or LocalMeasurer(FakeBackend()), saved.append, progress, earlier)
    return saved[-1]


def resumed(earlier: Report, saved: list[Report] | None = None) -> tuple[Report, list[str]]:
    """The report of the run that is continued, and what it did."""
    steps, save = Steps(), (saved if saved is not None else []).append
    report = run(plan(Copy(), Two()), LocalMeasurer(FakeBackend()), save, steps, earlier)
    assert report.status == "complete"
    assert not report.unfinished
    return report, list(dict.fromkeys(label for label, _ in steps.seen))


def assert_equal(report: Report, whole: Report) -> None:
    """Nothing is missing, nothing is there twice, and specification predictions are those made before measuring."""
    assert [m.key for m in report.measurements] == [m.key for m in whole.measurements]
    for mine, other in zip(report.measurements, whole.measurements, strict=True):
        assert [p.point for p in mine.points] == [p.point for p in other.points]
        assert [p.samples_s for p in mine.points] == [pytest.approx(p.samples_s) for p in other.points]
    for name in ("observations", "explanations"):
        assert [each.key for each in getattr(report, name)] == [each.key for each in getattr(whole, name)]
    assert sorted((p.kind, str(p.key)) for p in report.predictions) == sorted(
        (p.kind, str(p.key)) for p in whole.predictions
    )
    assert len(report.findings) == len(whole.findings)


def assert_whole(report: Report) -> None:
    assert_equal(report, saved_reports(Copy(), Two())[-1])
    times = [reading.at_s for each in report.conditions for reading in each.readings]
    assert times == sorted(times)


def test_sweeps_of_a_workload_that_is_interrupted_once_or_twice_are_saved_and_not_measured_again() -> None:
    report = interrupted(Steps("test/two: many"))
    assert (report.status, report.unfinished) == ("partial", ("test/two",))
    assert [str(m.key) for m in report.measurements] == ["test/copy/size", "test/two/size"]
    assert [o.key.variant for o in report.observations] == ["copy"]
    assert "predicted" in render_html(report)
    saved: list[Report] = []
    continued, done = resumed(report, saved)
    assert done == ["test/two: checking results", "test/two: many"]
    assert saved[0].measurements == report.measurements  # a kill now would lose nothing either
    assert saved[0].unfinished == report.unfinished
    assert continued.measurements[1] == report.measurements[1]
    made = {p.key: p for p in report.predictions if p.kind == "specification"}
    assert made[continued.measurements[1].key] in continued.predictions
    assert_whole(continued)
    twice = interrupted(Steps("test/two: many"), earlier=report)
    assert twice.measurements == report.measurements
    continued, _ = resumed(twice)
    assert len(continued.resumed_at) == 2
    assert_whole(continued)


def test_a_workload_that_was_measured_and_not_looked_into_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workload_run, "find", stop)
        report = interrupted(Steps())
    assert report.unfinished == ("test/copy",)
    assert [str(m.key) for m in report.measurements] == ["test/copy/size"]
    assert not report.observations
    assert [each.workload for each in report.conditions] == ["test/copy"]
    continued, done = resumed(report)
    assert done == ["test/two: checking results", "test/two: size", "test/two: many"]
    assert_whole(continued)


def test_sweeps_are_measured_again_if_they_failed_or_their_points_have_changed() -> None:
    report = interrupted(Steps("test/two: many"))
    failed = report.measurements[1].model_copy(update={"failed": True})
    continued, _ = resumed(report.model_copy(update={"measurements": (report.measurements[0], failed)}))
    assert_whole(continued)
    shorter = [p.model_copy(update={"points": Points(p.points[1:])}) for p in report.predictions]
    continued, done = resumed(report.model_copy(update={"predictions": tuple(shorter)}))
    assert done == ["test/two: checking results", "test/two: size", "test/two: many"]
    points = {p.key: p.points for p in report.predictions}
    assert all(
        p.points == points[p.key] for p in continued.predictions if p.kind == "specification" and p.key.variant == "two"
    )


def test_a_device_that_is_lost_while_it_measures_costs_no_workload_twice() -> None:
    class Lost(LocalMeasurer):
        left = 2

        def finish(self, progress: Progress) -> Measured:
            self.left -= 1
            if self.left < 0:
                raise DeviceError("it is gone")
            return super().finish(progress)

    report = run(plan(*WORKLOADS, Two(), Slow()), Lost(FakeBackend()), lambda _: None, Steps())
    assert (report.status, report.stopped) == ("partial", "it is gone")
    assert [m.key.variant for m in report.measurements] == ["copy", "missing"]
    assert sorted(each.workload for each in report.conditions) == ["test/copy", "test/missing"]
    assert {p.key.variant for p in report.predictions} == {"copy", "wide", "again", "missing", "two", "slow"}


def test_an_error_while_predicting_is_raised_before_anything_is_measured(fake: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InputError("impossible")

    fake.setattr(Again, "demand", fail)
    saved: list[Report] = []
    with pytest.raises(InputError, match="impossible"):
        run(plan(Copy(), Wide(), Two(), Again()), LocalMeasurer(FakeBackend()), saved.append, Steps())
    assert not saved
