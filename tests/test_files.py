"""Files that are written whole or not at all, one writer at a time, and temporary folders that do not stay."""
# ruff: noqa: D103 - the names of the tests say what they check

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpureport import files
from gpureport.errors import GpuReportError
from gpureport.files import InUseError, reserved, scratch_folder, write_file

PYTHON = (sys.executable, "-c")
HOLD = "from pathlib import Path; from gpureport.files import *\nwith {}: print('ready', flush=True); input()"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files."""
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
def _full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A disk that takes half of what is written."""
    write = Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", half)
        yield


@pytest.mark.usefixtures("_full")
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    with pytest.raises(GpuReportError, match=rf"{path}: cannot be written \(No space left on device\)"):
        write_file(path, "the new one")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_and_links_stay_links(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b", "text")
    (tmp_path / "link").symlink_to("a/b")
    write_file(tmp_path / "link", b"bytes")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a" / "b").read_text() == "bytes"


def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "text")

    assert os.read(reader, 100) == b"text"
    assert pipe.is_fifo()
    os.close(reader)


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
    (temporary / "gpureport-tmp-file").touch()

    with scratch_folder() as folder:
        assert folder.parent == temporary
        (folder / "x").touch()
        (left,) = kept & set(temporary.iterdir())
    assert set(temporary.iterdir()) == {left, temporary / "gpureport-tmp-file"}
    running.communicate("\n")
    assert not left.exists()


def test_without_room_for_temporary_files_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    told = r"temporary files cannot be written \(No space left on device\); the variable TMPDIR selects another"
    with pytest.raises(GpuReportError, match=told), scratch_folder():
        pass


def test_a_pipe_that_is_named_like_a_temporary_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it would wait for whoever writes to it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pipe = tmp_path / f"{files._SCRATCH}pipe"
    os.mkfifo(pipe)
    with files.scratch_folder() as folder:
        assert folder.is_dir()
    assert pipe.exists()
