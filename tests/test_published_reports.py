"""Published results as reports: what was claimed, what is predicted, and that nobody here measured it."""

from functools import cache
from html import unescape
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.records.finding import Verdict
from gpureport.records.report import Report, load_report, save_report
from gpureport.report.render import render_html
from gpureport.report.run.statements import statements_table
from gpureport.report.text.words import TIMES
from gpureport.results.opening import open_report
from gpureport.results.published import load
from gpureport.results.replay import published_result, report_result
from gpureport.spec.database import Database, load_database
from gpureport.validate.residuals import residuals
from gpureport.workloads import all_workloads

Captured = pytest.CaptureFixture[str]
FOLDER = Path(__file__).parents[1] / "reports" / "published"
WRITE_UPS = {
    "a40_game_of_life": "nvidia/a40",
    "rtx_2070_game_of_life": "nvidia/rtx_2070",
    "rtx_2060_bit_transpose": "nvidia/rtx_2060",
    "gtx_1060_bit_transpose": "nvidia/gtx_1060_6gb",
    "rx_570_bit_transpose": "amd/rx_570",
    "hd_520_bit_transpose": "intel/hd_520",
    "hd_630_bit_transpose": "intel/hd_630",
    "rx_7900_xt_particles": "amd/rx_7900_xt",
}
SMALL = "rtx_2070_game_of_life"
NEVER = (
    "this machine",
    "95 % intervals",
    "How it was measured",
    "Environment",
    "Compiled kernels",
    "report.json",
    "None",
)


@cache
def database() -> Database:
    """Return the devices that are shipped."""
    return load_database()


@cache
def opened(name: str) -> Report:
    """Return the report of a shipped record."""
    return open_report(FOLDER / f"{name}.yaml", database)


@pytest.mark.parametrize(("name", "device"), WRITE_UPS.items())
def test_a_record_becomes_a_report(name: str, device: str) -> None:
    """Predicted, compared with the published values and explained, with nothing that no one published."""
    report = opened(name)

    assert report.publication is not None
    assert report.publication.statements
    assert (report.device.id, report.machine, report.evidence, report.timings) == (device, None, (), ())
    assert {p.kind for p in report.predictions} == {"specification"}
    assert len(report.predictions) == len(report.observations) == len(report.measurements) > 0
    assert all(p.ci_low == p.value == p.ci_high for o in report.observations for p in o.points)
    assert all(f.ci_low is f.ci_high is None for f in report.findings)
    off = {str(f.key) for f in report.findings if not f.verdict.as_predicted}
    assert {str(explanation.key) for explanation in report.explanations} <= off

    page = unescape(render_html(report)).replace("<wbr>", "").replace(TIMES, " x ").replace("\xa0", " ")
    assert "Others measured these values" in page
    for text in (report.publication.citation, report.publication.url, *report.publication.notes):
        assert text.replace("\xa0", " ") in page
    for statement in report.publication.statements:
        assert f"{statement.says} ({statement.where})" in page
    text = page.partition("</style>")[2].partition("</style>")[2]
    own = text.partition('id="glossary"')[0]
    assert not [never for never in NEVER if never in own]


def test_claims_stand_beside_predictions_and_reasons() -> None:
    """A time that is off, one that agrees, and what is not predicted."""
    life = opened("a40_game_of_life")
    transposes = opened("hd_520_bit_transpose")
    assert life.publication
    assert transposes.publication
    rows = statements_table(life, life.publication).rows
    others = statements_table(transposes, transposes.publication).rows

    assert rows[0][1].startswith("bytes, 128 x 1: 26.0 ms published, ")
    assert rows[1][2].endswith("instead of 10. They agree.")
    assert others[3][1:] == ("No prediction here.", transposes.publication.statements[3].remark)
    assert all(says and values and reasons for says, values, reasons in (*rows, *others))


def test_a_claim_about_one_point_is_compared_there() -> None:
    """With the time of that point alone; one about the size of groups with the spread of times over sizes."""
    particles = opened("rx_7900_xt_particles")
    assert particles.publication
    half, _, four, groups = (row[1:] for row in statements_table(particles, particles.publication).rows)

    assert half[0].startswith("structs32, 2^19 (32 MiB): 15.1 µs published, ")
    assert four[0].startswith("structs32, 2^22 (256 MiB): 564 µs published, ")
    assert four[1].endswith("They agree.")
    assert groups[0].startswith("Slowest / fastest sweep at each size (10): 1.02 to 1.62, median 1.06 published, ")
    assert groups[1] == "Their medians agree."


def test_a_plateau_in_a_cache_is_not_taken_for_memory() -> None:
    """34 Gparticle/s are the Infinity Cache's: the one size beyond it, at 7.4 Gparticle/s, makes no plateau."""
    rates = [f for f in opened("rx_7900_xt_particles").findings if f.position == "plateau"]

    assert {str(f.level) for f in rates if f.observed and f.predicted} == {"LLC"}
    assert {f.verdict for f in rates if str(f.level) == "LLC"} == {Verdict.AGREES}
    assert all(f.observed is None for f in rates if str(f.level) == "DRAM")


