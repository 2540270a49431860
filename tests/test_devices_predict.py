"""Every entry of the database predicts every workload, and what it predicts is possible."""

from dataclasses import replace
from math import isfinite

import pytest

from gpureport.data import data_dir
from gpureport.predict import limits_of, predict, predict_sweep
from gpureport.predict.ceilings import ceilings
from gpureport.spec.database import Database, is_architecture
from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Sweep

FILES = sorted(path for path in data_dir("devices").rglob("*.yaml") if not is_architecture(path))
ENTRIES = [path.relative_to(data_dir("devices")).with_suffix("").as_posix() for path in FILES]
EVERY = 30
"""One workload in so many is predicted in full on an entry, others on the next."""


def _thinned(sweep: Sweep) -> Sweep:
    """Leave the first, the middle and the last point of a sweep: too few for features."""
    points = sweep.points
    return replace(sweep, points=tuple({id(p): p for p in (points[0], points[len(points) // 2], points[-1])}.values()))


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_workload_is_predicted(database: Database, entry: str) -> None:
    """At small, medium and large sizes, each workload has a predicted time of at least every ceiling."""
    device = database.device(entry)
    limits = limits_of(device)
    found = {workload: workload.sweeps(device, limits) for workload in all_workloads()}
    assert sum(map(bool, found.values())) > 0.9 * len(found)  # a few need what not every device has
    for workload, sweeps in found.items():
        for sweep in map(_thinned, sweeps):
            prediction = predict_sweep(device, workload, sweep, "specification", intervals=False)
            assert len(prediction.points) == len(sweep.points)
            for point in prediction.points:
                where = (workload.name, point.point.label)
                assert 0 < point.time_s < float("inf"), where
                assert point.value > 0, where
                assert isfinite(point.value), where
                assert point.bottleneck in point.ceilings_s, where
                assert point.time_s >= 0.999 * max(point.ceilings_s.values()), where
                assert point.point.working_set_bytes <= limits.max_bytes * 1.001, where


@pytest.mark.parametrize(("number", "entry"), list(enumerate(ENTRIES)), ids=str)
def test_a_share_of_the_workloads_is_predicted_in_full(database: Database, number: int, entry: str) -> None:
    """With features and intervals that contain their values; each entry gets another workload."""
    device = database.device(entry)
    for workload in all_workloads()[number % EVERY :: EVERY]:
        for prediction in predict(device, workload, limits_of(device, quick=True)):
            for feature in prediction.features:
                assert feature.ci_low is not None
                assert feature.ci_high is not None
                assert 0 < feature.ci_low <= feature.value <= feature.ci_high
            assert all(point.spread > 1 for point in prediction.points)
            assert all(0 <= entry.fraction <= 1 for entry in prediction.occupancy)


def test_every_workload_is_predicted_in_full_somewhere() -> None:
    """The entries suffice for all turns."""
    assert len(ENTRIES) >= EVERY


@pytest.mark.parametrize("entry", ENTRIES)
def test_ceilings_are_in_order(database: Database, entry: str) -> None:
    """Bandwidth grows and latency shrinks from memory inwards, and every interval contains its value."""
    device = database.device(entry)
    found = ceilings(device)

    assert all(0 < each.ci_low <= each.value <= each.ci_high for each in found)
    levels = _levels(device)
    bandwidths = [each.value for each in found if each.kind == "bandwidth" and each.name in levels]
    latencies = [each.value for each in found if each.kind == "latency" and each.name in levels]
    assert len(bandwidths) == len(latencies) == len(levels)
    assert latencies == sorted(latencies, reverse=True)
    assert bandwidths[0] == min(bandwidths)


def _levels(device: Device) -> list[str]:
    return ["DRAM", *(cache.name for cache in device.caches)]
