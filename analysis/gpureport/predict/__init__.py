"""Predict a sweep from a device's description, without any measurement of the workload itself. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from gpureport.observe import features_of_points
from gpureport.predict.arithmetic import arithmetic
from gpureport.predict.features import with_intervals, with_level_names
from gpureport.predict.model import PointModel, execution_kind, point_times
from gpureport.predict.occupancy import Compiled
from gpureport.predict.sensitivity import Fact, sensitivities, spread, uncertain
from gpureport.records.curves import Basis, SweepKey
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import Device
from gpureport.workloads.model import Limits, Parameters, Sweep, Workload


@dataclass(frozen=True)
class ModelInput:
    """A device, specified or calibrated, and what is known of the code of each point, by the name of its sweep."""

    device: Device
    compiled: Mapping[str, Sequence[Compiled]] = field(default_factory=dict)

    def points(self, workload: Workload, sweep: Sweep) -> list[PointModel]:
        """Return the input of the model for each point of *sweep*."""
        known = zip_longest(sweep.points, self.compiled.get(sweep.name, ()))
        return [model_inputs(self.device, workload, sweep, parameters, code) for parameters, code in known]


@dataclass(frozen=True)
class Predicted:
    """A prediction of one sweep, and the deviations behind its intervals.

    *relative* is the relative change of each point's time per standard deviation of each of the *facts*, uncertain
    figures of the device; its shape is (points, facts).
    """

    prediction: Prediction
    facts: tuple[Fact, ...]
    relative: NDArray[np.float64]


def limits_of(device: Device, *, quick: bool = False) -> Limits:
    """Return the limits of a sweep on a device that is not present: 60 % of its memory, 25 % for one buffer."""
    size = device.memory.size_bytes
    return Limits(
        max_bytes=0.6 * size,
        max_buffer_bytes=0.25 * size,
        max_work_group=device.architecture.max_work_group,
        quick=quick,
    )


def predict(device: Device, workload: Workload, limits: Limits) -> tuple[Prediction, ...]:
    """Predict every sweep of *workload* from the specification of *device*."""
    return tuple(each.prediction for each in predict_sweeps(device, workload, workload.sweeps(device, limits)))


def predict_sweeps(device: Device, workload: Workload, sweeps: Sequence[Sweep]) -> tuple[Predicted, ...]:
    """Predict *sweeps* from the specification, the first of an essential workload with the arithmetic of a point."""
    sweeps = [sweep for sweep in sweeps if sweep.points]  # a small memory may allow no point
    predicted = [_predicted(device, workload, sweep, "specification") for sweep in sweeps]
    if workload.essential and predicted:
        keys = [each.point for each in predicted[0].prediction.points]
        largest = max(range(len(keys)), key=lambda i: keys[i].work)
        inputs = model_inputs(device, workload, sweeps[0], sweeps[0].points[largest])
        with_example = predicted[0].prediction.model_copy(update={"arithmetic": arithmetic(*inputs, keys[largest])})
        predicted[0] = replace(predicted[0], prediction=with_example)
    return tuple(predicted)


def predict_sweep(
    device: Device, workload: Workload, sweep: Sweep, kind: Basis, compiled: Sequence[Compiled] = ()
) -> Prediction:
    """Predict one sweep; *compiled* are the resources of each point, as far as they are known."""
    return _predicted(device, workload, sweep, kind, compiled).prediction


def _predicted(
    device: Device, workload: Workload, sweep: Sweep, kind: Basis, compiled: Sequence[Compiled] = ()
) -> Predicted:
    (traced, facts), points, other = uncertain(device), [], execution_kind(device).sigma
    answers = point_times(ModelInput(traced, {sweep.name: compiled}).points(workload, sweep), len(facts))
    for parameters, (answer, relative) in zip(sweep.points, answers, strict=True):
        key = workload.point(parameters, sweep)
        points.append(
            PredictedPoint(
                point=key,
                value=workload.metric.value(key.work, answer.time_s),
                bottleneck=answer.bottleneck,
                spread=spread(relative, other),
                **answer._asdict(),
            )
        )
    changes = np.array([relative for _, relative in answers])
    occupancies = [answer.occupancy for answer, _ in answers if answer.occupancy]
    found = with_level_names(features_of_points(sweep.axis, workload.metric, points), sweep.axis, points, device)
    prediction = Prediction(
        key=SweepKey(family=workload.family, variant=workload.variant, sweep=sweep.name),
        kind=kind,
        metric=workload.metric,
        axis=sweep.axis,
        points=tuple(points),
        features=with_intervals(
            found, workload.metric, points, changes, facts, in_bytes=sweep.axis.quantity == "transfer"
        ),
        occupancy=tuple({entry.work_group: entry for entry in occupancies}.values()),
        made_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        sensitivities=sensitivities(changes, facts, other),
    )
    return Predicted(prediction, facts, changes)


def model_inputs(
    device: Device, workload: Workload, sweep: Sweep, parameters: Parameters, compiled: Compiled | None = None
) -> PointModel:
    """Return the input of the model for one point of *sweep*, which was *compiled* to these resources."""
    demand, known = workload.demand(parameters, device), dict(compiled or {})
    if sweep.isolated or sweep.read_between:
        known |= {"isolated": sweep.isolated, "one_buffer": sweep.read_between}
    if demand.local_memory_bytes:
        # The compiler reported one work-group size of the sweep; local memory depends on the size.
        known.pop("local_memory_bytes", None)
    return PointModel(device, replace(demand, **known) if known else demand)
