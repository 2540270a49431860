"""A store of runs: a folder of immutable Parquet files, one for each run, queried with DuckDB.

``runs/ID.parquet`` contains a run; its name is derived from the run's results. Files are never changed, so no locks are
needed, and a shared file system is enough.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file
from gpureport.fleet.schema import COLUMNS, TABLES, StoredRun
from gpureport.inputs import is_there
from gpureport.system import usable_cores
from gpureport.text import quoted

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

R = TypeVar("R")

_RUN_COLUMNS = ("node", "device", "pci_address", "model", "compute_units", "quick", "created_at")
"""Columns of ``runs`` that all other views have too."""
_KNOWN = ("run", *(name for name in _RUN_COLUMNS if name != "pci_address"))  # of every run
_SUFFIX = ".parquet"
_MEMORY = "1GB"
_MOST_THREADS = 16
_DAMAGED = "is damaged, unreadable or no Parquet file; remove it, then add its report again"
_IRREGULAR = "is no regular file with a printable name; remove it"
VARIABLE = "GPUREPORT_STORE"
"""Environment variable with the folder of the store."""


@dataclass(frozen=True)
class Store:
    """A folder of runs."""

    folder: Path
    """Folder of the store; it need not exist yet."""
    left_out: dict[Path, str] = field(default_factory=dict)
    """Files that were not read, with the reason."""

    def path_of(self, run: object) -> Path:
        """Return the file of a run."""
        return self.folder / "runs" / f"{run}{_SUFFIX}"

    def add(self, run: StoredRun) -> bool:
        """Write the file of *run*; return whether it is new.

        Raises:
            InputError: something else has its name, or the file cannot be written.
        """
        import pandas as pd

        path = self.path_of(run["runs"][0]["run"])
        if path.is_file():
            return False
        if is_there(path):
            raise InputError(f"{path}: {_IRREGULAR}")
        rows = pd.DataFrame({"kind": kind, **row} for kind, rows in run.items() for row in rows)
        try:
            write_file(path, rows.to_parquet(index=False, compression="zstd"))
        except GpuReportError as error:
            raise InputError(f"{error}; choose another folder for the store") from None
        return True

    def read(self, function: "Callable[[DuckDBPyConnection], R]") -> R:
        """Return *function* of a connection with the views ``runs``, ``key_figures`` and ``points``.

        If files are damaged, they are left out, and the function is called again.

        Raises:
            InputError: the store contains no run, or a query fails.
        """
        import duckdb

        files = [file for file in self._files if file not in self.left_out]
        if not files:
            raise InputError(next(iter(self.left_out.values()), f"{self.folder}: {_why_empty(self.folder)}"))
        try:
            with _connected(files) as connection:
                for statement in _views():
                    connection.execute(statement)
                return function(connection)
        except duckdb.Error as error:
            damaged = list(filter(_is_damaged, files))
            if not damaged:
                raise InputError(f"{self.folder}: cannot be read: {str(error).splitlines()[0]}") from None
        except RuntimeError as error:
            raise (KeyboardInterrupt if "interrupted" in str(error) else error) from None
        self.left_out.update((file, f"{file}: {_DAMAGED}") for file in damaged)
        return self.read(function)

    def table(self, name: str) -> "pd.DataFrame":
        """Return all rows of a table.

        Raises:
            InputError: there is no such table or no run.
        """
        if name not in TABLES:
            raise InputError(f"there is no table {name!r}; choose one of {', '.join(TABLES)}")
        found: pd.DataFrame = self.read(lambda connection: connection.table(name).df())
        return found

    @cached_property
    def _files(self) -> list[Path]:
        """Files of the runs; what is no regular file is left out."""
        folder = self.folder / "runs"
        try:
            entries = [each for each in os.scandir(folder) if each.name.endswith(_SUFFIX) and each.name[0] != "."]
            odd = sorted(each.name for each in entries if not (each.name.isprintable() and _is_file(each)))
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
    folder = folder or os.environ.get(VARIABLE)
    if not folder:
        raise InputError(f"no store is given; give its folder ({option}), or set {VARIABLE}")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InputError(f"{quoted(str(folder))} is not UTF-8; rename the folder") from None
    return Store(Path(folder))


def _why_empty(folder: Path) -> str:
    if not is_there(folder):
        return "there is no such folder; give the folder of a store, or make one with `gpureport fleet add`"
    if not folder.is_dir():
        return "is a file; give the folder of a store"
    if not (folder / "runs").is_dir():
        return "is no store; give the folder of a store, or add runs with `gpureport fleet add`"
    return "contains no runs; add some with `gpureport fleet add`"


@contextmanager
def _connected(files: Iterable[Path]) -> "Iterator[DuckDBPyConnection]":
    """Yield a connection with the rows of *files* as the view ``stored``, with all columns of ours."""
    import duckdb

    row = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in COLUMNS.items())
    with duckdb.connect(config={"threads": min(len(usable_cores()), _MOST_THREADS), "memory_limit": _MEMORY}) as found:
        found.execute("SET temp_directory = ''; SET parquet_metadata_cache = true")
        found.read_parquet(list(map(str, files)), union_by_name=True).create_view("files")
        found.execute(f"CREATE VIEW stored AS FROM files UNION ALL BY NAME SELECT {row} WHERE false")
        yield found


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or Path(entry).is_file()  # follows links, and refuses loops of them


def _limits() -> dict[str, str | bool | int | float | list[str]]:
    return {"threads": min(len(usable_cores()), _MOST_THREADS), "memory_limit": _MEMORY}


def _is_damaged(file: Path) -> bool:
    """Return whether a file cannot be read, or has a column of a type that is none of ours."""
    import duckdb

    try:
        with _connected([file]) as connection:
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
