"""``gpureport`` and ``gpureport measure`` on a device that does not exist: files, sentences, exit codes."""

import json
import re
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from gpureport.cli import main, measuring
from gpureport.cli.app import RunOptions
from gpureport.errors import GpuReportError
from gpureport.files import reserved
from gpureport.measure import presence
from gpureport.records.report import Report, load_report, save_report
from gpureport.report import pdf, render
from gpureport.run import workload_run
from tests.fake_backend import FakeBackend
from tests.fake_run import Again, Copy, Missing, Slow, Wide, install

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def failure(capsys: Captured) -> str:
    """Return the one line on standard error; nothing may be on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("gpureport: ")
    return captured.err.removeprefix("gpureport: ").rstrip("\n")


@pytest.mark.usefixtures("pango")
def test_everything_ends_in_three_files(capsys: Captured) -> None:
    assert main(["-o", "out"]) == 0
    files = [Path("out") / name for name in ("report.json", "report.html", "report.pdf")]
    assert sorted(Path("out").iterdir()) == sorted(files)
    assert load_report(Path("out")).status == "complete"
    assert files[1].read_text().startswith("<!DOCTYPE html>")
    assert files[2].read_bytes().startswith(b"%PDF-")
    assert f"Written: {', '.join(map(str, files))}\n" in capsys.readouterr().out


def test_several_runs_are_one_machine_to_compare(capsys: Captured) -> None:
    """The first has the documents; `measure` takes the file's name for a folder."""
    assert main(["-o", "out", "--runs", "2", "--no-pdf"]) == 0
    assert main(["measure", "-o", "again.json", "--runs", "3"]) == 0
    written = sorted(str(path) for path in Path().rglob("*") if path.is_file())
    assert written == [
        *(f"again/run-{number}/report.json" for number in (1, 2, 3)),
        "out/run-1/report.html",
        "out/run-1/report.json",
        "out/run-2/report.json",
    ]
    assert "Run 2 of 3" in capsys.readouterr().err
    assert main(["compare", "out", "again", "-o", "compared", "--no-pdf"]) == 0
    machines = json.loads(Path("compared/comparison.json").read_text())["machines"]
    assert [(machine["name"], machine["runs"]) for machine in machines] == [("out", 2), ("again", 3)]


