"""The database as commands use it: what is shipped and what is the user's, with a note where that matters."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.cli.console import note
from gpureport.data import own_device_dirs
from gpureport.spec.check import doubts
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device


def open_database(folders: Sequence[Path]) -> Database:
    """Read the database: what is shipped, the user's own folders, and *folders*; files left out are named on stderr.

    Raises:
        InputError: a folder of *folders* is missing, or a file in it is wrong.
    """
    database = load_database(folders, own_device_dirs())
    for problem in database.broken.values():
        note(f"Left out: {problem}")
    return database


def note_doubts(database: Database, devices: Iterable[Device]) -> None:
    """Say on stderr, each once, which values of the user's own files are implausible that *devices* have."""
    for problem in dict.fromkeys(problem for device in devices for problem in doubts(device, database)):
        note(str(problem))


def note_override(database: Database, entry_id: str | None) -> None:
    """Say on stderr if the entry is a file of the user's that comes before a shipped one."""
    remark = database.remark(entry_id) if entry_id in database.entries else None
    if remark:
        note(f"Note: {remark}.")
