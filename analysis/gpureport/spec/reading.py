"""Read one YAML file of the database or of a published record; each problem has its line, and its correction."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import FileError, Step, Steps, read_yaml
from gpureport.spec.files import ArchitectureFile, File, types_in
from gpureport.spec.values import steps_of
from gpureport.text import nearest, quoted, requirement, suggestion

F = TypeVar("F", bound=BaseModel)
Severity = Literal["error", "warning"]
_OWN = ("extends", "identified_by", "matches", "source")
"""Fields that architectures do not inherit; the source of each inherited value stays."""
_MOST = 100
"""Maximum number of reported mistakes per file."""


@dataclass(frozen=True)
class Problem:
    """A problem of a file: its place, and a message with the correction."""

    file: str
    line: int | None
    field: str
    """Dotted path, empty for the whole file."""
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        """One sentence: ``file:line: field: message``, a warning marked as such."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        mark = "warning" if self.severity == "warning" else ""
        return ": ".join(filter(None, (place, mark, self.field, self.message)))


@dataclass
class Document(Generic[F]):
    """A file after reading: its contents (``None`` if it has errors), and its problems."""

    path: Path
    contents: F | None = None
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Steps, int] = field(default_factory=dict)
    salvaged: F | None = None
    """The contents; if the file has errors, its valid part, if usable."""

    def problem(self, path: str | Steps, message: str, severity: Severity = "warning") -> Problem:
        """Return a problem of the field at a *path*, which is dotted or in steps."""
        steps = steps_of(path) if isinstance(path, str) else path
        return Problem(str(self.path), self.line(steps), ".".join(map(str, steps)), message, severity)

    def line(self, path: Steps) -> int | None:
        """Return the line of the deepest part of *path* that the file has."""
        steps = tuple(int(step) if isinstance(step, str) and step.isdigit() else step for step in path)
        return next((self.lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in self.lines), None)

    def spoiled(self, path: str) -> bool:
        """Whether an earlier error, at *path* or in a similar name, explains further problems at *path*."""
        wrong = (steps_of(problem.field) for problem in self.problems if problem.severity == "error")
        return any(all(nearest(a, [b]) for a, b in zip(field, steps_of(path), strict=False)) for field in wrong)

    def get(self) -> F:
        """Return the contents.

        Raises:
            InputError: the file has errors; the message is the first one.
        """
        if self.contents is None:
            raise InputError(str(self.problems[0]))
        return self.contents


def read_file(path: Path, model: type[F]) -> Document[F]:
    """Read and validate one file; return problems instead of raising them."""
    document: Document[F] = Document(path)
    try:
        content = read_yaml(path)
    except FileError as error:
        document.problems.append(Problem(str(path), error.line, "", error.message))
        return document
    document.lines = content.lines
    document.problems += [
        Problem(str(path), line, ".".join(map(str, where)), f"the key appears twice, first in line {first}")
        for where, line, first in content.repeated[:_MOST]
    ]
    if not isinstance(content.data, Mapping):
        document.problems.append(Problem(str(path), 1, "", "must be a mapping of fields to values"))
        return document
    try:
        data = inherited(path, content.data) if issubclass(model, ArchitectureFile) else content.data
    except InheritanceError as error:
        document.problems.append(document.problem(error.steps, str(error), "error"))
        return document
    _validate(document, model, data)
    return document


def _validate(document: Document[F], model: type[F], data: Mapping[str, Any]) -> None:
    contents: F | None = None
    try:
        contents = document.salvaged = model.model_validate(data)
    except ValidationError as error:
        document.problems += [
            document.problem(where, message, "error") for where, message in mistakes(model, error, document.lines)
        ]
        if (more := error.error_count() - _MOST) > 0:
            message = f"has {more} more mistakes; correct these first"
            document.problems.append(Problem(str(document.path), None, "", message))
        document.salvaged = _salvage(model, data, document.lines)
    if isinstance(document.salvaged, File):
        document.problems += list(_undefined_sources(document, document.salvaged))
    if not any(problem.severity == "error" for problem in document.problems):
        document.contents = contents


def _undefined_sources(document: Document[F], contents: File) -> Iterator[Problem]:
    used = {"source": contents.source} | {f"{path}.source": leaf.source for path, leaf in contents.leaves().items()}
    for path, key in used.items():
        if key is not None and key not in contents.sources and not document.spoiled(f"sources.{key}"):
            remedy = suggestion(key, contents.sources) or "; define it there"
            yield document.problem(path, f"no source {quoted(key)} under 'sources'{remedy}", "error")


class InheritanceError(InputError):
    """A file cannot extend another one; the field at *steps* is the cause."""

    def __init__(self, message: str, *steps: Step) -> None:
        super().__init__(message)
        self.steps: Steps = steps or ("extends",)


