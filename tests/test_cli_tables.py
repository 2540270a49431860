"""Tables fit the terminal and never fold figures; sentences are sentences."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.cli.console import printable
from gpureport.cli.summary import short_unit
from gpureport.cli.tables import glued, table_lines
from gpureport.text import sentence

COLUMNS = ("device", "memory", "platform")
ROWS = (("Fake GPU", "6 MiB", "Portable Computing Language"), ("X", "141 GiB", "Y"))
WORD = st.text("abcde", min_size=1, max_size=6)
CELL = st.lists(WORD, min_size=1, max_size=5).map(" ".join)


def test_a_wide_terminal_gets_one_line_a_row() -> None:
    assert table_lines(COLUMNS, ROWS, 80, right=(1,)) == [
        "device     memory  platform",
        "─" * 46,
        "Fake GPU    6 MiB  Portable Computing Language",
        "X         141 GiB  Y",
    ]


def test_a_narrow_terminal_folds_words_and_not_figures() -> None:
    assert table_lines(COLUMNS, ROWS, 36, right=(1,)) == [
        "device     memory  platform",
        "─" * 36,
        "Fake GPU    6 MiB  Portable",
        "                   Computing",
        "                   Language",
        "X         141 GiB  Y",
    ]


def test_where_no_table_fits_each_row_is_a_block() -> None:
    assert table_lines(COLUMNS, ROWS[:1], 20, right=(1,)) == [
        "Fake GPU",
        "    memory: 6 MiB",
        "    platform:",
        "      Portable",
        "      Computing",
        "      Language",
    ]


def test_a_row_of_one_cell_is_a_heading_across_all_columns() -> None:
    lines = table_lines(("a", "b"), (("a heading that is long",), ("1", "2")), 80)

    assert lines == ["a  b", "────", "a heading that is long", "1  2"]


def test_folded_cells_keep_their_indent() -> None:
    assert table_lines(("a", "b"), (("  taper (n90)", "1"),), 12)[2:] == ["  taper    1", "  (n90)"]


def test_glued_text_is_not_folded() -> None:
    rows = (("x", f"{glued('L1 32 KiB')}, {glued('L2 6 MiB')}"),)

    assert table_lines(("id", "caches"), rows, 14)[2:] == ["x   L1 32 KiB,", "    L2 6 MiB"]


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), st.integers(16, 60))
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = table_lines(("one", "two", "three"), rows, width)

    assert all(len(line) <= width for line in lines)
    words = " ".join(lines).split()
    assert all(words.count(word) >= 1 for row in rows for cell in row for word in cell.split())


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


@pytest.mark.parametrize(
    ("unit", "short"),
    [("B", "B"), ("B/s", "B/s"), ("s", "s"), ("s/load", "s/load"), ("matrices/s", "/s"), ("work-items", "")],
)
def test_units_leave_out_what_is_counted(unit: str, short: str) -> None:
    assert short_unit(unit) == short
