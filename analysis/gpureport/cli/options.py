"""From what was typed to what is meant."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.errors import InputError

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload


@dataclass(frozen=True)
class Request:
    """What is to be measured, as typed.

    Attributes:
        device: ``auto``, an index, or a part of a name.
        quick: fewer points and shorter sweeps.
        workloads: names, each of which may hold several, separated by commas; none: all.
        seed: of random data and orders.
        entries: folders of device entries besides the shipped ones.
        timings: whether to print where the time went.
        resume: an interrupted report to continue, or its folder.
    """

    device: str = "auto"
    quick: bool = False
    workloads: tuple[str, ...] = ()
    seed: int = 0
    entries: tuple[Path, ...] = ()
    timings: bool = False
    resume: Path | None = None

    @property
    def command(self) -> str:
        """The command line that asks for the same, without paths, which say something of this machine only."""
        options = [
            *(("--device", self.device) if self.device != "auto" else ()),
            *(("--quick",) if self.quick else ()),
            *(("--seed", str(self.seed)) if self.seed else ()),
            *(part for name in separated(self.workloads) for part in ("--workload", name)),
        ]
        return shlex.join(["gpureport", *options])


def separated(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that ``--workload`` gave, each use of which may hold several, separated by commas.

    Raises:
        InputError: it was used, but with no name.
    """
    single = tuple(name.strip() for text in names for name in text.split(",") if name.strip())
    if names and not single:
        raise InputError("--workload: no name given; write one like 'memory' or 'memory/read', or leave it out for all")
    return single


def selected(names: Sequence[str], *, quick: bool) -> "tuple[Workload, ...]":
    """Return the workloads that ``--workload`` names; if it names none, those of a quick or of a full run.

    Raises:
        InputError: there is none of a name.
    """
    from gpureport.workloads import select

    return select(separated(names), quick=quick)


def slug(name: str) -> str:
    """Return a device's name as part of a folder's."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "device"


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
    except FileExistsError:
        raise InputError(f"{path}: is a file, not a folder; choose another with -o") from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot write there ({error.strerror or error}); choose another folder with -o"
        ) from None
    return path


def writable_file(path: Path, *, force: bool) -> Path:
    """Make the folder of the file *path* and return the latter.

    Raises:
        InputError: it cannot be written, or exists and *force* is not set.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it with -o")
    refuse_overwriting(path, force=force)
    writable_directory(path.parent)
    return path


def refuse_overwriting(path: Path, *, force: bool) -> None:
    """Raise unless *path* may be written.

    Raises:
        InputError: it exists and *force* is not set.
    """
    if path.exists() and not force:
        raise InputError(f"{path}: is already there; use --force to overwrite it, or -o to write elsewhere")
