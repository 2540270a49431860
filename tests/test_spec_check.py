"""Broken device files: each mistake is one sentence with file, line and correction."""

import re
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.spec.check import check_folder
from gpureport.spec.database import load_database
from tests.builders import altered
from tests.fake_gpu import GPU

DATA = Path(__file__).parent / "data"
BROKEN, GOOD = DATA / "broken_devices", DATA / "devices" / "good.yaml"
SOURCES = 'sources: {sheet: "data sheet"}\n'
EXPECTED = (BROKEN / "expected.txt").read_text().splitlines()
"""Output of the check of the folder, line by line."""


def test_the_check_of_a_folder_of_broken_files_reports_the_expected_sentences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(BROKEN)

    assert main(["devices", "check", "."]) == 2
    assert capsys.readouterr().out.splitlines() == EXPECTED


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("name: A card", "name: ''", ":1: name: must have at least 1 character"),
        ("name: A card", f"name: {'x' * 5000}", ":1: name: must have at most 200 characters"),
        ("name: A card", "name: [a]", ":1: name: must be text"),
        ("vendor: ", "notes: once\nvendor: ", ":2: notes: must be a list, like [this, that]"),
        ("vendor: ", "opencl: {names: []}\nvendor: ", ":2: opencl.names: must have at least 1 item"),
        ("vendor: ", "opencl: {names: [A, '']}\nvendor: ", ":2: opencl.names.1: must have at least 1 character"),
        # There is no other source to suggest; values would seem to have one.
        (SOURCES, "", ":4: source: no source 'sheet' under 'sources'; define it there"),
        ('"data sheet"', '" "', ":4: sources.sheet.text: must have at least 1 character"),
        ("caches: ", "link: {kind: pcie}\ncaches: ", ":9: link: needs generation and lanes for kind pcie"),
        (
            "caches: ",
            "link: {kind: nvlink_c2c, bandwidth: 0 GB/s}\ncaches: ",
            ":9: link: needs bandwidth for kind nvlink_c2c",
        ),
        ("caches: ", "link: {lanes: 16}\ncaches: ", ":9: link.kind: is missing"),
        (
            "L2: 4 MiB",
            "L2: {capacity: 4 MiB, bandwidth_transition: 1.0}",
            ":9: caches.L2.bandwidth_transition: takes three",
        ),
        # No device would match: vendors must agree.
    ],
)
def test_a_wrong_field_says_what_it_must_be(right: str, wrong: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.read_text().replace(right, wrong, 1))

    (problem,) = check_folder([path])
    assert str(problem).startswith(f"{path}{sentence}")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"turing_75": "turing75", "units: 36": "units: -3", "1.62 GHz": "1.62 Ghz"},
            ["architecture: there is no", "compute_units: -3 is not a number above", "clock: '1.62 Ghz' is not"],
        ),
        (
            {"A card": "''", "vendor: ACME\n": "", "L2: 4 MiB": "L2: 4 KiB"},
            ["vendor: is missing", "name: must have at", "caches.L2.capacity: L2 (4 KiB) is"],
        ),
        (
            {"8 GiB, bandwidth: 448 GB/s": "8 GiB", "1.62 GHz": "1.62"},
            ["clock: 1.62 is not", "memory.bandwidth: is missing"],
        ),
        (
            {"source: sheet": "source: shet", "1.62 GHz": "{value: 1.62 GHz, source: leaf}"},
            ["source: no source 'shet'", "clock.source: no source 'leaf'"],
        ),
        (
            {'sheet: "data sheet"': "sheet: x, page_1: {kind: spec}, page_2: {kind: spec}", "36": "0"},
            ["sources.page_1.text: is missing", "sources.page_2.text: is missing", "compute_units: must be"],
        ),
    ],
)
def test_all_mistakes_are_reported_together(changes: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    path, text = tmp_path / "mine.yaml", GOOD.read_text()
    for right, wrong in changes.items():
        assert right in text
        text = text.replace(right, wrong, 1)
    path.write_text(text)

    messages = [f"{problem.field}: {problem.message}" for problem in check_folder([path])]
    assert len(messages) == len(expected), messages
    assert all(sentence.startswith(start) for sentence, start in zip(messages, expected, strict=True)), messages


def test_an_optional_value_can_be_empty(tmp_path: Path) -> None:
    path, text = tmp_path / "mine.yaml", GOOD.read_text()
    path.write_text(f"{text.replace('448 GB/s', '448 GB/s, latency: null')}flops:\nlink:\n")

    assert check_folder([path]) == []
    assert "memory.latency" not in load_database([tmp_path]).entries["mine"].file.values


def test_indistinguishable_entries_match_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD.read_text().replace("ACME", "NVIDIA"))
    database = load_database([tmp_path])
    unit, memory = database.device("a").compute_units, int(database.device("a").memory.size_bytes)

    assert database.match(altered(GPU, name="A card", compute_units=unit, global_memory_bytes=memory)).draft
    with pytest.raises(InputError, match=r"'A card' .* a or b; give one of these"):
        database.resolve("A card")


@pytest.mark.parametrize(("tflops", "odd"), [(7.12, False), (7.80, False), (7.05, True), (7.90, True)])
def test_a_listed_peak_must_follow_from_lanes_units_and_clock(tflops: float, odd: bool, tmp_path: Path) -> None:
    """To 5 %: 2 x 64 x 36 x 1.62 GHz = 7.46 TFLOP/s."""
    path = tmp_path / "mine.yaml"
    path.write_text(f"flops: {tflops} TFLOPS\n" + GOOD.read_text())

    assert [p.field for p in check_folder([path])] == ["flops"] * odd
    assert "flops" not in load_database([tmp_path]).device("mine").provenance


def test_a_folder_of_files_must_be_one_and_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"good\.yaml: is a file; give its folder, {GOOD.parent}"):
        load_database([GOOD])
    with pytest.raises(InputError, match=r"nowhere: .* does not exist"):
        load_database([tmp_path / "nowhere"])


def test_a_known_zero_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "architectures" / "mine.yaml"
    path.parent.mkdir()
    text = (data_dir("devices") / "architectures" / "ampere_86.yaml").read_text()
    text = re.sub(r"(turnover_cycles: .*?value: )\d+ cycles", r"\g<1>0 cycles", text)
    text = re.sub(r"(local_memory_reserved: .*?value: )1 KiB", r"\g<1>0 B", text)
    path.write_text(text)

    assert text.count("value: 0 ") == 2
    assert check_folder([path]) == []
