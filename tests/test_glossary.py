"""The glossary: its order, its lookup, its size, and ``gpureport glossary``."""

import pytest

from gpureport.cli import main
from gpureport.glossary import find_term, near_names, terms

Captured = pytest.CaptureFixture[str]


def test_terms_are_in_alphabetical_order_and_found_by_each_of_their_names() -> None:
    order = [term.name.casefold() for term in terms()]
    assert order == sorted(order)
    for term in terms():
        for name in term.names:
            assert find_term(name) is find_term(f" {name.upper()} ") is term


@pytest.mark.parametrize("columns", [40, 80])
def test_all_terms_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    assert main(["glossary"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    for term in terms():
        assert any(line.startswith(term.name) for line in lines)


@pytest.mark.parametrize(("typed", "near"), [("cliffs", "cliff"), ("occupency", "occupancy"), ("norm", "p-norm")])
def test_an_unknown_term_gets_near_ones(typed: str, near: str, capsys: Captured) -> None:
    assert near in near_names(typed)
    assert main(["glossary", typed]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert repr(typed) in captured.err
    assert near in captured.err
