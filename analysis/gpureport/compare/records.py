"""The records of a comparison of machines, as written to ``comparison.json``."""

from math import exp, log
from typing import Literal, Self

from pydantic import Field

from gpureport.grouping import grouped
from gpureport.predict.ceilings import Ceiling
from gpureport.records.ceilings import Kind
from gpureport.records.curves import Feature, Level, Metric, Observation, Record, SweepKey, WorkloadKey
from gpureport.records.prediction import Prediction
from gpureport.records.quantities import Compact, Count, Name, Rough, Table

SCHEMA_VERSION = 1
FEW = 4
"""Machines up to which every value is shown."""
BEYOND, WITHIN = "beyond the caches", "within the caches"
EQUAL = 0.05
"""Largest deviation from 1 of a ratio that counts as equal; the macros write it."""
PLACES = (BEYOND, WITHIN, "")
"""Places of the data; none of separate cases and of workloads without data."""


class Machine(Record):
    """One machine of a comparison."""

    name: str = ""
    """Short and unique name in figures and tables."""
    source: str = ""
    """The files, or the database's id."""
    runs: Count = 1
    """Number of its reports. Results and landmarks are from the first, differences from all."""
    device: str
    entry: str | None
    device_class: str = ""
    """``CPU``, ``NVIDIA GPU``: devices whose predictions are similarly accurate."""
    kind: Literal["measured", "published", "predicted"]
    created_at: str = ""
    """Date of the measurement, publication or prediction; a year for some publications, empty if unknown."""
    compute_units: Count
    clock_hz: Compact
    """The listed highest clock of the device."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Conditions of its run by name: driver, platform, clocks, …"""
    cautions: tuple[str, ...] = ()
    """Conditions, other than the origin of the values, that differ from the baseline's and make ratios less certain."""


class Condition(Record):
    """A condition, other than the device, that differs between the machines."""

    what: str
    values: dict[str, str] = Field(default_factory=dict)
    """By the machine's name."""
    effect: str
    """Its effect on the comparison, in a sentence."""
    severity: Literal["note", "caution"]
    """``caution``: it makes some ratios less certain than their intervals show."""


class RatioEstimate(Record):
    """A ratio with its 95 % interval; without an interval if one side has only single values."""

    value: Compact
    ci_low: Compact | None = None
    ci_high: Compact | None = None

    @classmethod
    def of_log(cls, centre: float, half_width: float | None) -> Self:
        """Return the ratio whose logarithm is *centre*, and the half-width of its interval, if it has one."""
        if half_width is None:
            return cls(value=exp(centre))
        return cls(value=exp(centre), ci_low=exp(centre - half_width), ci_high=exp(centre + half_width))

    @property
    def half_width(self) -> float | None:
        """Half-width of the interval of the logarithm; ``None`` without an interval."""
        return log(self.ci_high / self.ci_low) / 2 if self.ci_low and self.ci_high else None


class MachineResult(Record):
    """The best result of one machine for one workload in one regime."""

    machine: str
    point: str
    """Label of the best point."""
    value: Compact
    """In the workload's metric; predicted if the machine was not measured."""
    ci_low: Compact | None = None
    ci_high: Compact | None = None
    predicted_peak: Compact | None
    """Value that the specification predicts for this point."""
    efficiency: RatioEstimate | None
    """Observed speed / predicted speed; ``None`` if the machine was not measured."""
    to_baseline: RatioEstimate | None = None
    """Speed / the baseline's speed: above 1 is faster."""
    bottleneck: Kind | None = None
    """What limits this point, by the specification."""


class WorkloadComparison(WorkloadKey):
    """One workload in one regime on all machines."""

    regime: str
    """``beyond the caches``, ``within the caches``, ``best size`` of workloads without data, or the case."""
    metric: Metric
    refused: str = ""
    """Why some machines have no ratio although the baseline has this workload, in a sentence."""
    standings: tuple[MachineResult, ...]
    """In the order of the machines; only of those that have the workload."""

    @property
    def place(self) -> str:
        """One of PLACES."""
        return self.regime if self.regime in PLACES else ""

    def of(self, machine: str) -> MachineResult | None:
        """Return the result of a machine, if it has one."""
        return next((standing for standing in self.standings if standing.machine == machine), None)


class Landmark(Record):
    """A cliff (capacity transition) or taper (saturation point) of one machine."""

    machine: str = ""
    key: SweepKey
    feature: Feature
    level: Level
    predicted: Compact | None
    observed: Compact | None
    ci_low: Compact | None = None
    ci_high: Compact | None = None
    unit: str


