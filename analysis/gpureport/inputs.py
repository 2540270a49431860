"""Reading of user files within limits; no other module opens them.

Files must be regular, and limited in size and nesting. YAML aliases are refused because they can expand to gigabytes,
and YAML tags because they select how values are read. Every error is a :class:`FileError`: one sentence with file,
line and correction.
"""

import lzma
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from errno import EACCES, ELOOP, ENOENT, ENOTDIR
from pathlib import Path
from stat import S_ISREG
from typing import Literal, TypeVar

import yaml
from jiter import from_json

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.text import requirement, shorten

MOST_YAML_BYTES = 1 << 18
MOST_JSON_BYTES = 1 << 25
PACKED = ".xz"
"""Suffix of files that are compressed with xz."""
MOST_LEVELS = 100
"""Nested mappings and lists of YAML; JSON is limited by its parser."""
_MOST_XZ_MEMORY = 1 << 27  # xz -9 needs 65 MiB
_LOOP = "is a loop of symbolic links; give the file itself"
_NOT_XZ = "is not one complete file compressed with xz; copy or compress it again"
_TOO_DEEP = f"is nested more than {MOST_LEVELS} levels deep"

T = TypeVar("T")
Step = str | int
Steps = tuple[Step, ...]
"""Location of a value in a file, as keys and indices."""


class FileError(InputError):
    """An unreadable or invalid file; the message gives location, problem and correction."""

    def __init__(self, file: str, message: str, line: int | None = None) -> None:
        super().__init__(f"{file if line is None else f'{file}:{line}'}: {message}")
        self.message, self.line = message, line


@dataclass
class Yaml:
    """The contents of a YAML file."""

    data: object = None
    """Mappings, lists, text, numbers, booleans and nulls."""
    lines: dict[Steps, int] = field(default_factory=dict)
    """The line of every key and item, counted from 1."""
    repeated: list[tuple[Steps, int, int]] = field(default_factory=list)
    """Keys that occur twice in a mapping, with the later and the earlier line; ``data`` has the last value."""


def line_of(path: Steps, lines: Mapping[Steps, int]) -> int | None:
    """Return the line of the deepest part of *path* that a file has, of the *lines* of its keys and items."""
    steps = tuple(int(step) if isinstance(step, str) and step.isdigit() else step for step in path)
    return next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)


def is_there(path: Path) -> bool:
    """Return whether there is a file, a loop of links or what may not be read; false for names that are refused."""
    try:
        path.stat()
    except OSError as error:
        return error.errno in (ELOOP, EACCES)
    except ValueError:
        return False
    return True


def files_below(folder: Path, *endings: str, deep: bool = True) -> list[Path]:
    """Return what is in a folder and, if *deep*, in those below it, with one of the *endings*; sorted.

    Raises:
        FileError: one of the folders cannot be read; a missing one, or a loop of links, is empty.
    """
    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_refuse_folder):
        found += (Path(root, name) for name in (*folders, *names) if name.endswith(endings))
        folders[:] = folders if deep else ()
    return sorted(found)


def _refuse_folder(error: OSError) -> None:
    if error.errno not in (ENOENT, ENOTDIR, ELOOP):
        raise FileError(str(error.filename), f"cannot be read: {error.strerror}") from None


def read_yaml(path: Path) -> Yaml:
    """Read a YAML file; a FileError if it cannot be read, is too large, or is invalid."""
    return parse_yaml(_text(path, _bytes(path, MOST_YAML_BYTES)), str(path))


def shipped_table(name: str, kind: type[T], folder: Literal["tables", "templates"] = "tables") -> T:
    """Return the contents of a shipped table, ``FOLDER/NAME.yaml``, which must be of this *kind*.

    Raises:
        FileError: it cannot be read, is of another kind, or has a key twice or one that the kind has not.
    """
    from pydantic import TypeAdapter, ValidationError

    path = data_dir(folder) / f"{name}.yaml"
    content = read_yaml(path)
    for (*_, key), line, _ in content.repeated:
        raise FileError(str(path), f"{key}: occurs twice", line)
    try:
        return TypeAdapter(kind, config={"extra": "forbid"}).validate_python(content.data)
    except ValidationError as error:
        first = error.errors()[0]
        where: Steps = first["loc"]
        field = ".".join(map(str, where))
        raise FileError(str(path), f"{field}: {requirement(first['msg'])}", line_of(where, content.lines)) from None


def read_text(path: Path) -> str:
    """Read the source of a kernel or the output of a program. Bytes that are not UTF-8, as in comments, are replaced.

    Raises:
        FileError: it cannot be read, or is too large.
    """
    return _bytes(path, MOST_YAML_BYTES).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def read_json(path: Path) -> object:
    """Read a JSON file, as :func:`json_bytes` does. A too large number is infinite.

    Raises:
        FileError: it cannot be read, is too large, or is invalid, or a key is repeated.
    """
    text = _text(path, json_bytes(path))
    try:
        return from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise FileError(str(path), f"is not JSON ({shorten(str(error))})") from None


