"""A stored curve, from a report or a published record."""

from dataclasses import dataclass

from gpureport.predict.occupancy import Resources
from gpureport.records.measurement import Measurement
from gpureport.workloads.model import Sweep, Workload


@dataclass(frozen=True)
class Series:
    """One measured sweep, and how to predict it.

    Attributes:
        workload: that was measured, or the equivalent of the published kernel.
        sweep: all points to predict, among them the measured ones.
        measurement: the raw samples; of published points the medians, as one sample each.
        published_resources: registers and local memory of each point, for the specification prediction.
        compiled: the same as reported by the compiler, for the calibrated prediction.
        conditions: of the measurement, as text.
    """

    workload: Workload
    sweep: Sweep
    measurement: Measurement
    published_resources: tuple[Resources | None, ...] = ()
    compiled: tuple[Resources | None, ...] = ()
    conditions: str = ""
