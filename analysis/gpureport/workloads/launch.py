"""Launch cost of empty kernels, isolated and back-to-back, and the rate at which work-groups start."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Factors, Job, Limits, Parameters, Sweep, Workload


class _Empty(Workload):
    """Dispatches of the empty kernel. To verify it, the last work-item increments a counter."""

    family = "launch"
    source = "launch.cl"
    metric = Metric(kind="rate", unit="groups", label="work-group launch rate")
    verification_dispatches = 5
    labelled = "{groups:group/s}"
    work_of: Factors | None = ("groups",)
    working_set_of = (4,)
    verified = ({"groups": 1, "local": 7}, {"groups": 331, "local": 33})

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """One comparison per work-item; behind it a load and a store, for which code with masks may take time."""
        items = self.work_items(parameters)
        operations, chain = {"instruction": 4.0 * items, "masked": 2.0 * items}, {"int32": 4.0}
        return Demand(*self.launched(parameters), operations=operations, chain=chain, registers=8, branches=True)

    def job(self, parameters: Parameters, rng: np.random.Generator, marked: int = 0xFFFFFFFF) -> Job:
        """Dispatch work-groups; the work-item *marked* increments the counter: by default none."""
        marks = {"marks": Buffer(4, np.zeros(1, dtype=np.uint32))}
        arguments = ("marks", np.uint32(marked))
        return Job.linear(marks, "launch", self.work_items(parameters), parameters["local"], arguments)

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        return self.job(parameters, rng, self.work_items(parameters) - 1)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        return {"marks": np.array([dispatches], dtype=np.uint32)}


class Groups(_Empty):
    variant = "groups"
    essential = True
    microbenchmark = True
    calibrates = ("launch_cost", "group_rate")
    title = "Launch, number of work-groups"
    description = "Empty work-groups of 64 work-items: few measure the launch cost, many the rate of group starts."

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        local = min(64, limits.max_work_group)
        points = ({"groups": 2**power, "local": local} for power in grid.thinned(range(21), limits, 2))
        return (grid.by_work_items("groups", points, "number of work-groups"),)


class Queued(_Empty):
    variant = "queued"
    microbenchmark = True
    calibrates = ("isolated_launch_cost",)
    title = "Launch, isolated and back-to-back"
    description = (
        "Isolated dispatches end before the next is queued. Times of back-to-back dispatches include the gaps."
    )
    metric = Metric(kind="time", unit="launches", label="time of a dispatch")
    work_of = ()

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One work-group, one per compute unit, and many; isolated, then back-to-back."""
        local, label = min(64, limits.max_work_group), "number of work-groups"
        numbers = sorted({1, device.compute_units, 16 * device.compute_units})
        points = [{"groups": groups, "local": local} for groups in numbers]
        isolated = grid.by_case("isolated", label, points, "isolated dispatches")
        return replace(isolated, isolated=True), grid.by_case("batched", label, points, "back-to-back dispatches")


WORKLOADS = (Groups(), Queued())