def json_bytes(path: Path) -> bytes:
    """Return the contents of a JSON or CSV file unchecked; a name in ``.xz`` means that it is compressed.

    Raises:
        FileError: it cannot be read, is too large, also when decompressed, or is a damaged xz file.
    """
    stored = _bytes(path, MOST_JSON_BYTES)
    if path.suffix != PACKED:
        return stored
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_XZ_MEMORY)
    try:
        content = decompressor.decompress(stored, MOST_JSON_BYTES + 1)
    except lzma.LZMAError:
        raise FileError(str(path), _NOT_XZ) from None
    if len(content) > MOST_JSON_BYTES:
        most = f"{MOST_JSON_BYTES >> 10} KiB when decompressed"
        raise FileError(str(path), f"is larger than {most}, the largest size that is read")
    if not decompressor.eof or decompressor.unused_data:
        raise FileError(str(path), _NOT_XZ)
    return content


def _bytes(path: Path, most_bytes: int) -> bytes:
    try:
        if not S_ISREG(path.stat().st_mode):
            raise FileError(str(path), f"is {'a folder' if path.is_dir() else 'a device or pipe'}, not a regular file")
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        known = {ELOOP: _LOOP, ENOENT: "does not exist"}
        raise FileError(str(path), known.get(error.errno or 0, f"cannot be read: {error.strerror}")) from None
    if len(content) > most_bytes:
        raise FileError(str(path), f"is larger than {most_bytes >> 10} KiB, the largest size that is read")
    return content


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileError(str(path), "is not UTF-8 text; give a text file saved as UTF-8", line) from None


def parse_yaml(text: str, file: str) -> Yaml:
    """Read YAML from *text*; a FileError, which names *file*, if it is invalid."""
    builder = _Builder(file, yaml.parse(text, _LOADER))
    try:
        return builder.document()
    except (yaml.YAMLError, ValueError) as error:
        raise _not_yaml(file, error, text) from None


_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C implementation, if available


def _not_yaml(file: str, error: Exception, text: str) -> FileError:
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark and "".join(text.splitlines()[mark.line : mark.line + 1]).startswith("\t"):
        message = "the line begins with a tab; indent with spaces"
    elif "mapping values are not allowed" in message:
        message = "a second ': ' in a line, or wrong indentation; put text that contains ': ' in quotes"
    return FileError(file, f"is not valid YAML: {message}", mark.line + 1 if mark else None)


class _Builder:
    """Builds plain data from a parser's events, up to the first error."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self._file, self._events = file, events
        self._found = Yaml()

    def document(self) -> Yaml:
        """Read the only document of the file."""
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise FileError(self._file, "is empty")
        self._found.data = self._value(next(self._events), ())
        next(self._events)  # the document's end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._wrong(after, "contains a second document; put it into its own file")
        return self._found

    def _value(self, event: yaml.Event, where: Steps) -> object:
        if isinstance(event, yaml.AliasEvent):
            raise self._wrong(event, "aliases (*name) are not supported; repeat the value")
        if getattr(event, "tag", None):
            raise self._wrong(event, "tags (!name) are not supported; remove the tag")
        if isinstance(event, yaml.ScalarEvent):
            return plain(event.value) if event.implicit[0] else event.value
        if len(where) >= MOST_LEVELS:
            raise self._wrong(event, _TOO_DEEP)
        return self._list(where) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(where)

    def _list(self, where: Steps) -> list[object]:
        found: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            here = (*where, len(found))
            self._found.lines[here] = _line(event)
            found.append(self._value(event, here))
        return found

    def _mapping(self, where: Steps) -> dict[object, object]:
        found: dict[object, object] = {}
        first: dict[object, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._wrong(event, "a key must be text or a number")
            key, line = self._value(event, where), _line(event)
            here = (*where, key if type(key) is int else event.value)
            if key in first:
                self._found.repeated.append((here, line, first[key]))
            first.setdefault(key, line)
            self._found.lines[here] = line
            found[key] = self._value(next(self._events), here)
        return found

    def _wrong(self, event: yaml.Event, message: str) -> FileError:
        return FileError(self._file, message, _line(event))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MEANING = {"null": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WORDS = {form: v for word, v in _MEANING.items() for form in (word, word.capitalize(), word.upper())}
_WORDS |= {"": None, "~": None}


def plain(text: str) -> object:
    """Return the value of a YAML scalar without quotes: null, boolean, decimal number, or text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    value = float(text) if _REAL.fullmatch(text) else text
    return text if value in (float("inf"), float("-inf")) else value
