"""``gpureport devices new --report``: the draft of a device contains the values that its run measured."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpureport.cli import main
from gpureport.predict import limits_of, predict_sweep
from gpureport.predict.calibration.learned import FURTHER
from gpureport.records.measurement import IDLE, Energy, MeasuredPoint, Measurement, PowerLoad
from gpureport.records.report import Report, save_report
from gpureport.spec.check import check_folder
from gpureport.spec.database import load_database
from gpureport.spec.models import Device, Link
from gpureport.workloads import select
from tests.kept import CPU, REPORTS
from tests.make_report import make_machine, make_report

H200 = load_database().device("nvidia/h200_sxm")
L1, L2 = H200.caches
RATES = H200.architecture.rates_per_cycle
REAL = H200.model_copy(
    update={
        "caches": (L1.model_copy(update={"sector_bytes": 64, "capacity_bytes": 128 * 1024.0}), L2),
        "architecture": H200.architecture.model_copy(update={"rates_per_cycle": {**RATES, "fp64": 2.0}}),
        "link": Link.pcie(5, 16).model_copy(update={"latency_s": 3e-6, "call_s": 30e-6}),
    }
)
"""The measured device."""


def _measured(real: Device) -> Iterator[Measurement]:
    """Yield the measurements of a device that behaves as predicted, in the sweeps of the entry."""
    for workload in select((*FURTHER, "memory/latency", "residency/work_groups")):
        for sweep in workload.sweeps(H200, limits_of(H200, quick=True)):
            prediction = predict_sweep(real, workload, sweep, "specification")
            points = tuple(
                MeasuredPoint(
                    point=point.point,
                    samples_s=tuple(point.time_s * (1 + 1e-4 * i) for i in range(5)),
                    counted=7 if workload.family == "residency" else None,
                )
                for point in prediction.points
            )
            yield Measurement(key=prediction.key, metric=workload.metric, axis=sweep.axis, points=points)


@pytest.fixture(scope="module")
def report() -> Report:
    machine = make_machine()
    opencl = machine.opencl.model_copy(update={"link_generation": 5, "link_lanes": 16})
    idle = PowerLoad(name=IDLE, power_w=75.0)
    return make_report().model_copy(
        update={
            "device": H200,
            "machine": machine.model_copy(update={"opencl": opencl}),
            "measurements": tuple(_measured(REAL)),
            "energy": Energy(sensor="NVML", scope="board", limit_w=650.0, loads=(idle,)),
        }
    )


@pytest.fixture(scope="module")
def draft(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drafts")
    save_report(report, folder / "report.json")
    path = folder / "new.yaml"
    assert main(["devices", "new", "--report", str(folder / "report.json"), "-o", str(path)]) == 0
    return path


def test_a_draft_has_the_values_of_the_run(draft: Path) -> None:
    device = load_database([draft.parent]).device("new")
    cache = device.caches[0]

    assert not [problem for problem in check_folder([draft]) if problem.severity == "error"]
    assert (cache.sector_bytes, device.board_power_w, str(device.link)) == (64, 650, "PCIe 5.0 x16")
    assert cache.capacity_bytes == pytest.approx(128 * 1024, rel=0.05)
    assert device.architecture.rates_per_cycle["fp64"] == pytest.approx(2, rel=0.05)
    assert device.link is not None
    assert device.link.latency_s == pytest.approx(3e-6, rel=0.05)
    assert device.link.call_s == pytest.approx(30e-6, rel=0.05)


def test_values_name_the_run_and_results_without_a_field_are_comments(draft: Path, report: Report) -> None:
    text = draft.read_text()
    written = yaml.safe_load(text)
    comments = "\n".join(line for line in text.splitlines() if line.startswith("# "))

    assert written["sources"]["run"]["text"].startswith(f"gpureport run {report.created_at[:10]}, ")
    assert written["caches"]["L1"]["sector"]["source"] == written["rates"]["fp64"]["source"] == "run"
    assert "conflict: " in written["rates"]["fp64"]["note"]
    assert written["board_power"]["kind"] == written["link"]["lanes"]["kind"] == "queried"
    assert "75 W" in written["board_power"]["note"]
    assert "copies of pinned memory reach" in comments
    assert "rules differ: groups of 64: 7 instead" in comments


@pytest.mark.parametrize("name", [CPU, pytest.param("nvidia-h100", marks=pytest.mark.slow)])
def test_drafts_of_kept_reports_pass_the_check(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"

    assert main(["devices", "new", "--report", str(REPORTS / name), "-o", str(path)]) == 0
    assert not [problem for problem in check_folder([path]) if problem.severity == "error"]
    assert load_database([tmp_path]).device("new").provenance["memory.latency"].kind == "measured"


def test_a_relative_lends_what_a_run_did_not_measure(report: Report, tmp_path: Path) -> None:
    save_report(report, tmp_path / "report.json")
    path = tmp_path / "drafts" / "new.yaml"
    arguments = ["--report", str(tmp_path / "report.json"), "--from", "nvidia/h100_sxm", "-o", str(path)]

    assert main(["devices", "new", *arguments]) == 0
    device = load_database([path.parent]).device("new")
    assert device.memory.bandwidth_bytes_per_s == 3.35e12
    assert device.caches[0].sector_bytes == 64


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--device", "0"), "--report: cannot be combined with --device"),
        ((), "contains no measurements of a device"),
    ],
)
def test_a_report_must_have_measured_a_device(
    arguments: tuple[str, ...], sentence: str, report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_report(report.model_copy(update={"measurements": ()}), tmp_path / "report.json")

    assert main(["devices", "new", "--report", str(tmp_path / "report.json"), *arguments]) == 2
    assert sentence in capsys.readouterr().err