def inherited(path: Path, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the contents of the file at *path* on top of those of the architecture that it extends, if any.

    Raises:
        InheritanceError: that architecture does not exist, has errors, or itself extends another one; or one key of
            ``sources`` has a citation in each file.
    """
    name = data.get("extends")
    if not isinstance(name, str):
        return data
    folders = (path.parent, data_dir("devices") / "architectures")
    file = next((file for folder in folders if (file := folder / f"{Path(name).name}.yaml").is_file()), None)
    if file is None:
        raise InheritanceError(f"there is no architecture {quoted(name)}")
    base, without_own = _extended(file, file.stat().st_mtime_ns)
    own, known = data.get("sources"), base.get("sources", {})
    for key, citation in own.items() if isinstance(own, Mapping) else ():
        if known.get(key, citation) != citation:
            message = f"{name}, which this file extends, has another citation for this key; choose a different key"
            raise InheritanceError(message, "sources", key)
    return merged(without_own, data)


@cache
def _extended(file: Path, changed: int) -> tuple[Mapping[str, Any], dict[str, Any]]:  # noqa: ARG001
    """Return the contents of a file that others extend, last *changed* then, and what they inherit."""
    name = file.stem
    try:
        base = read_yaml(file).data
        if not isinstance(base, Mapping) or "extends" in base:
            raise InheritanceError(f"{name} extends another architecture; extend one that does not")
        inherited = _with_sources(base, ArchitectureFile.model_validate(base))
    except FileError as error:
        raise InheritanceError(str(error)) from None
    except ValidationError:
        raise InheritanceError(f"{file} has errors; correct them first") from None
    return base, {key: value for key, value in inherited.items() if key not in _OWN}


def _with_sources(data: Mapping[str, Any], contents: ArchitectureFile) -> dict[str, Any]:
    """Return *data*, the valid *contents* of a file, with the default source written at each value that has none."""
    copied = dict(copy.deepcopy(data))
    for path, leaf in contents.leaves().items() if contents.source else ():
        if leaf.source or leaf.kind in ("assumed", "queried"):
            continue
        *steps, last = steps_of(path)
        part: Any = copied
        for step in steps:
            part = part.get(step) if isinstance(part, dict) else None
        if isinstance(part, dict) and last in part:
            value = part[last] if isinstance(part[last], dict) and "value" in part[last] else {"value": part[last]}
            part[last] = value | {"source": contents.source}
    return copied


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return mappings merged key by key; values of *own* replace those of *base*."""

    def is_part(value: object) -> bool:
        return isinstance(value, Mapping) and "value" not in value

    both = {key for key in own if is_part(base.get(key)) and is_part(own[key])}
    return {**base, **{key: merged(base[key], value) if key in both else value for key, value in own.items()}}


def mistakes(model: type[BaseModel], error: ValidationError, written: Iterable[Steps]) -> Iterator[tuple[Steps, str]]:
    """Yield path and message of each of pydantic's errors, at most 100; *written* are the paths of all values."""
    found, known = error.errors()[:_MOST], set(written)
    unknown = [details for details in found if details["type"] == "extra_forbidden"]
    misspelt = {(*d["loc"][:-1], nearest(str(d["loc"][-1]), _siblings(model, d))) for d in unknown}
    for details in found:
        if details["type"] != "missing" or tuple(details["loc"]) not in misspelt:
            yield _written(tuple(details["loc"]), known), _message(model, details)


def _salvage(model: type[F], data: Mapping[str, Any], written: Iterable[Steps]) -> F | None:
    """Return a file's contents without its invalid fields, so that one mistake does not hide others.

    ``None`` if a required field is invalid or missing, or there are too many mistakes.
    """
    left, known = copy.deepcopy(dict(data)), set(written)
    while True:
        try:
            return model.model_validate(left)
        except ValidationError as error:
            wrong = [path for path, _ in mistakes(model, error, known)]
            if error.error_count() > _MOST or not sum(_removed(left, path) for path in wrong):
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
    if missing := path in (("name",), ("vendor",)):
        data[str(path[0])] = "?"
    return missing


def _message(model: type[BaseModel], details: ErrorDetails) -> str:
    if details["type"] == "extra_forbidden":
        return f"unknown field{suggestion(str(details['loc'][-1]), _siblings(model, details))}"
    return "is missing" if details["type"] == "missing" else requirement(details["msg"])


def _written(location: Steps, known: set[Steps]) -> Steps:
    """Remove steps of pydantic's location that are not in the file: implied ``value``s and discriminators."""
    path: Steps = ()
    for index, step in enumerate(location):
        last = index == len(location) - 1
        # A plain value of a cache, instead of a mapping, is its capacity.
        implied = step == "capacity" and path in known and not any(p[:-1] == path for p in known)
        if (*path, step) in known or (last and step != "value" and not implied):
            path = (*path, step)
    return path


def _siblings(model: type[BaseModel], details: ErrorDetails) -> list[str]:
    models = {model}
    for step in details["loc"][:-1]:  # those that are no fields are levels, places in a list and discriminators
        fields = [each.model_fields[str(step)] for each in models if step in each.model_fields]
        types = (kind for field in fields for kind in types_in(field.annotation))
        models = {kind for kind in types if isinstance(kind, type) and issubclass(kind, BaseModel)} or models
    return sorted({name for each in models for name in each.model_fields})
