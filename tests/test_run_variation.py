"""``scripts/run_variation.py`` on synthetic runs: the files it opens, the runs it makes and the pairs it counts."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import run_variation as script
from gpureport.errors import InputError
from gpureport.records.report import Report, save_report
from tests.make_report import make_report

REPORT = make_report()


def _runs(between: float, number: int = 4) -> list[Report]:
    rng = np.random.default_rng(1)
    factors = np.exp(rng.normal(0, between, (number, len(REPORT.measurements))))
    return [
        REPORT.model_copy(
            update={
                "measurements": tuple(script._scaled(m, f) for m, f in zip(REPORT.measurements, of_run, strict=True))
            }
        )
        for of_run in factors
    ]


def test_reports_are_files_or_folders_of_one_device(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "folders" / f"run-{number}").mkdir(parents=True)
        save_report(REPORT, tmp_path / "folders" / f"run-{number}" / "report.json")
    device = REPORT.device.model_copy(update={"name": "Another"})
    save_report(REPORT, tmp_path / "a.json")

    assert len(script.reports_in(tmp_path)) == 1
    assert len(script.reports_in(tmp_path / "folders")) == 2
    save_report(REPORT.model_copy(update={"device": device}), tmp_path / "b.json")
    with pytest.raises(InputError, match="of several devices"):
        script.reports_in(tmp_path)


def test_synthetic_runs_vary_as_the_real_ones() -> None:
    runs = _runs(0.05)
    rng = np.random.default_rng(2)
    real = script.variations(runs)
    made = script.variations([script.synthetic(runs, rng) for _ in range(60)])

    assert set(made) == set(real)
    assert np.median([made[sweep] / real[sweep] for sweep in real]) == pytest.approx(1, rel=0.15)


def test_equal_runs_and_slower_devices_are_counted(tmp_path: Path) -> None:
    """Runs that vary little meet both targets; a missed target makes the exit code 1."""
    quiet, wild = _runs(0.002), _runs(0.001)
    wild[0] = script.slower(wild[0], 20)

    found = list(script.lines(script.grouped(quiet, 1), 5.0))
    assert [kept for _, kept in found] == [True, True]
    assert found[0][0].startswith("equal: 0 of 6 pairs show")
    assert found[1][0].startswith("slower by 5 %: 12 of 12 are detected")
    text, kept = next(script.lines(script.grouped(wild, 1), 5.0))
    assert text.startswith("equal: 3 of 6 pairs show")
    assert not kept
    assert [len(machine) for machine in script.grouped(quiet, 2)] == [2, 2]
    app = script.typer.Typer()
    app.command()(script.main)
    for number, run in enumerate(wild):
        save_report(run, tmp_path / f"{number}.json")
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 1
    assert "MISS" in result.output
