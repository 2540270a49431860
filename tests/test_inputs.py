"""Hostile files: every user file is read within limits, or refused in one sentence."""

import json
import lzma
import os
import re
import signal
from collections.abc import Iterator
from errno import EACCES
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from gpureport.cli import main
from gpureport.errors import InputError
from gpureport.inputs import (
    MOST_JSON_BYTES,
    MOST_LEVELS,
    MOST_YAML_BYTES,
    FileError,
    parse_yaml,
    read_json,
    read_yaml,
    shipped_table,
)
from gpureport.records.report import load_report
from gpureport.results import published
from gpureport.spec.check import check_folder
from gpureport.spec.database import load_database
from tests.make_report import make_report, stored

Captured = pytest.CaptureFixture[str]
GOOD = (Path(__file__).parent / "data" / "devices" / "good.yaml").read_text()
BOMB = "a: &a {x: 1}\n" + "".join(f"{b}: &{b} {{<<: [{', '.join(9 * [f'*{a}'])}]}}\n" for a, b in pairwise("abcdefghi"))
TOO_DEEP = ":1: is n"  # ested more than 100 levels; ot valid YAML: exceeded maximum nesting depth (newer libraries)
BAD = {
    "int": ("name: !!int ''\n", ":1: tags (!name) are not supported"),
    "python": ("name: !!python/object/apply:os.system [x]\n", ":1: tags (!name) are not supported"),
    "mappings": ("{a: " * 40_000, f":1: is nested more than {MOST_LEVELS} levels deep"),
    "lists": ("[" * 30_000, TOO_DEEP),
    "blocks": ("".join(f"{' ' * n}a:\n" for n in range(500)), ":101: is nested more than"),
    "bomb": (BOMB, ":2: aliases (*name) are not supported"),
    "large": ("#" * (MOST_YAML_BYTES + 1), ": is larger than 256 KiB"),
    "documents": ("a: 1\n---\nb: 2\n", ":2: contains a second document"),
    "key": ("{[a]: 1}\n", ":1: a key must be text or a number"),
    "number": ("name: " + "9" * 5000 + "\n", ":1: name: must"),
    "sexagesimal": ("name: " + "1:" * 100_000 + "1\n", ":1: name: must have at most 200 characters"),
    "bytes": ("name: A\nvendor: \udcc4\n", ":2: is not UTF-8 text; give a text file saved as UTF-8"),
    "nul": ("name: a\0b\n", ": is not valid YAML"),
    "day": ("name: 2020-13-45\n", ": vendor: is missing"),
}
"""Contents, and what is to be message of them after the file's name."""


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(10)
    yield
    signal.alarm(0)


def _special(path: Path, kind: str) -> str:
    """Make something that is no file, and return what is to be message of it."""
    match kind:
        case "pipe":
            os.mkfifo(path)
            return ": is a device or pipe, not a regular file"
        case "device":
            path.symlink_to("/dev/zero")
            return ": is a device or pipe, not a regular file"
        case "folder":
            path.mkdir()
            return ": is a folder, not a regular file"
        case "loop":
            path.symlink_to(path.name)
            return ": is a loop of symbolic links"
    path.symlink_to("nowhere")
    return ": does not exist"


SPECIAL = ("pipe", "device", "folder", "loop", "dangling")


@pytest.fixture(params=[*BAD, *SPECIAL])
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "bad.yaml"
    if request.param in SPECIAL:
        return path, _special(path, request.param)
    text, message = BAD[request.param]
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path, message


def test_a_bad_file_is_named_and_left_out(bad: tuple[Path, str]) -> None:
    """Entries, architectures and records have the same reader; other entries can be used."""
    path, message = bad
    (path.parent / "good.yaml").write_text(GOOD)

    database = load_database(own_dirs=[path.parent])

    assert database.entries["good"].own
    assert list(database.broken) == ["bad"]
    assert message.split(":")[-1] in database.broken["bad"]
    with pytest.raises(InputError, match=r"bad\.yaml"):
        load_database([path.parent])
    with pytest.raises(InputError, match=r"bad\.yaml"):
        published.load(path, database)
    assert any(str(problem).startswith(f"{path}{message}") for problem in check_folder([path]))

    folder = path.parent / "own" / "architectures"
    folder.mkdir(parents=True)
    path.rename(folder / "bad.yaml") if not path.is_symlink() else _special(folder / "bad.yaml", "loop")
    database = load_database(own_dirs=[path.parent / "own"])
    assert list(database.broken) == ["architectures/bad"]
    assert "bad" not in database.architecture_paths


