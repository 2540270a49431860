"""The user's own entries: their folders, their precedence, and errors in them."""

import os
from errno import EACCES
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.data import data_dir, own_device_dirs
from gpureport.errors import InputError
from gpureport.records.report import reports_below
from gpureport.spec.database import load_database
from gpureport.validate.sealing import sealed_files
from tests.fake_backend import PRESENT
from tests.present import stand_in

Captured = pytest.CaptureFixture[str]
A40 = PRESENT.model_copy(update={"name": "NVIDIA A40", "pci_id": "10de:2235", "compute_units": 84})
ENTRY = """\
name: NVIDIA A40
vendor: NVIDIA
architecture: ampere_86
sources: {sheet: "A data sheet"}
source: sheet
compute_units: 84
clock: 1.74 GHz
memory: {size: 48 GiB, bandwidth: 696 GB/s}
caches: {L2: 6 MiB}
opencl: {names: [NVIDIA A40]}
pci_ids: ["10de:2235"]
"""


@pytest.fixture
def config(configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, empty; the working directory is empty, too, and an A40 is present."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    stand_in(monkeypatch, A40)
    folder = configuration / "gpureport" / "devices"
    folder.mkdir(parents=True)
    return folder


def entry(folder: Path, stem: str, *changes: tuple[str, str]) -> Path:
    path = folder / f"{stem}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ENTRY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def own_architecture(config: Path, name: str, old: str = "", new: str = "") -> Path:
    """Write an architecture of the user's own: the A40's with a text replaced."""
    path = config / "architectures" / f"{name}.yaml"
    path.parent.mkdir()
    text = (data_dir("devices") / "architectures" / "ampere_86.yaml").read_text()
    path.write_text(text.replace(old, new, 1))
    return path


def test_the_folders_are_those_of_the_user_and_of_the_project(
    config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A configuration folder must be absolute."""
    Path("gpureport-devices").mkdir()
    Path("devices").mkdir()
    assert own_device_dirs() == (config, Path("gpureport-devices"))
    usual = tmp_path / "home" / ".config" / "gpureport" / "devices"
    usual.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert own_device_dirs() == (usual, Path("gpureport-devices"))


def test_folders_come_before_each_other(config: Path, capsys: Captured) -> None:
    """Shipped, the user's, the project's, ``--devices``: each overrides the previous ones."""
    given = Path("given").resolve()
    for folder, clock in ((config, "1 GHz"), (Path("gpureport-devices"), "2 GHz"), (given, "3 GHz")):
        path = entry(folder, "nvidia/a40", ("1.74 GHz", clock))
        options = ["--devices", str(given)] if folder == given else []
        assert main(["predict", "nvidia/a40", "-w", "launch", *options]) == 0
        captured = capsys.readouterr()
        assert f"at {clock.replace(' ', '.00 ')}" in captured.out
        assert captured.err == f"Note: {path} is used in place of the shipped nvidia/a40.\n"


def test_an_entry_comes_before_a_shipped_one_with_its_name_or_its_pci_id(config: Path, capsys: Captured) -> None:
    entry(config, "mine", ("NVIDIA A40", "My card"))
    assert main(["devices"]) == 0
    row = capsys.readouterr().out.splitlines()[3]
    assert (row.split()[0], row.split()[-1]) == ("0", "mine")
    assert load_database(own_dirs=[config]).resolve("nvidia/a40").name == "NVIDIA A40"  # both can be predicted by id


def test_an_entry_of_another_device_causes_no_note(config: Path, capsys: Captured) -> None:
    entry(config, "mine", ("NVIDIA A40", "My card"), ("10de:2235", "1234:5678"))
    assert main(["predict", "My card", "-w", "launch"]) == 0
    assert capsys.readouterr().err == ""


BROKEN = {
    "unit": ("1.74 GHz", "3", ":7: clock: 3 is not a frequency; write it like 1.98 GHz, in Hz, kHz, MHz or GHz"),
    "architecture": ("ampere_86", "vega", ": architecture: there is no architecture 'vega'"),
    "empty": ("compute_units: 84", "compute_units: {}", ":6: compute_units: {} is not a number above zero; write it"),
    "memory": ("48 GiB", "2 MiB", ":8: memory.size: 2 MiB is too small; write 64 MiB or more"),
    "cache": ("6 MiB", "1 B", ":9: caches.L2: 1 B is too small; write 262 B or more"),
    "clock": ("1.74 GHz", "1.74e300 GHz", ":7: clock: '1.74e300 GHz' is out of range; write a value like 1.98 GHz"),
    "missing": (", bandwidth: 696 GB/s", "", ": memory.bandwidth is missing in both the device and its architecture"),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_a_broken_entry_is_reported_and_skipped(case: str, config: Path, capsys: Captured) -> None:
    old, new, sentence = BROKEN[case]
    path = entry(config, "bad", (old, new))
    for command in (["devices"], ["devices", "--known"], ["predict", "a40", "-w", "launch"]):
        assert main(command) == 0
        error = capsys.readouterr().err
        assert error.startswith(f"Left out: {path}{sentence}")
        assert error.count("\n") == 1


def test_a_broken_entry_that_is_requested_is_an_error(config: Path, capsys: Captured) -> None:
    path = entry(config, "bad", ("1.74 GHz", "3"))
    assert main(["predict", "bad"]) == 2
    problem = f"{path}:7: clock: 3 is not a frequency; write it like 1.98 GHz, in Hz, kHz, MHz or GHz\n"
    assert capsys.readouterr().err == f"gpureport: {problem}"
    assert main(["predict", "a40", "--devices", str(config)]) == 2
    assert capsys.readouterr().err == f"gpureport: {problem}"


def test_the_smallest_sizes_are_predicted(config: Path, capsys: Captured) -> None:
    entry(config, "small", ("48 GiB", "64 MiB"), ("L2: 6 MiB", "L2: 263 B, L1: 1 KiB"))
    assert main(["predict", "small", "--quick"]) == 0
    assert "64 MiB" in capsys.readouterr().out


def test_folders_that_cannot_be_read_are_named(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    entry(config, "below/mine")
    scandir = os.scandir

    def refused(folder: Path | str) -> object:
        if Path(folder).name in ("below", "sealed"):
            raise PermissionError(EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refused)
    denied = f"{config}/below: cannot be read: Permission denied\n"

    assert main(["predict", "h200", "-w", "launch"]) == 0
    assert capsys.readouterr().err == f"Left out: {denied}"
    assert main(["predict", "h200", "-w", "launch", "--devices", str(config)]) == 2
    assert main(["devices", "check", str(config)]) == 2
    assert capsys.readouterr().err == f"gpureport: {denied}" * 2
    with pytest.raises(InputError, match="sealed: cannot be read: Permission denied"):
        sealed_files(tmp_path)
    with pytest.raises(InputError, match="below: cannot be read: Permission denied"):
        reports_below(config)


def test_a_folder_without_entries_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", "h200", "-w", "launch", "--devices", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"gpureport: {tmp_path}: this folder contains no entry (*.yaml)\n"


def test_the_file_of_an_entry_is_no_name(capsys: Captured) -> None:
    assert main(["predict", "devices/nvidia/b300.yaml"]) == 2
    assert "'devices/nvidia/b300.yaml' is the file of an entry; give nvidia/b300\n" in capsys.readouterr().err


def test_a_broken_architecture_leaves_the_shipped_one(config: Path, capsys: Captured) -> None:
    path = own_architecture(config, "ampere_86", "name: ", "nom: ")
    assert main(["predict", "a40", "-w", "launch"]) == 0
    assert capsys.readouterr().err.startswith(f"Left out: {path}:")


def test_own_entries_are_checked_with_the_rest_and_find_their_architectures(config: Path, capsys: Captured) -> None:
    own_architecture(config, "mine")
    entry(config, "mine", ("ampere_86", "mine"))
    other = entry(Path("elsewhere"), "other", ("ampere_86", "mine"), ("1.74 GHz", "3"))
    assert main(["devices", "check"]) == 0
    capsys.readouterr()
    assert main(["devices", "check", str(other)]) == 2
    assert "3 is not a frequency; write it like 1.98 GHz" in capsys.readouterr().out.splitlines()[0]
