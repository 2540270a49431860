"""Entries of one folder that cannot be distinguished: by name, or by the identifiers that drivers report. Pure."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from gpureport.spec.corrections import MEMORY_TOLERANCE
from gpureport.spec.files import DeviceFile
from gpureport.spec.names import plain, same
from gpureport.spec.reading import Document, Problem

Entry = Document[DeviceFile]


def clashes(documents: Iterable[Entry]) -> Iterator[Problem]:
    """Yield a warning for each entry with the same name or identifiers as an earlier one of the folder."""
    former: list[tuple[Path, DeviceFile]] = []
    for document in documents:
        if (file := document.salvaged) is not None:
            problems = (_clash(document, file, path, other) for path, other in former)
            yield from islice(filter(None, problems), 1)
            former.append((document.path, file))


def _clash(document: Entry, file: DeviceFile, path: Path, other: DeviceFile) -> Problem | None:
    """Return a warning if an entry cannot be distinguished from *other*, the file at *path*."""
    if plain(file.name) == plain(other.name):
        message = f"{path} has the name {file.name!r} as well, so the name finds neither; rename one of them"
        return document.problem("name", message)
    if shared := _indistinguishable(file, other):
        message = (
            f"{path} lists {shared!r} as well, with the same number of compute units and memory size, so a device of "
            "that name matches neither; list PCI ids that distinguish them"
        )
        return document.problem("opencl.names", message)
    return None


def _indistinguishable(one: DeviceFile, other: DeviceFile) -> str | None:
    """Return an OpenCL name of both entries if PCI ids, units and memory do not distinguish them."""
    if set(one.pci_ids) ^ set(other.pci_ids) or not alike(one, other):
        return None
    return next((name for name in other.opencl.names for known in one.opencl.names if same(name, known)), None)


def alike(one: DeviceFile, other: DeviceFile) -> bool:
    """Whether two entries have the same number of compute units and, within the tolerance, the same memory size."""
    counts = [file.opencl.compute_units or file.compute_units for file in (one, other)]
    sizes = [leaf.value for file in (one, other) if (leaf := file.leaves().get("memory.size"))]
    same_units = len({count.value if count else None for count in counts}) == 1
    return same_units and (len(sizes) < 2 or abs(sizes[0] / sizes[1] - 1) <= MEMORY_TOLERANCE)
