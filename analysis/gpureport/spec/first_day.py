"""The database on the first day of a new architecture, when nothing was measured on its devices. Pure functions."""

from collections.abc import Iterator
from dataclasses import replace

from gpureport.errors import InputError
from gpureport.spec.database import Database
from gpureport.spec.draft import GENERIC
from gpureport.spec.models import Cache
from gpureport.spec.resolve import Layer, Value, layer, required

_FIXED = ("occupancy.", "pipes.", "typical.")
"""Parts of an architecture that only its own file describes."""
_CACHES = "caches."


def first_day(database: Database, architecture: str) -> Database:
    """Return *database* with the values that devices of a GPU *architecture* get before anything is measured on them.

    Documented values stay. All others come from the predecessor, unless they were measured on a device of
    *architecture*: then from the predecessor's predecessor, and so on. A value that none of them has is omitted if it
    is optional, else it stays.

    Raises:
        InputError: an architecture's file is missing or has errors.
    """
    devices = {entry.id for entry in database.entries.values() if entry.file.architecture == architecture}
    own = layer(database.architecture(architecture))
    inherited: dict[str, Value] = {}
    for name in reversed(list(predecessors(database, architecture))):
        older = layer(database.architecture(name))
        inherited |= {path: v for path, v in older.items() if devices.isdisjoint(v.provenance.measured_on)}
    return replace(database, shared={**database.shared, architecture: _combined(own, inherited)})


def predecessors(database: Database, architecture: str) -> Iterator[str]:
    """Yield the architectures before this one, the latest first.

    Raises:
        InputError: one of them does not exist, or follows itself.
    """
    seen = [architecture]
    while seen[-1] != GENERIC:
        seen.append(database.architecture(seen[-1]).predecessor or GENERIC)
        if seen[-1] in seen[:-1]:
            chain = ", ".join(seen)
            raise InputError(f"architecture {seen[-1]}: predecessor: it follows itself; correct one of {chain}")
        yield seen[-1]


def documented(value: Value) -> bool:
    """Return whether a value comes from documents or from a driver, also if it is uncertain."""
    origin = value.provenance
    return not origin.measured_on and (bool(origin.source) or origin.kind == "queried")


def _combined(own: Layer, inherited: Layer) -> Layer:
    """Return the documented values of *own*, and for the others the *inherited* ones."""
    kept = {path: value for path, value in own.items() if documented(value) or path.startswith(_FIXED)}
    levels = tuple(path.removesuffix("scope") for path in own if path.startswith(_CACHES) and path.endswith(".scope"))
    needed = {path: own[path] for path in own if path.startswith(levels) and path.endswith(required(Cache))}
    elsewhere = {path: value for path, value in inherited.items() if not path.startswith((*_FIXED, _CACHES))}
    in_levels = {path: value for path, value in inherited.items() if path.startswith(levels)}
    return {**needed, **elsewhere, **in_levels, **kept}
