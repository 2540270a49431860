"""The comparisons in the repository: the current code reads them, and their results are as expected."""

from pathlib import Path

import pytest

from gpureport.compare.records import Comparison
from gpureport.report.comparison.words import sentences

FOLDER = Path(__file__).parents[1] / "reports" / "comparisons"
KEPT = sorted(path.parent for path in FOLDER.glob("*/comparison.json"))


def _read(name: str) -> Comparison:
    return Comparison.model_validate_json((FOLDER / name / "comparison.json").read_text())


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_it_can_be_read_and_has_a_document(folder: Path) -> None:
    """It contains no absolute path, is listed in the README and can be renewed."""
    comparison = _read(folder.name)

    assert list(sentences(comparison))
    assert not any(machine.source.startswith("/") for machine in comparison.machines)
    assert (folder / "comparison.pdf").read_bytes().startswith(b"%PDF-")
    assert f"]({folder.name}/comparison.pdf)" in (FOLDER / "README.md").read_text()
    assert f"renew {folder.name} " in (FOLDER.parents[1] / "scripts" / "renew_comparisons").read_text()


def test_published_gpus_are_slower_than_an_h200() -> None:
    """Only the published family is compared, and each machine has its efficiency."""
    comparison = _read("game-of-life-h200-a40-rtx-2070")

    assert {contest.workload.partition("/")[0] for contest in comparison.contests} == {"game_of_life"}
    others = [s for contest in comparison.contests for s in contest.standings if s.machine != "H200"]
    assert {s.machine for s in others} == {"A40", "RTX 2070"}
    assert all(s.to_baseline and s.to_baseline.value < 1 and s.efficiency for s in others)


def test_two_runs_of_one_device_hardly_differ() -> None:
    """All sweeps are within run-to-run variation, and together they differ by less than a percent."""
    comparison = _read("h200-two-runs")

    assert len(comparison.differences) > 90
    assert not any(difference.significant for difference in comparison.differences)
    (whole,) = comparison.overall
    assert abs(whole.speed.value - 1) < 0.01
    assert not whole.significant
    assert not any(condition.severity == "caution" for condition in comparison.conditions)
