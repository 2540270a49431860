"""Transfers between two devices: jobs, predictions, the way that a rate suggests, plans, and copies on two devices."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest

from gpureport.cli import measuring
from gpureport.cli.app import RunOptions
from gpureport.findings.key_figures import key_figures
from gpureport.measure.backends.describe import describe
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.protocol import AllocationError
from gpureport.measure.limits import features
from gpureport.predict import limits_of, predict
from gpureport.predict.transfers import TO_HOST_CALLS, link_bytes_per_s, peer_bytes_per_s, transfer_times
from gpureport.predict.uncertainty.sensitivity import varied
from gpureport.records.report import Report
from gpureport.report.curves import curves
from gpureport.report.run.whole_device import answers, transfer_table
from gpureport.run.pipeline import Plan
from gpureport.run.pipeline import run as run_plan
from gpureport.spec.database import load_database
from gpureport.spec.models import DeviceMatch, Link, PresentDevice
from gpureport.workloads.model import Buffer, HostTraffic, Transfer
from gpureport.workloads.transfer import Devices
from tests.fake_backend import PRESENT, FakeBackend, Steps
from tests.fake_run import Copy, plan
from tests.present import LocalMeasurer, stand_in, working
from tests.toy import TOY

DATABASE = load_database()
DEVICES = Devices()
H200 = DATABASE.device("nvidia/h200_sxm")


def on_pocl(devices: str, cache: Path) -> dict[str, Any]:
    """Run :mod:`tests.two_devices` with these devices of PoCL."""
    candidate = working()
    if not candidate.device.platform.startswith("Portable"):
        pytest.skip("PoCL runs no kernels on this machine")
    environment = {"POCL_DEVICES": devices, "POCL_CACHE_DIR": str(cache), "OCL_ICD_VENDORS": candidate.runtime.library}
    line = [sys.executable, "-m", "tests.two_devices"]
    done = run(line, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return on_pocl("basic basic", tmp_path_factory.mktemp("pocl"))


@pytest.fixture(scope="module")
def measured(found: dict[str, Any]) -> Report:
    return Report.model_validate(found["report"])


def test_copies_between_two_devices_are_right_and_measured(measured: Report) -> None:
    both = [measurement.key.sweep for measurement in measured.measurements]
    assert measured.status == "complete"
    assert both == ["to_peer", "from_peer"]
    for measurement in measured.measurements:
        assert measurement.verification
        assert measurement.verification.passed
        assert len(measurement.verification.cases) == 2
        assert measurement.points[0].point.work == 4
        assert all(point.samples_s and not point.skipped for point in measurement.points)


def test_each_copy_runs_where_its_target_is_and_rewrites_its_source_first(found: dict[str, Any]) -> None:
    """Otherwise a runtime that keeps valid copies on both devices would copy within one device."""
    copies = [tuple(copy) for copy in found["copies"]]
    verified, sampled = copies[:4], copies[4:]
    on_first = [first for first, _, _ in sampled[1::2]]
    assert [first for first, _, _ in verified] == [False, True] * 2
    assert len(on_first) > 20
    assert on_first == sorted(on_first)  # first to the second device, then from it
    assert {*on_first} == {False, True}
    for (before_on_first, *before), (timed_on_first, target, source) in zip(sampled[::2], sampled[1::2], strict=True):
        assert before == [source, target]
        assert before_on_first != timed_on_first


def test_only_equal_devices_count(found: dict[str, Any], tmp_path: Path) -> None:
    other = on_pocl("basic pthread", tmp_path)
    assert found["like"] == [1, 1]
    assert other["like"] == [0, 0]
    assert not any(found["peers of CPUs"])
    answers = {"TYPE": 4, "NAME": "Two"}
    assert describe(0, "p", "v", answers.get, 3).peers == 3
    assert describe(0, "p", "v", {**answers, "TYPE": 2}.get, 3).peers == 0


@pytest.mark.parametrize("sweep", DEVICES.sweeps(H200, limits_of(H200)), ids=lambda sweep: sweep.name)
def test_each_size_has_buffers_of_its_own(sweep: Any) -> None:
    """Runtimes move whole buffers. The source is written before each sample, on its device."""
    jobs = [DEVICES.job(parameters, np.random.default_rng(0)) for parameters in sweep.points[:12]]
    names = [name for job in jobs for name in job.buffers]
    assert len(names) == len(set(names)) == 24
    assert max(max(parameters.values()) for parameters in sweep.points) == 2**30
    for job in jobs:
        (before,), (timed,) = job.before, job.dispatches
        assert isinstance(before, Transfer)
        assert isinstance(timed, Transfer)
        assert (before.copies[0].source, before.copies[0].target) == (timed.copies[0].target, timed.copies[0].source)
        assert timed.by_host
        place = job.buffers[timed.copies[0].target].place
        assert place == ("peer" if sweep.name == "to_peer" else "paired")


def test_data_pass_through_both_links_at_once() -> None:
    device = TOY.model_copy(update={"link": Link.pcie(4, 16)})
    link, size = device.host_link, 2.0**30
    times = [sum(transfer_times(device, HostTraffic(*way, "peer")).values()) for way in ((size, 0.0), (0.0, size))]
    slower = min(link_bytes_per_s(link, "to_device"), link_bytes_per_s(link, "to_host"))
    assert times[0] == times[1] == pytest.approx((1 + TO_HOST_CALLS) * link.call_s + size / slower)


@pytest.mark.parametrize(
    ("entry", "direct"),
    [
        *((f"nvidia/{name}", 450e9) for name in ("h100_sxm", "h200_sxm")),
        *((f"nvidia/{name}", 300e9) for name in ("a100_sxm_40", "a100_sxm_80")),
        *((f"nvidia/{name}", 150e9) for name in ("v100_sxm2_16", "v100_sxm2_32")),
        *((f"amd/{name}", 200e9) for name in ("mi250", "mi250x")),
        ("amd/mi300x", 64e9),
    ],
)
def test_the_interval_contains_both_ways(entry: str, direct: float) -> None:
    """Through the host at half the rate, and through the direct link, both with the time of the calls."""
    device = DATABASE.device(entry)
    staged = peer_bytes_per_s(device.host_link)
    (plateau, slow, fast) = (
        next(feature for feature in prediction.features if feature.position == "plateau")
        for factor in (1.0, 0.5, direct / staged)
        for prediction in predict(varied(device, "link.peer_speedup", factor), DEVICES, limits_of(device))[:1]
    )
    assert device.host_link.peer_bandwidth_bytes_per_s == direct
    assert plateau.value == pytest.approx(staged, rel=0.01)
    assert plateau.ci_low and plateau.ci_high  # noqa: PT018 - for the types
    assert plateau.ci_low < slow.value < fast.value < plateau.ci_high


@pytest.mark.parametrize(
    ("rate", "direct", "expected"),
    [(25e9, 450e9, "suggests staging"), (380e9, 450e9, "They take a direct link"), (25e9, None, "does not show")],
)
def test_the_rate_suggests_a_way(measured: Report, rate: float, direct: float | None, expected: str) -> None:
    findings = tuple(
        finding.model_copy(update={"observed": rate}) if finding.position == "plateau" else finding
        for finding in measured.findings
    )
    assert measured.device.link
    link = measured.device.link.model_copy(update={"peer_bandwidth_bytes_per_s": direct})
    changed = measured.model_copy(
        update={"findings": findings, "device": measured.device.model_copy(update={"link": link})}
    )
    (sentence,) = (each for each in answers(changed) if each.startswith("Copies to or from"))
    assert expected in sentence
    assert f"{rate / 1e9:.0f}" in sentence


def test_the_workload_needs_a_second_device() -> None:
    assert "second GPU" in (DEVICES.missing(features(PRESENT)) or "")
    assert DEVICES.missing(features(PRESENT.model_copy(update={"peers": 1}))) is None
    backend = OpenCLBackend(working())
    with pytest.raises(AllocationError, match="no second device"):
        backend.allocate(Buffer(4, place="peer"))


def planned(monkeypatch: pytest.MonkeyPatch, device: PresentDevice, request: RunOptions) -> Sequence[str]:
    stand_in(monkeypatch, device, make=FakeBackend)
    with measuring._planned(request, None) as (plan, _):
        assert isinstance(plan, Plan)
        return [workload.name for workload in plan.workloads]


@pytest.mark.parametrize(
    ("request_", "alone"),
    [
        (RunOptions(), False),
        (RunOptions(workloads=("transfer/pinned", "transfer/devices"), only="key-figures"), False),
        (RunOptions(workloads=("transfer",)), True),
    ],
)
def test_it_is_planned_where_there_is_a_second_device_or_by_name(
    monkeypatch: pytest.MonkeyPatch, request_: RunOptions, alone: bool
) -> None:
    several = PRESENT.model_copy(update={"peers": 7})
    assert (DEVICES.name in planned(monkeypatch, PRESENT, request_)) == alone
    assert DEVICES.name in planned(monkeypatch, several, request_)


def test_a_skipped_workload_is_no_failure() -> None:
    match = DeviceMatch(device=H200, entry=H200.id, how="chosen by the test", draft=False)
    made = replace(plan(Copy(), DEVICES), match=match)  # type: ignore[arg-type]
    report = run_plan(made, LocalMeasurer(FakeBackend()), lambda saved: None, Steps())  # noqa: ARG005
    assert "needs a second GPU" in (report.workloads[DEVICES.name].skipped or "")
    assert report.status == "complete"
    assert not report.failed_variants


def test_key_figures_and_table_have_both_directions(measured: Report) -> None:
    figures = {figure.name: figure for figure in key_figures(measured)}
    rows = transfer_table(curves(measured)).rows
    for name in ("Device to second device", "Second device to device"):
        assert figures[name].measured
        assert figures[name].predicted
        assert figures[name].specification == 450e9
    assert len(rows) == 2
    assert not any(cell == "—" for row in rows for cell in row)
    assert any("second device" in answer for answer in answers(measured))
    predicted = measured.model_copy(update={"measurements": (), "observations": (), "findings": ()})
    assert transfer_table(curves(predicted)).columns == ("transfer", "predicted", "n90 predicted")
