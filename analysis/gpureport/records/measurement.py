"""What was measured of a sweep, and under which conditions."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from gpureport.records.keys import POINTS_ONCE, Axis, Metric, PointKey, Record, SweepKey
from gpureport.records.quantities import (
    Amount,
    Compact,
    CompactPositive,
    CompactSeconds,
    Count,
    Many,
    MomentIfKnown,
    Name,
    Rough,
    RoughShare,
    Table,
    Whole,
)


class MeasuredPoint(Record):
    """The raw samples of one point."""

    point: PointKey
    samples_s: Many[CompactSeconds] = ()
    """Seconds of one dispatch, one figure a sample, in the order in which they were taken."""
    taken_at_s: Many[Compact] = ()
    """When each sample was taken, seconds since the sweep began (points are interleaved in random order)."""
    dispatches_per_sample: Count = 1
    method: Literal["event", "batch"] = "event"
    """``event``: one dispatch between its own device time stamps. ``batch``: many dispatches back to back in one
    in-order queue, first start to last end, divided by their number; then launch cost is part of the time."""
    skipped: str | None = None
    """Why there are no samples, or no more than there are, in a sentence."""
    late: bool = False
    """Whether there are none because the time was too short, not because the device refused the point."""
    discarded: Whole = 0
    """Samples that were discarded because other load disturbed the device while they were taken."""
    drifted: Whole = 0
    """Samples that were discarded because the point's times rose or fell while they were taken."""

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if len(self.taken_at_s) not in (0, len(self.samples_s)):
            raise ValueError("must have as many values in taken_at_s as in samples_s, or none")
        return self


class MachineCode(Record):
    """What a kernel's compiled code consists of. Counts are static: an instruction of a loop counts once."""

    form: Name
    """What was read: ``PTX`` (NVIDIA's virtual instructions, before ptxas), ``x86-64``, ``AArch64``."""
    counts: Table[Name, Whole]
    """Number of instructions by class: ``fp32``, ``int``, ``logic``, ``global load``, ``branch``, …"""
    global_loads: Table[Whole, Whole]
    """Loads from global memory: number by width in bytes. A processor has but one kind of memory: all loads that go
    neither to the stack nor to constants beside the code."""
    global_stores: Table[Whole, Whole]
    loaded_bytes: tuple[Whole, Whole] | None = None
    """Least and most bytes of global memory that a work-item loads on its way through the code, leaving out ways that
    access nothing; ``None``: not known (a processor's code, loops that access memory, calls)."""
    stored_bytes: tuple[Whole, Whole] | None = None
    """The same of what it stores."""
    loops: bool
    """Whether a branch leads back: then instructions are executed more often than they are counted."""
    calls: Many[str] = ()
    """Functions that are called; what they consist of is not counted."""
    vectorised: bool | None = None
    """Processors only: whether most of what the innermost loops access (or compute, if they access nothing) is taken
    as vectors."""
    vector_loops: Whole = 0
    """Innermost loops, of a processor's code, that are mostly vectors."""
    scalar_loops: Whole = 0
    """Innermost loops, of a processor's code, that are mostly scalars: remainders of vector loops, too."""

    def __hash__(self) -> int:
        """Hash what is not a dictionary; equal records have equal hashes."""
        return hash((self.form, self.loops, self.calls, self.vectorised, sum(self.counts.values())))


class Compilation(Record):
    """What the compiler made of a kernel."""

    kernel: Name
    options: str
    log: str = ""
    registers_per_work_item: Whole | None = None
    local_memory_bytes: Whole | None = None
    private_bytes: Whole | None = None
    """Spilled or private memory of one work-item, if the runtime tells."""
    spill_bytes: Whole | None = None
    """Bytes of spilled registers that a work-item stores (as ptxas counts) or keeps in memory (elsewhere)."""
    wave_size: Whole | None = None
    """The sub-group width actually used, where the code or the runtime tells; else the preferred multiple of
    work-group sizes."""
    max_work_group: Whole | None = None
    reported_by: Name = ""
    """Where registers and memory come from: ``ptxas``, ``code object`` or ``runtime``."""
    code: MachineCode | None = None
    """The compiled code, where the runtime hands it out in a form that is understood."""


class Verification(Record):
    """Whether the kernel's results equal the NumPy reference, checked before anything is timed."""

    passed: bool
    cases: Many[str]
    """What was checked, e.g. ``97 x 61, 3 generations``."""
    message: str = ""
    """For a failure: which case, how many elements differ, the first of them."""


class Measurement(Record):
    """Everything measured for one sweep; statistics are derived from it, never stored in its place."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: Annotated[Many[MeasuredPoint], POINTS_ONCE] = ()
    compilation: Many[Compilation] = ()
    verification: Verification | None = None
    skipped: str | None = None
    """Why the whole sweep was not run, in a sentence."""
    failed: bool = False
    """Whether it was not run because a kernel did not build or could not be launched, not for lack of a feature."""
    started_at: MomentIfKnown = ""
    duration_s: Amount = 0.0
    began_s: Compact | None = None
    """When it began, on the clock of the run's :class:`Reading`; ``None``: there are no readings."""
    gap_s: Amount = 0.0
    """Part of the duration in which the process did not run: it was suspended, or waited far longer than expected."""

    @property
    def missing_share(self) -> float:
        """Share of its points, of those that the device accepts, for which the time was too short; 0: complete."""
        accepted = [point for point in self.points if point.samples_s or point.late]
        return sum(point.late for point in accepted) / len(accepted) if accepted else 0.0


class Reading(Record):
    """The state of the device and of its machine at one moment. ``None`` is a missing reading, never zero.

    Values that end in ``_total_s`` count up from the first reading of the run. Those of the processor are averages over
    the logical cores that the process may use: they grow by at most one second per second.
    """

    at_s: Compact
    """Seconds since the run began."""
    measuring: bool = False
    """Whether a workload was being verified or timed."""
    occupied_total_s: Compact | None = None
    """Time in which this run could have had work on the device; it had none in the rest."""
    clock_hz: CompactPositive | None = None
    """Of instructions (NVIDIA: SM clock); of processors, the median over some cores."""
    utilisation: RoughShare | None = None
    """Share of the last moments (at most a second) in which kernels of any process ran."""
    others_utilisation: RoughShare | None = None
    """The same of other processes, where the driver counts each; at least this much."""
    other_processes: Whole | None = None
    """Number of other processes with a compute context on the device."""
    throttle_reasons: tuple[Name, ...] | None = None
    """Why the clock is not higher: ``idle``, ``power cap``, …; empty: no reason."""
    cpu_busy_total_s: Compact | None = None
    """Time in which cores ran anything, this process included."""
    cpu_steal_total_s: Compact | None = None
    """Time in which the hypervisor ran something else although cores had work."""
    cpu_own_total_s: Compact | None = None
    """Processor time of this process and of its children that have ended."""
    context_switches: Whole | None = None
    """Involuntary ones of this process, since the first reading."""
    load_average: Rough | None = None
    """Over one minute: processes that run or wait for a core."""


class Conditions(Record):
    """The readings from the end of the workload before, or the beginning of the run, to the end of this one."""

    workload: Name
    """``family/variant``."""
    readings: Many[Reading]
