"""Predictions of sweeps."""

from typing import Annotated, Literal

from pydantic import Field

from gpureport.records.curves import Basis, CurveFeature, Level, Point, Points, Record, SweepRecord
from gpureport.records.quantities import (
    Amount,
    Ceiling,
    Compact,
    CompactPositive,
    CompactSigned,
    Count,
    Labelled,
    Many,
    MomentIfKnown,
    Name,
    Rough,
    RoughShare,
    Table,
    Whole,
)
from gpureport.records.tables import Rows


class Limiter(Labelled):
    """Resource that limits the residency of work-groups, and its short name in tables; empty: the usual limit."""

    short: str

    WAVES = "waves", ""
    CORES = "cores", ""
    REGISTERS = "registers", "regs"
    WORK_GROUPS = "work-groups", "groups"
    LOCAL_MEMORY = "local memory", "local"
    WORK_GROUP_SIZE = "work-group size", "too large"
    """No work-group fits."""


class Occupancy(Record):
    """How many waves of a kernel can be resident on a compute unit, and what limits them."""

    work_group: Many[Count]
    """Shape of a work-group, in work-items."""
    registers_per_work_item: Whole
    """32-bit registers of a work-item."""
    local_memory_bytes: Whole
    """Local memory of one work-group, before rounding to the granularity and without reserves."""
    source: Literal["compiled", "assumed"]
    """``compiled``: registers and local memory as the driver reported them. ``assumed``: the workload's estimate."""
    groups_per_compute_unit: Whole
    """Work-groups that can be resident on a compute unit."""
    waves_per_compute_unit: Whole
    """Waves of these work-groups."""
    fraction: Amount
    """Resident waves / maximum number of resident waves, 0…1."""
    limiter: Limiter
    """The resource that limits residency."""


_WRITES = " writes"
LATENCY_OF = "latency of "
"""Begins the name of a bottleneck, the latency of a level."""


def write_ceiling(cache: str) -> str:
    """Return the name of the ceiling of writes to a cache: ``L2 writes``."""
    return cache + _WRITES


def cache_of(ceiling: str) -> str:
    """Return the cache whose reads or writes a *ceiling* limits."""
    return ceiling.removesuffix(_WRITES)


class PredictedPoint(Point):
    """The prediction for one point."""

    time_s: CompactPositive
    """Predicted time of one dispatch."""
    value: CompactPositive
    """Predicted value in the sweep's metric."""
    ceilings_s: Table[Name, Ceiling]
    """Time of the dispatch if only this ceiling limited it, by ceiling: ``launch``, ``groups``, ``latency``, ``L1``,
    ``L2``, ``L2 writes``, ``DRAM``, ``int32``, ``shuffle``, …"""
    bottleneck: Name
    """Name of the largest ceiling."""
    level: Level = Level()
    """The memory level that serves most of the working set."""
    operations: Compact = 0.0
    """Arithmetic operations of the dispatch, counted per lane, without memory accesses. Roofline performance is
    operations / time."""
    memory_bytes: Compact = 0.0
    """Bytes to and from memory if the dispatch starts with empty caches: whole lines, fills included."""
    spread: Annotated[Rough, Field(ge=1)] = 1.0
    """Half-width of the 95 % interval of time and value, as a factor: from value / spread to value x spread, if the
    uncertainties of the device's figures are right. 1: no interval was computed."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the value, or twice the value."""
        return self.value / self.spread, self.value * self.spread

    @property
    def limit(self) -> str:
        """The bottleneck, with the memory level if it is memory latency: ``latency of L2``."""
        of_memory = self.bottleneck == "latency" and self.level.name and self.memory_bytes > 0
        return f"{LATENCY_OF}{self.level}" if of_memory else self.bottleneck


class Sensitivity(Record):
    """How strongly a prediction depends on one fact of the device."""

    fact: Name
    """Dotted path of the fact, as in ``Device.provenance``: ``memory.bandwidth``. ``model``: the model's own error."""
    kind: Name
    """Kind of the fact's source, see :class:`Provenance`; ``here``: measured by the run itself."""
    uncertainty: Rough
    """Standard deviation of the fact, relative."""
    effect: Rough
    """Change of the predicted times by one standard deviation of the fact, relative: root mean square over points."""
    share: RoughShare
    """The fact's share of the predictions' variance, 0…1."""


class ArithmeticStep(Record):
    """One line of the arithmetic behind a predicted time."""

    name: Name
    """Name of the result: ``t(...)`` for the time of a ceiling, a letter for other intermediate results, ``time`` for
    the last step."""
    formula: str
    """Formula with the names of facts, of the workload's demand, and of earlier steps."""
    numbers: str
    """The formula with numbers in place of names, in SI base units."""
    value: CompactSigned
    """The result, in SI base units."""


class Arithmetic(Record):
    """The computation of one point's predicted time."""

    point: Name
    """Label of the point."""
    steps: Many[ArithmeticStep]
    """Steps in order of computation; the last one gives the time."""


class Prediction(SweepRecord):
    """The prediction of one sweep, made before the sweep was measured."""

    kind: Basis
    """``specification``: from the database entry alone. ``calibrated``: with results of microbenchmarks."""
    points: Points[PredictedPoint]
    """Points of the sweep; more than are measured."""
    features: Many[CurveFeature]
    """Cliffs, tapers and rates of the predicted curve."""
    occupancy: Rows[Occupancy]
    """Occupancy of each work-group shape that the sweep uses."""
    notes: Many[str] = ()
    """Assumptions, in sentences."""
    made_at: MomentIfKnown = ""
    """When the prediction was made: ISO 8601 time, UTC."""
    sensitivities: Many[Sensitivity] = ()
    """Facts that determine the interval, largest share first. Facts with a small share are left out."""
    arithmetic: Arithmetic | None = None
    """Computation of the sweep's largest point. Only the main workloads have one, as an example."""

    @property
    def specified(self) -> bool:
        """Whether it is from the database entry alone."""
        return self.kind == "specification"
