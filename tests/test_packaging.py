"""Wheel and source distribution contain all required files and no others, and the wheel works without the checkout."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from gpureport import __version__

ROOT = Path(__file__).parents[1]
DATA = ("devices", "kernels_cl", "tables", "templates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def build(target: str, source: Path, folder: Path) -> Path:
    """Build a package of *source* with the locked hatchling, without a network."""
    line = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(line, cwd=source, check=True, capture_output=True)
    (built,) = folder.glob("gpureport-*")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the wheel into an empty folder, as a wheel of pure Python is installed."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_installed(folder: Path, *arguments: str) -> str:
    """Run the interpreter on the unpacked wheel, ahead of the checkout, from a neutral folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    line = [sys.executable, *arguments]
    done = subprocess.run(line, cwd=folder.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files_below(folder: Path) -> set[str]:
    """Return the files in a folder, as relative POSIX paths, without Python's caches and schemas for editors."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in files if not path.name.endswith(".schema.json")}


def test_the_wheel_has_modules_data_and_licences_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, place in [(ROOT / "analysis" / "gpureport", ""), *((ROOT / name, f"{name}/") for name in DATA)]:
        files = files_below(folder)
        assert files
        assert {f"gpureport/{place}{name}" for name in files} <= names
    assert "gpureport/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"gpureport", f"gpureport-{__version__}.dist-info"}
    assert not [name for name in names if {"tests", "reports", "analysis"} & set(name.split("/")[:-1])]
    assert not [name for name in names if name.endswith((".pyc", ".orig", ".log"))]
    licences = {Path(name).name for name in names if ".dist-info/licenses/" in name}
    others = {path.name for path in (ROOT / "templates").rglob("LICENSE*")}
    assert len(others) >= 3
    assert licences == {"LICENSE"} | others


def test_the_source_distribution_has_no_reports_and_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "xf", build("sdist", ROOT, tmp_path / "sdist"), "-C", tmp_path], check=True)
    names = files_below(unpacked := tmp_path / f"gpureport-{__version__}")
    assert {"LICENSE", "CITATION.cff", "scripts/setup", "tests/test_packaging.py", "requirements.lock"} <= names
    assert not [name for name in names if name.startswith("reports/") or name.endswith((".pyc", ".log"))]
    assert build("wheel", unpacked, tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_the_description_works_outside_the_repository(wheel: Path) -> None:
    """A page of a package index has no files beside it."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"gpureport-{__version__}.dist-info/METADATA").decode()
    assert "# gpureport\n" in text
    assert all(address.startswith("https://") for address in re.findall(r"\]\(([^)]*)\)", text))


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__


def test_wheel_runs_without_the_checkout(installed: Path) -> None:
    assert Path(run_installed(installed, "-c", "import gpureport; print(gpureport.__file__)")).is_relative_to(installed)
    assert "--quick" in run_installed(installed, "-m", "gpureport", "--help")
    assert "H200" in run_installed(installed, "-m", "gpureport", "devices", "--known")
    found = run_installed(installed, "-c", "from gpureport.data import data_dir; print(data_dir('kernels_cl'))")
    assert Path(found.strip()).parent == installed / "gpureport"
