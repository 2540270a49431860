"""Curves: keys and points of sweeps, metrics and axes, levels, features, and what the samples show."""

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any, Literal, Self, TypeVar, get_args

import pydantic
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from gpureport.records.quantities import Compact, CompactPositive, Count, Items, Many, Name, Table, Whole, once
from gpureport.records.tables import Rows
from gpureport.units import as_written, label_bytes

Basis = Literal["specification", "calibrated"]
"""Of a prediction: the database entry alone, or with results of microbenchmarks."""
BASES: tuple[Basis, ...] = get_args(Basis)


class Record(pydantic.BaseModel):
    """An immutable record. Readers ignore unknown fields, so new fields do not break older versions."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants", defer_build=True)


class Metric(Record):
    """What the values of a curve are: work per second, or seconds per unit of work."""

    kind: Literal["rate", "time"]
    """``rate``: value = work / time (higher is better). ``time``: value = time / work (lower is better)."""
    unit: Name
    """The unit of the work: ``B`` (bytes as counted in the workload's title), ``cells``, ``particles``,
    ``matrices``, ``loads``, ``launches``, ``groups``."""
    label: Name
    """Axis label without unit: ``read bandwidth``, ``latency``."""

    def value(self, work: float, time_s: float) -> float:
        """Return the curve's value: unit/s for a rate, s/unit for a time."""
        return work / time_s if self.kind == "rate" else time_s / work

    @property
    def value_unit(self) -> str:
        """Unit of the values: ``B/s`` for a rate, ``s`` for a time."""
        return f"{self.unit}/s" if self.kind == "rate" else "s"


class Axis(Record):
    """What a sweep varies."""

    quantity: Literal["working_set", "work_items", "work_group", "case", "transfer"]
    """``working_set``: x in bytes. ``transfer``: x is the bytes of one transfer. ``work_items``: x is a count.
    ``work_group``: x is the index of a work-group shape. ``case``: x is the index of a separate case (an instruction, a
    stride); each is compared with its own prediction."""
    label: Name
    """Axis label."""

    @property
    def unit(self) -> str:
        """Unit of x: ``B``, or empty for a count or an index."""
        return "B" if self.quantity in ("working_set", "transfer") else ""


class WorkloadKey(Record):
    """Identity of a workload."""

    family: Name
    """Family of workloads, e.g. ``game_of_life``."""
    variant: Name
    """Variant of the family, e.g. ``packed64``."""

    @property
    def workload(self) -> str:
        """``family/variant``, the name of the workload."""
        return f"{self.family}/{self.variant}"


class SweepKey(WorkloadKey):
    """Identity of a sweep, shared by its prediction, measurement, observation and findings."""

    sweep: Name
    """Sweep of the variant, e.g. ``grid_size``."""

    def __str__(self) -> str:
        """``family/variant/sweep``."""
        return f"{self.workload}/{self.sweep}"

    @property
    def sweep_name(self) -> str:
        """Name of the sweep in words: ``grid size``."""
        return self.sweep.replace("_", " ")


class SweepRecord(Record):
    """A record of one sweep: a prediction, a measurement or an observation."""

    key: SweepKey
    """Which sweep."""
    metric: Metric
    """What the values of the points are."""
    axis: Axis
    """What the sweep varies."""


class PointKey(Record):
    """Identity and size of one point of a sweep."""

    label: Name
    """Label in tables, e.g. ``4096 x 4096`` or ``16 x 16``."""
    parameters: Table[Name, Whole]
    """Parameters of the workload, by name."""
    work: CompactPositive
    """Units of work of one dispatch, including repetitions within the kernel, see :class:`Metric`."""
    work_items: Items
    """Number of work-items."""
    working_set_bytes: Compact
    """Bytes of all cache lines, of all buffers, that are touched between two uses of the same data."""
    x: Compact
    """Position on the sweep's axis."""

    @property
    def identity(self) -> Hashable:
        """What no other point of the sweep has: its parameters, or its label if it has none."""
        return frozenset(self.parameters.items()) or self.label


class Point(Record):
    """A record of one point."""

    point: PointKey
    """The point's identity and size."""


P_co = TypeVar("P_co", bound=Point, covariant=True)
Q = TypeVar("Q", bound=Point)


class Points(Rows[P_co]):
    """Points, each of which occurs once."""

    by_columns = False  # those of a report's file are columns of curves

    @cached_property
    def _by_identity(self) -> dict[Hashable, P_co]:
        return {row.point.identity: row for row in self}

    def at(self, point: PointKey) -> P_co | None:
        """Return the one with the same identity as *point*, if there is any."""
        return self._by_identity.get(point.identity)

    def pairs(self, others: "Points[Q]") -> Iterator[tuple[P_co, Q]]:
        """Yield each one that is also among *others*, with the other."""
        return ((row, other) for row in self if (other := others.at(row.point)) is not None)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Refuse two points with one identity."""
        unique: Any = once("point", lambda each: each.point.identity, lambda each: each.point.label).func
        return core_schema.no_info_after_validator_function(
            unique, super().__get_pydantic_core_schema__(source, handler)
        )


class Level(Record):
    """The level of a curve that a feature belongs to; in JSON only its name if all other fields have their defaults.

    It is a cache, ``DRAM``, the bottleneck of a plateau (``int32``), the whole ``device`` (tapers), a case, or a
    transition that no cache of the device's entry causes: it has the name of its cause, or none if it is unexplained.
    Observed levels have numbers (``level 1``) until they are matched with predicted ones.
    """

    name: Name = ""
    """Name of a cache, a ceiling, a case or the cause of a transition; empty for an unexplained transition."""
    near: bool = False
    """Whether it is the near partition of a cache, which has the lower latency for one compute unit."""
    transition_bytes: CompactPositive | None = None
    """Working set of a transition that no cache causes, rounded as labels are."""
    beyond: bool = False
    """Whether it is the level beyond the unexplained transition, not the level that ends there."""

    @classmethod
    def unexplained(cls, size_bytes: float, *, beyond: bool = False, cause: str = "") -> Self:
        """Return the level before (or *beyond*) a transition that no cache causes; unexplained without a *cause*."""
        return cls(name=cause, transition_bytes=as_written(size_bytes, "B"), beyond=beyond)

    @property
    def is_transition(self) -> bool:
        """Whether it ends at a transition that no cache causes."""
        return self.transition_bytes is not None and not self.beyond

    @property
    def is_unexplained(self) -> bool:
        """Whether it ends at an unexplained transition."""
        return self.is_transition and not self.name

    @property
    def whole(self) -> "Level":
        """The whole cache if this is one of its partitions, else the level itself."""
        return Level(name=self.name) if self.near else self

    def __str__(self) -> str:
        """``L2``, ``L2 near partition``, ``unexplained transition at 3 MiB``, ``idle work-items``, ``beyond 3 MiB``."""
        if self.transition_bytes is not None and not self.name:
            size = label_bytes(self.transition_bytes)
            return f"beyond {size}" if self.beyond else f"unexplained transition at {size}"
        return f"{self.name} near partition" if self.near else self.name

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: pydantic.GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Allow the name alone."""
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @pydantic.model_serializer(mode="wrap")
    def _as_name(self, handler: pydantic.SerializerFunctionWrapHandler) -> Any:  # noqa: ANN401 - a name, or an object
        defaults = type(self).model_fields
        fields = {name: value for name, value in handler(self).items() if value != defaults[name].default}
        return self.name if fields.keys() <= {"name"} else fields


DRAM = Level(name="DRAM")
"""Memory beyond all caches."""
DEVICE = Level(name="device")
"""The whole device, the level of tapers and peaks."""
Feature = Literal["cliff", "taper", "rate"]
"""``cliff``: the working set at which a cache level stops serving the accesses. ``taper``: the parallel work at which
throughput saturates. ``rate``: the value on a plateau."""


Position = Literal["onset", "midpoint", "end", "knee", "n90", "plateau", "peak", "case"]
"""Position within the feature. Cliff: *onset* (95 % of the upper plateau), *midpoint* (halfway on the log axis), *end*
(within 5 % of the slower plateau). Taper: *knee* (flat time x peak rate), *n90* (work for 90 % of the peak). Rate:
*plateau* (of the curve), *peak* (best point of a sweep), *case* (one of several separate cases)."""


class FeaturePosition(Record):
    """One position of one feature of a curve, for a value or a comparison of values."""

    feature: Feature
    """``cliff`` (capacity transition), ``taper`` (saturation point) or ``rate``."""
    position: Position
    """Cliff: ``onset``, ``midpoint`` or ``end``. Taper: ``knee`` or ``n90``. Rate: ``plateau``, ``peak`` or
    ``case``."""
    level: Level
    """The level that ends at a cliff, or the level of a plateau; ``device`` for tapers."""
    unit: Name
    """``B`` for cliffs and for tapers of transfers, ``work-items`` for other tapers, the metric's unit (``B/s``, ``s``,
    ``cells/s``) for rates."""
    ci_low: CompactPositive | None = None
    """Lower end of the 95 % interval of the value, of a finding: of the observed one; ``None`` without interval."""
    ci_high: CompactPositive | None = None
    """Upper end of this interval."""
    best_point: CompactPositive | None = None
    """Best measured value of a plateau that was fitted without launch cost and therefore exceeds all of its points.
    ``None``: points reach the value."""


class CurveFeature(FeaturePosition):
    """Predicted or observed value of one position of one feature of a curve."""

    value: CompactPositive
    """Position of a cliff or taper, or value of a rate, in *unit*."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, or twice the value."""
        low, high = self.ci_low, self.ci_high
        return self.value if low is None else low, self.value if high is None else high

    def expects(self, value: float) -> bool:
        """Return whether the interval contains *value*."""
        low, high = self.ends
        return low <= value <= high


MAIN_POSITIONS = frozenset({"midpoint", "n90", "plateau", "peak", "case"})
"""The position that represents a feature where only one is shown."""


class ObservedPoint(Point):
    """Statistics of one point."""

    time_s: CompactPositive
    """Median time of one dispatch."""
    value: CompactPositive
    """Median in the sweep's metric."""
    ci_low: CompactPositive
    """Lower end of the 95 % interval of the median, in the sweep's metric."""
    ci_high: CompactPositive
    """Upper end of the 95 % interval of the median, in the sweep's metric."""
    samples: Count
    """Number of samples."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the value."""
        return self.ci_low, self.ci_high


class Observation(SweepRecord):
    """Statistics and features of a measured curve, found without knowledge of any prediction."""

    points: Points[ObservedPoint]
    """Statistics of the points."""
    features: Many[CurveFeature]
    """Cliffs, tapers and rates of the observed curve."""
    warnings: Many[str] = ()
    """Reasons for caution, in sentences: drift, two clock states, too few samples."""
