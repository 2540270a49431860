"""Measurements of sweeps, the conditions during the run, and power and energy."""

from statistics import median
from typing import Annotated, Literal

from gpureport.records.curves import Point, Points, Record, SweepRecord
from gpureport.records.quantities import (
    Amount,
    Compact,
    CompactPositive,
    CompactSeconds,
    Count,
    Elapsed,
    Many,
    MomentIfKnown,
    Name,
    Rough,
    RoughShare,
    Table,
    Whole,
    once,
)
from gpureport.records.tables import Rows

IDLE = "idle"
"""Name of the load without kernels."""


class MeasuredPoint(Point):
    """Raw samples of one point."""

    samples_s: Many[CompactSeconds] = ()
    """Seconds of one dispatch, for each sample in the order of measurement."""
    taken_at_s: Many[Elapsed] = ()
    """Time of each sample, in seconds since the start of the sweep. Points are interleaved in random order."""
    dispatches_per_sample: Count = 1
    """Number of dispatches that each sample timed together."""
    method: Literal["event", "batch", "host"] = "event"
    """``event``: one dispatch, timed by its own device time stamps. ``batch``: back-to-back dispatches in one in-order
    queue, from the first start to the last end, divided by their number. Such times include launch cost. ``host``: one
    or more dispatches, by the host's clock from queueing to their end, since the driver refuses time stamps."""
    skipped: str | None = None
    """Why samples are missing, in a sentence."""
    late: bool = False
    """Whether samples are missing for lack of time. ``False``: the device could not run the point."""
    discarded: Whole = 0
    """Number of samples that were discarded because of other load on the device."""
    drifted: Whole = 0
    """Number of samples that were discarded because the point's times drifted."""
    counted: Whole | None = None
    """Largest number of work-groups that the kernel counted as resident at once; ``None``: it does not count."""


class MachineCode(Record):
    """Contents of a kernel's compiled code. Counts are static: an instruction in a loop counts once."""

    form: Name
    """Form of the code: ``PTX`` (NVIDIA's virtual instructions, before ptxas), ``x86-64``, ``AArch64``."""
    counts: Table[Name, Whole]
    """Number of instructions by class: ``global load`` and ``global store`` of PTX; all of processors, ``scalar``, …"""
    global_loads: Table[Whole, Whole]
    """Number of loads from global memory, by width in bytes. On processors: all loads except those from the stack and
    of constants next to the code."""
    global_stores: Table[Whole, Whole]
    """Number of stores to global memory, by width in bytes."""
    calls: Many[str] = ()
    """Processors only: names of called functions, whose instructions are not counted."""
    vectorised: bool | None = None
    """Processors only: whether most memory accesses of the innermost loops use vectors (most arithmetic, if they access
    no memory)."""
    vector_loops: Whole = 0
    """Processors only: number of innermost loops that are mostly vector code."""
    scalar_loops: Whole = 0
    """Processors only: number of innermost loops that are mostly scalar code, including remainders of vector loops."""

    def __hash__(self) -> int:
        """Hash the fields that are not dictionaries; equal records have equal hashes."""
        return hash((self.form, self.calls, self.vectorised, sum(self.counts.values())))


class Usage(Record):
    """Registers and memory of a kernel, as its compiler or its binary reports them."""

    reported_by: Name = ""
    """Source of registers and memory: ``ptxas``, ``code object`` or ``runtime``."""
    registers_per_work_item: Whole | None = None
    """32-bit registers of a work-item; ``None`` if not reported."""
    local_memory_bytes: Whole | None = None
    """Local memory of a work-group; ``None`` if not reported."""
    private_bytes: Whole | None = None
    """Private memory of a work-item, including spilled registers; ``None`` if not reported."""
    spill_bytes: Whole | None = None
    """Bytes of spilled registers that a work-item stores (counted by ptxas) or keeps in memory (otherwise)."""
    wave_size: Count | None = None
    """Sub-group size of the compiled code if reported, else the preferred work-group size multiple."""


