"""What a barrier costs work-groups of every size."""

from dataclasses import replace
from typing import ClassVar

from gpureport.records.keys import Axis, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.instructions.cases import ARITHMETIC, Case
from gpureport.workloads.instructions.chains import NO_BARRIER
from gpureport.workloads.instructions.rate import Rate
from gpureport.workloads.model import Features, Limits, Parameters, Sweep


class Barrier(Rate):
    """The rate of barriers against the size of the work-groups that wait at them."""

    variant = "barrier"
    calibrates = ("barrier_cost",)
    title = "Barriers against work-group size"
    description = (
        "Every compute unit is full of work-groups that do nothing but wait at one barrier after the other. A barrier "
        "costs the time of its waves, and some of its own, which small work-groups feel most. Counted: barriers times "
        "work-items."
    )
    cases: ClassVar[tuple[Case, ...]] = tuple(case for case in ARITHMETIC if case.name == "barrier")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Work-groups of one wave, two, four ... and as many of them as make the same number of work-items."""
        if device.kind == "cpu":
            return ()
        (sweep,) = super().sweeps(device, limits)
        (point,) = sweep.points
        items, width = point["groups"] * point["local"], device.architecture.wave_size
        sizes = [size for size in grid.work_groups(device, limits) if size % width == 0]
        points = tuple({**point, "local": size, "groups": items // size} for size in sizes)
        return (replace(sweep, name="group_size", axis=_AXIS, points=points, title="work-group size"),)

    def missing(self, features: Features) -> str | None:
        """A processor leaves nothing of barriers."""
        return NO_BARRIER if features.kind == "cpu" else None

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Label the point by the size of its work-groups."""
        size = parameters["local"]
        return super().point(parameters, sweep).model_copy(update={"label": f"groups of {size}", "x": float(size)})


_AXIS = Axis(quantity="case", label="work-items of a work-group")

WORKLOADS = (Barrier(),)
