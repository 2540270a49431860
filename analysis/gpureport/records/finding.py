"""Prediction against observation: verdicts, explanations, evidence from compiled code."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpureport.records.features import Feature, Position
from gpureport.records.keys import Record, SweepKey
from gpureport.records.levels import Level
from gpureport.records.quantities import (
    Compact,
    CompactLogarithm,
    CompactPositive,
    CompactShare,
    Name,
    Table,
    Whole,
)

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


class Finding(Record):
    """Predicted against observed, for one position of one feature."""

    key: SweepKey
    feature: Feature
    position: Position
    level: Level
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
    instructions_compiled: Table[Name, Whole] = Field(default_factory=dict)
    """PTX instructions of a work-item by class, all branches together; none for code with loops or calls."""
    instructions_model: Table[Name, Compact] = Field(default_factory=dict)
    """Operations of a work-item that the model counts, by the same classes."""
    instructions_agree: bool | None = None
    """Whether all of these counts agree within a factor of two; ``None``: not comparable, as branches count as well."""
