"""Launch cost: what a dispatch costs that does nothing, and how fast the device starts work-groups."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.records import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep, Workload

_NOBODY = np.uint32(0xFFFFFFFF)


class Groups(Workload):
    """An empty kernel against the number of work-groups."""

    family = "launch"
    variant = "groups"
    essential = True
    title = "Empty kernel against number of work-groups"
    description = (
        "Work-groups of 64 work-items that do nothing. Few groups show what a dispatch costs; many show how fast the "
        "device starts groups, a ceiling for every kernel of small groups."
    )
    source = "launch.cl"
    metric = Metric(kind="rate", unit="groups", label="work-group launch rate")
    primitive = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        """One sweep over the number of groups."""
        step = 2 if limits.quick else 1
        points = tuple({"groups": 2**power, "local": 64} for power in range(0, 21, step))
        return (Sweep("groups", Axis(quantity="work_items", label="work-items"), points, "number of work-groups"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002
        """Work is groups."""
        items = parameters["groups"] * parameters["local"]
        return PointKey(
            label=f"{format_count(parameters['groups'])} groups",
            parameters=dict(parameters),
            work=parameters["groups"],
            work_items=items,
            working_set_bytes=4,
            x=items,
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """Nothing but a comparison for each work-item."""
        items = parameters["groups"] * parameters["local"]
        return Demand(
            items,
            (parameters["local"],),
            operations={"instruction": 4.0 * items},
            chain={"int32": 4.0},
            registers=8,
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:  # noqa: ARG002 - nothing to draw
        """Nobody is marked."""
        return self._job(parameters, _NOBODY)

    def _job(self, parameters: Parameters, marked: np.uint32) -> Job:
        items = parameters["groups"] * parameters["local"]
        return Job(
            buffers={"marks": Buffer(4, np.zeros(1, dtype=np.uint32))},
            dispatches=(Dispatch("launch", (items,), (parameters["local"],), ("marks", marked)),),
        )

    verification_dispatches = 5

    def verification(self) -> Sequence[Parameters]:
        """The last work-item of each dispatch counts."""
        return ({"groups": 1, "local": 7}, {"groups": 331, "local": 33})

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:  # noqa: ARG002
        """Mark the last work-item."""
        return self._job(parameters, np.uint32(parameters["groups"] * parameters["local"] - 1))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """One mark a dispatch."""
        return {"marks": np.array([dispatches], dtype=np.uint32)}


WORKLOADS = (Groups(),)
