"""The database of device files: found by name, or matched to a device that is present."""

import difflib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.inputs import files_below
from gpureport.spec.cores import HostCore, core_of_machine, cpu_values
from gpureport.spec.files import ArchitectureFile, DeviceFile, part_of, resolve
from gpureport.spec.host import HostProcessor, read_host
from gpureport.spec.match import match
from gpureport.spec.models import CoreType, Device, DeviceMatch, PresentDevice, StreamType
from gpureport.spec.reading import read_file
from gpureport.spec.reported import plain
from gpureport.spec.values import Layer
from gpureport.text import quoted, suggestion

ENDING = ".yaml"
NO_ENTRY = f"this folder contains no entry (*{ENDING})"
R = TypeVar("R", CoreType, StreamType)


@dataclass(frozen=True)
class Entry:
    """One device file."""

    id: str
    """Path below ``devices/`` without ``.yaml``: ``nvidia/h200_sxm``."""
    path: Path
    own: bool = False
    """Whether the file is the user's, not shipped."""
    replaces: bool = False
    """Whether it is used in place of the shipped entry with its id."""

    @cached_property
    def file(self) -> DeviceFile:
        """Its contents, read when first needed; an InputError if they have errors."""
        return read_file(self.path, DeviceFile).get()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the device."""
        return (*self.titles, *self.file.opencl_names)

    @property
    def titles(self) -> tuple[str, ...]:
        """Names that are unique; drivers may report the same name for several devices."""
        return (self.id, Path(self.id).name, self.file.name)


@dataclass
class Database:
    """Device files by id, and architecture files by name (read when first needed)."""

    entries: dict[str, Entry]
    architecture_paths: dict[str, Path]
    broken: dict[str, str] = field(default_factory=dict)
    """Errors in the user's own files, which are skipped, by the id that they would have."""
    _read: dict[str, ArchitectureFile] = field(default_factory=dict)

    @cached_property
    def host(self) -> HostProcessor:
        """The processor of this machine."""
        return read_host()

    @property
    def host_core(self) -> HostCore | None:
        """The type of core of this machine's processor; ``None`` if the processor does not identify itself."""
        return core_of_machine(self.host.facts, self) if self.host.facts.vendor else None

    def architecture(self, name: str, where: str = "") -> ArchitectureFile:
        """Return an architecture's file; an InputError, with *where* before it, if there is none or it is wrong."""
        if name not in self.architecture_paths:
            raise InputError(f"{where}there is no architecture {name!r}{suggestion(name, self.architecture_paths)}")
        if name not in self._read:
            try:
                self._read[name] = read_file(self.architecture_paths[name], ArchitectureFile).get()
            except InputError as error:
                raise InputError(f"{where}{error}") from None
        return self._read[name]

    def architectures(self) -> dict[str, ArchitectureFile]:
        """Return the files of all architectures by name; one with errors raises an InputError."""
        for name in self.architecture_paths.keys() - self._read.keys():
            self.architecture(name)
        return self._read

    def core_type(self, name: str) -> CoreType:
        """Return the type of core of a CPU's architecture; an InputError if it is no CPU's, or lacks values."""
        return _complete(CoreType, "core", self.architecture(name))

    def stream_type(self, name: str) -> StreamType:
        """Return how streaming kernels run on such cores; an InputError if it is no CPU's, or lacks values."""
        return _complete(StreamType, "streams", self.architecture(name))

    def write_allocate(self, name: str) -> bool:
        """Return whether a write miss on a CPU with this architecture fetches the line."""
        return bool(self.architecture(name).values["write_allocate"].value)

    def device(self, entry_id: str, overlay: Layer | None = None) -> Device:
        """Resolve an entry, with an *overlay* of values reported by the present device."""
        entry = self.entries[entry_id]
        architecture = self.architecture(entry.file.architecture, f"{entry.path}: architecture: ")
        if not self.is_this_processor(entry.file):
            return resolve(entry.id, entry.file, architecture, overlay, str(entry.path))
        file, core = self.on_host(entry.file), self.host_core
        if core:
            architecture = self.architecture(core.architecture)
            file = file.model_copy(update={"architecture": core.architecture})
        return resolve(entry.id, file, architecture, overlay or cpu_values(self.host, core), str(entry.path))

    def is_this_processor(self, file: DeviceFile) -> bool:
        """Whether an entry describes any CPU of this machine's instruction set, and so uses this machine's sizes."""
        other = "x86_64" if self.host.facts.generic == "aarch64" else "aarch64"
        return file.host and not file.architecture.startswith(other)

    def on_host(self, file: DeviceFile) -> DeviceFile:
        """Return the generic CPU's file with this machine's name, without levels that it does not have."""
        own = {"name": self.host.facts.name or file.name, "without": file.without | self.host.without}
        return file.model_copy(update=own)

    def read(self) -> None:
        """Read all entries and architectures now; otherwise :meth:`match` reads them, and reports their errors."""
        for entry in self.entries.values():
            entry.file  # noqa: B018 - cached
        with suppress(InputError):
            self.architectures()

    def resolve(self, text: str) -> Device:
        """Return the device with this id or name, as :meth:`find` finds it."""
        return self.device(self.find(text))

    def match(self, present: PresentDevice) -> DeviceMatch:
        """Find the entry of a device that is present, or draft one."""
        return match(self, present)

    def find(self, text: str) -> str:
        """Return the id of the entry with this id or name, complete or in part; else an InputError with the nearest."""
        if text in self.entries and text not in self.broken:
            return text
        self.refuse_broken(text)
        name = plain(text)
        ranks = {entry_id: rank for entry_id, entry in self.entries.items() if (rank := self._rank(entry, name))}
        found = [entry_id for entry_id, rank in ranks.items() if rank == min(ranks.values())]
        if len(found) == 1:
            return found[0]
        if len(found) > _MOST_NAMED:
            some = f"{len(found)} devices, such as {' and '.join(sorted(found)[:2])}"
            raise InputError(
                f"{quoted(text)} matches {some}; `gpureport devices --containing {quoted(text)}` lists them"
            )
        if found:
            *first, last = sorted(found)
            raise InputError(f"{quoted(text)} matches {', '.join(first)} or {last}; give one of these")
        if of_file := [each for each in self.entries if f"/{text}".endswith(f"/{each}{ENDING}")]:
            raise InputError(f"{quoted(text)} is the file of an entry; give {of_file[0]}")
        ids = {ending: entry.id for entry in self.entries.values() for ending in _endings(entry)}
        near = dict.fromkeys(ids[word] for word in difflib.get_close_matches(name, ids, n=3, cutoff=0.7))
        hint = f"; the nearest {'are' if len(near) > 1 else 'is'} {', '.join(near)}" if near else ""
        raise InputError(f"the database has no device {quoted(text)}{hint}; 'gpureport devices --known' lists all")

    def refuse_broken(self, text: str) -> None:
        """Raise an InputError with the problem of the user's own file that *text* names, if it has one."""
        for entry_id, problem in self.broken.items() if text in self.broken or text not in self.entries else ():
            if text == entry_id or plain(text) in (plain(entry_id), plain(Path(entry_id).name)):
                raise InputError(problem)

    def containing(self, text: str) -> list[str]:
        """Return the ids of the devices with *text* in their id or a name, in any form."""
        name, lower = plain(text), text.lower()
        return [
            entry.id
            for entry in self.entries.values()
            if any(lower in each.lower() or name in plain(each) for each in entry.names)
        ]

    def _rank(self, entry: Entry, name: str) -> tuple[int, ...]:
        """Return how a plain name fits an entry: completely (own entries, then unique names, first), its end, a part.

        ``4070`` is the RTX 4070, not the 4070 Ti; ``h100`` is any H100. Empty: it does not fit.
        """
        known = list(filter(None, map(plain, entry.names)))
        if name in known or (name == "cpu" and self.is_this_processor(entry.file)):
            return 0, not entry.own, name not in map(plain, entry.titles)
        if any(map(str.isdigit, name)) and name in _endings(entry):  # "rtx" alone does not mean TITAN RTX
            return (1,)
        return (2,) if name and any(name in each for each in known) else ()


