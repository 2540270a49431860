"""What commands share: checks of options, what they read (with notes about problems), files that they reserve."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpureport.cli.console import ProgressBar, note, note_left_out
from gpureport.data import own_device_dirs
from gpureport.errors import InputError
from gpureport.files import InUseError, reserved
from gpureport.inputs import is_there, plain
from gpureport.text import quoted

if TYPE_CHECKING:
    from gpureport.cli.app import SourceOptions
    from gpureport.kernel_files import KernelFileWorkload
    from gpureport.spec.database import Database
    from gpureport.workloads.model import Workload

File = TypeVar("File")
Opened = TypeVar("Opened")
A = TypeVar("A")
R = TypeVar("R")
FEWEST = 3
"""Devices that other processes predict: one takes a second to start."""


def separated(names: Sequence[str]) -> tuple[str, ...]:
    """Split the values of ``--workload`` at commas; raise if it was used without a name."""
    parts = [[name.strip() for name in text.split(",") if name.strip()] for text in names]
    if not all(parts):
        raise InputError("--workload: no name given; write one, such as 'memory' or 'memory/read', or omit it for all")
    return tuple(name for part in parts for name in part)


def chosen(names: Sequence[str], only: str | None) -> tuple[str, ...]:
    """Return the names of ``--workload``, or the workloads that ``--only`` selects; raise if both are used."""
    if only is None:
        return tuple(names)
    if names:
        raise InputError("--only: cannot be combined with --workload; omit one of them")
    from gpureport.findings.key_figures import WORKLOADS

    return WORKLOADS


def selected(names: Sequence[str], *, quick: bool, kernels: "Sequence[Workload]" = ()) -> "tuple[Workload, ...]":
    """Return the workloads with these names, without names all or those of a quick run; and the *kernels*."""
    from gpureport.workloads import select

    return (*select(separated(names), quick=quick), *kernels)


def described(files: Sequence[Path], options: "SourceOptions | None" = None) -> "tuple[KernelFileWorkload, ...]":
    """Return the kernels of *files*; *options* give what sources do not determine."""
    if not files:
        return ()
    from gpureport.kernel_files import load_kernels

    found = load_kernels(files, _given(options) if options else {})
    for remark in (step.remark for kernel in found for step in kernel.formulas.steps if step.remark):
        note(f"Note: {remark}.")
    return found


def options_of_sources(options: "SourceOptions") -> list[str]:
    """Return the options that give what sources do not determine, as they were written."""
    several = {"--size": options.sizes, "--local": options.work_groups, "--data": options.data}
    several |= {"-D": options.macros, "-I": [str(each) for each in options.folders]}
    one = {"--kernel": options.name, "--global": options.global_size}
    given = [(name, text) for name, texts in several.items() for text in texts]
    return [part for pair in (*one.items(), *given) if pair[1] for part in pair]


def _given(options: "SourceOptions") -> dict[str, object]:
    """Return the options of kernels as fields of a description."""
    if missing := [each for each in options.folders if not each.is_dir()]:
        raise InputError(f"-I: there is no folder {quoted(str(missing[0]))}")
    macros = _pairs("-D", options.macros, _MACRO, r"([A-Za-z_]\w*)((?:[=(].*)?)")
    fields = {
        "kernel": options.name,
        "sizes": {
            key: _numbers(text) if "," in text else text for key, text in _pairs("--size", options.sizes, "n=4096")
        },
        "global_size": [part.strip() for part in options.global_size.split(",") if part],
        "work_groups": [*map(_work_group, options.work_groups)],
        "arguments": [
            {"name": key, "values": text} for key, text in _pairs("--data", options.data, "'columns=random(0,n)'")
        ],
        "build_options": shlex.join(
            [*(f"-I{each.resolve()}" for each in options.folders), *(f"-D{name}{rest}" for name, rest in macros)]
        ),
    }
    return {name: value for name, value in fields.items() if value}


def _pairs(
    option: str, texts: Sequence[str], example: str, form: str = r"\s*([^=]*[^=\s])\s*=\s*(.*\S)\s*"
) -> Iterator[tuple[str, str]]:
    """Yield the names and values of texts that have a *form*; refuse a second value of one name."""
    known = set[str]()
    for text in texts:
        match = re.fullmatch(form, text, re.DOTALL)
        if not match:
            raise InputError(f"{option}: {quoted(text)} is not NAME=VALUE, such as {example}")
        if match[1] in known:
            raise InputError(f"{option}: {quoted(match[1])} is given twice; give it once")
        known.add(match[1])
        yield match[1], match[2]


def _work_group(text: str) -> list[int]:
    if not re.fullmatch(r"[1-9]\d{0,8}(,[1-9]\d{0,8})*", text):
        raise InputError(f"--local: {quoted(text)} is no work-group; write 256 or 16,16, for example")
    return [*map(int, text.split(","))]


def _numbers(text: str) -> str | list[object]:
    """Return the numbers of ``16,16``; other text, such as an expression, unchanged."""
    parts = [plain(part.strip()) for part in text.split(",")]
    return parts if all(isinstance(part, int) for part in parts) else text


_MACRO = "BLOCK_SIZE=16, nor a NAME; names begin with a letter or _"
_LONGEST_NAME = 100  # characters, of a machine or node


def name_and_source(text: str) -> tuple[str | None, str]:
    """Split ``NAME=SOURCE``; ``None`` if it has no name, or if there is a file with all of it as its name."""
    name, equals, source = text.partition("=")
    if not equals or is_there(Path(text)):
        return None, text
    if len(name) > _LONGEST_NAME:
        raise InputError(f"{quoted(name)} has {len(name)} characters; a name may have {_LONGEST_NAME}")
    return name, source


def slug(name: str) -> str:
    """Return a device's name as part of a folder name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "device"