class Compilation(Usage):
    """Result of compiling a kernel; local memory includes that of arguments."""

    kernel: Name
    """Name of the kernel function."""
    options: str
    """Compiler options."""
    log: str = ""
    """Build log."""
    max_work_group: Count | None = None
    """Largest work-group size of this kernel; ``None`` if not reported."""
    code: MachineCode | None = None
    """Contents of the compiled code, if the runtime provides it in a known form."""


class Verification(Record):
    """Comparison of the kernel's results with the NumPy reference, before anything is timed."""

    passed: bool
    """Whether all results were equal."""
    cases: Many[str]
    """Problems that were checked, e.g. ``97 x 61, 3 generations``."""
    message: str = ""
    """After a failure: the case, the number of elements that differ, and the first of them."""


class Measurement(SweepRecord):
    """Everything measured for one sweep. Statistics are derived from it and never replace it."""

    points: Points[MeasuredPoint] = Points()
    """Points of the sweep, with their samples."""
    compilation: Rows[Compilation] = Rows()
    """Results of compiling the sweep's kernels."""
    verification: Verification | None = None
    """Comparison with the NumPy reference; ``None`` if none took place."""
    skipped: str | None = None
    """Why the whole sweep was not run, in a sentence."""
    failed: bool = False
    """Whether the sweep was skipped because a kernel did not build or launch, not because a feature is missing."""
    started_at: MomentIfKnown = ""
    """Start of the sweep: ISO 8601 time, UTC."""
    duration_s: Amount = 0.0
    """Duration of the sweep in seconds."""
    began_s: Compact | None = None
    """Start of the sweep on the clock of the run's readings (:class:`Reading`); ``None`` without readings."""

    @property
    def is_wrong(self) -> bool:
        """Whether a kernel gave wrong results, so that the sweep was not timed."""
        return self.verification is not None and not self.verification.passed

    @property
    def missing_share(self) -> float:
        """Share of the points without samples for lack of time, among those that the device can run; 0: complete."""
        accepted = [point for point in self.points if point.samples_s or point.late]
        return sum(point.late for point in accepted) / len(accepted) if accepted else 0.0


class Reading(Record):
    """State of the device and its machine at one moment. ``None`` is a missing reading, never zero.

    Fields that end in ``_total_s`` accumulate from the first reading of the run. Those of the processor are averages
    over the logical cores that the process may use, so they grow by at most one second per second.
    """

    at_s: Compact
    """Seconds since the run began."""
    measuring: bool = False
    """Whether a workload was being verified or timed."""
    occupied_total_s: Compact | None = None
    """Time in which this run may have had work on the device. In the remaining time it had none."""
    clock_hz: CompactPositive | None = None
    """Core clock (NVIDIA: SM clock); on processors the median over some cores."""
    utilisation: RoughShare | None = None
    """Share of the last second or less in which kernels of any process ran."""
    others_utilisation: RoughShare | None = None
    """Share in which kernels of other processes ran, if the driver counts processes separately; a lower bound."""
    throttle_reasons: tuple[Name, ...] | None = None
    """Why the clock is not higher: ``idle``, ``power cap``, …; empty: no reason."""
    power_w: Rough | None = None
    """Power as the sensor reports it, which may be an average over up to a second."""
    energy_j: Amount | None = None
    """Energy since some moment before the run, by the sensor's counter."""
    temperature_c: Rough | None = None
    """Temperature in °C."""
    link_generation: Count | None = None
    """Generation of PCI Express at which the link to the host runs; idle devices may lower it."""
    link_lanes: Count | None = None
    """Lanes that the link uses."""
    cpu_busy_total_s: Compact | None = None
    """Time in which cores ran anything, this process included."""
    cpu_steal_total_s: Compact | None = None
    """Time in which the hypervisor ran other virtual machines although cores had work."""
    cpu_own_total_s: Compact | None = None
    """Processor time of this process and of its children that have ended."""
    load_average: Rough | None = None
    """One-minute average of the processes that run or wait for a core."""


class Conditions(Record):
    """State of device and machine during one workload, from the end of the previous one (or the start of the run)."""

    workload: Name
    """``family/variant``."""
    readings: Rows[Reading]
    """Readings in order of time."""


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
    readings: Rows[Reading] = Rows()
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
