"""Read one YAML file of the database or of a published record; each problem has its line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from gpureport.errors import InputError
from gpureport.inputs import FileError, Steps, read_yaml
from gpureport.spec.files import ArchitectureFile, File
from gpureport.spec.inheritance import inherited
from gpureport.spec.mistakes import MOST, mistakes, nearest, suggestion
from gpureport.spec.salvage import salvage

F = TypeVar("F", bound=BaseModel)


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
        return Problem(str(self.path), _line(self.lines, tuple(path.split("."))), path, message, severity)

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
        Problem(str(path), line, _dotted(where), f"the key appears twice, first in line {first}")
        for where, line, first in content.repeated[:MOST]
    ]
    data = content.data
    try:
        if issubclass(model, ArchitectureFile) and isinstance(data, Mapping):
            data = inherited(path, data)
    except InputError as error:
        document.problems.append(document.problem("extends", str(error), "error"))
        return document
    _validate(document, model, data)
    return document


def _validate(document: Document[F], model: type[F], data: object) -> None:
    if not isinstance(data, Mapping):
        document.problems.append(Problem(str(document.path), 1, "", "must be a mapping of fields to values"))
        return
    contents: F | None = None
    try:
        contents = document.salvaged = model.model_validate(data)
    except ValidationError as error:
        document.problems += [
            Problem(str(document.path), _line(document.lines, where), _dotted(where), message)
            for where, message in mistakes(model, error, document.lines)
        ]
        if error.error_count() > MOST:
            more = f"has {error.error_count() - MOST} more mistakes; correct these first"
            document.problems.append(Problem(str(document.path), None, "", more))
        document.salvaged = salvage(model, data, document.lines)
    if isinstance(document.salvaged, File):
        document.problems += _unknown_sources(document, document.salvaged)
    if not any(problem.severity == "error" for problem in document.problems):
        document.contents = contents


def _unknown_sources(document: Document[F], contents: File) -> list[Problem]:
    used = {"source": contents.source} | {f"{path}.source": leaf.source for path, leaf in contents.leaves().items()}
    return [
        document.problem(
            path,
            f"no source {key!r} under 'sources'{suggestion(key, contents.sources) or '; define it there'}",
            "error",
        )
        for path, key in used.items()
        if key is not None and key not in contents.sources and not document.spoiled(f"sources.{key}")
    ]


def _line(lines: Mapping[Steps, int], path: Steps) -> int | None:
    steps = tuple(int(s) if isinstance(s, str) and s.isdigit() else s for s in path)
    return next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)


def _dotted(path: Steps) -> str:
    return ".".join(map(str, path))
