"""Tables fit the terminal and never fold figures; sentences are sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.cli.console import printable
from gpureport.cli.tables import table_lines
from gpureport.text import sentence

COLUMNS = ("device", "memory", "platform")
ROWS = (("Fake GPU", "6 MiB", "Portable Computing Language"), ("X", "141 GiB", "Y"))
WORD = st.text("abcde", min_size=1, max_size=6)
CELL = st.lists(WORD, min_size=1, max_size=5).map(" ".join)


WIDE = ["device     memory  platform", "Fake GPU    6 MiB  Portable Computing Language", "X         141 GiB  Y"]
FOLDED = [
    WIDE[0],
    "Fake GPU    6 MiB  Portable",
    "                   Computing",
    "                   Language",
    WIDE[2],
]
WITHOUT = ["device    memory", "Fake GPU   6 MiB", "A wider terminal also", "shows: platform."]


@pytest.mark.parametrize(
    ("rows", "width", "ruled", "lines"),
    [(ROWS, 80, 46, WIDE), (ROWS, 36, 36, FOLDED), (ROWS[:1], 24, 16, WITHOUT)],
    ids=["wide", "narrow: words are folded, figures are not", "too narrow: a column is left out and named"],
)
def test_tables_have_the_width_of_the_terminal(
    rows: tuple[tuple[str, ...], ...], width: int, ruled: int, lines: list[str]
) -> None:
    assert table_lines(COLUMNS, rows, width, right=(1,)) == [lines[0], "─" * ruled, *lines[1:]]


def test_optional_columns_are_left_out_first() -> None:
    rows = (("Fake GPU", "6 MiB", "yes", "Portable Computing Language"),)
    lines = table_lines(("device", "memory", "works", "platform"), rows, 44, right=(1,), optional=(1,))

    assert lines[0].split() == ["device", "works", "platform"]
    assert lines[2].endswith("Portable Computing Language")
    assert lines[-1] == "A wider terminal also shows: memory."


WORKLOADS = (("memory/read", "1 GB/s"), ("memory/copy", "2 GB/s"))
HEADED = (("a long heading",), ("1", "2"))


@pytest.mark.parametrize(
    ("columns", "rows", "width", "lines"),
    [
        ("abc", (("heading",), ("1", "2", "")), 80, ["heading", "1  2"]),  # the empty column is left out
        ("ab", WORKLOADS, 80, ["memory/read  1 GB/s", "memory/copy  2 GB/s"]),
        ("ab", HEADED, 80, ["a long heading", "1  2"]),  # across all columns
        ("ab", (("  taper (n90)", "1"),), 12, ["  taper    1", "  (n90)"]),  # folded cells keep their indent
        (("id", "caches"), (("x", "L1 32 KiB, 漢字 漢字漢"),), 14, ["x   L1 32 KiB,", "    漢字", "    漢字漢"]),
    ],
)
def test_rows_are_laid_out(columns: str, rows: tuple[tuple[str, ...], ...], width: int, lines: list[str]) -> None:
    assert table_lines(tuple(columns), rows, width)[2:] == lines


def test_numbers_are_only_wrapped_before_their_interval() -> None:
    rows = (("memory", "4416 GB/s ± 19 %"),)

    assert table_lines(("a", "b"), rows, 20, right=(1,))[2:] == ["memory  4416 GB/s", "           ± 19 %"]


def test_in_the_narrowest_terminals_words_are_broken() -> None:
    lines = table_lines(("name", "value"), (("incomprehensibilities", "123456789012"),), 16, right=(1,))

    assert max(map(len, lines)) <= 16
    assert "".join(line[:7].strip() for line in lines[2:]) == "incomprehensibilities"


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), st.integers(16, 60))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(rows: list[tuple[str, str, str]], width: int) -> None:
    columns = ("one", "two", "three")
    lines = table_lines(columns, rows, width)

    assert all(len(line) <= width for line in lines)
    words = " ".join(lines).split()
    named = words[-1].rstrip(".") if "shows:" in words else ""
    for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
        assert name == named or all(word in words for cell in cells for word in cell.split())


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert printable("evil\x1b[2Jname\nnext") == "evil\N{REPLACEMENT CHARACTER}[2Jname next"
    assert "\x1b" not in "".join(table_lines(("a", "b"), (("\x1b]0;x\x07", "y"),), 80))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no room for a buffer", "No room for a buffer."),
        ("wrong results: 3 of 7 differ", "Wrong results: 3 of 7 differ."),
        ("read.cl does not build", "read.cl does not build."),
        ("cl_khr_subgroups is missing", "cl_khr_subgroups is missing."),
        ("It has\n  no sweeps here.", "It has no sweeps here."),
        ("", ""),
    ],
)
def test_reasons_read_as_sentences(text: str, expected: str) -> None:
    assert sentence(text) == expected
    assert sentence(sentence(text)) == expected
