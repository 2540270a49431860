"""Opening the results of a folder: invalid files are reported and left out."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from gpureport.cli.console import note
from gpureport.errors import InputError

File = TypeVar("File")
Opened = TypeVar("Opened")


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
