"""The terms of reports, tables and messages: ``templates/glossary.yaml``, verdicts and ceilings."""

from functools import cache
from typing import NamedTuple

from gpureport.inputs import shipped_table
from gpureport.records.ceilings import CEILINGS
from gpureport.records.finding import Verdict


class Term(NamedTuple):
    """A term of the product."""

    name: str
    """Name that documents use."""
    definition: str
    """One or two sentences."""
    standard: tuple[str, ...] = ()
    """Names of the field or of vendors; empty if *name* is the only one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The term and its synonyms."""
        return (self.name, *self.standard)

    def __str__(self) -> str:
        """``cliff (capacity transition)``."""
        return f"{self.name} ({', '.join(self.standard)})" if self.standard else self.name


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms in alphabetical order."""
    listed = shipped_table("glossary", list[Term], "templates")
    listed += [Term(verdict, f"Verdict: {verdict.definition}") for verdict in Verdict]
    listed += [Term(name, ceiling.entry, ceiling.standard) for name, ceiling in CEILINGS.items() if ceiling.entry]
    return tuple(sorted(listed, key=lambda term: term.name.casefold()))


def find_term(text: str) -> Term | None:
    """Return the term with this name or synonym, in upper or lower case."""
    key = _folded(text)
    return next((term for term in terms() if key in map(_folded, term.names)), None)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").split())
