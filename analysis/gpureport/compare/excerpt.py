"""Excerpt of a report for comparisons, which reads from a file much faster than the whole report.

Numbers have the same bounds as in the records. Other errors in a file show when the whole report is read.
"""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpureport.inputs import FileError, json_bytes
from gpureport.records.energy import Energy
from gpureport.records.features import CurveFeature
from gpureport.records.keys import POINTS_ONCE, Metric, SweepKey
from gpureport.records.levels import Level
from gpureport.records.quantities import Amount, Many, Moment, Name, Positive, Seconds, Table, Whole
from gpureport.records.report import (
    PREDICTIONS_ONCE,
    SCHEMA_VERSION,
    SWEEPS_ONCE,
    EntryMatch,
    Machine,
    Publication,
    Report,
    RunSettings,
    WorkloadInfo,
    report_file,
)
from gpureport.spec.models import Device


class _RecordExcerpt(BaseModel):
    """Some fields of a record, read from JSON or from the record."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class _SweepExcerpt(_RecordExcerpt):
    """A record of one sweep."""

    key: SweepKey


class PointKeyExcerpt(_RecordExcerpt):
    """From a :class:`~gpureport.records.keys.PointKey`."""

    label: Name
    parameters: Table[Name, Whole]
    work: Positive = 1.0
    working_set_bytes: Amount = 0.0
    x: Amount = 0.0


class AxisExcerpt(_RecordExcerpt):
    """From a :class:`~gpureport.records.keys.Axis`."""

    quantity: Name
    label: Name = ""


class PredictedPointExcerpt(_RecordExcerpt):
    """From a :class:`~gpureport.records.prediction.PredictedPoint`."""

    point: PointKeyExcerpt
    value: Positive
    level: Level = Level()
    spread: Annotated[Amount, Field(ge=1)] = 1.0


class PredictionExcerpt(_SweepExcerpt):
    """From a :class:`~gpureport.records.prediction.Prediction` based on the specification."""

    kind: Literal["specification"]
    metric: Metric
    axis: AxisExcerpt
    points: Annotated[Many[PredictedPointExcerpt], POINTS_ONCE]
    features: tuple[CurveFeature, ...]


class CalibratedExcerpt(_SweepExcerpt):
    """From a calibrated prediction, which comparisons do not use."""

    kind: Literal["calibrated"]


class ObservedPointExcerpt(_RecordExcerpt):
    """From an :class:`~gpureport.records.observation.ObservedPoint`."""

    point: PointKeyExcerpt
    value: Positive
    ci_low: Positive
    ci_high: Positive


class ObservationExcerpt(_SweepExcerpt):
    """From an :class:`~gpureport.records.observation.Observation`."""

    metric: Metric
    axis: AxisExcerpt
    points: Annotated[Many[ObservedPointExcerpt], POINTS_ONCE]


class MeasuredPointExcerpt(_RecordExcerpt):
    """From a :class:`~gpureport.records.measurement.MeasuredPoint`."""

    point: PointKeyExcerpt
    samples_s: Many[Seconds] = ()


class MeasurementExcerpt(_SweepExcerpt):
    """From a :class:`~gpureport.records.measurement.Measurement`."""

    points: Annotated[Many[MeasuredPointExcerpt], POINTS_ONCE] = ()


class FindingExcerpt(_SweepExcerpt):
    """From a :class:`~gpureport.records.finding.Finding`."""

    feature: Name
    position: Name
    level: Level
    basis: Name
    predicted: Positive | None
    observed: Positive | None
    ci_low: Positive | None
    ci_high: Positive | None
    unit: Name


class Excerpt(_RecordExcerpt):
    """From a :class:`~gpureport.records.report.Report`."""

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
    predictions: Annotated[
        Many[Annotated[PredictionExcerpt | CalibratedExcerpt, Field(discriminator="kind")]], PREDICTIONS_ONCE
    ] = ()
    measurements: Annotated[Many[MeasurementExcerpt], SWEEPS_ONCE] = ()
    observations: Annotated[Many[ObservationExcerpt], SWEEPS_ONCE] = ()
    findings: tuple[FindingExcerpt, ...] = ()
    energy: Energy | None = None

    @property
    def specified(self) -> tuple[PredictionExcerpt, ...]:
        """Predictions from the specification."""
        return tuple(each for each in self.predictions if isinstance(each, PredictionExcerpt))


def read_excerpt(path: Path) -> Excerpt | None:
    """Read an excerpt of a ``report.json`` or of the report in a folder.

    Returns:
        ``None`` if the file has errors, or its run failed: the full reader handles those.
    """
    with suppress(FileError):
        return excerpt_of(json_bytes(report_file(path)))
    return None


def excerpt_of(data: bytes) -> Excerpt | None:
    """Return the excerpt of the JSON of a report, as :func:`read_excerpt` does."""
    with suppress(ValidationError):
        read = Excerpt.model_validate_json(data)
        return read if read.status != "failed" else None
    return None


def excerpt(report: Report) -> Excerpt:
    """Return the excerpt of *report*."""
    return Excerpt.model_validate(report)
