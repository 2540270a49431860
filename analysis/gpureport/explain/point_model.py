"""One point of a sweep as the input of the model, with what hypotheses need in addition."""

from dataclasses import dataclass

from gpureport.predict import model_inputs
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Resources
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Parameters, Sweep, Workload


@dataclass(frozen=True)
class PointModel:
    """One point of a sweep: the input of the model.

    Attributes:
        device: as specified or calibrated.
        demand: of one dispatch.
        resources: of one work-item and work-group.
        calibrated: the same point of the calibrated device, compiled; ``None`` if this is it, or there is none.
    """

    device: Device
    demand: Demand
    resources: Resources
    calibrated: "PointModel | None" = None

    @property
    def time_s(self) -> float:
        """Seconds of one dispatch."""
        return point_time(self.device, self.demand, self.resources).time_s


def point_model(
    device: Device, workload: Workload, sweep: Sweep, parameters: Parameters, compiled: Resources | None
) -> PointModel:
    """Return one point of *sweep* as the input of the model, with *compiled* resources if they are known."""
    return PointModel(*model_inputs(device, workload, sweep, parameters, compiled))
