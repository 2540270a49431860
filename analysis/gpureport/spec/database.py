"""The database: every device file, found by name or matched to a device that is present."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.spec.clashes import alike
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.host import Host, host_values, read_host
from gpureport.spec.models import Device, DeviceMatch, PresentDevice
from gpureport.spec.names import plain
from gpureport.spec.reading import read_file
from gpureport.spec.resolve import Layer, resolve
from gpureport.text import quoted

ARCHITECTURES = "architectures"
ENDING = ".yaml"
_THIS_PROCESSOR = "cpu"


@dataclass(frozen=True)
class Entry:
    """One device file."""

    id: str
    """Path below ``devices/`` without ``.yaml``: ``nvidia/h200_sxm``."""
    path: Path
    file: DeviceFile
    own: bool = False
    """Whether the user's, not shipped."""
    before: tuple[str, ...] = ()
    """Ids of the shipped entries that this one is used in place of."""

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it is called."""
        return (*self.titles, *self.file.opencl.names)

    @property
    def titles(self) -> tuple[str, ...]:
        """What it alone is called: drivers may call several devices the same."""
        return (self.id, self.id.rsplit("/", 1)[-1], self.file.name)

    @property
    def keys(self) -> frozenset[str]:
        """What a device that is present may be told by."""
        return frozenset((*map(plain, (self.file.name, *self.file.opencl.names)), *self.file.pci_ids))


@dataclass
class Database:
    """Device files by id, and architecture files by name (read when first needed)."""

    entries: dict[str, Entry]
    architecture_paths: dict[str, Path]
    broken: dict[str, str] = field(default_factory=dict)
    """What is wrong with the user's own files that are left out, by the id that they would have."""
    _read: dict[str, ArchitectureFile] = field(default_factory=dict)

    @cached_property
    def host(self) -> Host:
        """The machine that this runs on."""
        return read_host()

    def architecture(self, name: str, where: str = "") -> ArchitectureFile:
        """Return an architecture's file.

        Raises:
            InputError: there is none of that name (*where* says who asked), or it is wrong.
        """
        if name not in self.architecture_paths:
            near = nearest(name, self.architecture_paths)
            raise InputError(f"{where}architecture: there is no architecture {name!r}{near}")
        if name not in self._read:
            self._read[name] = read_file(self.architecture_paths[name], ArchitectureFile).get()
        return self._read[name]

    def device(self, entry_id: str, overlay: Layer | None = None) -> Device:
        """Resolve an entry, with an *overlay* of values queried of the device that is present."""
        entry = self.entries[entry_id]
        architecture = self.architecture(entry.file.architecture, f"{entry.path}: ")
        if not self.is_here(entry_id):
            return resolve(entry.id, entry.file, architecture, overlay)
        return resolve(entry.id, on_host(entry.file, self.host), architecture, overlay or host_values(self.host))

    def is_here(self, entry_id: str) -> bool:
        """Whether an entry stands for any processor of this machine's kind, and so takes this machine's sizes."""
        file = self.entries[entry_id].file
        return file.host and is_like(file, self.host)

    def resolve(self, text: str) -> Device:
        """Find a device by id or name, whole or in part.

        Raises:
            InputError: no device or several are meant; the sentence lists the nearest.
        """
        return self.device(self._find(text))

    def match(self, present: PresentDevice) -> DeviceMatch:
        """Find the entry of a device that is present, or draft one."""
        from gpureport.spec.match import match

        return match(self, present)

    def remark(self, entry_id: str) -> str | None:
        """Say which file of the user's is used in place of a shipped entry, if *entry_id* is such a file's."""
        entry = self.entries[entry_id]
        return f"{entry.path} is used in place of the shipped {' and '.join(entry.before)}" if entry.before else None

    def own_first(self, ids: list[str]) -> list[str]:
        """Leave only the user's own entries, if there are any."""
        return [entry_id for entry_id in ids if self.entries[entry_id].own] or ids

    def _find(self, text: str) -> str:
        """Return the id of the one entry that *text* means."""
        if text in self.entries and text not in self.broken:
            return text
        wanted = plain(text)
        for name, problem in self.broken.items():
            if text == name or wanted in (plain(name), plain(name.rsplit("/", 1)[-1])):
                raise InputError(problem)
        found = self._called(wanted)
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{quoted(text)} could be {_some(sorted(found))}; give one of these")
        near = nearest(text, [name for entry in self.entries.values() for name in entry.names])
        raise InputError(f"the database has no device {quoted(text)}{near}; 'gpureport devices --known' lists it")

    def _called(self, wanted: str) -> list[str]:
        """Return the ids of the entries that are called so: in full, or else by their last words, or else in part.

        ``4070`` is the RTX 4070, not the 4070 Ti; ``h100`` is the H100 of any form.
        """
        if wanted == _THIS_PROCESSOR:
            return self.own_first([entry_id for entry_id in self.entries if self.is_here(entry_id)])
        names = {entry.id: [plain(name) for name in entry.names] for entry in self.entries.values()}
        exact = [entry_id for entry_id, called in names.items() if wanted and wanted in called]
        if exact:
            ours = self.own_first(exact)
            return [entry_id for entry_id in ours if wanted in map(plain, self.entries[entry_id].titles)] or ours
        last = [entry.id for entry in self.entries.values() if wanted in _last_words(entry)]
        if last and re.search(r"\d", wanted):  # "rtx" alone is no TITAN RTX
            return last
        return [entry_id for entry_id, called in names.items() if wanted and any(wanted in name for name in called)]


