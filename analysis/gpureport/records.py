"""The records that flow from room to room: prediction, measurement, observation, finding.

Data flows one way: ``Device`` + workload + sweep → :class:`Prediction`; workload + sweep + a live device →
:class:`Measurement`; measurement → :class:`Observation`; prediction + observation → :class:`Finding`. All of
them together are the report document (``gpureport.report.document``). Every record is immutable, holds SI base
units with the unit in the field's name, and is stored in ``report.json`` as it is.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpureport.quantities import (
    Amount,
    Compact,
    CompactLogarithm,
    CompactPositive,
    CompactSeconds,
    CompactShare,
    CompactSigned,
    Count,
    Items,
    Many,
    MomentIfKnown,
    Name,
    Rough,
    RoughShare,
    Table,
    Whole,
    once,
)


class Record(BaseModel):
    """An immutable record. Fields that a reader does not know are ignored: adding one breaks no older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Feature = Literal["cliff", "taper", "rate"]
"""What a finding is about: where a cache gives out, how much work fills the device, how fast it then runs."""

Position = Literal["departure", "midpoint", "arrival", "knee", "n90", "plateau", "peak", "case"]
"""Which point of the feature. Cliff: *departure* (95 % of the upper plateau), *midpoint* (half way, in log),
*arrival* (within 5 % of the lower plateau). Taper: *knee* (flat time x peak rate), *n90* (90 % of the plateau).
Rate: *plateau* (a level of the curve), *peak* (the best point of a sweep), *case* (one of several separate cases)."""


class Metric(Record):
    """What a curve's value is: work per second, or seconds per unit of work."""

    kind: Literal["rate", "time"]
    """``rate``: value = work / time (higher is better). ``time``: value = time / work (lower is better)."""
    unit: Name
    """The unit of the work: ``B`` (bytes as counted in the workload's title), ``cells``, ``particles``,
    ``matrices``, ``loads``, ``launches``, ``groups``."""
    label: Name
    """What the reader sees on the axis, without the unit: ``read bandwidth``, ``latency``."""

    def value(self, work: float, time_s: float) -> float:
        """Return the curve's value: unit/s for a rate, s/unit for a time."""
        return work / time_s if self.kind == "rate" else time_s / work


class Axis(Record):
    """What a sweep varies."""

    quantity: Literal["working_set", "work_items", "work_group", "case"]
    """``working_set``: x is bytes; ``work_items``: x is a count; ``work_group``: x is the shape's index; ``case``: x
    numbers separate cases (an instruction, a stride), each of which is held against its own prediction."""
    label: Name


class SweepKey(Record):
    """Which curve: the identity that predictions, measurements, observations and findings share."""

    workload: Name
    """The family, e.g. ``game_of_life``."""
    variant: Name
    """The variant, e.g. ``packed64``."""
    sweep: Name
    """The sweep, e.g. ``grid_size``."""

    def __str__(self) -> str:
        """``family/variant/sweep``."""
        return f"{self.workload_name}/{self.sweep}"

    @property
    def workload_name(self) -> str:
        """``family/variant``, as workloads are named."""
        return f"{self.workload}/{self.variant}"


class PointKey(Record):
    """One point of a sweep: what was asked for, and its size in the units that models and plots use."""

    label: Name
    """How a table names it, e.g. ``4096 x 4096`` or ``16 x 16``."""
    parameters: Table[Name, Whole]
    work: CompactPositive
    """Units of work of one dispatch (in-kernel repeats included), see :class:`Metric`."""
    work_items: Items
    working_set_bytes: Compact
    """Footprint: all lines of all buffers touched between reuses."""
    x: Compact
    """Position on the sweep's axis."""


POINTS_ONCE = once(
    "point",
    lambda each: frozenset(each.point.parameters.items()) or each.point.label,
    lambda each: each.point.label,
)
"""Of a sweep."""


class Occupancy(Record):
    """How much of a compute unit the kernel may fill, and what limits it."""

    work_group: Many[Count]
    registers_per_work_item: Whole
    local_memory_bytes: Whole
    """Local memory of one work-group, before granules and reserves."""
    source: Literal["compiled", "assumed"]
    """``compiled``: the driver's own figures; ``assumed``: the workload's estimate, before compiling."""
    groups_per_compute_unit: Whole
    waves_per_compute_unit: Whole
    max_waves_per_compute_unit: Whole
    fraction: Amount
    """Resident waves / most waves a compute unit holds, 0…1."""
    limiter: Name
    """``work-groups``, ``waves``, ``registers``, ``local memory``, or ``work-group size`` if none fits."""


