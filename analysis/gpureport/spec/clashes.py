"""Entries of one folder that cannot be told apart: by the name that people type, or by what a driver says. Pure."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from gpureport.spec.corrections import MEMORY_TOLERANCE
from gpureport.spec.files import DeviceFile
from gpureport.spec.names import plain, same
from gpureport.spec.reading import Document, Problem

Entry = Document[DeviceFile]


def clashes(documents: Iterable[Entry]) -> Iterator[Problem]:
    """Yield a warning for each entry that has the name, or all that a device is told by, of one before it.

    Args:
        documents: the entries of one folder; of wrong ones what of them is right.
    """
    former: list[tuple[Path, DeviceFile]] = []
    for document in documents:
        file = document.salvaged
        if file is not None:
            problems = (_clash(document, file, path, other) for path, other in former)
            yield from islice(filter(None, problems), 1)
            former.append((document.path, file))


def _clash(document: Entry, file: DeviceFile, path: Path, other: DeviceFile) -> Problem | None:
    """Return what keeps an entry apart from no *other*, which lies at *path*."""
    if plain(file.name) == plain(other.name):
        message = f"{file.name!r} is {path} as well, and asking for it finds neither; give one of them another name"
        return document.problem("name", message)
    if shared := _indistinguishable(file, other):
        message = (
            f"{shared!r} is {path} as well, with as many compute units and as much memory, and a device of that name "
            "is taken for neither; list PCI ids that tell them apart"
        )
        return document.problem("opencl.names", message)
    return None


def _indistinguishable(ours: DeviceFile, theirs: DeviceFile) -> str | None:
    """Return an OpenCL name of both, if no PCI id, number of units or amount of memory tells them apart."""
    if set(ours.pci_ids) ^ set(theirs.pci_ids) or not alike(ours, theirs):
        return None
    return next((name for name in theirs.opencl.names for other in ours.opencl.names if same(name, other)), None)


def alike(ours: DeviceFile, theirs: DeviceFile) -> bool:
    """Whether neither the number of compute units nor the amount of memory tells two entries apart."""
    return _as_many_units(ours, theirs) and _as_much_memory(ours, theirs)


def _as_many_units(ours: DeviceFile, theirs: DeviceFile) -> bool:
    counts = [file.opencl.compute_units or file.compute_units for file in (ours, theirs)]
    return len({count.value if count else None for count in counts}) == 1


def _as_much_memory(ours: DeviceFile, theirs: DeviceFile) -> bool:
    """Whether sizes are as near as the match takes for one; true where one is not given."""
    one, other = ours.memory.size, theirs.memory.size
    return not (one and other) or abs(one.value / other.value - 1) <= MEMORY_TOLERANCE
