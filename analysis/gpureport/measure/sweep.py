"""Measuring a workload: verification, then its sweeps one after the other."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpureport.errors import DeviceError, InputError
from gpureport.measure import Progress
from gpureport.measure.backends.common import Backend
from gpureport.measure.bench import Point
from gpureport.measure.kernels import verify
from gpureport.measure.limits import SweepSettings
from gpureport.measure.rounds import Rounds
from gpureport.observe.disturbance import Spans
from gpureport.records.curves import Points, SweepKey
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.workloads.model import Sweep, Workload


class Task(NamedTuple):
    """A workload to measure; its *sweeps* are measured in their order.

    *expected* are predicted seconds of a dispatch, by sweep and label of a point: estimates before the first sample.
    """

    workload: Workload
    sweeps: Sequence[Sweep]
    settings: SweepSettings
    expected: Mapping[tuple[str, str], float] = {}


def measure_workload(backend: Backend, task: Task, progress: Progress, spans: Spans) -> Iterator[Measurement]:
    """Verify a workload, then measure its sweeps, one after the other; wrong results are never timed.

    *progress* receives every sample; *spans* returns when other load disturbed the device. Yields a measurement for
    each sweep; a skipped one contains the reason.
    """
    if not task.sweeps:
        return
    workload = task.workload
    reason, verification, failed = workload.missing(backend.device), None, False
    if reason is None:
        checking = partial(progress, workload.name, "checking results", 0.0)
        checking()
        try:
            verification = verify(backend, workload, _rng(task.settings, workload.name), checking, task.sweeps)
        except (DeviceError, InputError) as error:
            reason, failed = str(error), True
        else:
            reason = None if verification.passed else f"wrong results: {verification.message}"
    for sweep in task.sweeps:
        if reason is not None:
            yield measurement_of(workload, sweep, skipped=reason, verification=verification, failed=failed)
        else:
            order = _rng(task.settings, f"{workload.name}/{sweep.name}")
            measured = measure_sweep(backend, task, sweep, order, progress, spans)
            yield measured.model_copy(update={"verification": verification})


def measure_sweep(
    backend: Backend, task: Task, sweep: Sweep, rng: np.random.Generator, progress: Progress, spans: Spans
) -> Measurement:
    """Measure one sweep of a workload that was verified.

    If the device refuses a point, its ``skipped`` contains the reason; if it refuses all points, the sweep's does.
    """
    begun_at, start = datetime.now(UTC), backend.now()
    workload, seed = task.workload, int(rng.integers(2**32))
    reasons = [(parameters, workload.unsupported(parameters, backend.device)) for parameters in sweep.points]
    keys = [workload.point(parameters, sweep) for parameters, reason in reasons if reason is None]
    points = [
        Point(workload, key, seed, expected_s=task.expected.get((sweep.name, key.label)), isolated=sweep.isolated)
        for key in keys
    ]
    run = Rounds(backend, task.settings, partial(progress, workload.name, sweep.title), spans)
    try:
        points = run.measure(points, sweep.coarse, rng)
    finally:
        backend.clear()
    absent = [MeasuredPoint(point=workload.point(p, sweep), skipped=reason) for p, reason in reasons if reason]
    reasons_of = (*(point.skipped for point in points), *(point.skipped for point in absent))
    refused = all(point.skipped and not point.samples for point in points)
    return measurement_of(
        workload,
        sweep,
        points=Points((*(each.record(by_host=backend.device.timed_by_host) for each in points), *absent)),
        compilation=tuple(run.compilations),
        skipped=next(filter(None, reasons_of), "the sweep has no points on this device") if refused else None,
        failed=refused and any(point.failed for point in points),
        started_at=begun_at.isoformat(timespec="seconds"),
        duration_s=backend.now() - start,
    )


def measurement_of(workload: Workload, sweep: Sweep, **fields: Any) -> Measurement:  # noqa: ANN401 - by field
    """Return the measurement of a sweep with these *fields*; without points, it was not measured."""
    key = SweepKey(family=workload.family, variant=workload.variant, sweep=sweep.name)
    return Measurement(key=key, metric=workload.metric, axis=sweep.axis, **fields)


def _rng(settings: SweepSettings, name: str) -> np.random.Generator:
    """Return a separate generator for each sweep, so that its data do not depend on the other sweeps."""
    return np.random.default_rng([settings.seed, zlib.crc32(name.encode())])
