"""Tables of published figures of many machines: where they are, and their residuals."""

from collections.abc import Iterator
from pathlib import Path

from gpureport.inputs import FileError
from gpureport.results.cpus import BARE_METAL, MACHINES
from gpureport.spec.database import Database
from gpureport.validate.cpus import cpu_residuals
from gpureport.validate.residuals import Residual
from gpureport.validate.transfers import TRANSFERS, transfer_residuals

_PLACES = tuple(Path(parent, name) for name in ("cpus", "transfers") for parent in ("", "published"))


def table_folders(path: Path) -> list[Path]:
    """Return the folders with tables at *path* or, in the usual places, below it."""
    names = (MACHINES, BARE_METAL, TRANSFERS)
    return [path / place for place in (Path(), *_PLACES) if any((path / place / name).is_file() for name in names)]


def table_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all machines of a folder.

    Raises:
        InputError: a table cannot be read, or has wrong columns or values.
    """
    try:
        yield from cpu_residuals(folder, database)
        if (folder / TRANSFERS).is_file():
            yield from transfer_residuals(folder, database)
    except (KeyError, ValueError, IndexError) as error:
        wrong = f"column {error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileError(str(folder), f"contains a table with a mistake: {wrong}") from None
