"""A store of runs: a folder of immutable Parquet files, one for each run, queried with DuckDB.

``runs/ID.parquet`` contains a run; its name is derived from the run's results. Files are never changed, so no locks are
needed, and a shared file system is enough. ``tables/store.yaml`` lists the columns of its tables.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from errno import ENOSPC
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from gpureport.errors import GpuReportError, InputError
from gpureport.files import no_scratch, scratch_folder, write_file
from gpureport.inputs import is_there, shipped_table
from gpureport.system import usable_cores
from gpureport.text import quoted

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

R = TypeVar("R")
Table = Literal["runs", "key_figures", "points"]
Kind = Literal["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN", "TIMESTAMP"]
"""Types of SQL."""
Value = str | float | int | bool | datetime | None
Row = dict[str, Value]
StoredRun = Mapping[Table, tuple[Row, ...]]
"""A run: the rows of each table, all with its id."""

VERSION = 1
"""Version of the schema. A reader takes files that lack columns, so columns may be added to a version."""
TABLES = shipped_table("store", dict[Table, dict[str, Kind]])
COLUMNS: Mapping[str, Kind] = {"kind": "VARCHAR", **{n: kind for table in TABLES.values() for n, kind in table.items()}}
"""The columns of a file: those of all tables, and ``kind``, the table of a row."""

_RUN_COLUMNS = ("node", "device", "pci_address", "model", "compute_units", "quick", "created_at")
"""Columns of ``runs`` that all other views have too."""
_KNOWN = ("run", *(name for name in _RUN_COLUMNS if name != "pci_address"))  # of every run
_SUFFIX = ".parquet"
_MEMORY = "1GB"
_MOST_THREADS = 16
_MOST_CHARACTERS = 10_000_000
_NUMBERS = ("int", "integer", "float", "double", "decimal")  # ends of names of DuckDB's types
_EXAMPLES: Mapping[Kind, str] = {
    "VARCHAR": "'°'",
    "DOUBLE": "0.5",
    "BIGINT": "1",
    "BOOLEAN": "true",
    "TIMESTAMP": "'2000-01-01'",
}
"""Values in SQL that columns of other types, such as bytes, cannot have."""
_DAMAGED = "is damaged, unreadable or no Parquet file; remove it, then add its report again"
_IRREGULAR = "is no regular file with a printable name; remove it"
_HARMLESS = r"""if(typeof(COLUMNS(*)) = 'VARCHAR', regexp_replace(COLUMNS(*)::VARCHAR, '^[=+@\t\r\n-]', '''\0'),
    COLUMNS(*)::VARCHAR)"""  # an apostrophe before texts that spreadsheets execute
FORMATS = {
    ".csv": (_HARMLESS, "FORMAT csv"),
    ".parquet": ("*", "FORMAT parquet, COMPRESSION zstd"),
    ".json": ("*", "FORMAT json, ARRAY true, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S'"),
}
"""Columns of SELECT and options of COPY by the suffix of a file."""
VARIABLE = "GPUREPORT_STORE"
"""Environment variable with the folder of the store."""


@dataclass(frozen=True)
class Store:
    """A folder of runs."""

    folder: Path
    """Folder of the store; it need not exist yet."""
    left_out: dict[Path, str] = field(default_factory=dict)
    """Files that were not read, with the reason."""

    def add(self, run: StoredRun) -> bool:
        """Write the file of *run*; return whether it is new.

        Raises:
            InputError: something else has its name or that of the store.
            GpuReportError: the file cannot be written.
        """
        import pandas as pd

        path = self.folder / "runs" / f"{run['runs'][0]['run']}{_SUFFIX}"
        if path.is_file():
            return False
        if is_there(path):
            raise InputError(f"{path}: {_IRREGULAR}")
        if self.folder.is_file():
            raise InputError(f"{self.folder}: is a file; choose another folder for the store")
        rows = pd.DataFrame({"kind": kind, **row} for kind, rows in run.items() for row in rows)
        write_file(path, rows.to_parquet(index=False, compression="zstd"))
        return True

    def read(self, function: "Callable[[DuckDBPyConnection], R]") -> R:
        """Return *function* of a connection with the views ``runs``, ``key_figures`` and ``points``.

        If files are damaged, they are left out, and the function is called again.

        Raises:
            InputError: the store contains no run, or a query fails.
        """
        import duckdb

        if not (files := [file for file in self._files if file not in self.left_out]):
            raise InputError(next(iter(self.left_out.values()), f"{self.folder}: {_why_empty(self.folder)}"))
        try:
            with _connected(files) as connection:
                for statement in _views():
                    connection.execute(statement)
                return function(connection)
        except duckdb.Error as error:
            if (full := os.strerror(ENOSPC)) in str(error):
                raise GpuReportError(no_scratch(OSError(ENOSPC, full))) from None
            checked = () if isinstance(error, duckdb.OutOfMemoryException) or not _damaged(*files) else files
            if not (damaged := list(filter(_damaged, checked))):
                raise InputError(f"the query fails: {str(error).splitlines()[0]}") from None
        except RuntimeError as error:
            raise (KeyboardInterrupt if "interrupted" in str(error) else error) from None
        self.left_out.update((file, f"{file}: {_DAMAGED}") for file in damaged)
        return self.read(function)

    def rows(self, sql: str, most: int) -> tuple[list[str], list[int], list[tuple[str, ...]], list[str]]:
        """Return columns, which of them contain numbers, the first rows as texts, and why files were left out.

        One SELECT statement selects the rows, at *most* this many. It can read the files of the store only.

        Raises:
            InputError: it is another statement or several, or has an error; the rows have too many characters.
        """
        columns, numbers, rows = self.read(lambda connection: _texts(self._selected(connection, sql).limit(most)))
        if sum(len(text) for row in rows for text in row) > _MOST_CHARACTERS:
            raise InputError(f"the rows have more than {_MOST_CHARACTERS} characters; select fewer or shorter values")
        return columns, numbers, rows, list(self.left_out.values())

    def _selected(self, connection: "DuckDBPyConnection", sql: str) -> "DuckDBPyRelation":
        import duckdb

        connection.execute("SET allowed_paths = $1", [list(map(str, self._files))])
        connection.execute("SET autoload_known_extensions = false; SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        try:
            statements = connection.extract_statements(_utf8(sql))
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise InputError("the query must be one SELECT statement; the store is read-only")
            return connection.sql(statements[0])
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:  # not of a file
            raise InputError(f"the query fails: {str(error).splitlines()[0]}") from None

    def table(self, name: str) -> "pd.DataFrame":
        """Return all rows of a table; an InputError if there is no such table or no run."""
        found: pd.DataFrame = self.read(lambda connection: connection.table(_known(name)).df())
        return found

    def export(self, name: str, suffix: str) -> bytes:
        """Return a table as a file, one of :data:`FORMATS`; faster than :meth:`table`, in less memory; raises as it."""
        columns, options = FORMATS[suffix]
        copied = f"COPY (SELECT {columns} FROM {_known(name)}) TO $1 ({options})"  # noqa: S608 - our own names
        with scratch_folder() as folder:
            self.read(lambda connection: connection.execute(copied, [str(folder / "table")]))
            return (folder / "table").read_bytes()

    @cached_property
    def _files(self) -> list[Path]:
        """Files of the runs; what is no regular file is left out."""
        folder = self.folder / "runs"
        try:
            entries = [each for each in os.scandir(folder) if each.name.endswith(_SUFFIX) and each.name[0] != "."]
            # A path follows links, and refuses loops of them.
            files = {each.name for each in entries if each.is_file(follow_symlinks=False) or Path(each).is_file()}
            odd = sorted(each.name for each in entries if not each.name.isprintable() or each.name not in files)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
        self.left_out.update((folder / name, f"{folder / name}: {_IRREGULAR}") for name in odd)
        return [folder / name for name in sorted({each.name for each in entries}.difference(odd))]


def opened(folder: str | Path | None, option: str = "--store DIR") -> Store:
    """Return the store in *folder*, which the *option* gives, or else in that of the environment.

    Raises:
        InputError: neither is given, or its name is not UTF-8, which DuckDB requires.
    """
    if not (folder := folder or os.environ.get(VARIABLE)):
        raise InputError(f"no store is given; give its folder ({option}), or set {VARIABLE}")
    return Store(Path(_utf8(str(folder))))


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{quoted(text)} is not UTF-8; rename or write it in UTF-8") from None
    return text


def _known(table: str) -> str:
    if table not in TABLES:
        raise InputError(f"there is no table {table!r}; choose one of {', '.join(TABLES)}")
    return table


def _why_empty(folder: Path) -> str:
    if not is_there(folder):
        return "there is no such folder; give the folder of a store, or make one with `gpureport fleet add`"
    if not folder.is_dir():
        return "is a file; give the folder of a store"
    if not (folder / "runs").is_dir():
        return "is no store; give the folder of a store, or add runs with `gpureport fleet add`"
    return "contains no runs; add some with `gpureport fleet add`"


@contextmanager
def _connected(files: Iterable[Path], examples: Mapping[Kind, str] = {}) -> "Iterator[DuckDBPyConnection]":
    """Yield a connection with the view ``stored``: all columns of ours of *files*, and a row of *examples*, if any."""
    import duckdb

    row = ", ".join(f'CAST({examples.get(kind, "NULL")} AS {kind}) AS "{name}"' for name, kind in COLUMNS.items())
    with duckdb.connect(config={"threads": min(len(usable_cores()), _MOST_THREADS), "memory_limit": _MEMORY}) as found:
        found.execute("SET temp_directory = ''; SET parquet_metadata_cache = true")
        found.read_parquet(list(map(str, files)), union_by_name=True).create_view("files")
        found.execute(f"CREATE VIEW stored AS FROM files UNION ALL BY NAME SELECT {row} WHERE {bool(examples)}")
        yield found


def _texts(relation: "DuckDBPyRelation") -> tuple[list[str], list[int], list[tuple[str, ...]]]:
    """Return columns, those of numbers, and values as texts, which DuckDB makes: Python cannot represent all."""
    kinds = [kind.id for kind in relation.types]
    real, other = "CASE WHEN NOT isnan(#{0}) THEN format('{{:.6g}}', #{0}) END", "CAST(#{0} AS VARCHAR)"
    texts = ((real if kind in ("float", "double") else other).format(n) for n, kind in enumerate(kinds, 1))
    rows = relation.project(", ".join(f"coalesce({text}, '')" for text in texts)).fetchall()
    return relation.columns, [n for n, kind in enumerate(kinds) if kind.endswith(_NUMBERS)], rows


def _damaged(*files: Path) -> bool:
    """Return whether any of *files* cannot be read, or has a column of a type that is none of ours."""
    import duckdb

    try:
        with _connected(files, _EXAMPLES) as connection:
            connection.execute("SELECT max(hash(stored)) FROM stored")
    except duckdb.Error:
        return True
    return False


def _views() -> Iterator[str]:
    """Yield statements that create the views; ``runs`` is a table in memory.

    Columns that no file has, and values of other types, are null. Runs without a value of `_KNOWN` are left out.
    """
    for table, named in TABLES.items():
        columns = ", ".join(f'TRY_CAST("{name}" AS {kind}) AS "{name}"' for name, kind in named.items())
        rows = f"SELECT {columns} FROM stored WHERE kind = '{table}'"  # noqa: S608 - our own names
        if table == "runs":
            known = " AND ".join(
                (*(f"{name} IS NOT NULL" for name in _KNOWN), "year(created_at) BETWEEN 1970 AND 2200")
            )
            yield f"CREATE TABLE runs AS SELECT * FROM ({rows}) WHERE {known} ORDER BY created_at, run"  # noqa: S608
        else:
            shared = ", ".join(f"runs.{name}" for name in _RUN_COLUMNS)
            yield f"CREATE VIEW {table} AS SELECT {shared}, own.* FROM ({rows}) own JOIN runs USING (run)"  # noqa: S608
