"""Texts for people: links, commands, the glossary and standard terms."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from gpureport.cli import main
from gpureport.cli.app import app
from gpureport.glossary import find_term, terms
from gpureport.workloads import all_workloads
from tests.documents import FOLDER

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
LINK = re.compile(r"\]\(([^)#]*)(?:#([\w-]+))?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for address, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if not address.startswith("https://"):
            target = (page.parent / address).resolve() if address else page
            assert target.is_file(), f"{page.name}: {address}"
            assert not anchor or anchor in anchors(target), f"{page.name}: {address}#{anchor}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *ROOT.glob("docs/*.md")], ids=lambda page: page.name)
def test_commands_are_those_of_the_program(page: Path) -> None:
    for line in re.findall(r"^    gpureport\b *(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        command, words = get_command(app), shlex.split(line, comments=True)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
        context = command.make_context("", [], resilient_parsing=True)
        context.resilient_parsing = False  # unknown options are errors
        command.make_parser(context).parse_args(words)


def test_the_site_has_every_page() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    pages = sorted(name for entry in site for name in entry.values())
    assert pages == sorted(page.name for page in ROOT.glob("docs/*.md"))
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert {address for address, _ in LINK.findall(index)} == set(pages) - {"index.md"}


PRIVATE = {
    r"g(?:i|a)ves? out|giv(?:en|ing) out": "starts to fall, holds up to",
    r"\bbinds?\b|\bbound by\b": "limited by, bottleneck",
    r"\bpromis\w+": "predicted peak, specification",
    r"\battained?\b": "efficiency",
    r"\blone\b": "isolated, single, unloaded",
    r"\bprimitives?\b": "microbenchmark",
    r"\bin a row\b": "back to back, batch",
    r"\bsurprises?\b": "unexpected result",
    r"\bclaim(?:s|ed)?\b": "published statement",
    r"\bdepartures?\b": "onset, end",
    r"\bhangs? on\b": "depends on",
    r"\bfor real\b": "significantly",
    r"\bas runs (?:do|differ)\b": "within run-to-run variation",
    r"\b(?:held|holds?|holding)\b[^.]{0,40}\bagainst\b": "compare",
    r"\bextents?\b": "transition range",
    r"\bis told\b|\bbeing told\b|\bwas told\b": "reported, known",
    r"\basked of\b": "queried from, required",
    r"\bstep at \d": "unexplained transition",
    r"\b\d+ % full\b|\bfull (?:at|with) \d|\bfills? the device\b|\bfills it\b": "reaches 90 % of peak throughput",
}
"""Private terms (regular expressions), and what is written instead: the table of terms that this project uses."""


def private_terms(text: str) -> list[str]:
    """Return each private term of a text with its surroundings."""
    plain = re.sub(r"\s+", " ", text)
    return [
        f"…{plain[max(0, found.start() - 40) : found.end() + 40]}… (write: {instead})"
        for pattern, instead in PRIVATE.items()
        for found in re.finditer(pattern, plain, re.IGNORECASE)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_documents(document: Path) -> None:
    assert private_terms(document.read_text(encoding="utf-8")) == []


def test_help() -> None:
    root = get_command(app)
    found = []
    commands = [root]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        texts = [command.help or "", *(getattr(parameter, "help", "") or "" for parameter in command.params)]
        found += private_terms(" | ".join(texts))
    assert found == []


def test_glossary_and_workloads() -> None:
    texts = [f"{term}: {term.definition}" for term in terms()]
    texts += [f"{workload.title}: {workload.description}" for workload in all_workloads()]
    assert [found for text in texts for found in private_terms(text)] == []


def test_notes_of_the_database() -> None:
    files = [*(ROOT / "devices").rglob("*.yaml"), *(ROOT / "reports" / "published").glob("*.yaml")]
    assert [found for path in files for found in private_terms(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_texts(path: Path) -> None:
    assert private_terms(path.read_text(encoding="utf-8")) == []


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


@pytest.mark.parametrize(("typed", "near"), [("cliffs", "cliff"), ("occupency", "occupancy")])
def test_an_unknown_term_gets_a_near_one(typed: str, near: str, capsys: Captured) -> None:
    assert main(["glossary", typed]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert repr(typed) in captured.err
    assert near in captured.err
