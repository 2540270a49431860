"""``gpureport devices`` and ``gpureport predict``: tables, JSON, broken files."""

import json
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.spec.models import PresentDevice
from gpureport.text import printable
from tests.fake_backend import A40, HOSTILE, PRESENT
from tests.present import stand_in
from tests.test_own_devices import ENTRY

Captured = pytest.CaptureFixture[str]
DEVICE = ENTRY.replace("NVIDIA A40", "Test device", 1).partition("opencl:")[0]
BROKEN = {
    "missing": (DEVICE.replace("vendor: NVIDIA\n", ""), "vendor: is missing"),
    "twice": (DEVICE + "clock: 2 GHz\n", "clock"),
}


@pytest.fixture(autouse=True)
def present(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, PRESENT, HOSTILE, A40)


def test_present_devices_have_index_platform_driver_and_entry(capsys: Captured) -> None:
    assert main(["devices"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["index", "device", "platform", "driver", "runs", "kernels", "entry"]
    assert lines[3].split() == ["0", "Fake", "Device", "Fake", "Platform", "1.0", "yes", "none"]
    assert lines[4].split()[:2] == ["1", "[red]<script>"]
    assert lines[5].split() == ["2", "NVIDIA", "A40", "NVIDIA", "CUDA", "1.0", "yes", "nvidia/a40"]


def test_the_clock_of_the_host_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    stand_in(monkeypatch, PRESENT, A40.model_copy(update={"index": 1, "timed_by_host": True}))
    assert main(["devices"]) == 0
    assert [line[0] for line in capsys.readouterr().out.splitlines() if "gives no time stamps" in line] == ["1"]


def test_present_devices_as_json(capsys: Captured) -> None:
    assert main(["devices", "--json"]) == 0

    captured = capsys.readouterr()
    devices = json.loads(captured.out)
    assert captured.err == ""
    assert [device["entry"] for device in devices] == [None, None, "nvidia/a40"]
    added = {"entry", "draft", "how", "notes", "runs_kernels", "problem"}
    read = PresentDevice.model_validate({k: v for k, v in devices[1].items() if k not in added})
    assert read == HOSTILE.model_copy(update={"name": printable(HOSTILE.name)})
    assert [device["draft"] for device in devices] == [True, True, False]
    assert devices[0]["notes"] == []
    assert devices[2]["how"] == "The PCI id 10de:2235 matches nvidia/a40."
    assert all("; NVIDIA A40 has " in note for note in devices[2]["notes"])
    assert devices[2]["notes"]


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_file_is_a_sentence_with_its_line(name: str, tmp_path: Path, capsys: Captured) -> None:
    text, expected = BROKEN[name]
    file = tmp_path / "broken.yaml"
    file.write_text(text)

    assert main(["devices", "check", str(file)]) == 2
    problem, count = capsys.readouterr().out.splitlines()
    assert problem.startswith(str(file))
    assert expected in problem
    assert count == "1 file, 1 error, 0 warnings"

    assert main(["predict", "a40", "--devices", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"gpureport: {problem}\n"


def test_a_file_with_another_ending_is_named_as_left_out(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "mine.yml").write_text(DEVICE)
    reason = "the file name must end in .yaml; rename it to mine.yaml"

    assert main(["devices", "check", str(tmp_path)]) == 0
    problem, count = capsys.readouterr().out.splitlines()
    assert problem == f"{tmp_path}/mine.yml: warning: is ignored in folders of entries: {reason}"
    assert count == "1 file, 0 errors, 1 warning"
    assert main(["predict", "mine", "--devices", str(tmp_path)]) == 2
    sentence = f"{tmp_path}/mine.yml: {reason}\n"
    assert capsys.readouterr().err == f"gpureport: {sentence}"


def test_the_processor_of_this_machine_is_marked(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")

    assert main(["devices", "--known"]) == 0
    marked = [line for line in capsys.readouterr().out.splitlines() if " (processor of this machine)" in line]
    assert [line.split()[0] for line in marked] == ["cpu/x86_64"]


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("nowhere.yaml", "nowhere.yaml: does not exist"),
        ("nowhere", "gpureport: the database has no device 'nowhere'"),
        ("h100", "nvidia/h100_pcie"),
        (".", "gpureport: .: this folder contains no entry (*.yaml)\n"),
    ],
)
def test_what_cannot_be_checked_is_named(
    argument: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["devices", "check", argument]) == 2
    assert sentence in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", ["nvidia/a40", "nvidia/h200", "a40"])
def test_an_entry_can_be_checked_by_its_id_or_name(name: str, capsys: Captured) -> None:
    assert main(["devices", "check", name]) == 0
    assert capsys.readouterr().out == "1 file, 0 errors, 0 warnings\n"


def test_an_error_of_an_architecture_is_reported_once(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "architectures").mkdir()
    text = (data_dir("devices") / "architectures" / "ampere_86.yaml").read_text()
    (tmp_path / "architectures" / "mine.yaml").write_text(text.replace("\nwave_size: 32", "\nwave_size: many"))
    for name in ("a", "b"):
        entry = DEVICE.replace("ampere_86", "mine").replace("Test device", f"Test device {name}")
        (tmp_path / f"{name}.yaml").write_text(entry)

    assert main(["devices", "check", str(tmp_path)]) == 2
    assert capsys.readouterr().out.count("wave_size") == 1
    assert main(["devices", "check", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]) == 2
    assert capsys.readouterr().out.count("wave_size") == 1
