"""What commands read: the device database, the files of a folder, the chosen device; with notes about problems."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from gpureport.cli.console import note
from gpureport.data import own_device_dirs
from gpureport.errors import InputError
from gpureport.spec.check import doubts
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device

File = TypeVar("File")
Opened = TypeVar("Opened")


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
    entry = database.entries.get(entry_id or "")
    if entry and entry.before:
        note(f"Note: {entry.path} is used in place of the shipped {' and '.join(entry.before)}.")


def open_all(files: Sequence[File], opened: Callable[[File], Opened]) -> list[tuple[File, Opened]]:
    """Return the valid files of one argument with their contents; report invalid ones on standard error.

    Raises:
        InputError: no file is valid; the error is that of the first.
    """
    found: list[tuple[File, Opened]] = []
    problems: list[InputError] = []
    for file in files:
        try:
            found.append((file, opened(file)))
        except InputError as error:
            problems.append(error)
    if problems and not found:
        raise problems[0]
    for problem in problems:
        note(f"Left out: {problem}")
    return found
