"""``import gpureport``: its page of examples, run as it stands, and what the page does not show."""

import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import gpureport
from gpureport.compare.records import Landmark
from gpureport.errors import InputError
from gpureport.notebook import ReportFrames
from gpureport.records.curves import CurveFeature
from gpureport.records.finding import Finding, Verdict
from tests.make_report import make_report

ROOT = Path(__file__).parents[1]
REPORT = make_report()


def test_the_page_does_as_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "reports").symlink_to(ROOT / "reports")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")

    ran = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)

    assert ran.attempted > 15
    assert ran.failed == 0
    assert (tmp_path / "read.svg").read_text().startswith("<?xml")


def test_importing_is_quick_and_keeps_functions() -> None:
    code = (
        "import sys, gpureport; heavy = {'numpy', 'pandas', 'pydantic', 'yaml'} & set(sys.modules); "
        "import gpureport.predict.model, gpureport.compare.records; "
        "print(heavy, gpureport.predict.__module__, gpureport.compare.__module__, gpureport.__version__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ended.stdout.split() == ["set()", "gpureport.notebook", "gpureport.notebook", gpureport.__version__]
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'"):
        gpureport.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_machines_are_named_as_on_the_command_line(tmp_path: Path) -> None:
    for name in ("rx_7900_xt_particles.yaml", "hd_630_bit_transpose.yaml"):
        shutil.copy(ROOT / "reports" / "published" / name, tmp_path)
    found = gpureport.compare([tmp_path, "h200"], baseline="H200", workloads="particles")

    assert set(found.standings["machine"]) == {"rx_7900_xt_particles", "h200"}
    with pytest.raises(InputError, match="'h200' is no list"):
        gpureport.compare("h200")
    with pytest.raises(InputError, match="machines: 3 is no machine; give a name"):
        gpureport.compare({"a": 3, "b": 4})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="'5' is no text"):
        gpureport.predict(5)  # type: ignore[arg-type]


def test_every_record_has_its_row() -> None:
    frames = ReportFrames(REPORT)

    fields = {"family", "variant", "sweep", *(name for name in Finding.model_fields if name != "key")}
    assert set(frames.findings.columns) == fields
    assert len(frames.findings) == len(REPORT.findings)
    assert set(frames.findings["verdict"]) <= {str(verdict) for verdict in Verdict}
    features = [feature for p in REPORT.predictions for feature in p.features]
    assert len(frames.features) == len(features) + sum(len(o.features) for o in REPORT.observations)
    assert set(CurveFeature.model_fields) < set(frames.features.columns)
    assert len(frames.samples) == sum(len(p.samples_s) for m in REPORT.measurements for p in m.points)


def test_a_point_has_what_was_predicted_and_observed_of_it() -> None:
    frames = ReportFrames(REPORT)
    observation = REPORT.observations[0]
    prediction = next(p for p in REPORT.predictions if p.key == observation.key and p.kind == "specification")
    key = dict(observation.key)
    own = frames.points.query(" and ".join(f"{name} == @key['{name}']" for name in key)).set_index("point")

    assert own.index.is_unique
    for observed in observation.points:
        row = own.loc[observed.point.label]
        assert list(row[["observed", "ci_low", "ci_high"]]) == [observed.value, observed.ci_low, observed.ci_high]
    for predicted in prediction.points:
        row = own.loc[predicted.point.label]
        assert row["specification"] == predicted.value
        assert row["specification_low"] <= row["specification"] <= row["specification_high"]


def test_a_comparison_has_a_row_for_each_standing_and_difference() -> None:
    one = ReportFrames(REPORT)
    beside = gpureport.compare([one, one])

    assert list(beside.machines["name"]) == [one.device, f"{one.device} (2)"]
    assert len(beside.standings) == sum(len(contest.standings) for contest in beside.comparison.contests)
    second = beside.standings[beside.standings["machine"] == f"{one.device} (2)"]
    assert second["speed"].tolist() == pytest.approx([1.0] * len(second))
    assert (second["speed_low"].isna() | (second["speed_low"] <= 1)).all()
    assert len(beside.differences) == len(REPORT.measurements)
    assert not beside.differences["significant"].any()
    several = gpureport.compare({"a": [one, one], "b": one}, minimum_effect=0.5)
    assert list(several.machines["runs"]) == [2, 1]
    assert several.comparison.minimum_effect == 0.5
    joined = pd.merge(one.findings, beside.differences, on=["family", "variant", "sweep"])
    assert len(joined) >= len(one.findings) > 0
    assert set(beside.landmarks.columns) == {*Landmark.model_fields, "family", "variant", "sweep"} - {"key"}
