"""``gpureport glossary``."""

from textwrap import wrap

from gpureport.cli.console import out, print_line
from gpureport.errors import InputError
from gpureport.glossary import find_term, near_names, terms
from gpureport.text import quoted


def print_glossary(name: str | None) -> int:
    """Print the entry of one term, or all entries.

    Raises:
        InputError: the glossary does not contain the term.
    """
    found = None if name is None else find_term(name)
    if name is not None and found is None:
        near = near_names(name)
        hint = f"did you mean {', '.join(near)}?" if near else "`gpureport glossary` lists all terms"
        raise InputError(f"the glossary does not contain {quoted(name)}; {hint}")
    for term in [found] if found else terms():
        text = f"{term}: {term.definition}".replace(" %", "\xa0%")
        for line in wrap(text, out().width, subsequent_indent="  "):
            print_line(line.replace("\xa0", " "))
    return 0
