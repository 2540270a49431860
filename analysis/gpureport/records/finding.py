"""Comparison of prediction and observation: verdicts, tested hypotheses, advice on kernels."""

from typing import Any, Literal, Self

from gpureport.inputs import shipped_table
from gpureport.records.curves import Basis, FeaturePosition, Record, SweepKey
from gpureport.records.quantities import (
    Ceiling,
    Compact,
    CompactLogarithm,
    CompactPositive,
    CompactShare,
    Labelled,
    Name,
    Whole,
)

AccessKind = Literal["load", "store", "atomic"]
AddressSpace = Literal["global", "constant", "local", "private"]
Outcome = Literal["as predicted", "unclear", "no counterpart", "off"]
_ROWS = shipped_table("verdicts", dict[str, dict[str, Any]])
AGREEMENT: float = _ROWS["agrees"]["most"]
"""Largest factor between prediction and observation that counts as agreement. Published analytic models have mean
errors of 13 to 24 % (Hong & Kim 2009, GPUMech 2014, MDM 2020, AMALI 2025)."""
UNCERTAIN: float = _ROWS["within interval"]["most"]
"""Largest ratio at which overlapping intervals give "within interval"; wider intervals determine nothing."""
MENTIONED = 0.75
"""A hypothesis is mentioned if it leaves at most this share of the error."""


def _row(label: str) -> tuple[object, ...]:
    *columns, definition = _ROWS[label].values()
    return label, *columns, definition.format(agreement=AGREEMENT, uncertain=UNCERTAIN)


class Verdict(Labelled):
    """Result of a comparison, the most severe last. Each row has all that code and documents know of a verdict."""

    mark: str
    """Its sign, which readers without colours rely on."""
    outcome: Outcome
    """What it means for the prediction; ``as predicted``: no explanation is needed."""
    style: str
    """Style of its texts, a class of the style sheet; empty: none of its own."""
    most: float
    """Largest factor between values and predictions that get it, if no earlier row does; 0: it has other reasons."""
    meet: bool
    """Whether their intervals must overlap, too."""
    definition: str
    """A sentence for the glossary and for documents."""

    AGREES = _row("agrees")
    WITHIN = _row("within interval")
    UNDETERMINED = _row("not determined")
    NOT_COMPARED = _row("not compared")
    NOT_PREDICTED = _row("not predicted")
    NOT_OBSERVED = _row("not observed")
    OFF = _row("off")
    ERROR = _row("error")

    @classmethod
    def of(cls, ratio: float, *, meet: bool) -> Self:
        """Return the one on observed / predicted, from whether their intervals *meet* (overlap)."""
        factor = max(ratio, 1 / ratio)
        return next(each for each in cls if factor <= each.most and meet >= each.meet)

    @property
    def agrees(self) -> bool:
        """Whether value and prediction differ little, whatever their intervals."""
        return self.as_predicted and not self.meet

    @property
    def as_predicted(self) -> bool:
        """Whether the observation is consistent with the prediction, so that no explanation is needed."""
        return self.outcome == "as predicted"

    @property
    def severity(self) -> int:
        """Position in the order of importance."""
        return list(Verdict).index(self)


class Finding(FeaturePosition):
    """Comparison of prediction and observation for one position of one feature."""

    key: SweepKey
    """Which sweep."""
    basis: Basis
    """Kind of the prediction."""
    predicted: CompactPositive | None = None
    """Predicted value; ``None`` if the feature was not predicted."""
    observed: CompactPositive | None = None
    """Observed value; ``None`` if the feature was not observed."""
    ratio: CompactPositive | None = None
    """Observed / predicted."""
    predicted_low: CompactPositive | None = None
    """Lower end of the 95 % interval of the prediction, from the uncertainties of the device's facts."""
    predicted_high: CompactPositive | None = None
    """Upper end of the 95 % interval of the prediction."""
    verdict: Verdict
    """Result of the comparison."""

    @property
    def specified(self) -> bool:
        """Whether it is on the prediction from the specification, which gives the verdicts that reports count."""
        return self.basis == "specification"


class Explanation(Record):
    """Test of hypotheses about the hardware that would change the predicted curve of a sweep to the observed one.

    Errors are root mean squares of |ln(observed / predicted time)| over the points: 0.1 is about 10 %.
    """

    key: SweepKey
    """Which sweep."""
    basis: Basis
    """Kind of the prediction that the hypotheses change."""
    base_error: CompactLogarithm
    """Error of the unchanged prediction."""
    hypothesis: Name | None
    """Name of the hypothesis with the smallest error; ``None`` if no hypothesis changes the curve."""
    error: CompactLogarithm | None
    """Error of this hypothesis."""
    next_best: Name | None
    """Name of the hypothesis with the next smallest error among those with another curve."""
    next_error: CompactLogarithm | None
    """Error of the next best hypothesis."""
    better_than_base: CompactShare
    """Share of bootstrap draws of points in which the hypothesis has a smaller error than the prediction."""
    better_than_next: CompactShare
    """Share of bootstrap draws of points in which the hypothesis has a smaller error than the next best one."""
    outcome: Literal["explained", "ambiguous", "unexplained"]
    """``explained``: one hypothesis reliably removes at least half of the error, and no other comes close.
    ``ambiguous``: another comes close. ``unexplained``: none removes half of the error."""
    factor: CompactPositive | None = None
    """Observed / predicted time, if the whole curve is off by about one factor."""

    @property
    def fitting(self) -> tuple[str, ...]:
        """The hypotheses that explain the curve: one, two equally good ones, or none."""
        names = {"explained": (self.hypothesis,), "ambiguous": (self.hypothesis, self.next_best), "unexplained": ()}
        return tuple(filter(None, names[self.outcome]))

    def mentions(self, error: float | None) -> bool:
        """Return whether a hypothesis that leaves *error* is worth mentioning, although it may explain nothing."""
        return error is not None and error <= MENTIONED * self.base_error


class Advice(Record):
    """A change of a kernel, with its predicted effect on the time at the largest size."""

    workload: Name
    """``family/variant``."""
    point: Name
    """Label of the point."""
    change: str
    """The change, as an instruction without a full stop."""
    gain: CompactPositive
    """Predicted time / predicted time after the change."""


class SourceAccess(Record):
    """Accesses of a line of a kernel's source to one array, at the largest size, with their predicted cost."""

    workload: Name
    """``family/variant``."""
    point: Name
    """Label of the point."""
    line: Whole
    """Line of the source, counted from 1."""
    text: Name
    """Its text, which may be cut."""
    kind: AccessKind
    """Kind of the instructions."""
    space: AddressSpace
    """Memory."""
    array: Name
    """Name of the argument or variable; empty: not known."""
    lines: Compact
    """Mean number of cache lines that an access of a wave touches."""
    cycles: Compact
    """Mean number of cycles that the banks of local memory need for an access of a wave; 1: no conflicts."""
    used_bytes: Compact
    """Mean number of different bytes that a wave uses of each sector that it touches."""
    sector_bytes: Compact
    """Size of a sector."""
    traffic_share: CompactShare
    """Share of the kernel's traffic beyond the first cache."""
    unit_s: Ceiling
    """Predicted time in the load/store unit, or in local memory."""
    memory_s: Ceiling
    """Predicted time of the traffic."""
