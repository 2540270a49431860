"""Other systems: each function of ``system`` as on macOS and Windows, with stand-ins for what only they have.

No other module asks for the system (``test_layout``), so only ``system`` gets another one.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import fcntl, os, pkgutil, subprocess, sys, types, warnings
from importlib import import_module
from pathlib import Path

import psutil  # asks for the system while it is imported

warnings.filterwarnings("error", category=EncodingWarning, module="gpureport")  # Windows: cp1252
platform = sys.argv[1]
flock, both, folder = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB, sys.argv[2]

def locking(handle, _, __):
    try:
        flock(handle, both)
    except BlockingIOError as error:
        raise PermissionError(*error.args) from None

class Popen(subprocess.Popen):
    def __init__(self, *arguments, creationflags=0, **options):
        assert creationflags in (0, 0x200)
        assert not options.get("pass_fds")
        super().__init__(*arguments, **options)

sys.platform = platform
import gpureport.system
sys.platform = "linux"
gpureport.system.sys = types.SimpleNamespace(platform=platform)
for each in pkgutil.walk_packages(gpureport.__path__, "gpureport."):
    if not each.name.endswith("__main__"):
        import_module(each.name)
subprocess.Popen = Popen
del os.sched_getaffinity
if platform == "win32":
    sys.modules |= {"fcntl": None, "resource": None, "msvcrt": types.SimpleNamespace(locking=locking, LK_NBLCK=2)}
    for name in ("killpg", "sysconf", "getuid", "geteuid", "getpgid", "setsid", "uname", "getloadavg", "O_DIRECTORY"):
        delattr(os, name)
sys.modules["weasyprint"] = None

from gpureport.cli import run
from gpureport.files import reserved, scratch_folder
from gpureport.isolation import isolated

for arguments in (
    ["devices", "check", *map(str, sorted(Path("devices/nvidia").glob("*.yaml"))[:3])],
    ["predict", "nvidia/a40", "-w", "memory/copy", "--pdf", "-o", "{}/predicted"],
    ["compare", "nvidia/a40", "nvidia/h100_sxm", "-w", "memory/copy", "--no-pdf", "-o", "{}/compared"],
    ["fleet", "add", "node=reports/pocl-epyc-2-cores-quick", "--store", "{}/store"],
    ["fleet", "report", "--store", "{}/store", "--no-pdf", "-o", "{}/fleet"],
    ["fleet", "query", "select device, '≥ µ ÷' from runs", "--store", "{}/store"],
    ["render", "{}", "-o", "{}/rendered"],
    ["glossary", "taper"],
):
    sys.argv = ["gpureport", *(part.replace("{}", folder) for part in arguments)]
    assert run() == 0, arguments
with scratch_folder() as scratch, reserved(scratch / "report.json"):
    assert isolated("work", abs, 30.0, 2**28, -1) == 1
assert not scratch.exists()
"""


@pytest.mark.parametrize(("platform", "remedy"), [("darwin", "brew install pango"), ("win32", "MSYS2: pacman")])
@pytest.mark.skipif(sys.platform != "linux", reason="replaces parts of Linux")
def test_everything_but_measuring_works_on_other_systems(
    platform: str, remedy: str, empty: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", PROGRAM, platform, str(empty.parent)],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "TMPDIR": str(tmp_path), "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )
    printed, problems = done.stdout.decode("cp1252"), done.stderr.decode("cp1252")
    assert done.returncode == 0, problems[-3000:]
    assert "? µ ÷" in printed
    assert problems.count("no PDF: ") == 2
    assert remedy in problems
    written = {path.name for path in tmp_path.rglob("*.*") if path.is_file()}
    assert {"report.html", "report.json", "comparison.html", "comparison.json", "fleet.html"} <= written
    assert not [name for name in written if name.endswith((".pdf", ".part", ".lock"))]


def test_times_are_written_in_ways_that_windows_knows() -> None:
    assert not [
        path for path in (ROOT / "analysis").rglob("*.py") if re.search(r"%[-#][a-zA-Z]", path.read_text("utf-8"))
    ]
