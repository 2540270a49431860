"""A store of runs: a folder of immutable Parquet files, one for each run, queried with DuckDB.

``runs/ID.parquet`` contains a run; its name is derived from the run's results. ``packed/ID.parquet`` repeats many runs
in one file, because many small files are slow to read. Files are never changed, so no locks are needed, and a shared
file system is enough.
"""

import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.errors import InputError
from gpureport.files import scratch_folder, write_file
from gpureport.fleet.schema import TABLES, Column, StoredRun, arrow_schema, columns
from gpureport.inputs import is_there

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

FEWEST_PACKED = 200
"""Runs in files of their own that are packed together."""
_MOST_PACKED = 1000  # in one file; to write it takes 1 GB of memory
_RUN_COLUMNS = ("node", "device", "pci_address", "model", "compute_units", "quick", "created_at")
"""Columns of ``runs`` that all other views have too."""
_KNOWN = ("run", *(name for name in _RUN_COLUMNS if name != "pci_address"))  # of every run
_SUFFIX = ".parquet"
_MEMORY = "1GB"


VARIABLE = "GPUREPORT_STORE"
"""Environment variable with the folder of the store."""


@dataclass(frozen=True)
class Store:
    """A folder of runs.

    Attributes:
        folder: of the store; it need not exist yet.
    """

    folder: Path

    def path_of(self, run: str) -> Path:
        """Return the file of a run."""
        return self.folder / "runs" / f"{run}{_SUFFIX}"

    @property
    def filled(self) -> bool:
        """Whether it contains runs."""
        return bool(self._files)

    def add(self, run: StoredRun) -> bool:
        """Write the file of *run*; return whether it is new.

        Raises:
            GpuReportError: the file cannot be written.
        """
        import pyarrow as pa

        path = self.path_of(run.run)
        if path.exists():
            return False
        rows = [{"kind": kind, **row} for kind, rows in run.rows.items() for row in rows]
        write_file(path, _written([pa.Table.from_pylist(rows, schema=arrow_schema())]))
        return True

    def pack(self) -> None:
        """Pack runs that are in files of their own, if there are many."""
        loose = self._files[len(self._packed_runs) :]
        starts = range(0, len(loose), _MOST_PACKED) if len(loose) >= FEWEST_PACKED else ()
        for files in (loose[start : start + _MOST_PACKED] for start in starts):
            runs = sorted(file.stem for file in files)
            name = hashlib.sha256("".join(runs).encode()).hexdigest()[:32]
            write_file(self.folder / "packed" / f"{name}{_SUFFIX}", _packed(files))

    @contextmanager
    def connect(self, output: Path | None = None) -> "Iterator[DuckDBPyConnection]":
        """Open a connection with the views ``runs``, ``key_figures``, ``features`` and ``points``.

        It can read the files of the store only, and change nothing, except in the folder *output*.

        Raises:
            InputError: the store contains no run, or a file cannot be read.
        """
        import duckdb

        if not self._files:
            raise InputError(f"{self.folder}: {_why_empty(self.folder)}")
        files = [str(file) for file in self._files]
        opening = duckdb.connect(config={"threads": len(os.sched_getaffinity(0)), "memory_limit": _MEMORY})
        with _readable(self._files), opening as connection:
            connection.execute("SET temp_directory = ''; SET python_enable_replacements = false")
            connection.execute("SET parquet_metadata_cache = true")
            for statement in _views(files):
                connection.execute(statement)
            connection.execute("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")
            connection.execute(f"SET allowed_paths = {_list(files)}")
            connection.execute(f"SET allowed_directories = {_list([str(output)] if output else [])}")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection

    def query(self, sql: str) -> "pd.DataFrame":
        """Return the rows of one SELECT statement.

        Raises:
            InputError: it is another statement or several, or it has an error, or a file cannot be read.
        """
        with self._selected(sql) as found:
            return found.df()

    def rows(self, sql: str, most: int) -> tuple[list[str], list[tuple[object, ...]]]:
        """Return the columns and first rows, at *most* this many, of one SELECT statement, without loading pandas.

        Raises:
            InputError: as :meth:`query`.
        """
        with self._selected(sql) as found:
            return [str(column[0]) for column in found.description], found.fetchmany(most)

    @contextmanager
    def _selected(self, sql: str) -> "Iterator[DuckDBPyConnection]":
        import duckdb

        with self.connect() as connection:
            try:
                statements = connection.extract_statements(sql)
                if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                    raise InputError("the query must be one SELECT statement; the store is read-only")
                yield connection.execute(statements[0])
            except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
                raise InputError(f"the query fails: {_first_line(error)}") from None
            except duckdb.Error as error:
                raise _damage(self._files) or InputError(f"the query fails: {_first_line(error)}") from None

    def table(self, name: str) -> "pd.DataFrame":
        """Return all rows of a table.

        Raises:
            InputError: there is no such table or no run, or a file cannot be read.
        """
        return self.query(f"SELECT * FROM {_table(name)}")  # noqa: S608 - one of our names

    def export(self, name: str, options: str) -> bytes:
        """Return all rows of a table as a file, without loading them: faster than :meth:`table`, and in less memory.

        Args:
            name: of the table.
            options: of DuckDB's COPY, such as ``FORMAT csv``.

        Raises:
            InputError: as :meth:`table`.
        """
        with scratch_folder() as folder, self.connect(folder) as connection:
            file = folder / "table"
            connection.execute(f"COPY (SELECT * FROM {_table(name)}) TO {_text(str(file))} ({options})")  # noqa: S608
            return file.read_bytes()

    @cached_property
    def _packed_runs(self) -> dict[Path, frozenset[str]]:
        """Runs by packed file; of files that overlap, because two processes wrote them, the larger."""
        folder = self.folder / "packed"
        files = [folder / f"{name}{_SUFFIX}" for name in sorted(_stems(folder))]
        with _readable(files):
            by_file = _runs_of(files) if files else {}
        found: dict[Path, frozenset[str]] = {}
        for file, runs in sorted(by_file.items(), key=lambda item: -len(item[1])):
            if not any(runs & others for others in found.values()):
                found[file] = runs
        return found

    @cached_property
    def _files(self) -> tuple[Path, ...]:
        packed = {run for runs in self._packed_runs.values() for run in runs}
        return (*self._packed_runs, *(self.path_of(run) for run in sorted(_stems(self.folder / "runs") - packed)))