def _complete(model: type[R], part: str, architecture: ArchitectureFile) -> R:
    if (found := part_of(model, part, architecture.values)) is None:
        what = f"{architecture.name}: {part}"
        raise InputError(f"{what} has no value, or not all of them; only architectures of CPUs have them")
    return found


def _endings(entry: Entry) -> set[str]:
    """Return the joined last words of an entry's names: ``7900xt`` and ``xt`` of an RX 7900 XT."""
    found = [re.findall(r"[a-z0-9]+", name.lower()) for name in entry.names]
    return {"".join(words[start:]) for words in found for start in range(len(words))}


_MOST_NAMED = 6


def load_database(extra_dirs: Iterable[Path] = (), own_dirs: Iterable[Path] = ()) -> Database:
    """Read the shipped device files, then the user's, which override them.

    The user names *extra_dirs*, which override *own_dirs*, the default folders. Files of these with errors go to
    :attr:`Database.broken`.

    Raises:
        InputError: a folder of *extra_dirs* is missing, or a file in it has errors (one sentence with file, line,
            field and correction).
    """
    shipped, extra = data_dir("devices"), tuple(extra_dirs)
    for root in extra:
        if root.is_file():
            raise InputError(f"{root}: is a file; give its folder, {root.parent}")
        if not root.is_dir():
            raise InputError(f"{root}: this folder of device files does not exist")
    database = Database({}, {})
    known = {shipped.resolve(), *(root.resolve() for root in extra)}
    for root in (shipped, *(root for root in own_dirs if root.resolve() not in known), *extra):
        if root is shipped or root.resolve() != shipped.resolve():
            _add(database, root, own=root is not shipped, strict=root in extra)
    return database


