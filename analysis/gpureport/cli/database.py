"""The device database of a command: built-in and user entries, with notes about problems."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.cli.console import note
from gpureport.data import own_device_dirs
from gpureport.spec.check import doubts
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device


def open_database(folders: Sequence[Path]) -> Database:
    """Read the built-in database, the user's own folders and *folders*; report invalid files on stderr.

    Raises:
        InputError: a folder of *folders* is missing, or a file in it is wrong.
    """
    database = load_database(folders, own_device_dirs())
    for problem in database.broken.values():
        note(f"Left out: {problem}")
    return database


def note_doubts(database: Database, devices: Iterable[Device]) -> None:
    """Report implausible values of *devices* from the user's own files on stderr, each once."""
    for problem in dict.fromkeys(problem for device in devices for problem in doubts(device, database)):
        note(str(problem))


def note_override(database: Database, entry_id: str | None) -> None:
    """Report on stderr if a file of the user replaces this built-in entry."""
    if entry_id in database.entries and (remark := database.remark(entry_id)):
        note(f"Note: {remark}.")
