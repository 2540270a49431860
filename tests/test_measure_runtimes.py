"""Runtimes from ICD files; a process loads only one."""

import os
import sys
from pathlib import Path
from unittest.mock import Mock, patch

import pytest

from gpureport.measure.backends import runtimes
from gpureport.measure.backends.runtimes import Runtime, installed_runtimes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has ICD files")


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The system's folder of ICD files; this Python environment has none."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(runtimes, "SYSTEM_VENDORS", folder)
    monkeypatch.setattr(runtimes, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    return folder


def icd(folder: Path, name: str, content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(content)
    return path


def test_the_systems_runtimes_are_those_of_its_icd_files(vendors: Path) -> None:
    second = icd(vendors, "nvidia.icd", "libnvidia-opencl.so.1\n")
    first = icd(vendors, "amd.icd", "  /opt/rocm/lib/libamdocl64.so \nanother line\n")
    icd(vendors, "notes.txt", "libno.so")
    assert installed_runtimes() == (
        Runtime("/opt/rocm/lib/libamdocl64.so", str(first)),
        Runtime("libnvidia-opencl.so.1", str(second)),
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file contains no name of a library"),
        ("\n", "the file contains no name of a library"),
        ("/x\0y.so\n", "the file is not a text with the name of a library"),
        ("\x1b[31m.so", "the file is not a text with the name of a library"),
    ],
    ids=["empty", "blank", "null", "escape"],
)
def test_an_icd_file_without_a_library_is_a_problem(vendors: Path, content: str, problem: str) -> None:
    path = icd(vendors, "x.icd", content)
    assert installed_runtimes() == (Runtime("", str(path), problem),)


def test_other_than_regular_files_are_not_opened(vendors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(vendors / "fifo.icd")
    (vendors / "folder.icd").mkdir()
    (vendors / "loop.icd").symlink_to("loop.icd")
    assert [each.problem for each in installed_runtimes()] == ["the file cannot be read"] * 3
    path = icd(vendors.parent / "other", "x.icd", "libx.so")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(path))
    monkeypatch.setattr(os, "stat", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert installed_runtimes() == (Runtime("", str(path), "the file cannot be read"),)


def test_a_folder_a_file_or_a_library_in_the_environment_is_the_only_runtime(
    vendors: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    icd(vendors, "system.icd", "libsystem.so")
    mine = icd(tmp_path / "mine", "mine.icd", "libmine.so")
    for variables in ({"OCL_ICD_VENDORS": mine.parent}, {"OPENCL_VENDOR_PATH": mine.parent}, {"OCL_ICD_VENDORS": mine}):
        with patch.dict(os.environ, {name: str(path) for name, path in variables.items()}):
            assert installed_runtimes() == (Runtime("libmine.so", str(mine)),)
    monkeypatch.setenv("OCL_ICD_VENDORS", "libmine.so")
    assert installed_runtimes() == (Runtime("libmine.so", "OCL_ICD_VENDORS=libmine.so"),)


def test_libraries_in_the_environment_come_first_and_once(vendors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    icd(vendors, "a.icd", "liba.so")
    system = icd(vendors, "b.icd", "libb.so")
    monkeypatch.setenv("OCL_ICD_FILENAMES", "liba.so")
    assert installed_runtimes() == (Runtime("liba.so", "OCL_ICD_FILENAMES=liba.so"), Runtime("libb.so", str(system)))


def test_a_runtime_is_found_in_the_folder_of_its_wheel(vendors: Path, tmp_path: Path) -> None:
    """Its ICD file contains a folder of the machine that built it; another file, a library that is missing."""
    library = tmp_path / "prefix" / "lib" / "libintelocl.so"
    library.parent.mkdir(parents=True)
    library.touch()
    folder = tmp_path / "prefix" / "etc" / "OpenCL" / "vendors"
    path = icd(folder, "intel-cpu.icd", "/opt/build/lib/libintelocl.so")
    icd(folder, "intel-fpga.icd", "/opt/build/lib/libabsent.so")
    assert vendors.exists()
    assert installed_runtimes() == (Runtime(str(library), str(path)),)


def test_other_systems_use_the_runtime_of_their_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert installed_runtimes() == (Runtime(""),)
    assert Runtime("").environment() == {}
