"""``docs/devices.md``, followed to the letter on a GPU that does not exist."""

import os
import re
import shlex
from pathlib import Path

import pytest

from gpureport.cli import main, measuring
from gpureport.measure import sweep
from gpureport.records.measurement import Verification
from gpureport.spec.check import check_folder
from gpureport.spec.database import load_database
from tests.fake_gpu import GPU, FakeGpu
from tests.present import stand_in

HOW_TO = (Path(__file__).parents[1] / "docs" / "devices.md").read_text()
STEP = re.compile(r"^    (?P<command>gpureport .*)$|^```yaml\n(?P<entry>[\s\S]*?)^```$", re.MULTILINE)


@pytest.fixture(autouse=True)
def machine_with_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home and a working directory of their own, and an unknown GPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    stand_in(monkeypatch, GPU, make=FakeGpu)
    monkeypatch.setattr(sweep, "verify", lambda *_: Verification(passed=True, cases=()))
    monkeypatch.setattr(measuring, "LONGEST_SWEEP_S", 0.3)


def run(line: str) -> int:
    """Run one command as a shell would."""
    program, *arguments = shlex.split(line, comments=True)
    assert program == "gpureport"
    return main([os.path.expanduser(argument) for argument in arguments])  # noqa: PTH111 - as a shell does it


def test_the_how_to_works_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command ends well, the entry has no problem, and the last command uses it."""
    place = re.search(r"saved as\s+`(?P<path>[^`]+)`", HOW_TO)
    assert place
    entry, steps = Path(place["path"]), list(STEP.finditer(HOW_TO))
    assert len([step for step in steps if step["command"]]) >= 5
    output = ""
    for step in steps:
        if step["entry"]:
            entry.parent.mkdir(parents=True)
            entry.write_text(step["entry"])
        else:
            capsys.readouterr()
            assert run(step["command"]) == 0, step["command"]
            output, error = capsys.readouterr()
            if step is steps[1]:
                match = load_database(own_dirs=[Path.home() / ".config" / "gpureport" / "devices"]).match(GPU)
                assert (match.entry, match.draft) == ("my_card", False)
                assert match.device.provenance["caches.L2.capacity"].kind == "measured"

    assert check_folder([entry]) == []
    assert output.startswith("NVIDIA A40 (nvidia/a40): 84 compute units at 1.74 GHz, ")
    assert error == f"Note: {entry} is used in place of the shipped nvidia/a40.\n"
