"""The glossary: its order, its lookup, its size, and ``gpureport glossary``."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest

from gpureport.cli import main
from gpureport.glossary import Term, find_term, near_names, terms

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.name)
def test_a_term_is_found_by_each_of_its_names(term: Term) -> None:
    for name in term.names:
        assert find_term(name) is term
        assert find_term(f" {name.upper()} ") is term


def test_terms_are_in_alphabetical_order_and_names_are_unique() -> None:
    order = [term.name.casefold() for term in terms()]
    assert order == sorted(order)
    names = [name.casefold() for term in terms() for name in term.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.name)
def test_definitions_are_one_or_two_short_sentences(term: Term) -> None:
    sentences = term.definition.removesuffix(".").split(". ")
    assert term.definition.endswith(".")
    assert len(sentences) <= 2
    assert max(len(sentence.split()) for sentence in sentences) <= 30


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
