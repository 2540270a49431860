"""Reading one YAML file: syntax, duplicate keys, fields and units, each problem with its line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from gpureport.errors import InputError
from gpureport.spec.files import File
from gpureport.spec.mistakes import Step, mistakes, nearest, suggestion
from gpureport.spec.salvage import salvage

F = TypeVar("F", bound=BaseModel)
_MOST_BYTES = 1 << 18
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same, in C, where it was built


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file, where, and what would be right."""

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
        return ": ".join(part for part in (place, mark, self.field, self.message) if part)


@dataclass
class Document(Generic[F]):
    """A file that was read: its contents (``None`` if they are wrong), and the problems found."""

    path: Path
    contents: F | None
    problems: list[Problem] = field(default_factory=list)
    lines: dict[tuple[Step, ...], int] = field(default_factory=dict)
    salvaged: F | None = None
    """The contents; if they are wrong, what of them is right, if that can be understood."""

    def problem(self, path: str, message: str, severity: Literal["error", "warning"] = "warning") -> Problem:
        """Make a problem of the field at a dotted *path*."""
        return Problem(str(self.path), _line(self.lines, tuple(path.split("."))), path, message, severity)

    def spoiled(self, path: str) -> bool:
        """Whether an error that was found, there or in a name like it, explains what else is odd at *path*."""
        steps, wrong = path.split("."), [p.field.split(".") for p in self.problems if p.severity == "error"]
        return any(all(nearest(a, [b]) for a, b in zip(field, steps, strict=False)) for field in wrong)

    def get(self) -> F:
        """Return the contents.

        Raises:
            InputError: the file is wrong; the sentence is its first problem.
        """
        if self.contents is None:
            raise InputError(str(self.problems[0]))
        return self.contents


def read_file(path: Path, model: type[F]) -> Document[F]:
    """Read and validate one file; problems are returned, not raised."""
    document: Document[F] = Document(path, None)
    text = ""
    try:
        text = _text(path.read_bytes())
        root = _compose(text)
        document.lines = dict(_lines(root))
        document.problems += [
            Problem(str(path), line, _dotted(where), f"the key appears twice, first in line {first}")
            for where, line, first in _duplicates(root)
        ]
        data = yaml.SafeLoader("").construct_document(root)
    except OSError as error:
        document.problems.append(Problem(str(path), None, "", f"cannot be read: {error.strerror}"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        document.problems.append(Problem(str(path), line, "", "is not text in UTF-8; save it as UTF-8"))
    except yaml.YAMLError as error:
        document.problems.append(_syntax_problem(path, error, text))
    except (RecursionError, ValueError) as error:
        document.problems.append(Problem(str(path), None, "", f"cannot be read as YAML: {error}"))
    else:
        _validate(document, model, data)
    return document


def _text(content: bytes) -> str:
    """Decode a file.

    Raises:
        ValueError: too large, or (``UnicodeDecodeError``) not UTF-8.
    """
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES >> 10} KiB")
    return content.decode("utf-8-sig")


def _compose(content: str) -> yaml.Node:
    """Parse into the node tree.

    Raises:
        ValueError: empty, or with aliases (a few of which can stand for gigabytes).
        yaml.YAMLError: not YAML.
    """
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(content, _LOADER)):
        raise ValueError("aliases (*name) are not supported; write the value out")
    root = yaml.compose(content, _LOADER)
    if root is None:
        raise ValueError("it is empty")
    return root


def _syntax_problem(path: Path, error: yaml.YAMLError, text: str) -> Problem:
    """Turn a parser's error into one sentence."""
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark and "".join(text.splitlines()[mark.line : mark.line + 1]).startswith("\t"):
        message = "the line begins with a tab; indent with blanks"
    elif "mapping values are not allowed" in message:
        message = "a second ': ' in a line, or a line that is not indented like those around it; put text in quotes"
    return Problem(str(path), mark.line + 1 if mark else None, "", f"is not valid YAML: {message}")


def _children(node: yaml.Node) -> Iterator[tuple[Step, yaml.Node, yaml.Node]]:
    """Yield step, key node and value node of each child."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key, value
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield index, value, value


def _lines(node: yaml.Node, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], int]]:
    """Yield the line of every key and item."""
    for step, key, value in _children(node):
        yield (*path, step), key.start_mark.line + 1
        yield from _lines(value, (*path, step))


def _duplicates(node: yaml.Node, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], int, int]]:
    """Yield path, line and first line of keys that appear twice in one mapping."""
    first: dict[Step, int] = {}
    for step, key, value in _children(node):
        line = key.start_mark.line + 1
        if step in first:
            yield (*path, step), line, first[step]
        first.setdefault(step, line)
        yield from _duplicates(value, (*path, step))


def _validate(document: Document[F], model: type[F], data: object) -> None:
    """Fill in the contents, or the problems that keep them from being valid."""
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
        document.salvaged = salvage(model, data, document.lines)
    if isinstance(document.salvaged, File):
        document.problems += _unknown_sources(document, document.salvaged)
    if not any(problem.severity == "error" for problem in document.problems):
        document.contents = contents


def _unknown_sources(document: Document[F], contents: File) -> list[Problem]:
    """Find references to sources that the file does not list."""
    used = {"source": contents.source} | {f"{path}.source": leaf.source for path, leaf in contents.leaves().items()}
    return [
        document.problem(path, f"no source {key!r} under 'sources'{_meant(key, contents.sources)}", "error")
        for path, key in used.items()
        if key is not None and key not in contents.sources and not document.spoiled(f"sources.{key}")
    ]


def _meant(key: str, sources: Mapping[str, object]) -> str:
    return suggestion(key, sources) or "; define it there"


def _line(lines: Mapping[tuple[Step, ...], int], path: tuple[Step, ...]) -> int | None:
    """Return the line of the deepest part of *path* that was written."""
    steps = tuple(int(s) if isinstance(s, str) and s.isdigit() else s for s in path)
    return next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)


def _dotted(path: tuple[Step, ...]) -> str:
    return ".".join(map(str, path))