def _last_words(entry: Entry) -> set[str]:
    """Return the ends of an entry's names from each word on, joined: ``7900xt`` and ``xt`` of an RX 7900 XT."""
    found = (re.findall(r"[a-z0-9]+", name.lower()) for name in entry.names)
    return {"".join(words[start:]) for words in found for start in range(len(words))}


_MOST_NAMED = 6


def _some(ids: list[str]) -> str:
    """List two ids or more, of many the first few."""
    more = len(ids) - _MOST_NAMED
    *first, last = ids if more < 2 else (*ids[:_MOST_NAMED], f"one of {more} more")
    return f"{', '.join(first)} or {last}"


def load_database(extra_dirs: Iterable[Path] = (), own_dirs: Iterable[Path] = ()) -> Database:
    """Read the device files that are shipped, then the user's, which come before them.

    Args:
        extra_dirs: folders that were asked for.
        own_dirs: folders that are just there, and weigh less; files that are wrong go to :attr:`Database.broken`.

    Raises:
        InputError: a folder of *extra_dirs* is missing, or a file in it is wrong (one sentence: file, line, field,
            what would be right).
    """
    shipped, extra = data_dir("devices"), tuple(extra_dirs)
    for root in extra:
        if root.is_file():
            raise InputError(f"{root}: is a file; name its folder, {root.parent}")
        if not root.is_dir():
            raise InputError(f"{root}: there is no such folder of device files")
    database = Database({}, {})
    _add(database, shipped, own=False)
    originals = dict(database.entries)
    known = {shipped.resolve(), *(root.resolve() for root in extra)}
    for root in own_dirs:
        if root.resolve() not in known:
            _add_what_is_right(database, root)
    for root in extra:
        if root.resolve() != shipped.resolve():
            _add(database, root, own=True)
    for entry in [entry for entry in database.entries.values() if entry.own]:
        before = tuple(original.id for original in originals.values() if _replaces(entry, original))
        database.entries[entry.id] = replace(entry, before=before)
    return database


def _replaces(own: Entry, original: Entry) -> bool:
    """Whether an entry is asked for by a shipped one's id or name, or found where that one would be.

    Boards share OpenCL names and PCI ids; units and memory tell them apart.
    """
    asked_for = own.id == original.id or plain(original.file.name) in own.keys
    return asked_for or (bool(own.keys & original.keys) and alike(own.file, original.file))


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield id and path of each file, architectures first: devices need them."""
    for path in sorted(root.rglob("*.yaml"), key=lambda path: (not is_architecture(path), path)):
        yield path.relative_to(root).with_suffix("").as_posix(), path


def _add(database: Database, root: Path, *, own: bool) -> None:
    """Add the files of a folder.

    Raises:
        InputError: one is wrong.
    """
    if own:
        _leave_out_misnamed(database, root)
    for name, path in _files(root):
        if is_architecture(path):
            database.architecture_paths[path.stem] = path
        else:
            database.entries[name] = Entry(name, path, read_file(path, DeviceFile).get(), own)
            database.broken.pop(name, None)


def _add_what_is_right(database: Database, root: Path) -> None:
    """Add the files of a user's folder; what is wrong with the others goes to ``broken``."""
    _leave_out_misnamed(database, root)
    for name, path in _files(root):
        try:
            if is_architecture(path):
                read_file(path, ArchitectureFile).get()
                database.architecture_paths[path.stem] = path
            else:
                tried = Entry(name, path, read_file(path, DeviceFile).get(), own=True)
                Database({name: tried}, database.architecture_paths).device(name)
                database.entries[name] = tried
                database.broken.pop(name, None)
        except InputError as error:
            sentence = str(error).removeprefix(f"{name}: ")
            database.broken[name] = sentence if sentence.startswith(str(path)) else f"{path}: {sentence}"


def _leave_out_misnamed(database: Database, root: Path) -> None:
    """Put the files of a user's folder whose ending is another into ``broken``."""
    for path in sorted(root.rglob("*.yml")):
        database.broken[path.relative_to(root).with_suffix("").as_posix()] = f"{path}: {wrong_ending(path)}"


def wrong_ending(path: Path) -> str:
    """Say what a file must be called to be found; nothing if it is called so."""
    return "" if path.suffix == ENDING else f"an entry's name must end in {ENDING}; call it {path.stem}{ENDING}"


def is_architecture(path: Path) -> bool:
    """Whether a file describes an architecture: it lies in a folder ``architectures``."""
    return real_path(path).parent.name == ARCHITECTURES


def is_like(file: DeviceFile, host: Host) -> bool:
    """Whether a processor's architecture is not that of the other instruction set than *host* has."""
    other = "x86_64" if host.family == "aarch64" else "aarch64"
    return not file.architecture.startswith(other)


def on_host(file: DeviceFile, host: Host) -> DeviceFile:
    """Return the generic CPU's file for *host*: its name, without the levels that it lacks."""
    lacking = {"L3": None} if host.caches and all(cache.level < 3 for cache in host.caches) else {}
    return file.model_copy(update={"name": host.name or file.name, "caches": {**file.caches, **lacking}})


def nearest(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Suggest up to three of the *known* names that are like *name*."""
    lowered = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)
    names = ", ".join(repr(lowered[n]) for n in near)
    return f"; the nearest {'are' if len(near) > 1 else 'is'} {names}" if near else ""
