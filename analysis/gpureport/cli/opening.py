"""Results as commands open them: a wrong one among others of its folder is named and left out."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from gpureport.cli.console import note
from gpureport.errors import InputError

File = TypeVar("File")
Opened = TypeVar("Opened")


def open_all(files: Sequence[File], opened: Callable[[File], Opened]) -> list[tuple[File, Opened]]:
    """Open the files that one argument stands for: itself, or all of its folder.

    Args:
        files: one or more.
        opened: opens one of them.

    Returns:
        Each file with what it holds; those that are wrong are named on standard error and left out.

    Raises:
        InputError: none can be opened, as where a wrong file is named itself; says what is wrong with the first.
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
