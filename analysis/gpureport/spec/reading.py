"""Read one YAML file of the database or of a published record; each problem has its line, and its correction."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import FileError, Steps, line_of, read_yaml
from gpureport.spec import files
from gpureport.spec.values import Layer, Leaf, Provenance, Value, steps_of
from gpureport.text import listed, nearest, quoted, requirement, suggestion

F = TypeVar("F", bound=BaseModel)
D = TypeVar("D", bound=files.File)
Severity = Literal["error", "warning"]
_NOT_INHERITED = {"extends", "identified_by", "matches", "sources", "source", "values", "without"}
_PLACEHOLDERS = {"name": "?", "vendor": "?", "architecture": "?", "kind": "gpu"}
"""Values in place of required ones that are invalid, so that one mistake does not hide others."""
_MISSING = "is missing"
_MOST = 100
"""Maximum number of reported mistakes per file."""
_NAME = re.compile(r"[^.\x00-\x1f]{1,100}")
"""A key of a field or a level."""
_OF_LINKS = {"pcie": ("generation", "lanes"), "nvlink_c2c": ("bandwidth",), "shared": ()}
"""What a link needs, by its kind."""


class Problem(NamedTuple):
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
    """A file after reading: its contents, without what is invalid (``None`` if nothing is left), and its problems."""

    path: Path
    contents: F | None = None
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Steps, int] = field(default_factory=dict)

    def problem(self, path: str | Steps, message: str, severity: Severity = "warning") -> Problem:
        """Return a problem of the field at a *path*, which is dotted or in steps."""
        steps = steps_of(path) if isinstance(path, str) else path
        return Problem(str(self.path), line_of(steps, self.lines), ".".join(map(str, steps)), message, severity)

    def error(self, path: str | Steps, message: str) -> InputError:
        """Return an error of the field at a *path*."""
        return InputError(str(self.problem(path, message, "error")))

    def refuse(self, path: str | Steps, message: str) -> None:
        """Add an error, unless an earlier one explains that the field is missing."""
        problem = self.problem(path, message, "error")
        if message != _MISSING or not self.spoiled(problem.field):
            self.problems.append(problem)

    def spoiled(self, path: str) -> bool:
        """Whether an earlier error, at *path* or in a similar name, explains further problems at *path*."""
        wrong = (steps_of(problem.field) for problem in self.problems if problem.severity == "error")
        both = (list(zip(steps, steps_of(path), strict=False)) for steps in wrong)
        return any(all(x == y for x, y in above) and nearest(a, [b]) for *above, (a, b) in both)

    def get(self) -> F:
        """Return the contents; an InputError with the first error, if the file has any."""
        if error := next((problem for problem in self.problems if problem.severity == "error"), None):
            raise InputError(str(error))
        return cast("F", self.contents)


def read_file(path: Path, model: type[F], *, extended: bool = False) -> Document[F]:
    """Read and validate one file; return problems instead of raising them.

    A file that is *extended* by another one must not extend a third: an InputError.
    """
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
    elif issubclass(model, files.File):
        document.contents = _file(document, model, content.data, extended=extended)
    else:
        document.contents = valid(document, model, content.data)
    if len(document.problems) > _MOST:
        document.problems[_MOST:] = [Problem(str(path), None, "", "has more mistakes; correct these first")]
    return document


def valid(document: Document[Any], model: type[F], given: object, above: Steps = ()) -> F | None:
    """Return what is given at the steps *above*; ``None`` with mistakes, which become problems."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        _refuse(document, model, error, above)
        return None


def _refuse(document: Document[Any], model: type[BaseModel], error: ValidationError, above: Steps = ()) -> None:
    """Make problems of pydantic's errors below the steps *above*, missing fields last."""
    for details in sorted(error.errors()[: _MOST + 1], key=lambda details: details["type"] == "missing"):
        first = (step for name in details["loc"][:1] for step in steps_of(str(name)))
        steps = _written((*above, *first, *details["loc"][1:]), document.lines)
        unknown = details["type"] == "extra_forbidden"
        near = suggestion(str(details["loc"][-1]), _siblings(model, details)) if unknown else ""
        document.refuse(steps, f"{requirement(details['msg'])}{near}")


def _file(document: Document[Any], model: type[D], data: Mapping[Any, Any], *, extended: bool) -> D:
    """Return a file of the database: its values are on top of those of the architecture that it extends."""
    found = list(_located(document, data, files.tree(model)))
    fields = {path: given for path, _, known, given in found if isinstance(known, FieldInfo)}
    without = frozenset(path for path, _, known, _ in found if known is None)
    values = dict[str, Value]()
    if isinstance(name := fields.get("extends"), str) and re.match(files.ARCHITECTURE, name):
        if extended:
            raise InputError(f"{document.path.stem} extends another architecture; extend one that does not")
        try:
            base = _base(document.path.parent, name)
            fields = base.model_dump(exclude=_NOT_INHERITED, exclude_unset=True) | fields
            values = {path: value for path, value in base.values.items() if files.level_of(path) not in without}
        except InputError as error:
            document.refuse("extends", str(error))
    file = _header(document, model, fields)
    for path, steps, place, given in found:
        if isinstance(place, files.Place) and given is None:
            values.pop(path, None)
        elif isinstance(place, files.Place) and (leaf := valid(document, place.leaf, given, steps)):
            _refuse_source(document, file, (*steps, "source"), leaf.source)
            values[path] = _value(file, leaf)
    _refuse_source(document, file, ("source",), file.source)
    if model is files.ArchitectureFile and not document.spoiled("extends"):
        for path in files.missing(values, model):
            document.refuse(path, _MISSING)
    _check_link(document, values)
    return file.model_copy(update={"values": values, "without": without})


