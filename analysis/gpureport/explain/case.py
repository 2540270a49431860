"""One point with the inputs of the model, with what hypotheses need to know beside."""

from dataclasses import dataclass
from math import ceil

from gpureport.predict import model_inputs
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Resources
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Parameters, Sweep, Workload


@dataclass(frozen=True)
class Circumstances:
    """What was known of the device while it was measured.

    Attributes:
        clock_hz: its clock then, if anything told.
        tick_s: resolution of its timer, divided among the dispatches between two time stamps; 0: no matter.
    """

    clock_hz: float | None = None
    tick_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """One point, with the inputs of the model.

    Attributes:
        device: as specified or calibrated.
        demand: of one dispatch.
        resources: of one work-item and work-group.
        once: the demand if repeats within the kernel were executed once; ``None`` if it has none.
        informed: the same point of the calibrated device, compiled; ``None`` if this is it, or there is none.
        clock_hz: the clock while measuring, if known.
        tick_s: the least difference that the timer tells, per dispatch timed.
        rounded: whether times come in whole ticks.
    """

    device: Device
    demand: Demand
    resources: Resources
    once: Demand | None = None
    informed: "Case | None" = None
    clock_hz: float | None = None
    tick_s: float = 0.0
    rounded: bool = False

    @property
    def time_s(self) -> float:
        """Seconds of one dispatch."""
        time_s = point_time(self.device, self.demand, self.resources).time_s
        return ceil(time_s / self.tick_s) * self.tick_s if self.rounded else time_s


_REPEATS = ("repeats", "passes", "rounds")
"""Parameters that say how often a kernel does the same again."""


def case_of(
    device: Device,
    workload: Workload,
    sweep: Sweep,
    parameters: Parameters,
    compiled: Resources | None,
    known: Circumstances,
) -> Case:
    """Return one point of *sweep* with the inputs of the model.

    Args:
        device: as specified or calibrated.
        workload: what is swept.
        sweep: the point's.
        parameters: the point's.
        compiled: registers and local memory as compiled, if known.
        known: of the device while it was measured.
    """
    device, demand, resources = model_inputs(device, workload, sweep, parameters, compiled)
    repeated = [name for name in _REPEATS if parameters.get(name, 1) > 1]
    unrepeated = {**parameters, **dict.fromkeys(repeated, 1)}
    once = model_inputs(device, workload, sweep, unrepeated, compiled)[1] if repeated else None
    return Case(device, demand, resources, once, clock_hz=known.clock_hz, tick_s=known.tick_s)
