"""One point of a sweep as the input of the model, with what hypotheses need in addition."""

from dataclasses import dataclass
from math import ceil

from gpureport.predict import model_inputs
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Resources
from gpureport.spec.models import Device
from gpureport.workloads.model import REPEATS, Demand, Parameters, Sweep, Workload


@dataclass(frozen=True)
class TimingConditions:
    """Clock and timer of the device while it was measured.

    Attributes:
        clock_hz: ``None`` if unknown.
        tick_s: resolution of the timer, divided by the number of dispatches between two time stamps; 0: ignored.
    """

    clock_hz: float | None = None
    tick_s: float = 0.0


@dataclass(frozen=True)
class PointModel:
    """One point of a sweep: the input of the model.

    Attributes:
        device: as specified or calibrated.
        demand: of one dispatch.
        resources: of one work-item and work-group.
        once: the demand if repeats within the kernel ran once; ``None`` if it has none.
        calibrated: the same point of the calibrated device, compiled; ``None`` if this is it, or there is none.
        conditions: clock and timer while measuring.
        rounded: whether times are rounded up to whole ticks.
    """

    device: Device
    demand: Demand
    resources: Resources
    once: Demand | None = None
    calibrated: "PointModel | None" = None
    conditions: TimingConditions = TimingConditions()
    rounded: bool = False

    @property
    def time_s(self) -> float:
        """Seconds of one dispatch."""
        time_s, tick_s = point_time(self.device, self.demand, self.resources).time_s, self.conditions.tick_s
        return ceil(time_s / tick_s) * tick_s if self.rounded else time_s


def point_model(
    device: Device,
    workload: Workload,
    sweep: Sweep,
    parameters: Parameters,
    compiled: Resources | None,
    conditions: TimingConditions,
) -> PointModel:
    """Return one point of *sweep* as the input of the model, with *compiled* resources if they are known."""
    device, demand, resources = model_inputs(device, workload, sweep, parameters, compiled)
    repeated = [name for name in REPEATS if parameters.get(name, 1) > 1]
    unrepeated = {**parameters, **dict.fromkeys(repeated, 1)}
    once = model_inputs(device, workload, sweep, unrepeated, compiled)[1] if repeated else None
    return PointModel(device, demand, resources, once, conditions=conditions)
