"""An entry drafted on any present OpenCL device: queried, measured, checked, matched."""

from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.run import drafting
from gpureport.spec.check import check_file
from gpureport.spec.database import load_database
from tests.present import working


def test_a_draft_of_what_is_here_validates_and_is_matched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a short run, few sweeps have a transition; launch costs exist on every device."""
    present = working().device
    monkeypatch.setattr(drafting, "SWEEP_S", dict.fromkeys(drafting.SWEEP_S, 1.0))
    monkeypatch.setattr(drafting, "LEARNED", frozenset({"launch_cost", "unit_cache_bandwidth"}))
    monkeypatch.setattr(drafting, "FURTHER", ())
    path = tmp_path / "mine" / "here.yaml"

    assert main(["devices", "new", "-o", str(path)]) == 0
    assert [problem for problem in check_file(path) if problem.severity == "error"] == []
    match = load_database([path.parent]).match(present)
    assert match.entry_id == "here"
    assert match.device.provenance["launch.batched"].kind == "measured"
    assert match.device.provenance["compute_units"].kind == "queried"
