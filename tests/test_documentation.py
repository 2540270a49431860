"""The README and the pages of ``docs/``: their links and their commands."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from gpureport.cli.app import app
from tests.test_language import DOCUMENTS, ROOT

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
