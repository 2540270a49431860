"""Read one YAML file of the database or of a published record; each problem has its line."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import FileError, Steps, read_yaml
from gpureport.spec.files import ArchitectureFile, File
from gpureport.spec.mistakes import MOST, dotted, mistakes, nearest, salvage, suggestion

F = TypeVar("F", bound=BaseModel)
_OWN = ("extends", "identified_by", "matches", "source")
"""Fields that architectures do not inherit; the source of each inherited value stays."""


@dataclass(frozen=True)
class Problem:
    """A problem of a file: its place, and a message with the correction."""

    file: str
    line: int | None
    field: str
    """Dotted path, empty for the whole file."""
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """One sentence: ``file:line: field: message``, a warning marked as such."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        mark = "warning" if self.severity == "warning" else ""
        return ": ".join(filter(None, (place, mark, self.field, self.message)))


@dataclass
class Document(Generic[F]):
    """A file after reading: its contents (``None`` if it has errors), and its problems."""

    path: Path
    contents: F | None
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Steps, int] = field(default_factory=dict)
    salvaged: F | None = None
    """The contents; if the file has errors, its valid part, if usable."""

    def problem(self, path: str, message: str, severity: Literal["error", "warning"] = "warning") -> Problem:
        """Return a problem of the field at a dotted *path*."""
        return Problem(str(self.path), self.line(tuple(path.split("."))), path, message, severity)

    def line(self, path: Steps) -> int | None:
        """Return the line of the deepest part of *path* that the file has."""
        steps = tuple(int(step) if isinstance(step, str) and step.isdigit() else step for step in path)
        return next((self.lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in self.lines), None)

    def spoiled(self, path: str) -> bool:
        """Whether an earlier error, at *path* or in a similar name, explains further problems at *path*."""
        steps, wrong = path.split("."), [p.field.split(".") for p in self.problems if p.severity == "error"]
        return any(all(nearest(a, [b]) for a, b in zip(field, steps, strict=False)) for field in wrong)

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
    document: Document[F] = Document(path, None)
    try:
        content = read_yaml(path)
    except FileError as error:
        document.problems.append(Problem(str(path), error.line, "", error.message))
        return document
    document.lines = content.lines
    document.problems += [
        Problem(str(path), line, dotted(where), f"the key appears twice, first in line {first}")
        for where, line, first in content.repeated[:MOST]
    ]
    if not isinstance(content.data, Mapping):
        document.problems.append(Problem(str(path), 1, "", "must be a mapping of fields to values"))
        return document
    try:
        data = inherited(path, content.data) if issubclass(model, ArchitectureFile) else content.data
    except InputError as error:
        document.problems.append(document.problem("extends", str(error), "error"))
        return document
    _validate(document, model, data)
    return document


def _validate(document: Document[F], model: type[F], data: Mapping[str, Any]) -> None:
    contents: F | None = None
    try:
        contents = document.salvaged = model.model_validate(data)
    except ValidationError as error:
        document.problems += [
            Problem(str(document.path), document.line(where), dotted(where), message)
            for where, message in mistakes(model, error, document.lines)
        ]
        if error.error_count() > MOST:
            more = f"has {error.error_count() - MOST} more mistakes; correct these first"
            document.problems.append(Problem(str(document.path), None, "", more))
        document.salvaged = salvage(model, data, document.lines)
    if isinstance(document.salvaged, File):
        _check_sources(document, document.salvaged)
    if not any(problem.severity == "error" for problem in document.problems):
        document.contents = contents


def _check_sources(document: Document[F], contents: File) -> None:
    """Add a problem for each source that the file does not define."""
    used = {"source": contents.source} | {f"{path}.source": leaf.source for path, leaf in contents.leaves().items()}
    unknown = ((path, key) for path, key in used.items() if key is not None and key not in contents.sources)
    found = [(path, key) for path, key in unknown if not document.spoiled(f"sources.{key}")]  # by other mistakes
    for path, key in found:
        remedy = suggestion(key, contents.sources) or "; define it there"
        document.problems.append(document.problem(path, f"no source {key!r} under 'sources'{remedy}", "error"))


def inherited(path: Path, data: Mapping[str, object]) -> Mapping[str, object]:
    """Return the contents of the file at *path* on top of those of the architecture that it extends, if any.

    Raises:
        InputError: that architecture does not exist, has errors, or itself extends another one.
    """
    name = data.get("extends")
    if not isinstance(name, str):
        return data
    folders = (path.parent, data_dir("devices") / "architectures")
    file = next((file for folder in folders if (file := folder / f"{Path(name).name}.yaml").is_file()), None)
    if file is None:
        raise InputError(f"there is no architecture {name!r}")
    base = read_yaml(file).data
    if not isinstance(base, Mapping) or "extends" in base:
        raise InputError(f"{name} extends another architecture; extend one that does not")
    try:
        contents = ArchitectureFile.model_validate(base)
    except ValidationError:
        raise InputError(f"{file} has errors; correct them first") from None
    return merged({key: value for key, value in _with_sources(base, contents).items() if key not in _OWN}, data)


def _with_sources(data: Mapping[str, Any], contents: ArchitectureFile) -> dict[str, Any]:
    """Return *data*, the valid *contents* of a file, with the default source written at each value that has none."""
    copied = dict(deepcopy(data))
    for path, leaf in contents.leaves().items() if contents.source else ():
        if leaf.source or leaf.kind in ("assumed", "queried"):
            continue
        *steps, last = path.split(".")
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
