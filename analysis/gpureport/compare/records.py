"""What a comparison of machines consists of, as it is written to ``comparison.json``."""

from typing import Literal

from pydantic import Field

from gpureport.records.keys import Metric, Record
from gpureport.records.levels import Level
from gpureport.records.quantities import Compact, Rough

SCHEMA_VERSION = 2


class Entrant(Record):
    """One machine of a comparison."""

    name: str
    """Short and unique among those that are compared: what figures and tables call it."""
    source: str
    """The files, or the database's id."""
    runs: int = 1
    """Reports of it. Standings and landmarks are of the first; differences are of all."""
    device: str
    entry: str | None
    kind: Literal["measured", "published", "predicted"]
    created_at: str = ""
    """When it was measured, published or predicted; a year for some publications, empty if it has no date."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Conditions of its run, by what they are: driver, platform, clocks, …"""
    cautions: tuple[str, ...] = ()
    """Conditions, other than how figures came about, in which it differs from the baseline so that ratios mean less."""


class Condition(Record):
    """Something in which the machines differ besides the device."""

    what: str
    values: dict[str, str]
    """By the machine's name."""
    effect: str
    """What it does to the comparison, in a sentence."""
    severity: Literal["note", "caution"]
    """``caution``: some ratios mean less than they seem to."""


class Ratio(Record):
    """A ratio with its 95 % interval; without one where a side has but single values."""

    value: Compact
    ci_low: Compact | None = None
    ci_high: Compact | None = None


class Standing(Record):
    """What one machine makes of one workload, in one regime."""

    machine: str
    point: str
    """Where it is best."""
    value: Compact
    """In the workload's metric; predicted for a machine that is only predicted."""
    ci_low: Compact | None = None
    ci_high: Compact | None = None
    predicted_peak: Compact | None
    """What the specification predicts of that point."""
    efficiency: Ratio | None
    """Speed / what was promised; ``None`` for a machine that is only predicted."""
    to_baseline: Ratio | None = None
    """Speed / the baseline's: above 1 is faster."""
    normalised: Ratio | None = None
    """What it attains / what the baseline attains of its own promise."""


class Contest(Record):
    """One workload in one regime on all machines."""

    workload: str
    """``family/variant``."""
    regime: str
    """``beyond the caches``, ``within the caches``, or the case."""
    metric: Metric
    refused: str = ""
    """Why some machines have no ratio although the baseline has this workload, in a sentence."""
    standings: tuple[Standing, ...]
    """In the order of the machines; only those that have it."""


class Landmark(Record):
    """A cliff or taper of one machine."""

    machine: str
    workload: str
    sweep: str
    feature: Literal["cliff", "taper"]
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
    points: int
    """That both have."""
    speed: Ratio
    """Of the machine / of the baseline: the median over common points, of the mean over runs."""
    p_value: Rough
    """How likely so large a ratio is if the machines are equal and only runs vary."""
    significant: bool
    """Whether it is at least the minimum effect, and improbable after correction for the number of sweeps. Otherwise it
    is within run-to-run variation."""


class Comparison(Record):
    """Machines beside each other."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    created_at: str
    baseline: str
    """Name of the machine that ratios refer to."""
    machines: tuple[Entrant, ...]
    conditions: tuple[Condition, ...]
    contests: tuple[Contest, ...]
    landmarks: tuple[Landmark, ...]
    differences: tuple[Difference, ...]
    """Only of machines that have the baseline's device."""
    overall: tuple[Difference, ...] = ()
    """Of the same machines, all sweeps together: the median, in which a sweep counts as a point."""
    between_runs: Rough | None = None
    """By how much a typical sweep varies between runs of one machine: one standard deviation, relative."""
    minimum_effect: Rough = 0.0
    """Relative difference below which none is called significant."""
