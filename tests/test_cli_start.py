"""What the command imports, how fast it starts, and how it behaves in terminals and pipes."""

import os
import pty
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gpureport.cli import devices, main
from gpureport.records.report import load_report

COMMAND = (sys.executable, "-m", "gpureport")
COLOUR = re.compile(r"\x1b\[[\d;]*(?:3[0-7]|9[0-7])[\d;]*m")
SLOW_LIBRARIES = ("matplotlib", "numpy", "pandas", "pint", "pyopencl", "rich", "scipy", "seaborn", "weasyprint")


def imported(*arguments: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gpureport", *arguments], check=True, capture_output=True, text=True
    )
    lines = [line for line in ended.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


RENDERING = {"pyopencl", "weasyprint", "matplotlib", "seaborn", "pandas"}


@pytest.mark.parametrize(
    ("arguments", "needed", "others"),
    [
        ("--version", "typer", {*SLOW_LIBRARIES, "yaml"}),
        ("predict --help", "typer", {*SLOW_LIBRARIES, "yaml"}),
        ("predict h200 --json -w launch", "pydantic", RENDERING),
    ],
)
def test_commands_import_no_more_than_they_need(arguments: str, needed: str, others: set[str]) -> None:
    modules = imported(*arguments.split())
    assert needed in modules
    assert not modules & others


@pytest.mark.parametrize(
    "environment",
    [{"COLUMNS": "0"}, {"COLUMNS": "²", "LINES": "²"}, {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}],
    ids=str,
)
def test_settings_of_terminals_and_notebooks_end_no_command(environment: dict[str, str], tmp_path: Path) -> None:
    """Nor does a matplotlibrc of the working directory."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    command = (
        ("predict", "h200", "-w", "memory/read", "-o", "out", "--pdf")
        if "MPLBACKEND" in environment
        else ("glossary", "cliff")
    )
    ended = subprocess.run(
        [*COMMAND, *command],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    assert ended.stdout


def test_settings_of_figures_must_be_text(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_bytes(b"text.color: \xff\n")
    command = [*COMMAND, "predict", "h200", "-w", "memory/read", "-o", "out", "--pdf"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("gpureport: the file matplotlibrc is not UTF-8; ")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments", [("--help",), ("glossary",), ("predict", "h200", "--json", "-w", "launch")], ids=" ".join
)
def test_a_closed_pipe_ends_in_silence(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run([*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "arguments", [("--help",), ("devices", "--known"), ("predict", "h200", "--json", "-w", "launch")], ids=" ".join
)
def test_output_that_cannot_be_written_is_one_sentence(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.stderr == "gpureport: standard output cannot be written (No space left on device)\n"
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("messages", "options", "code"),
    [
        ("2>&-", (), 2),
        ("2>/dev/full", ("--force",), 0),
        pytest.param("2>/dev/full", (), 2, marks=pytest.mark.slow),
        pytest.param(">&- 2>&- <&-", ("--force",), 0, marks=pytest.mark.slow),
    ],
)
def test_messages_that_cannot_be_written_change_nothing(
    messages: str, options: tuple[str, ...], code: int, empty: Path
) -> None:
    html = empty.with_name("report.html")
    html.write_text("mine")
    command = shlex.join([*COMMAND, "render", str(empty), "--no-pdf", *options])
    assert subprocess.run(["sh", "-c", f"{command} {messages}"], check=False).returncode == code
    assert (html.read_text() == "mine") == (code == 2)
    assert html.read_text().endswith(("mine", "</html>\n", "</html>"))


@pytest.mark.slow
@pytest.mark.parametrize(("streams", "code"), [("2>&1 | head -1", 0), (">/dev/full 2>&1", 1)])
def test_a_run_whose_output_cannot_be_written_is_complete(streams: str, code: int, tmp_path: Path) -> None:
    command = shlex.join([*COMMAND, "-w", "launch/queued", "--quick", "--no-pdf", "-o", str(tmp_path / "run")])
    shown = subprocess.run(["bash", "-c", f"set -o pipefail; {command} {streams}"], stdout=subprocess.PIPE, check=False)
    assert shown.returncode == code
    assert load_report(tmp_path / "run").status == "complete"
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("predict", "h200"), 2), (("render", "/"), 2), (("--help",), 0)],
    ids=["predict", "render", "help"],
)
def test_a_working_directory_that_is_gone_is_the_cause(arguments: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f"cd gone && rmdir ../gone && {shlex.join([*COMMAND, *arguments])}"
    ended = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    message = "gpureport: the working directory no longer exists; change to another folder\n"
    assert ended.stderr == (message if code else "")


_INTERRUPTED = """
import atexit, runpy, signal, sys

moment = sys.argv.pop()

class Interrupting:
    def find_spec(self, name, *_):
        if name == moment:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore interrupts
sys.meta_path.insert(0, Interrupting())
if moment == "exit":
    atexit.register(signal.raise_signal, signal.SIGINT)
sys.argv.append("--version")
runpy.run_module("gpureport", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("moment", "code", "message"),
    [
        ("gpureport.cli", 130, ""),
        ("gpureport.system", 130, ""),
        ("typer", 130, "gpureport: interrupted\n"),
        ("exit", 0, ""),
    ],
)
def test_interrupts_print_no_traceback(moment: str, code: int, message: str) -> None:
    line = [sys.executable, "-c", _INTERRUPTED, moment]
    ended = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (code, message)


def test_too_little_memory_is_the_cause() -> None:
    for mebibytes in (200, 500):
        limit = (mebibytes * 2**20, resource.RLIM_INFINITY)
        ended = subprocess.run(
            [*COMMAND, "predict", "h200"],
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit),  # type: ignore[misc]
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 1
        assert ended.stderr == (
            f"gpureport: gpureport needs 1024 MiB of memory; memory is limited to {mebibytes} MiB (ulimit -v)\n"
        )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "folder/file"), "folder/file: Permission denied"),
        (MemoryError(), "there is not enough memory"),
        (ImportError("x.so: failed to map segment"), "a library cannot be loaded (x.so: failed to map segment)"),
        (OSError(28, "No space left on device", "folder/file"), "folder/file: No space left on device"),
        (OSError(11, "Resource temporarily unavailable"), "Resource temporarily unavailable"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_system_refuses_is_one_sentence(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(devices, "_list_known", fail)
    denied = isinstance(error, PermissionError)  # of a file that the user gave
    assert main(["devices", "--known"]) == 1 + denied
    assert capsys.readouterr().err == f"gpureport: {message}\n"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**31, 2**31))
    assert main(["devices", "--known"]) == 1 + denied
    limit = "memory is limited to 2048 MiB (ulimit -v)"
    assert capsys.readouterr().err == f"gpureport: {message}; {limit}\n"