def configured() -> Store | None:
    """Return the store that the environment names; ``None`` if it names none."""
    folder = os.environ.get(VARIABLE)
    return Store(Path(folder)) if folder else None


def _why_empty(folder: Path) -> str:
    if not is_there(folder):
        return "there is no such folder; give the folder of a store, or make one with `gpureport fleet add`"
    if not folder.is_dir():
        return "is a file; give the folder of a store"
    if not (folder / "runs").is_dir():
        return "is no store; give the folder of a store, or add runs with `gpureport fleet add`"
    return "contains no runs; add some with `gpureport fleet add`"


def _stems(folder: Path) -> set[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - faster
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith(".")}


@contextmanager
def _readable(files: Sequence[Path]) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise _damage(files) or InputError(f"the store cannot be read: {_first_line(error)}") from None


def _damage(files: Sequence[Path]) -> InputError | None:
    import duckdb

    with duckdb.connect() as connection:
        for file in files:
            try:
                connection.execute(f"SELECT max(hash(t)) FROM read_parquet({_list([str(file)])}) t")  # noqa: S608
            except duckdb.Error:
                return InputError(f"{file}: is damaged, or no Parquet file; remove it, then add its report again")
    return None


def _runs_of(files: Sequence[Path]) -> dict[Path, frozenset[str]]:
    import duckdb

    names = _list(map(str, files))
    sql = (
        f"SELECT filename, list(run) FROM read_parquet({names}, filename = true) WHERE kind = 'runs' GROUP BY filename"  # noqa: S608
    )
    with duckdb.connect() as connection:
        return {Path(name): frozenset(runs) for name, runs in connection.execute(sql).fetchall()}


def _views(files: Sequence[str]) -> Iterator[str]:
    """Yield statements that create the views; ``runs`` is a table in memory.

    Columns that no file has, and values of other types, are null. Runs without a value of `_KNOWN` are left out.
    """
    source = _source(files)
    for table, named in TABLES.items():
        rows = f"SELECT {_cast(named)} FROM {source} WHERE kind = '{table}'"  # noqa: S608 - our own names
        if table == "runs":
            known = " AND ".join(f"{name} IS NOT NULL" for name in _KNOWN)
            yield f"CREATE TABLE runs AS SELECT * FROM ({rows}) WHERE {known} ORDER BY created_at, run"  # noqa: S608
        else:
            shared = ", ".join(f"runs.{name}" for name in _RUN_COLUMNS)
            yield f"CREATE VIEW {table} AS SELECT {shared}, own.* FROM ({rows}) own JOIN runs USING (run)"  # noqa: S608


def _source(files: Iterable[str]) -> str:
    empty = ", ".join(f'CAST(NULL AS {column.sql}) AS "{name}"' for name, column in columns().items())
    stored = f"SELECT * FROM read_parquet({_list(files)}, union_by_name = true)"  # noqa: S608
    return f"({stored} UNION ALL BY NAME SELECT {empty} WHERE false)"


def _cast(named: Mapping[str, Column]) -> str:
    return ", ".join(f'TRY_CAST("{name}" AS {column.sql}) AS "{name}"' for name, column in named.items())


def _table(name: str) -> str:
    if name not in TABLES:
        raise InputError(f"there is no table {name!r}; choose one of {', '.join(TABLES)}")
    return name


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _packed(files: Sequence[Path]) -> bytes:
    import duckdb
    import pyarrow.compute as pc

    sql = f"SELECT {_cast(columns())} FROM {_source(map(str, files))}"  # noqa: S608 - our own names
    with _readable(files), duckdb.connect(config={"threads": len(os.sched_getaffinity(0))}) as connection:
        whole = connection.sql(sql).to_arrow_table()
    return _written([whole.filter(pc.field("kind") == kind) for kind in TABLES])


def _written(tables: "Sequence[pa.Table]") -> bytes:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    with pq.ParquetWriter(stream, arrow_schema(), compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
    return stream.getvalue()
