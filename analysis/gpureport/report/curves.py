"""A report's records by sweep: all records of a curve, and pairs of findings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from gpureport.findings.verdicts import log_error
from gpureport.grouping import grouped
from gpureport.records.columns import Curve
from gpureport.records.curves import MAIN_POSITIONS, CurveFeature, Level, Observation, ObservedPoint, Position, SweepKey
from gpureport.records.finding import Finding
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.report import Report

UNCERTAIN = 4.0
"""An onset or n90 whose interval spans this factor gives no advice."""


class FindingPair(NamedTuple):
    """The findings on one value of one curve against both predictions; at least one exists."""

    specification: Finding | None
    calibrated: Finding | None

    @property
    def main(self) -> Finding:
        """The finding that gives the verdict: on the specification's prediction, if there is one."""
        finding = self.specification or self.calibrated
        assert finding is not None  # noqa: S101 - the class's invariant
        return finding

    @property
    def is_astray(self) -> bool:
        """Whether the value is not as predicted."""
        return not self.main.verdict.as_predicted

    @property
    def distance(self) -> float:
        """The error of the prediction; 0 without a ratio."""
        return log_error(1.0, self.main.ratio) if self.main.ratio else 0.0

    @property
    def urgency(self) -> tuple[int, float]:
        """Sort key: the most important first."""
        return -self.main.verdict.severity, -self.distance


@dataclass(frozen=True)
class CurveRecords(Curve):
    """All records of one sweep, with the features that its findings compare."""

    @cached_property
    def pairs(self) -> tuple[FindingPair, ...]:
        """The findings, by value."""
        return paired(self.findings)

    @property
    def prediction(self) -> Prediction | None:
        """The calibrated prediction, or else the specification's."""
        return self.calibrated or self.specification

    @property
    def is_work_group(self) -> bool:
        """Whether the sweep is over work-group shapes."""
        return self.axis.quantity == "work_group"

    @property
    def is_transfer(self) -> bool:
        """Whether the sweep is over sizes of transfers, of which n90 is in bytes."""
        return self.axis.quantity == "transfer"

    def features(self, *, measured: bool) -> tuple[CurveFeature, ...]:
        """Return the observed features or those that the specification's prediction has."""
        record = self.observation if measured else self.specification
        return record.features if record else ()

    @cached_property
    def features_found(self) -> tuple[FindingPair, ...]:
        """The findings on the main value of each feature."""
        return _by_feature(self.pairs)

    @property
    def astray(self) -> tuple[FindingPair, ...]:
        """Those of them that are not as predicted."""
        return tuple(pair for pair in self.features_found if pair.is_astray)

    @property
    def points(self) -> tuple[PredictedPoint | ObservedPoint, ...]:
        """Every predicted and observed point of the curve."""
        return tuple(chain.from_iterable(record.points for record in self.values.values()))


def of_user(report: Report, found: Iterable[CurveRecords]) -> list[CurveRecords]:
    """Return the curves of kernels of the user."""
    names = {name for name, info in report.workloads.items() if info.described}
    return [curve for curve in found if curve.key.workload in names]


def reading_units(curve: CurveRecords, units: int) -> int:
    """Return how many of a device's compute *units* read: fewer if one work-group on each reads at all points."""
    groups = {point.point.parameters.get("groups", units) for point in curve.points}
    return min(units, *groups) if len(groups) == 1 else units


def seen_word(found: Iterable[CurveRecords]) -> str:
    """Return ``published`` if no observed point of *found* has an interval, as in published records."""
    points = [point for curve in found if curve.observation for point in curve.observation.points]
    return "published" if all(point.ci_low == point.value == point.ci_high for point in points) else "observed"


def paired(findings: Iterable[Finding]) -> tuple[FindingPair, ...]:
    """Pair the findings of both bases."""
    pairs: dict[tuple[SweepKey, str, str, Level], dict[str, Finding]] = {}
    for finding in findings:
        value = (finding.key, finding.feature, finding.position, finding.level)
        pairs.setdefault(value, {})[finding.basis] = finding
    return tuple(FindingPair(pair.get("specification"), pair.get("calibrated")) for pair in pairs.values())


def specified(report: Report) -> tuple[FindingPair, ...]:
    """Return the values that page one counts: the main one of each feature with a finding on the specification."""
    return _by_feature(pair for pair in paired(report.findings) if pair.specification)


def _by_feature(pairs: Iterable[FindingPair]) -> tuple[FindingPair, ...]:
    """Return the most urgent value of each feature, of those at main positions if there are any."""
    found = grouped(((pair.main.key, pair.main.feature, pair.main.level), pair) for pair in pairs)
    mains = ([pair for pair in group if pair.main.position in MAIN_POSITIONS] or group for group in found.values())
    return tuple(min(group, key=lambda pair: pair.urgency) for group in mains)


def specified_values(found: Iterable[CurveRecords], position: Position) -> list[Finding]:
    """Return the findings on a position against the specification's predictions."""
    pairs = (pair for curve in found for pair in curve.pairs)
    return [pair.specification for pair in pairs if pair.specification and pair.main.position == position]


def is_certain(value: CurveFeature) -> bool:
    """Return whether the interval of a value is narrow enough for advice."""
    return not value.ci_low or not value.ci_high or value.ci_high < UNCERTAIN * value.ci_low


def curves(report: Report) -> tuple[CurveRecords, ...]:
    """Return the records by sweep; their features are those of the findings, at measured points with matched levels."""
    return tuple(
        CurveRecords(
            **vars(curve)
            | {
                "specification": _predicted(curve.specification, curve.findings),
                "calibrated": _predicted(curve.calibrated, curve.findings),
                "observation": _observed(curve.observation, curve.findings),
            }
        )
        for curve in report.curves
    )


def _predicted(prediction: Prediction | None, findings: Iterable[Finding]) -> Prediction | None:
    features = tuple(
        _feature(f, value=f.predicted, ci_low=f.predicted_low, ci_high=f.predicted_high, best_point=None)
        for f in findings
        if prediction and f.basis == prediction.kind and f.predicted
    )
    return prediction.model_copy(update={"features": features}) if prediction and features else prediction


def _observed(observation: Observation | None, findings: Iterable[Finding]) -> Observation | None:
    compared = (f for f in findings if f.specified and f.observed)
    features = tuple(_feature(f, value=f.observed) for f in compared)
    return observation and observation.model_copy(update={"features": features})


def _feature(finding: Finding, **changes: float | None) -> CurveFeature:
    return CurveFeature.model_validate({**dict(finding), **changes})


def most_distant(astray: Sequence[FindingPair]) -> tuple[FindingPair, str]:
    """Return the value that deviates most of those (at least one) that are not as predicted, with words before it.

    Values that are off come before those whose intervals are too wide to show a difference. If none has a ratio to its
    prediction, it is the most urgent one.
    """
    if rated := [pair for pair in astray if pair.main.ratio]:
        return max(rated, key=lambda pair: (pair.main.verdict.outcome == "off", pair.distance)), "Largest deviation"
    return min(astray, key=lambda pair: pair.urgency), "Not as predicted"
