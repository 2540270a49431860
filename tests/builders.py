"""Records that differ from others in a few fields, and observations of what was predicted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from gpureport.predict import limits_of, predict_sweep
from gpureport.predict.calibration.learned import ObservedSweep
from gpureport.records.curves import Level, Observation, ObservedPoint, PointKey, Points
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.database import Database
from gpureport.spec.host import HostProcessor, ListedCache, ProcessorFacts
from gpureport.spec.models import Device
from gpureport.workloads import select

Record = TypeVar("Record", bound=BaseModel)


def altered(record: Record, **fields: Any) -> Record:
    """Return a copy of *record* with other values in some of its *fields*, which are not validated."""
    return record.model_copy(update=fields | ({"points": Points(fields["points"])} if "points" in fields else {}))


def precise(value: float) -> dict[str, float]:
    """Return the fields of a value with an interval of 1 % to either side."""
    return {"value": value, "ci_low": 0.99 * value, "ci_high": 1.01 * value}


def observed_like(prediction: Prediction, factor: float = 1.0, *, shift: float = 1.0) -> Observation:
    """Return an observation that differs from a prediction by a factor in value, and in the place of its cliffs."""
    numbers: dict[str, str] = {}
    for f in prediction.features:
        if f.feature == "cliff" or f.position == "plateau":
            numbers.setdefault(str(f.level), f"level {len(numbers) + 1}")
    factors = {"cliff": shift, "rate": factor, "taper": 1.0}
    features = [
        altered(f, level=Level(name=numbers.get(str(f.level), str(f.level))), **precise(f.value * factors[f.feature]))
        for f in prediction.features
    ]
    points = tuple(
        ObservedPoint(
            point=p.point,
            time_s=p.time_s / factor,
            value=p.value * factor,
            ci_low=p.value * factor * 0.99,
            ci_high=p.value * factor * 1.01,
            samples=7,
        )
        for p in prediction.points
    )
    return Observation(
        key=prediction.key, metric=prediction.metric, axis=prediction.axis, points=points, features=tuple(features)
    )


def shown(real: Device, draft: Device, names: Sequence[str]) -> list[ObservedSweep]:
    """Return what workloads show on a device that behaves as *real*, in the sweeps of the *draft*."""
    return [
        ObservedSweep(workload, sweep, observed_like(predict_sweep(real, workload, sweep, "specification")))
        for workload in select(tuple(names))
        for sweep in workload.sweeps(draft, limits_of(draft, quick=True))
    ]


def host_of(processors: int, memory_bytes: int | None = None, **facts: Any) -> HostProcessor:
    """Return a machine; *facts* may have caches as tuples of the size, their instances, and who shares one."""
    listed = {
        name: ListedCache(**dict(zip(ListedCache.model_fields, fact, strict=False)))
        if isinstance(fact, tuple)
        else fact
        for name, fact in facts.items()
    }
    return HostProcessor(ProcessorFacts(processors=processors, **listed), memory_bytes)


def on_processor(database: Database, host: HostProcessor) -> Database:
    """Return a copy of *database* on a machine with another processor."""
    other = replace(database)
    other.host = host
    return other


def predicted_point(
    size: float, value: float, level: str | Level = "", bottleneck: str = "", **changes: Any
) -> PredictedPoint:
    """Return a point of a rate: *size* work-items do as much work on as many bytes."""
    key = PointKey(label=f"{size:g}", parameters={}, work=size, work_items=int(size), working_set_bytes=size, x=size)
    return PredictedPoint(
        point=key,
        time_s=size / value,
        value=value,
        ceilings_s={bottleneck: 1.0} if bottleneck else {},
        bottleneck=bottleneck,
        level=level,
        **changes,
    )
