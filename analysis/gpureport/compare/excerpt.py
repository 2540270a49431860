"""What a comparison takes from a report: a small part, which is read from a file in a fraction of the time.

Numbers have the bounds that they have in records; what else is wrong with a file shows where all of it is read.
"""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpureport.inputs import FileError, json_bytes
from gpureport.records.features import CurveFeature
from gpureport.records.keys import POINTS_ONCE, Metric, SweepKey
from gpureport.records.levels import Level
from gpureport.records.quantities import Amount, Many, Moment, Name, Positive, Seconds, Table, Whole
from gpureport.records.report import (
    FILE_NAME,
    PREDICTIONS_ONCE,
    SCHEMA_VERSION,
    SWEEPS_ONCE,
    EntryMatch,
    Machine,
    Publication,
    Report,
    RunSettings,
)
from gpureport.spec.models import Device


class _Part(BaseModel):
    """A part of a record, read from JSON or from the record."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class Place(_Part):
    """Of a :class:`~gpureport.records.keys.PointKey`."""

    label: Name
    parameters: Table[Name, Whole]
    work: Positive = 1.0
    working_set_bytes: Amount = 0.0


class Axis(_Part):
    """Of a :class:`~gpureport.records.keys.Axis`."""

    quantity: Name


class PredictedPoint(_Part):
    """Of a :class:`~gpureport.records.prediction.PredictedPoint`."""

    point: Place
    value: Positive
    level: Level = Level()
    spread: Annotated[Amount, Field(ge=1)] = 1.0


class Prediction(_Part):
    """Of a :class:`~gpureport.records.prediction.Prediction` from the specification."""

    key: SweepKey
    kind: Literal["specification"]
    metric: Metric
    axis: Axis
    points: Annotated[Many[PredictedPoint], POINTS_ONCE]
    features: tuple[CurveFeature, ...]


class Calibrated(_Part):
    """Of a calibrated prediction, with which nothing is compared."""

    key: SweepKey
    kind: Literal["calibrated"]


class ObservedPoint(_Part):
    """Of an :class:`~gpureport.records.observation.ObservedPoint`."""

    point: Place
    value: Positive
    ci_low: Positive
    ci_high: Positive


class Observation(_Part):
    """Of an :class:`~gpureport.records.observation.Observation`."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: Annotated[Many[ObservedPoint], POINTS_ONCE]


class MeasuredPoint(_Part):
    """Of a :class:`~gpureport.records.measurement.MeasuredPoint`."""

    point: Place
    samples_s: Many[Seconds] = ()


class Measurement(_Part):
    """Of a :class:`~gpureport.records.measurement.Measurement`."""

    key: SweepKey
    points: Annotated[Many[MeasuredPoint], POINTS_ONCE] = ()


class Finding(_Part):
    """Of a :class:`~gpureport.records.finding.Finding`."""

    key: SweepKey
    feature: Name
    position: Name
    level: Level
    basis: Name
    predicted: Positive | None
    observed: Positive | None
    ci_low: Positive | None
    ci_high: Positive | None
    unit: Name


class WorkloadInfo(_Part):
    """Of a :class:`~gpureport.records.report.WorkloadInfo`."""

    counting: str = ""


class Excerpt(_Part):
    """Of a :class:`~gpureport.records.report.Report`."""

    schema_version: Annotated[int, Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION, strict=True)]
    tool_version: Name
    created_at: Moment
    status: str = "complete"
    device: Device
    match: EntryMatch
    machine: Machine | None
    publication: Publication | None = None
    settings: RunSettings = RunSettings()
    workloads: Table[Name, WorkloadInfo] = Field(default_factory=dict)
    predictions: Annotated[Many[Annotated[Prediction | Calibrated, Field(discriminator="kind")]], PREDICTIONS_ONCE] = ()
    measurements: Annotated[Many[Measurement], SWEEPS_ONCE] = ()
    observations: Annotated[Many[Observation], SWEEPS_ONCE] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def specified(self) -> tuple[Prediction, ...]:
        """What the specification predicts."""
        return tuple(each for each in self.predictions if isinstance(each, Prediction))


def excerpt(report: Report) -> Excerpt:
    """Return what a comparison takes from *report*."""
    return Excerpt.model_validate(report)


def read_excerpt(path: Path) -> Excerpt | None:
    """Read a ``report.json``, or the folder of one; ``None`` if that takes a closer look, or fails."""
    file = path / FILE_NAME if path.is_dir() else path
    with suppress(FileError, ValidationError):
        read = Excerpt.model_validate_json(json_bytes(file))
        return read if read.status != "failed" else None
    return None
