"""Power and energy of a device while kernels run, and while it is idle."""

from statistics import median
from typing import Annotated

from gpureport.records.keys import Record
from gpureport.records.quantities import Amount, Compact, CompactPositive, Many, Name, Rough, once
from gpureport.records.tables import Rows

IDLE = "idle"
"""Name of the load without kernels."""


class PowerReading(Record):
    """State of the device at one moment; ``None`` is a missing reading, never zero."""

    at_s: Compact
    """Seconds since the first reading of all loads."""
    power_w: Rough | None = None
    """Power as the sensor reports it, which may be an average over up to a second."""
    clock_hz: CompactPositive | None = None
    """Core clock."""
    memory_clock_hz: CompactPositive | None = None
    temperature_c: Rough | None = None
    """Temperature in °C."""
    throttle_reasons: tuple[Name, ...] | None = None
    """Why the clock is not higher; empty: no reason."""


class PowerLoad(Record):
    """Power and energy while one kernel ran back to back, or without any kernel."""

    name: Name
    """What the kernel does: ``memory read``, ``fp32 FMA``; ``idle``."""
    workload: Name = ""
    """``family/variant``."""
    point: Name = ""
    """Label of the point."""
    unit: Name = ""
    """Unit of the work: ``B``, ``FLOP``, ``cells``."""
    work: Compact = 0.0
    """Units of work of all dispatches."""
    duration_s: Amount = 0.0
    """Time in which they ran, gaps included."""
    power_w: CompactPositive | None = None
    """Mean power: change of the energy counter / time between two of its changes, after the clocks have settled.
    Without a counter: median of the second half of the readings."""
    by_counter: bool = False
    """Whether the power is from the energy counter."""
    readings: Rows[PowerReading] = ()
    """Readings during the load."""
    skipped: str | None = None
    """Why it was not measured, in a sentence."""

    @property
    def rate(self) -> float | None:
        """Work per second."""
        return self.work / self.duration_s if self.work and self.duration_s else None

    @property
    def energy_per_work_j(self) -> float | None:
        """Energy of the whole board per unit of work, idle power included."""
        return self.power_w / self.rate if self.power_w and self.rate else None

    @property
    def clock_hz(self) -> float | None:
        """Median core clock."""
        known = [reading.clock_hz for reading in self.readings if reading.clock_hz]
        return median(known) if known else None


class Energy(Record):
    """Power and energy of the run's device."""

    sensor: Name = ""
    """What reported them: ``NVML``, ``hwmon``, ``RAPL``; empty if nothing did."""
    scope: Name = ""
    """What the power includes: ``board``, ``processor packages``."""
    missing: str = ""
    """Why there are no readings, in a sentence."""
    limit_w: CompactPositive | None = None
    """Power limit that the driver enforces."""
    loads: Annotated[Many[PowerLoad], once("load", lambda each: each.name, lambda each: each.name)] = ()
    """Idle first."""

    def load(self, name: str) -> PowerLoad | None:
        """Return the load with a name; ``None`` if it is missing or has no power."""
        return next((load for load in self.loads if load.name == name and load.power_w), None)
