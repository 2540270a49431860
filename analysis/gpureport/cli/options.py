"""From what was typed to what is meant."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.errors import InputError

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload


def selected(names: Sequence[str]) -> "tuple[Workload, ...]":
    """Return the workloads that ``--workload`` names, each use of which may hold several, separated by commas."""
    from gpureport.workloads import select

    return select(tuple(name.strip() for text in names for name in text.split(",") if name.strip()))


def writable_directory(path: Path) -> Path:
    """Make the folder *path* and return it.

    Raises:
        InputError: it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".gpureport-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"{path}: cannot write there ({error.strerror or error}); choose another folder with -o"
        ) from None
    return path


def refuse_overwriting(path: Path, *, force: bool) -> None:
    """Raise unless *path* may be written.

    Raises:
        InputError: it exists and *force* is not set.
    """
    if path.exists() and not force:
        raise InputError(f"{path}: is already there; use --force to overwrite it, or -o to write elsewhere")
