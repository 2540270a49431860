"""Broken device files: each mistake is one sentence with file, line and correction."""

import re
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.spec.check import check_file, check_folder
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
    """Each with file, line, mistake and correction."""
    monkeypatch.chdir(BROKEN)

    assert main(["devices", "check", "."]) == 2
    assert capsys.readouterr().out.splitlines() == EXPECTED


def test_every_broken_file_is_reported_once() -> None:
    """Every file has an error or a warning; no mistake causes a second error."""
    errors = [line.split(":")[0] for line in EXPECTED if ": warning: " not in line][:-1]

    assert len(errors) == len(set(errors))
    assert {line.split(":")[0] for line in EXPECTED[:-1]} == {path.name for path in BROKEN.glob("*.yaml")}


@pytest.mark.parametrize("name", ["wrong_unit", "duplicate_key", "typo", "list", "unsafe"])
def test_loading_a_folder_gives_the_same_sentence(name: str, tmp_path: Path) -> None:
    """A bad file in a user's folder is an input error, not a traceback."""
    path = tmp_path / "mine.yaml"
    path.write_text((BROKEN / f"{name}.yaml").read_text())

    with pytest.raises(InputError) as caught:
        load_database([tmp_path])

    (expected,) = (line for line in EXPECTED if line.startswith(f"{name}.yaml:"))
    assert str(caught.value) == str(path) + expected.removeprefix(f"{name}.yaml")


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("name: A card", "name: ''", ":1: name: must have at least 1 character"),
        ("name: A card", f"name: {'x' * 5000}", ":1: name: must have at most 200 characters"),
        ("name: A card", "name: [a]", ":1: name: must be text"),
        ("vendor: ", "notes: once\nvendor: ", ":2: notes: must be a list; write [once]"),
        ("vendor: ", "opencl: {names: []}\nvendor: ", ":2: opencl.names: must have at least 1 item"),
        ("vendor: ", "opencl: {names: [A, '']}\nvendor: ", ":2: opencl.names.1: must have at least 1 character"),
        # There is no other source to suggest; values would seem to have one.
        (SOURCES, "", ":4: source: no source 'sheet' under 'sources'; define it there"),
        ('"data sheet"', '" "', ":4: sources.sheet.text: must have at least 1 character"),
        # No device would match: vendors must agree.
        (
            "ACME",
            "AMD",
            ":2: warning: vendor: AMD does not make the architecture Turing (compute capability 7.5); NVIDIA",
        ),
    ],
)
def test_a_wrong_field_says_what_it_must_be(right: str, wrong: str, sentence: str, tmp_path: Path) -> None:
    """In plain words, with the line."""
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.read_text().replace(right, wrong, 1))

    assert [str(problem).removesuffix(" does") for problem in check_file(path)] == [f"{path}{sentence}"]


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    """Not as something that YAML does not allow."""
    path = tmp_path / "mine.yaml"
    path.write_bytes(GOOD.read_text().replace("vendor: ", "vendor: Ä", 1).encode("latin-1"))

    (problem,) = check_file(path)

    assert problem.message == "is not UTF-8 text; give a text file saved as UTF-8"
    assert problem.line == 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"turing_75": "turing75", "units: 36": "units: -3", "1.62 GHz": "1.62 Ghz"},
            [
                "architecture: there is no architecture",
                "compute_units: '-3' is not above",
                "clock: '1.62 Ghz': units are",
            ],
        ),
        (
            {"A card": "''", "vendor: ACME\n": "", "L2: 4 MiB": "L2: 4 KiB"},
            ["vendor: is missing", "name: must have at", "caches.L2.capacity: L2 (4 KiB) is"],
        ),
        (
            {"8 GiB, bandwidth: 448 GB/s": "8 GiB", "1.62 GHz": "1.62"},
            ["clock: '1.62' lacks", "memory.bandwidth: is missing"],
        ),
    ],
)
def test_all_mistakes_are_reported_together(changes: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    """None hides another, and none is reported twice."""
    path, text = tmp_path / "mine.yaml", GOOD.read_text()
    for right, wrong in changes.items():
        assert right in text
        text = text.replace(right, wrong, 1)
    path.write_text(text)

    messages = [f"{problem.field}: {problem.message}" for problem in check_file(path)]
    assert len(messages) == len(expected), messages
    assert all(sentence.startswith(start) for sentence, start in zip(messages, expected, strict=True)), messages


def test_entries_that_cannot_be_distinguished_cause_a_warning(tmp_path: Path) -> None:
    """By an OpenCL name with nothing beside it; not where units, memory or PCI ids differ, nor in another folder."""
    text = GOOD.read_text()
    named = text + "opencl: {names: [Radeon X]}\n"
    files = {
        "a": named,
        "b": named.replace("A card", "B"),
        "c": named.replace("A card", "C").replace("units: 36", "units: 30"),
        "d": named.replace("A card", "D").replace("8 GiB", "16 GiB"),
        "e": named.replace("A card", "E") + 'pci_ids: ["1002:0001"]\n',
        "f": text.replace("A card", "a CARD"),
    }
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    paths = sorted(tmp_path.glob("*.yaml"))

    by_name, by_title = check_folder(paths)
    assert (by_name.file, by_name.line, by_name.field) == (str(paths[1]), 10, "opencl.names")
    assert f"{paths[0]} lists 'Radeon X' as well" in by_name.message
    assert by_name.message.endswith("list PCI ids that distinguish them")
    assert (by_title.file, by_title.line, by_title.severity) == (str(paths[5]), 1, "warning")
    assert [problem for path in paths for problem in check_folder([path])] == []


def test_indistinguishable_entries_match_nothing(tmp_path: Path) -> None:
    """The warning is true of the match and of names that are typed."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD.read_text().replace("ACME", "NVIDIA"))
    database = load_database([tmp_path])
    unit, memory = database.device("a").compute_units, int(database.device("a").memory.size_bytes)

    assert database.match(altered(GPU, name="A card", compute_units=unit, global_memory_bytes=memory)).draft
    with pytest.raises(InputError, match=r"'A card' .* a or b; give one of these"):
        database.resolve("A card")


def test_an_unknown_rule_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """Without the rule, its fields are unknown."""
    path = tmp_path / "mine.yaml"
    text = (data_dir("devices") / "architectures" / "turing_75.yaml").read_text()
    path.write_text(text.replace("rule: nvidia", "rule: nvida"))

    (problem,) = check_file(path)
    assert problem.field == "occupancy"
    assert problem.message.startswith("rule must be 'nvidia', 'amd', ")
    assert problem.message.endswith("; did you mean 'nvidia'?")


@pytest.mark.parametrize(("tflops", "odd"), [(7.12, False), (7.80, False), (7.05, True), (7.90, True)])
def test_a_listed_peak_must_follow_from_lanes_units_and_clock(tflops: float, odd: bool, tmp_path: Path) -> None:
    """To 5 %: 2 x 64 x 36 x 1.62 GHz = 7.465 TFLOP/s."""
    path = tmp_path / "mine.yaml"
    path.write_text(f"flops: {tflops} TFLOPS\n" + GOOD.read_text())

    assert [p.field for p in check_file(path)] == ["flops"] * odd
    assert "flops" not in load_database([tmp_path]).device("mine").provenance


def test_a_folder_of_files_must_be_one_and_exist(tmp_path: Path) -> None:
    """A misspelt folder is not an empty database."""
    with pytest.raises(InputError, match=rf"good\.yaml: is a file; give its folder, {GOOD.parent}"):
        load_database([GOOD])
    with pytest.raises(InputError, match=r"nowhere: .* does not exist"):
        load_database([tmp_path / "nowhere"])


def test_a_known_zero_can_be_written(tmp_path: Path) -> None:
    """No time between work-groups, no reserved local memory."""
    path = tmp_path / "architectures" / "mine.yaml"
    path.parent.mkdir()
    text = (data_dir("devices") / "architectures" / "ampere_86.yaml").read_text()
    text = re.sub(r"(turnover_cycles: .*?value: )\d+ cycles", r"\g<1>0 cycles", text)
    text = re.sub(r"(local_memory_reserved: .*?value: )1 KiB", r"\g<1>0 B", text)
    path.write_text(text)

    assert "turnover_cycles: {value: 0 cycles," in text
    assert "local_memory_reserved: {value: 0 B," in text
    assert check_file(path) == []
