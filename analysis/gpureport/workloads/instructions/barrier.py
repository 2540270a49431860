"""The cost of a barrier by work-group size."""

from dataclasses import replace

from gpureport.records.keys import Axis, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.instructions.cases import ARITHMETIC
from gpureport.workloads.instructions.chains import NO_BARRIER
from gpureport.workloads.instructions.rate import Rate
from gpureport.workloads.model import Features, Limits, Parameters, Sweep


class Barrier(Rate):
    """The work-group size varies."""

    variant = "barrier"
    calibrates = ("barrier_cost",)
    title = "Barriers by work-group size"
    description = (
        "All compute units execute work-groups that wait at one barrier after another. A barrier takes a time for each "
        "wave and a constant time, which matters most for small work-groups. Counted: barriers times work-items."
    )
    cases = tuple(case for case in ARITHMETIC if case.name == "barrier")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Work-groups of one wave, two, four ..., with a constant number of work-items; none on a CPU."""
        if device.is_cpu:
            return ()
        (sweep,) = super().sweeps(device, limits)
        (point,) = sweep.points
        items, wave = point["groups"] * point["local"], device.architecture.wave_size
        sizes = [size for size in grid.work_groups(device, limits) if size % wave == 0]
        points = tuple({**point, "local": size, "groups": items // size} for size in sizes)
        return (replace(sweep, name="group_size", axis=_AXIS, points=points, title="work-group size"),)

    def missing(self, features: Features) -> str | None:
        """A CPU has no barriers to measure."""
        return NO_BARRIER if features.kind == "cpu" else None

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Label the point by its work-group size."""
        size = parameters["local"]
        return super().point(parameters, sweep).model_copy(update={"label": f"groups of {size}", "x": float(size)})


_AXIS = Axis(quantity="case", label="work-items of a work-group")

WORKLOADS = (Barrier(),)
