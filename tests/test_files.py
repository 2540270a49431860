"""Files that are written whole or not at all, one writer at a time, and temporary folders that do not stay."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from gpureport import files
from gpureport.__main__ import run
from gpureport.cli.shared import writing
from gpureport.errors import GpuReportError, InputError
from gpureport.files import INTERRUPTS, InUseError, reserved, scratch_folder, uninterrupted, write_file, write_files

PYTHON = (sys.executable, "-c")
HOLD = "from pathlib import Path; from gpureport.files import *\nwith {}: print('ready', flush=True); input()"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holding(what: str, temporary: Path) -> subprocess.Popen[str]:
    """Start a process that holds something until it is ended."""
    process = subprocess.Popen(
        [*PYTHON, HOLD.format(what)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def _full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes half of what is written, and says so when it is to keep it."""

    def half(handle: int) -> None:
        os.truncate(handle, os.fstat(handle).st_size // 2)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", half)


@pytest.mark.usefixtures("_full")
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(GpuReportError, match=rf"{path}: cannot be written \(No space left on device\)"):
        write_file(path, "the new one")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GpuReportError, match=r"(?i)name too long"):
        write_file(tmp_path / ("x" * 250), "text")


def test_of_several_files_all_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(GpuReportError, match="below: cannot be written"):
        write_files({tmp_path / "new": "a", tmp_path / "file": "b", tmp_path / "file" / "below": "c"})
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "old")]


def test_an_interrupt_does_not_split_the_renaming_of_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda *paths: (replace(*paths), signal.raise_signal(signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        write_files({tmp_path / "a": "new", tmp_path / "b": "new"})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("failing", INTERRUPTS)
def test_an_interrupt_while_handlers_are_restored_leaves_none_replaced(
    failing: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = [signal.getsignal(each) for each in INTERRUPTS], signal.signal

    def interrupted(number: signal.Signals, handler: Any) -> Any:
        replaced = real(number, handler)
        if number is failing and handler in before:
            raise KeyboardInterrupt
        return replaced

    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patched, uninterrupted():
        patched.setattr(signal, "signal", interrupted)
    assert [signal.getsignal(each) for each in INTERRUPTS] == before


@pytest.mark.parametrize(
    ("inherited", "during"), [(signal.SIG_IGN, signal.SIG_IGN), (signal.SIG_DFL, signal.default_int_handler)]
)
def test_sigterm_interrupts_unless_the_caller_ignores_it(
    inherited: signal.Handlers, during: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {each: signal.getsignal(each) for each in INTERRUPTS}
    monkeypatch.setattr("gpureport.cli.run", lambda: signal.getsignal(signal.SIGTERM))
    signal.signal(signal.SIGTERM, inherited)
    try:
        assert run() == during
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def test_folders_are_made_and_links_stay_links_unless_they_are_a_loop(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b", "text")
    (tmp_path / "link").symlink_to("a/b")
    write_file(tmp_path / "link", b"bytes")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a" / "b").read_text() == "bytes"
    (tmp_path / "loop").symlink_to("loop")
    write_file(tmp_path / "loop", "text")
    assert (tmp_path / "loop").read_text() == "text"
    assert {path.name for path in tmp_path.iterdir()} == {"a", "link", "loop"}


def test_the_content_is_on_the_disk_before_it_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, kept = tmp_path / "report.json", list[tuple[int, bool]]()
    monkeypatch.setattr(os, "fsync", lambda handle: kept.append((os.fstat(handle).st_size, path.exists())))
    write_file(path, "text")
    assert kept == [(4, False)]


@pytest.mark.parametrize("path", ["/dev/null", "pipe", "."])
def test_only_regular_files_are_written(path: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="; choose a "), writing((tmp_path / path,), force=True):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    process = holding(f"reserved(Path({str(report)!r}))", tmp_path)
    with pytest.raises(InUseError), reserved(tmp_path / "report.html"):
        pass
    with reserved(tmp_path / "other.json"):
        pass
    process.communicate("\n")
    assert list(tmp_path.iterdir()) == []
    with reserved(report):
        pass


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    process = holding(f"reserved(Path({str(report)!r}))", tmp_path)
    (tmp_path / f".report.html.{process.pid}.part").touch()
    (tmp_path / ".other.json.1.part").touch()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with reserved(report):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".other.json.1.part"]


def test_a_scratch_folder_is_removed_also_if_its_process_was_killed(temporary: Path) -> None:
    killed, running = (holding("scratch_folder()", temporary) for _ in range(2))
    kept = set(temporary.iterdir())
    assert len(kept) == 2
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    os.mkfifo(temporary / "gpureport-tmp-pipe")
    with scratch_folder() as folder:
        assert folder.parent == temporary
        (folder / "x").touch()
        (left,) = kept & set(temporary.iterdir())
    assert set(temporary.iterdir()) == {left, temporary / "gpureport-tmp-pipe"}
    running.communicate("\n")
    assert not left.exists()


def test_a_scratch_folder_that_is_removed_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, list[str]()

    def removed(**options: str) -> str:
        made.append(make(**options))
        if len(made) == 1:
            files._remove_abandoned()
        return made[-1]

    monkeypatch.setattr(files.tempfile, "mkdtemp", removed)
    with scratch_folder() as folder:
        assert [str(folder)] == made[1:] == [str(path) for path in temporary.iterdir()]


def test_no_space_for_temporary_files_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    problem = r"temporary files cannot be written \(No space left on device\); set TMPDIR"
    with pytest.raises(GpuReportError, match=problem), scratch_folder():
        pass


def test_a_file_system_that_refuses_locks_is_used_without_them(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=PermissionError))
    with scratch_folder() as folder, reserved(folder / "report.json"):
        assert list(temporary.iterdir()) == [folder]
