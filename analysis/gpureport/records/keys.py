"""Parts of records: their base class, metrics and axes, keys of sweeps and points."""

from collections.abc import Hashable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from gpureport.records.quantities import Compact, CompactPositive, Items, Name, Table, Whole


class Record(BaseModel):
    """An immutable record. Readers ignore unknown fields, so new fields do not break older versions."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")


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


class SweepKey(Record):
    """Identity of a sweep, shared by its prediction, measurement, observation and findings."""

    family: Name
    """Family of workloads, e.g. ``game_of_life``."""
    variant: Name
    """Variant of the family, e.g. ``packed64``."""
    sweep: Name
    """Sweep of the variant, e.g. ``grid_size``."""

    def __str__(self) -> str:
        """``family/variant/sweep``."""
        return f"{self.workload}/{self.sweep}"

    @property
    def workload(self) -> str:
        """``family/variant``, the name of the workload."""
        return f"{self.family}/{self.variant}"


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
