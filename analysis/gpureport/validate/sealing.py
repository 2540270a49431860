"""Sealed predictions: written, with hashes of model and database, before the observations are in the tables."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

import gpureport
from gpureport.inputs import FileError, json_bytes
from gpureport.records.curves import Record
from gpureport.records.quantities import Many, Moment, Name, Positive
from gpureport.records.report import report_stem
from gpureport.spec.database import Database
from gpureport.text import counted, requirement
from gpureport.validate.residuals import Residual

_FIRST = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')
_KEY = ("result", "device", "workload", "conditions", "label")
"""The identity of a row: its table, device, operator, model and parameters."""


class SealedRow(NamedTuple):
    """A prediction of one row with its 95 % interval; *observed*: whether the table had its time when it was sealed."""

    key: tuple[str, ...]
    predicted_s: Positive
    low_s: Positive
    high_s: Positive
    observed: bool


class Contents(Record):
    """The contents of a file of sealed predictions, below its first line."""

    format: Literal["gpureport sealed predictions 1"] = "gpureport sealed predictions 1"
    version: Name
    """Version of gpureport."""
    sealed_at: Moment
    code_sha256: str
    """Hash of all Python files of the package; :func:`digest`."""
    database_sha256: str
    """The same of all files of devices and architectures."""
    rows: Many[SealedRow]


def digest(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 of the lines of ``sha256sum`` for *files*, sorted by their names."""
    sums = (f"{sha256(json_bytes(files[name])).hexdigest()}  {name}\n" for name in sorted(files))
    return sha256("".join(sums).encode()).hexdigest()


def seal(residuals: Iterable[Residual], database: Database, moment: str) -> tuple[str, str]:
    """Return a file with the predictions of *residuals*, sealed at *moment*, and its hash.

    The first line contains the SHA-256 of all others: ``tail -n +2 FILE | sha256sum``.
    """
    package = Path(gpureport.__file__).parent
    paths = {f"architectures/{name}.yaml": path for name, path in database.architecture_paths.items()}
    paths |= {f"{name}.yaml": entry.path for name, entry in database.entries.items()}
    head = {
        "format": Contents.model_fields["format"].default,
        "version": gpureport.__version__,
        "sealed_at": moment,
        "code_sha256": digest({str(path.relative_to(package)): path for path in package.rglob("*.py")}),
        "database_sha256": digest(paths),
    }
    rows = [
        [[each[name] for name in _KEY], each["predicted"], *interval, each["observed"] is not None]
        for each in residuals
        if isinstance(interval := each["expected"], tuple)
    ]
    lines = ",\n".join(dict.fromkeys(json.dumps(row, ensure_ascii=False) for row in rows))
    body = json.dumps(head, indent=1).removeprefix("{\n").removesuffix("\n}") + f',\n "rows": [\n{lines}\n]}}\n'
    hashed = sha256(body.encode()).hexdigest()
    return f'{{"sha256": "{hashed}",\n{body}', hashed


def sealed_files(folder: Path) -> list[Path]:
    """Return the files of sealed predictions that belong to a folder of results."""
    return sorted(file for place in ("", "published") for file in (folder / place / "sealed").glob("*.json*"))


class Sealed(NamedTuple):
    """A file of sealed predictions; *name* has its date, size and hash, for readers."""

    name: str
    contents: Contents


def read_sealed(path: Path) -> Sealed:
    """Return the contents of a file; a FileError if it is no such file, or was changed after it was sealed."""
    content = json_bytes(path)
    if not (first := _FIRST.match(content)):
        raise FileError(str(path), "is no file of sealed predictions; write one with gpureport validate --seal")
    if (found := sha256(content[first.end() :]).hexdigest()) != (sealed := first[1].decode()):
        raise FileError(str(path), f"was changed after it was sealed: its SHA-256 is {found}, not {sealed}", 1)
    try:
        contents = Contents.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"]))
        raise FileError(str(path), f"{field}: {requirement(problem['msg'])}") from None
    name = (
        f"{report_stem(path)}, {contents.sealed_at[:10]}, {counted(len(contents.rows), 'row')}, SHA-256 {sealed[:16]}…"
    )
    return Sealed(name, contents)


def with_sealed(residuals: Iterable[Residual], files: Iterable[Sealed]) -> Iterator[Residual]:
    """Replace predictions by those of *files* that were sealed without an observation; of several, the earliest."""
    known: dict[tuple[object, ...], Residual] = {}
    for name, contents in sorted(files, key=lambda file: file.contents.sealed_at):
        for row in (row for row in contents.rows if not row.observed):
            own = {"predicted": row.predicted_s, "expected": (row.low_s, row.high_s), "sealed": name}
            known.setdefault(row.key, own)
    for each in residuals:
        yield each | known.get(tuple(each.get(name, "") for name in _KEY), {})