@contextmanager
def writing(files: Iterable[Path], *, force: bool) -> Iterator[None]:
    """Create the folders of *files* and reserve the files until the caller has written them.

    Raises:
        InputError: a folder cannot be made or written to, another command is writing there, a file exists and
            *force* is not set, it is a folder, device or pipe, or two of *files* have its name.
    """
    files = list(files)
    for file, count in Counter(files).items():
        if count > 1:
            raise InputError(f"{file}: is also the name of a document; choose another name")
        if file.exists() and not file.is_file():
            what = "a folder; choose a file in it" if file.is_dir() else "a device or pipe; choose a regular file"
            raise InputError(f"{file}: is {what}")
    with ExitStack() as reservations:
        for path in dict.fromkeys(file.with_suffix(".lock") for file in files):
            _reserve(path, reservations)
        for file in files:
            if file.exists() and not force:
                raise InputError(f"{file}: already exists; use --force to overwrite it, or choose another place")
        yield


def _reserve(path: Path, reservations: ExitStack) -> None:
    folder = path.parent
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    reservations.callback(_remove_empty, missing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reservations.enter_context(reserved(path))
        return
    except InUseError:
        problem = "another gpureport is writing to this folder; wait until it ends, or choose another folder"
    except FileExistsError:
        problem = "is a file, not a folder; choose another folder"
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error}); choose another folder"
    raise InputError(f"{folder}: {problem}")


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def open_database(folders: Sequence[Path], requested: Iterable[str] = ()) -> "Database":
    """Read the built-in database, the user's own folders and *folders*; report invalid files on stderr.

    Raises:
        InputError: a folder of *folders* is missing, or a file in it, or that of a *requested* device, is wrong.
    """
    from gpureport.spec.database import load_database

    database = load_database(folders, own_device_dirs())
    for name in requested:
        database.refuse_broken(name)
    note_left_out(database.broken.values())
    return database


def note_override(database: "Database", entry_id: str | None) -> None:
    """Report on stderr if a file of the user replaces this built-in entry."""
    entry = database.entries.get(entry_id or "")
    if entry and entry.replaces:
        note(f"Note: {entry.path} is used in place of the shipped {entry.id}.")


def open_all(files: Sequence[File], opened: Callable[[File], Opened]) -> list[tuple[File, Opened]]:
    """Return the valid files of an argument with their contents; report invalid ones, or raise the first if all are."""
    found: list[tuple[File, Opened]] = []
    problems: list[InputError] = []
    for file in files:
        try:
            found.append((file, opened(file)))
        except InputError as error:
            problems.append(error)
    if problems and not found:
        raise problems[0]
    note_left_out(problems)
    return found


def in_batches(label: str, work: Callable[[A], R], items: Sequence[A], size: int = 8, fewest: int = FEWEST) -> list[R]:
    """Return *work* of each of *items*, done as by ``in_parallel``; show how many are done after *size* items."""
    from gpureport.report.processes import in_parallel

    done: list[R] = []
    with ProgressBar(label) as bar:
        for start in range(0, len(items), size):
            bar.advance(label, f"{start} of {len(items)}", start / len(items))
            done += in_parallel(work, items[start : start + size], fewest)
    return done