@pytest.mark.parametrize("command", ["compare FOLDER a40", "fleet add --store s FOLDER"])
def test_a_folder_that_may_not_be_read_is_no_missing_one(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    stat = Path.stat

    def denied(path: Path, **how: bool) -> os.stat_result:
        if path.parent == tmp_path:
            raise PermissionError(EACCES, "Permission denied", str(path))
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", denied)
    assert main(command.replace("FOLDER", str(tmp_path)).split()) == 2
    assert "report.json: cannot be read: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["render --no-pdf FILE", "validate FILE", "compare FILE a40", "devices check FILE"])
@pytest.mark.parametrize("name", ["bad.yaml", "report.json"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_refused(kind: str, name: str, command: str, tmp_path: Path, capsys: Captured) -> None:
    message = _special(tmp_path / name, kind)

    assert main([part.replace("FILE", str(tmp_path / name)) for part in command.split()]) == 2
    captured = capsys.readouterr()
    assert name in captured.err + captured.out
    assert kind != "loop" or message in captured.err + captured.out
    assert len(captured.err.splitlines()) <= 1


BAD_JSON = {
    "lists": ("[" * 100_000, ": is not JSON (recursion limit exceeded at line 1"),
    "text": ('"' + '\\"' * 1_000_000, ": is not JSON (EOF while parsing a string at line 1"),
    "nan": ("[NaN]", ": is not JSON (expected value at line 1"),
    "half": (r'["\ud800"]', ": is not JSON (unexpected end of hex escape at line 1"),
    "empty": ("", ": is not JSON (EOF while parsing a value at line 1"),
    "bytes": ("\n\udcff", ":2: is not UTF-8 text"),
    "repeated": ('{"a": {"b": 1, "c": 2, "b": 3}}', ': is not JSON (Detected duplicate key "b" at line 1'),
}


PACKED = lzma.compress(b"[1, 2]")
DICTIONARY = {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29, "mf": lzma.MF_HC3}
NO_XZ = {
    "text": b"[1, 2]",
    "empty": b"",
    "truncated": PACKED[:-1],
    "more": PACKED + b"x",
    "memory": lzma.compress(b"[1]", filters=[DICTIONARY]),
}
BAD_XZ = {
    **{name: (content, ": is not one complete file compressed with xz") for name, content in NO_XZ.items()},
    "bomb": (lzma.compress(bytes(MOST_JSON_BYTES + 1)), ": is larger than 32768 KiB when decompressed"),
    "json": (lzma.compress(b"[1,\n"), ": is not JSON (EOF while parsing a value at line 2"),
    "bytes": (lzma.compress(b"\n\xff"), ":2: is not UTF-8 text"),
}


@pytest.mark.parametrize(
    ("name", "bad"),
    [*(("report.json", each) for each in BAD_JSON.values()), *(("report.json.xz", each) for each in BAD_XZ.values())],
    ids=[*BAD_JSON, *BAD_XZ],
)
def test_bad_json_is_refused(name: str, bad: tuple[str | bytes, str], tmp_path: Path) -> None:
    content, message = bad
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(errors="surrogateescape"))

    with pytest.raises(InputError) as caught:
        load_report(tmp_path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_json_within_the_limits_is_read_and_no_more(tmp_path: Path) -> None:
    """Brackets in text are no levels; other texts may have the byte-order mark."""
    path, packed = tmp_path / "x.json", tmp_path / "x.json.xz"
    deep: object = "[" * 200 + '"{\\'
    for _ in range(MOST_LEVELS):
        deep = [deep]
    path.write_text("\ufeff" + str(deep).replace("'", '"').replace('"{', '\\"{'), encoding="utf-8")
    assert read_json(path) == deep
    packed.write_bytes(lzma.compress(b"[1]" + b" " * (MOST_JSON_BYTES - 3)))
    assert read_json(packed) == [1]
    os.truncate(path, 1 << 40)  # a file of holes takes no time to make
    with pytest.raises(FileError, match=f"is larger than {MOST_JSON_BYTES >> 10} KiB"):
        read_json(path)


def test_names_are_printable_where_they_are_read(tmp_path: Path) -> None:
    text = json.dumps(stored(make_report(families=1)))
    for name in ("L2", "DRAM"):
        text = text.replace(f'"{name}"', f'"{name}\\u0007\\u202e"')
    (tmp_path / "report.json").write_text(text)
    report = load_report(tmp_path)
    ceilings = {point.bottleneck for each in report.predictions for point in each.points}
    assert "L2  " in {cache.name for cache in report.device.caches}
    assert "DRAM  " in ceilings, "also in columns"


def test_yaml_is_plain_data(tmp_path: Path) -> None:
    """Words and decimal numbers without quotes are what they are in YAML 1.2, all else is text."""
    path = tmp_path / "x.yaml"
    path.write_text(
        "\ufefftruth: [yes, Off, TRUE, 'no', tRUE]\nnumbers: [1, -2.5, .5, 1e3, 007, '8']\nnothing: [~, null, ]\n"
        "text: [2020-09-26, 1:30, 0x1F, 1_000, .inf, .nan, 1e999, 1.2.3]\n32: {true: a}\n",
        encoding="utf-8",
    )

    content = read_yaml(path)

    assert content.data == {
        "truth": [True, False, True, "no", "tRUE"],
        "numbers": [1, -2.5, 0.5, 1000.0, 7, "8"],
        "nothing": [None, None],
        "text": ["2020-09-26", "1:30", "0x1F", "1_000", ".inf", ".nan", "1e999", "1.2.3"],
        32: {True: "a"},
    }
    assert content.lines[("numbers", 5)] == 2
    assert content.lines[(32, "true")] == 5
    assert content.repeated == []
    assert parse_yaml("[" * MOST_LEVELS + "]" * MOST_LEVELS, "x").lines


@pytest.mark.parametrize("text", ["a: 1\na: 2", "1: a\n01: b", "a: {1: x}\nb: 1\n'a': 2"])
def test_a_key_that_appears_twice_is_found(text: str) -> None:
    ((where, line, first),) = parse_yaml(text, "x").repeated

    assert (line, first) == (len(text.splitlines()), 1)
    assert len(where) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("".join(f"k{i}: 1\n" for i in range(25_000)), "has more mistakes; correct these first"),
        ("name: a\n" * 25_000, "the key appears twice, first in line 1"),
        ("caches: {" + "".join(f"L{i}: 1 MiB, " for i in range(10_000)) + "}\n", "must have at most 50 names"),
    ],
)
def test_thousands_of_mistakes_are_named_in_part(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)

    problems = check_folder([path])

    assert any(problem.message == message for problem in problems)
    assert len(problems) < 110


def test_the_first_of_many_mistakes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**stored(make_report(families=1)), "curves": [0] * 1_000_000}))

    with pytest.raises(InputError) as caught:
        load_report(path)
    assert str(caught.value) == f"{path}: curves[0]: must be a mapping of names to values"


def test_an_infinite_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(re.sub(r'"clock_hz": [0-9.]+', '"clock_hz": 1e999', json.dumps(stored(make_report(families=1)))))

    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: device.clock_hz: must be less than or equal to"):
        load_report(path)


class _Row(NamedTuple):
    share: float
    source: str = ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {share: 1}\na: {share: 2}\n", ":2: a: occurs twice"),
        ("a: {share: 1, sorce: b}\n", ":1: a.sorce: unknown field"),
        ("b: {share: 1}\na: {share: '0,5'}\n", ":2: a.share: must be a number"),
        ("a: {source: b}\n", ":1: a.share: is missing"),
    ],
)
def test_wrong_shipped_tables_are_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.yaml").write_text(text)
    monkeypatch.setattr("gpureport.inputs.data_dir", lambda _: tmp_path)
    with pytest.raises(FileError, match=f"rows.yaml{message}"):
        shipped_table("rows", dict[str, _Row])