def _add(database: Database, root: Path, *, own: bool, strict: bool) -> None:
    """Add the files of a folder, architectures first, because devices refer to them.

    Errors of a user's *own* file are raised if the folder is *strict*, and go to ``broken`` otherwise.
    """
    try:
        files = files_below(root, ENDING, *([".yml"] if own else ()))
    except InputError as error:
        if strict:
            raise
        database.broken[root.as_posix()] = str(error)
        return
    if strict and not files:
        raise InputError(f"{root}: {NO_ENTRY}")
    misnamed = [path for path in files if path.suffix != ENDING]
    database.broken |= {_id(root, path): f"{path}: {wrong_ending(path)}" for path in misnamed}
    for path in sorted(set(files).difference(misnamed), key=lambda path: (not is_architecture(path), path)):
        name = _id(root, path)
        try:
            if is_architecture(path):
                if own:
                    read_file(path, ArchitectureFile).get()
                database.architecture_paths[path.stem] = path
                continue
            former = database.entries.get(name)
            entry = Entry(name, path, own, own and former is not None and (former.replaces or not former.own))
            if own:
                Database({name: entry}, database.architecture_paths).device(name)
            database.entries[name] = entry
            database.broken.pop(name, None)
        except InputError as error:
            if strict:
                raise
            database.broken[name] = str(error)


def _id(root: Path, path: Path) -> str:
    return path.relative_to(root).with_suffix("").as_posix()


def wrong_ending(path: Path) -> str:
    """Return the correct name if a file has another ending, else nothing."""
    return "" if path.suffix == ENDING else f"the file name must end in {ENDING}; rename it to {path.stem}{ENDING}"


def is_architecture(path: Path) -> bool:
    """Whether a file describes an architecture: it is in a folder ``architectures``."""
    return real_path(path).parent.name == "architectures"
