"""What records are made of: their base, metrics and axes, the keys of sweeps and points."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gpureport.records.quantities import Compact, CompactPositive, Items, Name, Table, Whole, once


class Record(BaseModel):
    """An immutable record. Fields that a reader does not know are ignored: adding one breaks no older reader."""

    model_config = ConfigDict(frozen=True, extra="ignore")


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

    family: Name
    """Family of workloads, e.g. ``game_of_life``."""
    variant: Name
    """Variant of the family, e.g. ``packed64``."""
    sweep: Name
    """The sweep, e.g. ``grid_size``."""

    def __str__(self) -> str:
        """``family/variant/sweep``."""
        return f"{self.workload}/{self.sweep}"

    @property
    def workload(self) -> str:
        """``family/variant``, as workloads are named."""
        return f"{self.family}/{self.variant}"


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
