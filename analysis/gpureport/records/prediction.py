"""What the model says of a sweep."""

from typing import Annotated, Literal

from pydantic import Field

from gpureport.records.features import CurveFeature
from gpureport.records.keys import POINTS_ONCE, Axis, Metric, PointKey, Record, SweepKey
from gpureport.records.levels import Level
from gpureport.records.quantities import (
    Amount,
    Compact,
    CompactPositive,
    CompactSigned,
    Count,
    Many,
    MomentIfKnown,
    Name,
    Rough,
    RoughShare,
    Table,
    Whole,
)


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
    bottleneck: Name
    """The largest of the ceilings."""
    level: Level = Level()
    """The memory level that mostly serves the working set."""
    operations: Compact = 0.0
    """Lane operations of the dispatch, all classes but memory (the roofline's y = operations / time)."""
    memory_bytes: Compact = 0.0
    """Bytes that would move to and from memory if no cache held anything from before (whole lines, with fill)."""
    spread: Annotated[Rough, Field(ge=1)] = 1.0
    """Time and value lie between themselves / spread and themselves x spread in 95 % of cases, if the uncertainties of
    the device's facts are right; 1: no interval was worked out."""


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