def test_one_figure_makes_no_hypothesis_sure() -> None:
    """A bootstrap over a single point would always be sure."""
    report = opened("a40_game_of_life")

    assert report.explanations
    for explanation in report.explanations:
        assert explanation.outcome != "explained"
        assert (explanation.better_than_base, explanation.better_than_next) == (0.0, 0.0)
        assert "cannot confirm this" in explanation.sentence


def test_it_is_stored_and_read_like_any_report(tmp_path: Path) -> None:
    """So whatever opens reports opens records."""
    small = opened(SMALL)
    save_report(small, tmp_path / "report.json")

    assert load_report(tmp_path) == small
    assert open_report(tmp_path, database) == small


def test_a_report_of_a_record_is_held_against_the_model_as_the_record_is(tmp_path: Path) -> None:
    """How dispatches were timed, and what lay between them, is stored with them."""
    name = "rx_7900_xt_particles"
    save_report(opened(name), tmp_path / "report.json")
    stored = report_result(load_report(tmp_path), name, database(), all_workloads())
    record = published_result(load(FOLDER / f"{name}.yaml"), database())

    first, second = (residuals(result, features=False) for result in (stored, record))
    assert [each.predicted for each in first] == [each.predicted for each in second]


def test_a_device_that_is_not_known_is_one_sentence(tmp_path: Path, capsys: Captured) -> None:
    """Nothing is written then."""
    record = tmp_path / "theirs.yaml"
    record.write_text((FOLDER / f"{SMALL}.yaml").read_text().replace("nvidia/rtx_2070", "nvidia/rtx_9999"))

    assert main(["render", str(record)]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {record}: device: 'nvidia/rtx_9999' is not in the database; `gpureport devices --known` lists the "
        "devices\n"
    )
    assert list(tmp_path.iterdir()) == [record]


def test_a_record_is_rendered_to_a_folder_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    """HTML and PDF; or where it is said to."""
    record = tmp_path / "theirs.yaml"
    record.write_text((FOLDER / f"{SMALL}.yaml").read_text())

    assert main(["render", str(record)]) == 0
    html, pdf, appendix = (tmp_path / "theirs" / f"report{end}" for end in (".html", ".pdf", "-appendix.pdf"))
    assert capsys.readouterr().out == f"Written: {html}, {pdf}, {appendix}\n"
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert main(["render", str(record), "--no-pdf"]) == 2
    assert main(["render", str(record), "--no-pdf", "-o", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


@pytest.fixture
def one_wrong(tmp_path: Path) -> Path:
    """A folder of three records, the first of which is wrong."""
    folder = tmp_path / "published"
    folder.mkdir()
    text = (FOLDER / "rx_570_bit_transpose.yaml").read_text()
    for name, content in (("a", text.replace("series:", "sereis:")), ("b", text), ("c", text)):
        (folder / f"{name}.yaml").write_text(content)
    return folder


@pytest.mark.parametrize("command", ["render --no-pdf --force", "validate --times", "compare"])
def test_a_wrong_record_of_a_folder_is_named_and_left_out(command: str, one_wrong: Path, capsys: Captured) -> None:
    """The others are used; one that is named itself is an error, as is a folder of which none is right."""
    assert main([*command.split(), str(one_wrong)]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"Left out: {one_wrong / 'a.yaml'}:")
    assert captured.err.count("\n") == 1
    assert "b" in captured.out
    assert not (one_wrong / "a").exists()

    assert main([*command.split(), str(one_wrong / "a.yaml"), str(one_wrong / "b.yaml")]) == 2
    for name in ("b", "c"):
        (one_wrong / f"{name}.yaml").write_text("")
    assert main([*command.split(), str(one_wrong)]) == 2
    for line in capsys.readouterr().err.splitlines():
        assert line.startswith(f"gpureport: {one_wrong / 'a.yaml'}:")


def test_several_records_give_a_report_each(tmp_path: Path) -> None:
    """As a shell writes them for ``*.yaml``, or their folder: beside each, or each in a folder below the one said."""
    records = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for record in records:
        record.write_text((FOLDER / f"{SMALL}.yaml").read_text())

    assert main(["render", *map(str, records), "--no-pdf"]) == 0
    assert main(["render", str(tmp_path), "--no-pdf", "-o", str(tmp_path / "out")]) == 0

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")) == [
        "one/report.html",
        "out/one/report.html",
        "out/two/report.html",
        "two/report.html",
    ]


def test_no_two_reports_are_written_to_one_folder(tmp_path: Path, capsys: Captured) -> None:
    """The second would replace the first; nothing is written."""
    records = [tmp_path / folder / "same.yaml" for folder in ("a", "b")]
    for record in records:
        record.parent.mkdir()
        record.write_text((FOLDER / f"{SMALL}.yaml").read_text())
    out = tmp_path / "out"

    assert main(["render", *map(str, records), "--no-pdf", "-o", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {records[1]}: has the same output folder {out}/same as {records[0]}; render them one by one\n"
    )
    assert not out.exists()
