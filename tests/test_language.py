"""Texts that people read use the standard terms of the field: none of the private ones that they replaced."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from gpureport.cli.app import app
from gpureport.glossary import terms
from gpureport.workloads import all_workloads
from tests.documents import FOLDER

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]

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
    texts = [f"{term.name} ({term.standard}): {term.definition}" for term in terms()]
    texts += [f"{workload.title}: {workload.description}" for workload in all_workloads()]
    assert [found for text in texts for found in private_terms(text)] == []


def test_notes_of_the_database() -> None:
    files = [*(ROOT / "devices").rglob("*.yaml"), *(ROOT / "reports" / "published").glob("*.yaml")]
    assert [found for path in files for found in private_terms(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_texts(path: Path) -> None:
    assert private_terms(path.read_text(encoding="utf-8")) == []