class PredictedPoint(Record):
    """What the model says of one point."""

    point: PointKey
    time_s: CompactPositive
    """Predicted time of one dispatch."""
    value: CompactPositive
    """The same in the sweep's metric."""
    ceilings_s: Table[Name, Compact]
    """Time that each ceiling alone would take: ``launch``, ``groups``, ``latency``, ``L1``, ``L2``, ``DRAM``,
    ``int32``, ``shuffle``, …"""
    binding: Name
    """The largest of the ceilings."""
    level: Name = ""
    """The memory level that mostly serves the working set."""
    operations: Compact = 0.0
    """Lane operations of the dispatch, all classes but memory (the roofline's y = operations / time)."""
    memory_bytes: Compact = 0.0
    """Bytes that would move to and from memory if no cache held anything from before (whole lines, with fill)."""
    spread: Annotated[Rough, Field(ge=1)] = 1.0
    """Time and value lie between themselves / spread and themselves x spread in 95 % of cases, if the uncertainties of
    the device's facts are right; 1: no interval was worked out."""


class CurveFeature(Record):
    """One position of one feature of a curve, predicted or observed."""

    feature: Feature
    position: Position
    level: Name
    """Which level it belongs to: ``L2`` (the level that gives out), ``device`` (taper), ``DRAM`` (plateau)."""
    value: CompactPositive
    unit: Name
    """``B`` for cliffs, ``work-items`` for tapers, the metric's unit (``B/s``, ``s``, ``cells/s``) for rates."""
    ci_low: CompactPositive | None = None
    ci_high: CompactPositive | None = None
    """95 % interval; ``None`` for a prediction that has none."""
    best_point: CompactPositive | None = None
    """Of a plateau that is fitted without launch cost, and so lies above all of its points: the best value of these.
    ``None``: points reach the value."""


class Sensitivity(Record):
    """How much a prediction hangs on one fact of the device."""

    fact: Name
    """Dotted path of the value, as in ``Device.provenance``: ``memory.bandwidth``; ``model``: the model's own error."""
    kind: Name
    """Where it comes from, see :class:`Provenance`; ``here``: measured by the run itself."""
    uncertainty: Rough
    """One standard deviation of the fact, relative."""
    effect: Rough
    """By how much that moves times, relative: root mean square over points."""
    share: RoughShare
    """Its part in the predictions' variance, 0…1."""


class Sum(Record):
    """One line of the arithmetic behind a predicted number."""

    name: Name
    """What it gives: ``t(L2)`` is the time of a ceiling, a letter an intermediate result; the last is ``time``."""
    formula: str
    """In names of facts, of what the workload asks, and of earlier sums."""
    numbers: str
    """The same with numbers put in, in SI base units."""
    value: CompactSigned


class Arithmetic(Record):
    """How the model came to the time of one point."""

    point: Name
    """As tables name it."""
    sums: Many[Sum]


class Prediction(Record):
    """The model's answer for one sweep, made before the sweep was measured."""

    key: SweepKey
    kind: Literal["specification", "calibrated"]
    """``specification``: from the YAML entry alone. ``calibrated``: plus measured primitives of other workloads."""
    metric: Metric
    axis: Axis
    points: Annotated[Many[PredictedPoint], POINTS_ONCE]
    features: Many[CurveFeature]
    occupancy: Many[Occupancy]
    """One entry a work-group shape that the sweep uses."""
    notes: Many[str] = ()
    """What was assumed, in sentences."""
    made_at: MomentIfKnown = ""
    """ISO 8601 time, UTC."""
    sensitivities: Many[Sensitivity] = ()
    """Facts that its interval comes from, the greatest share first; those of little share are left out."""
    arithmetic: Arithmetic | None = None
    """Of the sweep's largest point; of few sweeps, as examples."""


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
    wave_width: Whole | None = None
    """The sub-group width actually used, where the code or the runtime tells; else the preferred multiple of
    work-group sizes."""
    max_work_group: Whole | None = None
    told_by: Name = ""
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


class ObservedPoint(Record):
    """The statistics of one point."""

    point: PointKey
    time_s: CompactPositive
    """Median time of one dispatch."""
    value: CompactPositive
    """Median in the sweep's metric."""
    ci_low: CompactPositive
    ci_high: CompactPositive
    """95 % interval of the median, in the sweep's metric."""
    samples: Whole