def test_several_runs_are_not_mixed_with_others(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    assert main(["measure", "-o", "out.json", "--runs", "3"]) == 0
    fake.setattr(measuring, "run", None)
    capsys.readouterr()
    assert main(["-o", "out", "--runs", "3"]) == 2
    assert "out/run-1/report.json: already exists" in failure(capsys)
    assert main(["-o", "out", "--runs", "2", "--force"]) == 2
    assert "out: contains out/run-3/report.json, " in failure(capsys)
    Path("out/report.json").touch()
    assert main(["measure", "-o", "out", "--runs", "3", "--force"]) == 2
    assert "out: contains out/report.json, " in failure(capsys)


def test_a_run_says_first_how_long_it_takes_and_a_pipe_shows_a_line_a_workload(capsys: Captured) -> None:
    main(["measure", "-o", "r.json"])
    announced, *lines = (line for line in capsys.readouterr().err.splitlines() if re.search(" takes up to | …$", line))
    assert re.search(r"2 workloads in \d+ sweeps takes up to about \d+ (s|minutes)\b.* r\.json\.$", announced)
    assert lines == ["test/copy …", "test/again …"]


def test_workloads_that_the_device_cannot_run_are_not_announced(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    install(fake, workloads=(Copy(), Missing()))
    main(["measure", "-o", "r.json"])
    assert "measuring 1 workload in 1 sweep takes up to" in capsys.readouterr().err


def test_without_pango_the_run_still_succeeds(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    for module in (pdf, render):
        fake.setattr(module, "pdf_problem", lambda: "no PDF: install Pango")
    assert main(["-o", "out"]) == 0
    captured = capsys.readouterr()
    assert "gpureport: no PDF: install Pango\n" in captured.err
    assert captured.out.endswith("Written: out/report.json, out/report.html\n")


def test_the_default_folder_names_device_and_day_and_is_not_overwritten(capsys: Captured) -> None:
    before = datetime.now(UTC).date()
    assert main(["--no-pdf"]) == 0
    days = {before.isoformat(), datetime.now(UTC).date().isoformat()}
    (folder,) = Path("reports").iterdir()
    assert folder.name in {f"fake-device-{day}" for day in days}
    first = (folder / "report.json").read_bytes()
    capsys.readouterr()
    assert main(["-o", str(folder)]) == 2
    sentence = "report.json: already exists; use --force to overwrite it, or choose another place"
    assert failure(capsys) == f"{folder}/{sentence}"
    assert (folder / "report.json").read_bytes() == first
    assert main(["-o", str(folder), "--no-pdf", "--force", "--seed", "1"]) == 0
    assert load_report(folder).settings.seed == 1
    (folder / "report.json").unlink()  # nor is a document overwritten
    capsys.readouterr()
    assert main(["-o", str(folder)]) == 2
    assert failure(capsys).startswith(f"{folder}/report.html: already exists; use --force")
    (folder / "report.html").rename(folder / "report.json.xz")  # nor is a compressed report hidden
    assert main(["-o", str(folder)]) == 2
    assert failure(capsys).startswith(f"{folder}/report.json.xz: already exists; use --force")
    assert main(["measure", "-o", "x.json.xz"]) == 2


@pytest.fixture
def earlier() -> Path:
    folder = Path("out")
    folder.mkdir()
    for name in ("report.json", "report.json.xz", "report.html", "report.pdf"):
        (folder / name).write_text("of an earlier run")
    return folder


@pytest.mark.parametrize(
    ("command", "left"),
    [
        (["-o", "out", "--no-pdf"], ["report.html", "report.json"]),
        (["measure", "-o", "out/report.json"], ["report.json"]),
    ],
    ids=["everything", "measure"],
)
def test_no_document_of_an_earlier_run_stays(command: list[str], left: list[str], earlier: Path) -> None:
    assert main([*command, "--force"]) == 0
    assert sorted(path.name for path in earlier.iterdir()) == left
    assert all("of an earlier run" not in path.read_text() for path in earlier.iterdir())


@pytest.mark.usefixtures("pango")
def test_no_document_of_an_earlier_run_stays_if_it_fails(
    fake: pytest.MonkeyPatch, earlier: Path, capsys: Captured
) -> None:
    def end(*_: object) -> list[bytes]:
        raise GpuReportError("killed")

    started = render.started

    def begun(task: Any, given: object) -> Callable[[], Any]:
        return end if getattr(task, "func", task) is render.pdf else started(task, given)

    fake.setattr(render, "started", begun)
    assert main(["-o", "out", "--force"]) == 1
    assert sorted(path.name for path in earlier.iterdir()) == ["report.json"]
    complete = (earlier / "report.json").read_text()
    install(fake, lambda: FakeBackend(seconds=interrupt), (Copy(),))
    with fake.context() as full:
        full.setattr(measuring, "save_report", end)
        assert main(["-o", "out", "--force"]) == 1
        assert (earlier / "report.json").read_text() == complete
    for _ in range(2):  # what was measured stays, until another run is complete
        assert main(["-o", "out", "--force"]) == 130
        assert sorted(path.name for path in earlier.iterdir()) == ["earlier-report.json", "report.json"]
        assert (earlier / "earlier-report.json").read_text() == complete
    assert "; out/earlier-report.json is the earlier report" in capsys.readouterr().err
    install(fake, FakeBackend, (Copy(),))
    assert main(["measure", "--resume", "out"]) == 0
    assert [path.name for path in earlier.iterdir()] == ["report.json"]


@pytest.mark.parametrize("command", [["-o", "out"], ["measure", "-o", "out/report.json"], ["render", "out"]])
def test_one_command_at_a_time_writes_to_a_folder(
    fake: pytest.MonkeyPatch, earlier: Path, capsys: Captured, command: list[str]
) -> None:
    install(fake, lambda: FakeBackend(seconds=lambda *_: pytest.fail("measured")))
    with reserved(earlier / "report.json"):
        assert main([*command, "--force"]) == 2
    assert failure(capsys).startswith("out: another gpureport is writing ")
    assert (earlier / "report.json").read_text() == "of an earlier run"


def test_the_report_keeps_the_settings() -> None:
    main(["measure", "-o", "r.json", "--quick", "--seed", "3", "-w", "memory, launch", "-w", "particles/arrays"])
    assert (
        measuring.command_line(RunOptions(device="GPU; rm", entries=(Path("/home/someone"),)))
        == "gpureport --device 'GPU; rm'"
    )
    settings = load_report(Path("r.json")).settings
    assert settings.workloads == ("memory", "launch", "particles/arrays")
    assert settings.command == (
        "gpureport --quick --seed 3 --workload memory --workload launch --workload particles/arrays"
    )


def test_wrong_results_end_with_1_and_a_report_that_says_so(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    install(fake, lambda: FakeBackend(wrong_options="-DLOCAL=2"), (Wide(), Again()))
    assert main(["-o", "out", "--no-pdf"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].startswith("gpureport: test/wide gave wrong results and was not timed; ")
    assert "Written: out/report.json, out/report.html\n" in captured.out
    report = load_report(Path("out"))
    assert report.status == "complete"
    wrong = [m for m in report.measurements if m.key.variant == "wide"]
    assert all(m.verification and not m.verification.passed and not m.points for m in wrong)
    assert "Wrong results of " in Path("out/report.html").read_text()


def test_a_kernel_that_does_not_build_is_skipped_in_a_sentence(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    install(fake, lambda: FakeBackend(refused_options="-DLOCAL=2"), (Wide(), Copy()))
    assert main(["-o", "out", "--no-pdf"]) == 0
    reason = "copy.cl does not build: use of undeclared identifier 'x'"
    told = capsys.readouterr().err.splitlines()
    assert f"Skipped test/wide: {reason}." in told
    failed = "gpureport: 1 of 2 workloads could not be measured, because their kernels failed: test/wide"
    assert told[-1] == f"{failed} (the first: {reason})"
    html = Path("out/report.html").read_text()
    page_one = html[: html.index('class="origin"')]
    assert "✗ Incomplete: 1 of 2 workloads could not be measured" in page_one
    assert reason.replace("'", "&#39;") in page_one


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: FakeBackend(refused_options="-DLOCAL=1"), "copy.cl does not build: use of undeclared"),
        (lambda: FakeBackend(wrong=True), "wrong results: items = 7; 1 dispatch: to: "),
        (lambda: FakeBackend(memory_bytes=8), "no room for a buffer of "),
    ],
    ids=["build", "wrong", "memory"],
)
@pytest.mark.usefixtures("earlier")
def test_a_run_that_measured_nothing_failed(
    fake: pytest.MonkeyPatch, capsys: Captured, make: Callable[[], FakeBackend], reason: str
) -> None:
    """A report that says so beside the earlier ones, no documents, one sentence at the end, no table."""
    install(fake, make, (Copy(), Again(), Missing()))
    assert main(["-o", "out", "--force"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "Written: out/report.json\n"
    lines = captured.err.splitlines()
    assert [line for line in lines if line.startswith("gpureport: nothing was measured")] == lines[-1:]
    assert reason in lines[-1]
    kept = ["earlier-report.json", "report.json", "report.json.xz"]
    assert sorted(path.name for path in Path("out").iterdir()) == kept
    assert load_report(Path("out")).status == "failed"
    for command in (["render", "out"], ["compare", "out", "h200"], ["validate", "out"]):
        assert main(command) == 2
        assert ": its run failed and measured nothing; run gpureport again" in capsys.readouterr().err


def test_an_incomplete_sweep_is_named_and_judges_nothing(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    install(fake, FakeBackend, (Copy(), Slow()))
    assert main(["-o", "out", "--no-pdf"]) == 0
    sweep = "test/slow/size (10 % of its points)"
    assert sweep in capsys.readouterr().err.splitlines()[-1]
    report = load_report(Path("out"))
    assert {finding.key.workload for finding in report.findings} == {"test/copy"}
    assert not [each for each in report.explanations if each.key.variant == "slow"]
    assert any(observation.key.variant == "slow" for observation in report.observations)
    html = Path("out/report.html").read_text().replace("<wbr>", "").replace("\xa0", " ")
    assert sweep in html[: html.index('class="origin"')]


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_interrupted_run_leaves_a_partial_report(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    class Stopping(Again):
        expected = interrupt

    install(fake, FakeBackend, (Copy(), Stopping()))
    assert main(["measure", "-o", "r.json"]) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    told = "r.json is marked partial and contains the finished sweeps; --resume r.json continues the run"
    assert last == f"gpureport: interrupted; {told}"
    report = load_report(Path("r.json"))
    assert report.status == "partial"
    assert [m.key.variant for m in report.measurements] == ["copy"]
    assert main(["render", "r.json", "--no-pdf"]) == 0


def test_an_interrupt_waits_until_the_report_is_saved(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    def slow(report: Report, path: Path, _: object) -> None:
        signal.raise_signal(signal.SIGINT)
        save_report(report, path)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    fake.setattr(measuring, "save_report", slow)
    try:
        assert main(["measure", "-o", "r.json"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "r.json is marked partial" in capsys.readouterr().err
    assert load_report(Path("r.json")).status == "partial"


def test_an_interruption_before_anything_was_saved_says_so(fake: pytest.MonkeyPatch, capsys: Captured) -> None:
    fake.setattr(workload_run, "predict_sweeps", interrupt)
    assert main(["measure", "-o", "r.json"]) == 130
    assert capsys.readouterr().err.endswith("gpureport: interrupted; nothing was written\n")
    assert not Path("r.json").exists()
    fake.setattr(presence, "present", interrupt)
    assert main([]) == 130
    assert failure(capsys) == "interrupted"


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("file", "file: is a file, not a folder; choose another folder"),
        ("file/below", "file/below: cannot be written (Not a directory); choose another folder"),
    ],
)
def test_a_folder_that_cannot_be_written_fails_before_measuring(
    fake: pytest.MonkeyPatch, capsys: Captured, output: str, sentence: str
) -> None:
    install(fake, lambda: FakeBackend(seconds=lambda *_: pytest.fail("measured")))
    Path("file").touch()
    assert main(["-o", output]) == 2
    assert failure(capsys) == sentence
    assert main(["measure", "-o", f"{output}/report.json"]) == 2
    assert failure(capsys) == sentence
    Path("folder").mkdir()
    assert main(["measure", "-o", "folder", "--force"]) == 2
    assert failure(capsys) == "folder: is a folder; choose a file in it"
    assert main(["measure", "-o", "report.html"]) == 2
    assert failure(capsys) == "report.html: is also the name of a document; choose another name"
