"""Launch cost: what a dispatch costs that does nothing, alone and in a row, and how fast work-groups start."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep, Workload

_NOBODY = np.uint32(0xFFFFFFFF)


class _Empty(Workload):
    """What all dispatches of the empty kernel share: their size, and how to prove that all work-items ran."""

    family = "launch"
    source = "launch.cl"
    metric = Metric(kind="rate", unit="groups", label="work-group launch rate")

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is groups."""
        items = parameters["groups"] * parameters["local"]
        return PointKey(
            label=self.label(parameters),
            parameters=dict(parameters),
            work=self.work(parameters),
            work_items=items,
            working_set_bytes=4,
            x=sweep.points.index(parameters) if sweep.axis.quantity == "case" else items,
        )

    def label(self, parameters: Parameters) -> str:
        """Name a point."""
        return f"{format_count(parameters['groups'])} group{'s' if parameters['groups'] > 1 else ''}"

    def work(self, parameters: Parameters) -> float:
        """Return the units of work of one dispatch."""
        return parameters["groups"]

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


class Groups(_Empty):
    """An empty kernel against the number of work-groups."""

    variant = "groups"
    essential = True
    microbenchmark = True
    calibrates = ("launch_cost", "group_rate")
    title = "Empty kernel against number of work-groups"
    description = (
        "Work-groups of 64 work-items that do nothing. Few groups show what a dispatch costs; many show how fast the "
        "device starts groups, a ceiling for every kernel of small groups."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        """One sweep over the number of groups."""
        step, local = 2 if limits.quick else 1, min(64, limits.max_work_group)
        points = tuple({"groups": 2**power, "local": local} for power in range(0, 21, step))
        return (Sweep("groups", Axis(quantity="work_items", label="work-items"), points, "number of work-groups"),)


class GroupSize(_Empty):
    """An empty kernel against the size of its work-groups."""

    variant = "group_size"
    title = "Empty kernel against work-group size"
    description = (
        "Work-groups of several sizes that do nothing, few and many. Small groups start at the rate of the device's "
        "dispatcher, whatever their size; large ones at the rate at which compute units take up and retire waves."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Every size with every number of groups, as separate cases."""
        few = limits.quick or device.kind == "cpu"
        points = tuple(
            {"groups": 2**power, "local": local}
            for power in ((10, 14) if few else (10, 15, 20))
            for local in grid.work_groups(device, limits)
        )
        axis = Axis(quantity="case", label="number and size of work-groups")
        return (Sweep("group_size", axis, points, "work-group size"),)

    def label(self, parameters: Parameters) -> str:
        """Name number and size."""
        return f"{super().label(parameters)} of {parameters['local']}"


class Queued(_Empty):
    """An empty kernel, each dispatch waited for, or many in a row."""

    variant = "queued"
    microbenchmark = True
    calibrates = ("isolated_launch_cost",)
    title = "Empty kernel, alone and in a row"
    description = (
        "Dispatches that do nothing: alone, each between its own time stamps and waited for before the next is queued; "
        "and in a row, first start to last end divided by their number, which includes the gaps between them. "
        "Counted: dispatches."
    )
    metric = Metric(kind="time", unit="launches", label="time of a dispatch")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One group, one for each compute unit, and many: alone, then in a row."""
        axis = Axis(quantity="case", label="number of work-groups")
        local = min(64, limits.max_work_group)
        numbers = sorted({1, device.compute_units, 16 * device.compute_units})
        points = tuple({"groups": groups, "local": local} for groups in numbers)
        return (
            Sweep("isolated", axis, points, "one dispatch at a time", isolated=True),
            Sweep("row", axis, points, "many dispatches in a row"),
        )

    def work(self, parameters: Parameters) -> float:  # noqa: ARG002
        """Work is one dispatch, whatever its size."""
        return 1


WORKLOADS = (Groups(), GroupSize(), Queued())