def test_what_an_encoding_lacks_is_replaced() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ended = subprocess.run(
        [*COMMAND, "predict", "h200", "-w", "memory/latency"], capture_output=True, check=False, env=environment
    )
    assert ended.stderr == b""
    assert ended.returncode == 0
    assert "Working set: reads ?" in ended.stdout.decode("latin-1")


def in_terminal(*arguments: str, columns: int, no_colour: bool = False) -> str:
    """Return what a terminal of that width shows, standard error included."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_colour else {})
    ours, theirs = pty.openpty()
    size = f"import fcntl,struct,sys,termios;fcntl.ioctl(0,termios.TIOCSWINSZ,struct.pack('4H',24,{columns},0,0))"
    subprocess.run([sys.executable, "-c", size], stdin=theirs, check=True)
    process = subprocess.Popen([*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := _read(ours):
            shown += piece
    finally:
        os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other end was closed
        return b""


def test_a_terminal_shows_progress_and_takes_it_away(empty: Path) -> None:
    shown = in_terminal("render", str(empty), "--no-pdf", columns=50)
    assert "writing the report" in shown
    assert COLOUR.search(shown)
    assert "Written: " in shown.rpartition("\x1b[2K")[2]
    plain = in_terminal("render", str(empty), "--no-pdf", "--force", columns=50, no_colour=True)
    assert "writing the report" in plain
    assert not COLOUR.search(plain)


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["", "FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_pipe_shows_no_progress(empty: Path, variable: str) -> None:
    environment = {**os.environ, **({variable: "1"} if variable else {})}
    ended = subprocess.run(
        [*COMMAND, "render", str(empty), "--no-pdf"], capture_output=True, text=True, check=True, env=environment
    )
    assert ended.stderr == ""
    assert ended.stdout == f"Written: {empty.with_name('report.html')}\n"