def _check_link(document: Document[Any], values: Layer) -> None:
    link = files.levels(values, "link")
    if link and "kind" not in link:
        document.refuse("link.kind", _MISSING)
    elif link and not document.spoiled("link"):
        needed = _OF_LINKS[kind := values["link.kind"].value]
        if not all(values[f"link.{name}"].value if name in link else 0 for name in needed):
            document.refuse("link", f"needs {listed(needed)} for kind {kind}")


def _located(
    document: Document[Any], data: Mapping[Any, Any], known: files.Tree, above: Steps = ()
) -> Iterator[tuple[str, Steps, object, object]]:
    """Yield dotted path, steps, field and content of each field; for a level that is not there, ``None`` as field.

    The capacity of a cache may stand for the cache.
    """
    if "*" in known and len(data) > files.MOST_NAMES:
        document.refuse(above, f"must have at most {files.MOST_NAMES} names")
        return
    for key, given in data.items():
        steps, inner = (*above, key), known.get(key) or known.get("*")
        path = ".".join(map(str, steps))
        if len(document.problems) > _MOST:
            return
        if inner is None or not _NAME.fullmatch(str(key)):
            document.refuse(steps, f"unknown field{suggestion(str(key), known.keys() - {'*'})}")
        elif not isinstance(inner, Mapping):
            yield path, steps, inner, given
        elif isinstance(given, Mapping) and ("capacity" not in inner or "value" not in given):
            yield from _located(document, given, inner, steps)
        elif given is None and ("*" in known or path == "link"):
            yield path, steps, None, None
        elif "capacity" in inner:
            yield f"{path}.capacity", steps, inner["capacity"], given
        else:
            document.refuse(steps, f"must be a mapping of {'names' if '*' in inner else 'fields'} to values")


def _header(document: Document[Any], model: type[D], fields: Mapping[str, object]) -> D:
    """Return a file with its *fields* that are no values; placeholders are in place of invalid ones."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        _refuse(document, model, error)
        wrong = {details["loc"][0] for details in error.errors()}
    needed = {name: each for name, each in _PLACEHOLDERS.items() if name in model.model_fields}
    return model.model_validate(needed | {name: each for name, each in fields.items() if name not in wrong})


def _refuse_source(document: Document[Any], file: files.File, steps: Steps, key: str | None) -> None:
    if not (key is None or ("sources", key) in document.lines or document.spoiled(f"sources.{key}")):
        remedy = suggestion(key, file.sources) or "; define it there"
        document.refuse(steps, f"no source {quoted(key)} under 'sources'{remedy}")


def _value(file: files.File, leaf: Leaf[Any]) -> Value:
    """Return a value with its own source or the file's default."""
    key = leaf.source or (None if leaf.kind in ("assumed", "queried") else file.source)
    source = file.sources.get(key or "")
    kind = leaf.kind or (source.kind if source else "assumed")
    text, on = (source.text, source.measured_on) if source else ("", ())
    return Value(leaf.value, Provenance(kind=kind, source=text, note=leaf.note, measured_on=on))


def _base(folder: Path, name: str) -> files.ArchitectureFile:
    """Return the architecture that a file in *folder* extends; an InputError if it is missing or wrong."""
    folders = (folder, data_dir("devices") / "architectures")
    file = next((file for folder in folders if (file := folder / f"{name}.yaml").is_file()), None)
    if file is None:
        raise InputError(f"there is no architecture {quoted(name)}")
    return _read_base(file, file.stat().st_mtime_ns)


@cache
def _read_base(file: Path, changed: int) -> files.ArchitectureFile:  # noqa: ARG001
    """Return a file that others extend, last *changed* then."""
    return read_file(file, files.ArchitectureFile, extended=True).get()


def _written(location: Steps, known: Container[Steps]) -> Steps:
    """Remove steps of pydantic's location that are not in the file: implied ``value``s and discriminators."""
    path: Steps = ()
    for index, step in enumerate(location, start=1):
        if (*path, step) in known or (index == len(location) and step != "value"):
            path = (*path, step)
    return path


def _siblings(model: type[BaseModel], details: ErrorDetails) -> list[str]:
    models = {model}
    for step in details["loc"][:-1]:  # those that are no fields are levels, places in a list and discriminators
        fields = [each.model_fields[str(step)] for each in models if step in each.model_fields]
        types = (kind for field in fields for kind in _types_in(field.annotation))
        models = {kind for kind in types if isinstance(kind, type) and issubclass(kind, BaseModel)} or models
    return sorted({name for each in models for name in each.model_fields})


def _types_in(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - types
    """Yield a type and all parts of a union, a mapping or an annotation."""
    yield kind
    for each in get_args(kind):
        yield from _types_in(each)
