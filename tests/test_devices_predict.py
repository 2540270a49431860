"""What is predicted is possible: on one entry of each architecture in the fast suite, on every entry with ``--all``."""

from dataclasses import replace
from math import isfinite

import pytest

from gpureport.data import data_dir
from gpureport.predict import limits_of, predict_sweep
from gpureport.predict.ceilings import ceilings
from gpureport.spec.database import Database, is_architecture, load_database
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Sweep

FILES = sorted(path for path in data_dir("devices").rglob("*.yaml") if not is_architecture(path))
ENTRIES = [path.relative_to(data_dir("devices")).with_suffix("").as_posix() for path in FILES]
FIRST = {entry.file.architecture: entry.id for entry in reversed(load_database().entries.values())}.values()
every_entry = pytest.mark.parametrize(
    "entry", [pytest.param(entry, marks=() if entry in FIRST else pytest.mark.slow) for entry in ENTRIES]
)


def _thinned(sweep: Sweep) -> Sweep:
    """Leave the first, the middle and the last point of a sweep: too few for features."""
    points = sweep.points
    return replace(sweep, points=tuple({id(p): p for p in (points[0], points[len(points) // 2], points[-1])}.values()))


@pytest.mark.slow
@pytest.mark.parametrize("entry", FIRST)
def test_every_workload_is_predicted(database: Database, entry: str) -> None:
    """Each has a time of at least every ceiling; which times is frozen elsewhere."""
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
                assert 0 < point.value < float("inf"), where
                assert isfinite(point.time_s), where
                assert point.bottleneck in point.ceilings_s, where
                assert point.time_s >= 0.999 * max(point.ceilings_s.values()), where
                assert point.point.working_set_bytes <= limits.max_bytes * 1.001, where


@every_entry
def test_ceilings_are_in_order(database: Database, entry: str) -> None:
    """Bandwidth grows and latency shrinks from memory inwards, and every interval contains its value."""
    device = database.device(entry)
    found = ceilings(device)
    levels = ["DRAM", *(cache.name for cache in device.caches)]
    bandwidths = [each.value for each in found if each.kind == "bandwidth" and each.name in levels]
    latencies = [each.value for each in found if each.kind == "latency" and each.name in levels]
    assert all(0 < each.ci_low <= each.value <= each.ci_high for each in found)
    assert len(bandwidths) == len(latencies) == len(levels)
    assert latencies == sorted(latencies, reverse=True)
    assert bandwidths[0] == min(bandwidths)
