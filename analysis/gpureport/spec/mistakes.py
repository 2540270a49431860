"""Pydantic's errors as sentences: the error in a field and its correction; what is valid besides them."""

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpureport.inputs import Step, Steps
from gpureport.text import requirement

F = TypeVar("F", bound=BaseModel)
_FEW = 12
MOST = 100
"""Maximum number of reported mistakes per file."""


def mistakes(model: type[BaseModel], error: ValidationError, written: Iterable[Steps]) -> Iterator[tuple[Steps, str]]:
    """Yield path and message of each mistake, at most :data:`MOST`; *written* are the paths of all values."""
    found, known = error.errors()[:MOST], set(written)
    unknown = [details for details in found if details["type"] == "extra_forbidden"]
    misspelt = {(*d["loc"][:-1], nearest(str(d["loc"][-1]), _siblings(model, d))) for d in unknown}
    for details in found:
        if details["type"] != "missing" or tuple(details["loc"]) not in misspelt:
            yield _written(tuple(details["loc"]), known), _message(model, details)


def salvage(model: type[F], data: Mapping[str, Any], written: Iterable[Steps]) -> F | None:
    """Return a file's contents without its invalid fields, so that one mistake does not hide others.

    Args:
        model: of the file.
        data: its contents.
        written: the paths of all values.

    Returns:
        ``None`` if a required field is invalid or missing, or there are too many mistakes.
    """
    left, known = copy.deepcopy(dict(data)), set(written)
    while True:
        try:
            return model.model_validate(left)
        except ValidationError as error:
            wrong = [path for path, _ in mistakes(model, error, known)]
            if error.error_count() > MOST or not sum(_removed(left, path) for path in wrong):
                return None


def _removed(data: dict[str, Any], path: Steps) -> bool:
    """Delete the deepest existing part of *path* (lists as a whole), or add a missing name; return whether it did."""
    container: Any = data
    last: tuple[dict[Any, Any], Any] | None = None
    for step in path:
        if not isinstance(container, dict) or step not in container:
            break
        last, container = (container, step), container[step]
    if last:
        del last[0][last[1]]
        return True
    missing = path in (("name",), ("vendor",))
    if missing:
        data[str(path[0])] = "?"
    return missing


def dotted(path: Steps) -> str:
    """Write the place of a value: ``caches.L2.capacity``."""
    return ".".join(map(str, path))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar of the *known* names, ignoring case."""
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: the most similar of the *known* names, else all if they are few, else nothing."""
    names = sorted(known)
    if near := nearest(name, names):
        return f"; did you mean {near!r}?"
    return f"; there are {', '.join(map(repr, names))}" if 0 < len(names) <= _FEW else ""


def _message(model: type[BaseModel], details: ErrorDetails) -> str:
    match details["type"]:
        case "extra_forbidden":
            return f"unknown field{suggestion(str(details['loc'][-1]), _siblings(model, details))}"
        case "missing":
            return "is missing"
        case "literal_error":
            return _choice(str(details["input"]), str(details["ctx"]["expected"]))
        case "union_tag_invalid":
            return f"rule {_choice(str(details['ctx']['tag']), str(details['ctx']['expected_tags']))}"
        case "union_tag_not_found":
            return "rule is missing"
        case "tuple_type" | "list_type" if isinstance(details["input"], str):
            return f"must be a list; write [{details['input']}]"
        case "string_pattern_mismatch":
            return _form(str(details["input"]), str(details["ctx"]["pattern"]))
    return requirement(details["msg"])


def _choice(given: str, expected: str) -> str:
    allowed = re.findall(r"'([^']*)'", expected)
    near = nearest(given, allowed)
    listed = " or ".join(filter(None, [", ".join(map(repr, allowed[:-1])), repr(allowed[-1])]))
    return f"must be {listed}{f'; did you mean {near!r}?' if near else f', not {given!r}'}"


def _form(given: str, pattern: str) -> str:
    required = f"must be of the form {pattern}"
    if "[0-9a-f]" in pattern:
        required = "must be vendor:device in lower-case hexadecimal, like '10de:2335'"
    right = given.lower().replace("0x", "")
    return f"{required}; write {right!r}" if re.fullmatch(pattern, right) else f"{required}, not {given!r}"


def _written(location: Steps, known: set[Steps]) -> Steps:
    """Remove steps of pydantic's location that are not in the file: implied ``value``s and discriminators."""
    path: Steps = ()
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if (*path, step) in known or (last and step != "value" and not _is_implied(path, step, known)):
            path = (*path, step)
    return path


def _is_implied(path: Steps, step: Step, known: set[Steps]) -> bool:
    """Whether *step* is implied by a short form: its parent is a plain value, not a mapping."""
    return step == "capacity" and path in known and not any(p[:-1] == path for p in known)


def _siblings(model: type[BaseModel], details: ErrorDetails) -> list[str]:
    schema = _schema(model)
    return sorted(_fields_at(schema, schema.get("$defs", {}), tuple(details["loc"])[:-1]))


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _fields_at(schema: Mapping[str, Any], definitions: Mapping[str, Any], where: Steps) -> set[str]:
    """Return the property names that *schema* allows at *where*."""
    if "$ref" in schema:
        return _fields_at(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions, where)
    properties = schema.get("properties", {})
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    inside = [properties.get(where[0]), schema.get("additionalProperties"), schema.get("items")] if where else []
    return set[str]().union(
        () if where else properties,
        *(_fields_at(option, definitions, where) for option in options),
        *(_fields_at(inner, definitions, where[1:]) for inner in inside if isinstance(inner, Mapping)),
    )
