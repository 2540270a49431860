"""Sealed predictions: written, with hashes of model and database, before the observations are in the tables."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, ValidationError

import gpureport
from gpureport.data import data_dir
from gpureport.inputs import PACKED, FileError, files_below, json_bytes, read_json
from gpureport.records.curves import Record
from gpureport.records.quantities import Many, Moment, Name, Positive
from gpureport.records.report import report_stem
from gpureport.spec.database import Database
from gpureport.text import counted, requirement
from gpureport.validate.residuals import Residual

_SHA256 = "^[0-9a-f]{64}$"
_FIRST = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')
_Row: TypeAlias = tuple[tuple[str, ...], Positive, Positive, Positive, bool]


def _ordered(row: _Row) -> _Row:
    if not row[2] <= row[1] <= row[3]:
        raise ValueError("the prediction must be within its interval")
    return row


class Sealed(Record):
    """What readers use of a file of sealed predictions."""

    sha256: Name
    format: Literal["gpureport sealed predictions 1"]
    version: Name
    sealed_at: Moment
    code_sha256: Annotated[str, Field(pattern=_SHA256)]
    database_sha256: Annotated[str, Field(pattern=_SHA256)]
    rows: Many[Annotated[_Row, AfterValidator(_ordered)]]
    """Identity, prediction and its 95 % interval in seconds, and whether the table had a time when it was sealed."""


def _key(row: Residual) -> tuple[str, ...]:
    """Return the identity of a row: its table, device, operator, model, and parameters in any order."""
    *names, parameters = (str(row.get(name, "")) for name in ("result", "device", "workload", "conditions", "label"))
    return *names, ", ".join(sorted(parameters.split(", ")))


def digest(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 of the lines of ``sha256sum`` for *files*, sorted by their names."""
    sums = (f"{sha256(json_bytes(files[name])).hexdigest()}  {name}\n" for name in sorted(files))
    return sha256("".join(sums).encode()).hexdigest()


def seal(residuals: Iterable[Residual], database: Database, moment: str) -> tuple[str, str]:
    """Return a file with the predictions of *residuals*, sealed at *moment*, and the hash of its lines after the first.

    The first line contains this SHA-256.
    """
    package, tables = Path(gpureport.__file__).parent, data_dir("tables")
    code = {f"analysis/gpureport/{path.relative_to(package).as_posix()}": path for path in package.rglob("*.py")}
    code |= {f"tables/{path.name}": path for path in tables.iterdir()}
    entries = {entry.id: entry.path for entry in database.entries.values()}
    entries |= {f"architectures/{name}": path for name, path in database.architecture_paths.items()}
    head = {
        "format": "gpureport sealed predictions 1",
        "version": gpureport.__version__,
        "sealed_at": moment,
        "code_sha256": digest(code),
        "database_sha256": digest({f"{name}.yaml": path for name, path in entries.items()}),
    }
    rows = [
        [
            _key(each),
            *(float(f"{time_s:.5g}") for time_s in (each["predicted"], *interval)),
            each["observed"] is not None,
        ]
        for each in residuals
        if isinstance(interval := each["expected"], tuple)
    ]
    lines = ",\n".join(dict.fromkeys(json.dumps(row, ensure_ascii=False) for row in rows))
    body = json.dumps(head, indent=1).removeprefix("{\n").removesuffix("\n}") + f',\n "rows": [\n{lines}\n]}}\n'
    hashed = sha256(body.encode()).hexdigest()
    return f'{{"sha256": "{hashed}",\n{body}', hashed


def sealed_files(folder: Path) -> list[Path]:
    """Return the files of sealed predictions that belong to a folder of results."""
    places = (folder / place / "sealed" for place in ("", "published"))
    return [file for place in places for file in files_below(place, ".json", f".json{PACKED}", deep=False)]


def read_sealed(path: Path) -> tuple[str, Sealed]:
    """Return the contents of a file, after a name with its date, size and hash.

    Raises:
        FileError: it is no such file, or was changed after it was sealed.
    """
    content = json_bytes(path)
    if not (first := _FIRST.match(content)):
        raise FileError(str(path), "is no file of sealed predictions; write one with gpureport validate --seal")
    if (found := sha256(content[first.end() :]).hexdigest()) != (hashed := first[1].decode()):
        raise FileError(str(path), f"was changed after it was sealed: its SHA-256 is {found}, not {hashed}", 1)
    try:
        sealed = Sealed.model_validate(read_json(path))
    except ValidationError as error:
        problem = error.errors()[0]
        raise FileError(str(path), f"{'.'.join(map(str, problem['loc']))}: {requirement(problem['msg'])}") from None
    named = (report_stem(path), sealed.sealed_at[:10], counted(len(sealed.rows), "row"), f"SHA-256 {hashed[:16]}…")
    return ", ".join(named), sealed


def with_sealed(residuals: Iterable[Residual], files: Mapping[str, Sealed]) -> Iterator[Residual]:
    """Replace predictions by those of the earliest of *files* with this row, if it was sealed without an observation.

    What constants had been fitted to at that time is not known.
    """
    known: dict[object, Residual] = {}
    for name, sealed in sorted(files.items(), key=lambda file: file[1].sealed_at):
        for key, predicted, *interval, observed in sealed.rows:
            own = {"predicted": predicted, "expected": tuple(interval), "sealed": name, "independence": ""}
            known.setdefault(key, {} if observed else own)
    yield from (each | known.get(_key(each), {}) for each in residuals)


def lacking(residuals: Iterable[Residual], files: Mapping[str, Sealed]) -> Iterator[str]:
    """Yield a sentence for each of the *files* with rows that are not among *residuals*."""
    keys = {_key(each) for each in residuals}
    for name, sealed in files.items():
        if absent := sum(key not in keys for key, *_ in sealed.rows):
            yield f"{name}: no table has {absent} of these."