class Observation(Record):
    """What the samples show: points with intervals, and the features found in them without being told where."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: Annotated[Many[ObservedPoint], POINTS_ONCE]
    features: Many[CurveFeature]
    warnings: Many[str] = ()
    """Drift, two clock states, too few samples: what a reader must know before trusting the curve."""


AGREEMENT = 1.2
"""Largest factor between prediction and observation that still counts as agreement: what published analytic models
reach on average is 13 to 24 % (Hong & Kim 2009, GPUMech 2014, MDM 2020, AMALI 2025)."""


class Verdict(StrEnum):
    """How a finding ended."""

    AGREES = "agrees"
    """Within a factor of :data:`AGREEMENT`."""
    WITHIN = "within interval"
    """Farther apart, but the two 95 % intervals overlap: nothing shows that prediction and observation differ."""
    OFF = "off"
    NOT_OBSERVED = "not observed"
    NOT_PREDICTED = "not predicted"
    NOT_COMPARED = "not compared"
    """Predicted and observed, but of different plateaus: a ratio would mean nothing."""
    ERROR = "error"
    """Above its own ceiling, or wrong results: an error of model or measurement, never a success."""

    @property
    def as_predicted(self) -> bool:
        """Whether nothing speaks against the prediction: then no other explanation is looked for."""
        return self in (Verdict.AGREES, Verdict.WITHIN)


MAIN_POSITIONS = frozenset({"midpoint", "n90", "plateau", "peak", "case"})
"""The position of each feature that stands for it where there is room for one."""


class Finding(Record):
    """Predicted against observed, for one position of one feature."""

    workload: Name
    variant: Name
    sweep: Name
    feature: Feature
    position: Position
    level: Name
    basis: Literal["specification", "calibrated"]
    """Which prediction it is held against."""
    predicted: CompactPositive | None
    observed: CompactPositive | None
    ci_low: CompactPositive | None
    ci_high: CompactPositive | None
    unit: Name
    ratio: CompactPositive | None
    """Observed / predicted."""
    predicted_low: CompactPositive | None = None
    predicted_high: CompactPositive | None = None
    """95 % interval of the prediction, from the uncertainties of the device's facts."""
    best_point: CompactPositive | None = None
    """Of what was observed, see :class:`CurveFeature`."""
    verdict: Verdict
    explanation: str
    """One or two sentences: what binds there, and why the two differ where they do."""


class Explanation(Record):
    """Which way of working, other than the model assumes, would make one sweep's curve as it was observed.

    Errors are root mean squares of |ln(observed / predicted time)| over the points: 0.1 is about 10 %.
    """

    key: SweepKey
    basis: Literal["specification", "calibrated"]
    """The prediction that the hypotheses change."""
    base_error: CompactLogarithm
    """Of that prediction."""
    hypothesis: Name | None
    """Name of the one whose curve is nearest; ``None`` if none changes the curve."""
    error: CompactLogarithm | None
    next_best: Name | None
    """Name of the nearest one that makes another curve."""
    next_error: CompactLogarithm | None
    better_than_base: CompactShare
    """How sure it is that the nearest is nearer than the prediction, and than the next: the share of the bootstrap's
    draws of points that say so."""
    better_than_next: CompactShare
    outcome: Literal["explained", "ambiguous", "unexplained"]
    """``explained``: one surely takes away half the error at least, and no other does so nearly as well.
    ``ambiguous``: another does. ``unexplained``: none takes away half."""
    sentence: str
    """The same for a reader, with the numbers."""


class CodeEvidence(Record):
    """Global memory traffic of a work-item, as its kernel was compiled and as the model counts it."""

    workload: Name
    """``family/variant``."""
    kernel: Name
    options: str
    point: Name
    """The point that the model was asked about, as tables name it."""
    form: Name
    """See :class:`MachineCode`."""
    loads_bytes_least: Compact | None = None
    """Bytes that a work-item loads where branches skip as much as they can."""
    loads_bytes_compiled: Compact | None
    """Most bytes that a work-item loads; ``None`` where static counts do not tell: loops, calls, a processor's
    vectors."""
    loads_bytes_model: Compact
    stores_bytes_least: Compact | None = None
    stores_bytes_compiled: Compact | None
    stores_bytes_model: Compact
    vectorised: bool | None
    spill_bytes: Whole | None
    agrees: bool | None
    """Whether the model's bytes lie between the least and the most, or within a few percent; ``None``: not
    comparable."""
    remark: str
    """What a reader should know, in sentences."""


class Provenance(Record):
    """Where a value came from."""

    kind: Literal["spec", "queried", "measured", "derived", "assumed"]
    source: str
    """The citation, the query, or the formula."""
    note: str = Field(default="", description="A caveat, e.g. that sources disagree.")
    here: bool = False
    """Whether the run itself measured it, on the very device; else it is published."""
    measured_on: str | None = None
    """The entry of the device on which this project measured it, if it did."""
