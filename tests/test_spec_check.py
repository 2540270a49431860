"""Broken device files: each mistake is one sentence with file, line and what would be right."""

from pathlib import Path

import pytest

from gpureport.errors import InputError
from gpureport.spec.check import check_file
from gpureport.spec.database import load_database

BROKEN = Path(__file__).parent / "data" / "devices"
SENTENCES = {
    "alias": ": cannot be read as YAML: aliases (*name) are not supported; write the value out",
    "duplicate_key": ":10: clock: the key appears twice, first in line 7",
    "empty": ": cannot be read as YAML: it is empty",
    "fraction": ":6: compute_units: must be a whole number",
    "list": ":1: must be a mapping of fields to values",
    "missing_field": ":8: memory.bandwidth: is missing: neither the device nor its architecture has it",
    "syntax": ":8: is not valid YAML: did not find expected ',' or ']'",
    "typo": ":8: memory.bandwith: unknown field; did you mean 'bandwidth'?",
    "unknown_architecture": ":3: architecture: there is no architecture 'turing_57'; the nearest are 'turing_75'",
    "unknown_source": ":5: source: no source 'sheep' under 'sources'; did you mean 'sheet'?",
    "unsafe": ":1: is not valid YAML: could not determine a constructor for the tag "
    "'tag:yaml.org,2002:python/object/apply:os.system'",
    "wrong_unit": ":8: memory.bandwidth: '448 Gb/s' is in bits; write GB/s for bytes (56 GB/s = 448 Gb/s)",
}


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_a_broken_file_gives_its_sentence(name: str) -> None:
    """Exactly one error, with file and line."""
    path = BROKEN / f"{name}.yaml"

    assert [str(p) for p in check_file(path) if p.severity == "error"] == [f"{path}{SENTENCES[name]}"]


@pytest.mark.parametrize("name", ["wrong_unit", "duplicate_key", "typo", "list", "unsafe"])
def test_loading_a_folder_gives_the_same_sentence(name: str, tmp_path: Path) -> None:
    """A bad file in a user's folder is an input error, not a traceback."""
    path = tmp_path / "mine.yaml"
    path.write_text((BROKEN / f"{name}.yaml").read_text())

    with pytest.raises(InputError) as caught:
        load_database([tmp_path])

    assert str(caught.value) == f"{path}{SENTENCES[name]}"


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("name: A card", "name: ''", ":1: name: must have at least 1 character"),
        ("name: A card", "name: ' '", ":1: name: must have at least 1 character"),
        ("name: A card", f"name: {'x' * 5000}", ":1: name: must have at most 200 characters"),
        ("name: A card", "name: [a]", ":1: name: must be text"),
        ("vendor: ACME", "vendor: ''", ":2: vendor: must have at least 1 character"),
        ("vendor: ", "notes: once\nvendor: ", ":2: notes: must be a list, like [this, that]"),
        ("vendor: ", "opencl: {names: []}\nvendor: ", ":2: opencl.names: must have at least 1 item"),
        ("vendor: ", "opencl: {names: [A, '']}\nvendor: ", ":2: opencl.names.1: must have at least 1 character"),
        ("vendor: ", "opencl: 12\nvendor: ", ":2: opencl: must be a mapping of names to values"),
    ],
)
def test_a_wrong_field_says_what_it_must_be(right: str, wrong: str, sentence: str, tmp_path: Path) -> None:
    """In people's words, with the line."""
    path = tmp_path / "mine.yaml"
    path.write_text((BROKEN / "good.yaml").read_text().replace(right, wrong, 1))

    assert [str(p) for p in check_file(path) if p.severity == "error"] == [f"{path}{sentence}"]


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    """Not as something that YAML does not allow."""
    path = tmp_path / "mine.yaml"
    path.write_bytes((BROKEN / "good.yaml").read_text().replace("vendor: ", "vendor: Ä", 1).encode("latin-1"))

    (problem,) = check_file(path)

    assert problem.message == "is not text in UTF-8; save it as UTF-8"
    assert problem.line == 2


def test_a_good_file_has_no_problem() -> None:
    """The file from which the broken ones were made is right."""
    assert check_file(BROKEN / "good.yaml") == []


def test_implausible_values_are_warnings() -> None:
    """A lost digit and a cache smaller than the one before it are possible, and said."""
    problems = check_file(BROKEN / "implausible.yaml")

    assert {p.severity for p in problems} == {"warning"}
    assert [(p.line, p.field, p.message) for p in problems] == [
        (7, "clock", "16.2 GHz is implausible; clocks lie between 0.1 and 6 GHz"),
        (9, "caches.L2.capacity", "L2 is smaller than L1"),
    ]


def test_values_without_a_source_are_listed() -> None:
    """Each value is named once, as a warning."""
    problems = check_file(BROKEN / "unsourced.yaml")

    assert {p.severity for p in problems} == {"warning"}
    assert [p.field for p in problems] == [
        "compute_units",
        "clock",
        "memory.bandwidth",
        "memory.size",
        "caches.L2.capacity",
    ]


def test_a_file_that_is_not_there_is_a_problem() -> None:
    """Nothing is raised."""
    assert [str(p) for p in check_file(Path("nowhere.yaml"))] == [
        "nowhere.yaml: cannot be read: No such file or directory"
    ]


def test_a_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    """A misspelt folder is not an empty database."""
    with pytest.raises(InputError, match="there is no such folder of device files"):
        load_database([tmp_path / "nowhere"])
