"""Tables fit the terminal and never fold figures; sentences are sentences."""

from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.cli.console import Row, print_table
from gpureport.text import printable, sentence

WORD = st.text("abcde", min_size=1, max_size=6)
CELL = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
COLUMNS = ("device", "memory", "empty", "platform")
ROWS = (("Fake GPU", "6 MiB ± 2 %", "", "Portable Computing Language"), ("漢字", "141 GiB", "", "Y"))


def printed(columns: Row, rows: Sequence[Row], width: int, right: Sequence[int] = ()) -> list[str]:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as text:
        patch.setenv("COLUMNS", str(width))
        print_table("Title", columns, rows, right)
    return text.getvalue().splitlines()


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "device         memory  platform",
                "Fake GPU  6 MiB ± 2 %  Portable Computing Language",
                "漢字          141 GiB  Y",
            ],
        ),
        (
            32,
            [
                "device         memory  platform",
                "Fake GPU  6 MiB ± 2 %  Portable",
                " " * 23 + "Computing",
                " " * 23 + "Language",
                "漢字          141 GiB  Y",
            ],
        ),
        (
            26,
            [
                "device   memory  platform",
                "Fake      6 MiB  Portable",
                "GPU       ± 2 %  Computing",
                " " * 17 + "Language",
                "漢字    141 GiB  Y",
            ],
        ),
    ],
    ids=["wide", "text is wrapped, numbers are not", "numbers are wrapped before an interval"],
)
def test_tables_have_the_width_of_the_terminal(width: int, lines: list[str]) -> None:
    found = printed(COLUMNS, ROWS, width, right=(1,))
    assert [found[1], *found[3:-1]] == lines
    assert (found[0], set(found[2]), found[-1]) == ("Title", {"─"}, "")


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), st.integers(16, 60))
def test_no_line_is_wider_than_the_terminal_and_no_letter_is_lost(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = printed(("one", "two", "three"), rows, width)

    assert all(len(line) <= width for line in lines)
    rule = next(number for number, line in enumerate(lines) if set(line) == {"─"})
    assert Counter("".join(lines[rule + 1 :]).replace(" ", "")) == Counter("".join(map("".join, rows)).replace(" ", ""))


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert printable("evil\x1b[2Jname\nnext") == "evil [2Jname next"
    assert "\x1b" not in "".join(printed(("a", "b"), (("\x1b]0;x\x07", "y"),), 80))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no room for a buffer", "No room for a buffer."),
        ("wrong results: 3 of 7 differ", "Wrong results: 3 of 7 differ."),
        ("read.cl does not build", "read.cl does not build."),
        ("It has\n  no sweeps here.", "It has no sweeps here."),
        ("", ""),
    ],
)
def test_reasons_read_as_sentences(text: str, expected: str) -> None:
    assert sentence(text) == expected
    assert sentence(sentence(text)) == expected