class Difference(Record):
    """One sweep on a machine and on the baseline, which have the same device."""

    machine: str
    sweep: str
    """``family/variant/sweep``."""
    points: Count
    """Number of points that both have."""
    speed: RatioEstimate
    """Machine / baseline: the median over common points of the mean over runs."""
    p_value: Rough
    """Probability of a ratio at least this far from 1 if the machines are equal and only runs vary."""
    significant: bool
    """Whether the difference reaches the minimum effect and is improbable after correction for the number of sweeps.
    Otherwise it is within run-to-run variation."""

    @property
    def effect(self) -> float:
        """Size of the difference: absolute natural logarithm of the ratio."""
        return abs(log(self.speed.value))


class MachineFigure(Record):
    """A figure that buyers compare, or a performance per watt."""

    machine: str = ""
    name: str
    value: Compact
    ci_low: Compact | None = None
    ci_high: Compact | None = None
    listed: Compact | None = None
    """Peak that the vendor lists."""
    unit: str
    basis: Literal["measured", "predicted", "specification", "measured power", "board limit"]
    """Of performance per watt, the power: measured, or the listed limit of the board, which a kernel rarely draws."""

    @property
    def has_higher_peak(self) -> bool:
        """Whether the vendor lists a clearly higher peak: both are shown then."""
        return self.listed is not None and self.listed > 1.25 * self.value

    @property
    def is_per_watt(self) -> bool:
        """Whether it is a performance per watt."""
        return self.basis in ("measured power", "board limit")


class Effect(Record):
    """The predicted speed ratio of kernels at their best points that one bottleneck limits on the baseline."""

    bottleneck: Kind
    """On the baseline."""
    other_bottleneck: Kind
    """On the other device, the most frequent kind."""
    kernels: tuple[str, ...]
    """Their names, ``family/variant``."""
    ratio: RatioEstimate
    """The median of the kernels, each with the median of its points (data in memory or caches, or cases)."""
    ends: tuple[Compact, Compact]
    """Lowest and highest ratio of a point of a kernel."""


class Contrast(Record):
    """A predicted device compared with the predicted baseline."""

    machine: str
    effects: tuple[Effect, ...]
    """By kind of limit on the baseline, the most important one first."""


class Comparison(Record):
    """A comparison of machines."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    created_at: str
    baseline: str
    """Name of the machine that ratios refer to."""
    machines: tuple[Machine, ...]
    conditions: tuple[Condition, ...]
    contests: tuple[WorkloadComparison, ...]
    landmarks: tuple[Landmark, ...]
    differences: tuple[Difference, ...]
    """Only of machines that have the baseline's device."""
    overall: tuple[Difference, ...] = ()
    """Of the same machines, all sweeps together: the median, with each sweep as one point."""
    between_runs: Rough | None = None
    """Typical relative standard deviation of a sweep between runs of one machine."""
    minimum_effect: Rough = 0.0
    """Relative difference below which none is significant."""
    figures: tuple[MachineFigure, ...] = ()
    """In the order of the machines."""
    limits: dict[str, tuple[Ceiling, ...]] = Field(default_factory=dict)
    """Of the hardware, from the specifications of a few machines that are not all of one device."""
    contrasts: tuple[Contrast, ...] = ()
    """Of a few machines that are predicted, as the baseline is."""
    families: Table[Name, Name] = Field(default_factory=dict)
    """Titles of the families of users' kernels, by identifier."""
    curves: tuple[dict[str, Observation | Prediction], ...] = Field(default=(), exclude=True)
    """Sweeps over sizes, by machine: of a few machines, for the charts of the page. ``comparison.json`` lacks them."""

    @property
    def is_of_few(self) -> bool:
        """Whether every value is shown."""
        return len(self.machines) <= FEW

    @property
    def only_predicted(self) -> bool:
        """Whether nothing was measured."""
        return all(machine.kind == "predicted" for machine in self.machines)

    @property
    def names(self) -> list[str]:
        """Names of the machines."""
        return [machine.name for machine in self.machines]

    @property
    def others(self) -> list[str]:
        """Names of the machines other than the baseline."""
        return [name for name in self.names if name != self.baseline]

    @property
    def by_machine(self) -> dict[str, list[Difference]]:
        """Differences of the sweeps of each machine that has the baseline's device."""
        return grouped((difference.machine, difference) for difference in self.differences)
