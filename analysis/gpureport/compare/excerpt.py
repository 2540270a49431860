"""What a comparison takes from a report: a small part, which is read from a file in a fraction of the time.

Numbers have the bounds that they have in records; what else is wrong with a file shows where all of it is read.
"""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpureport.inputs import FileError, json_bytes
from gpureport.quantities import Amount, Many, Positive, Seconds
from gpureport.records import CurveFeature, Metric, SweepKey
from gpureport.report.document import FILE_NAME, SCHEMA_VERSION, Machine, Match, Publication, Report, Settings
from gpureport.spec.models import Device


class _Part(BaseModel):
    """A part of a record, read from JSON or from the record."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class Place(_Part):
    """Of a :class:`~gpureport.records.PointKey`."""

    label: str
    work: Positive = 1.0
    working_set_bytes: Amount = 0.0


class Axis(_Part):
    """Of a :class:`~gpureport.records.Axis`."""

    quantity: str


class PredictedPoint(_Part):
    """Of a :class:`~gpureport.records.PredictedPoint`."""

    point: Place
    value: Positive
    level: str = ""
    spread: Annotated[Amount, Field(ge=1)] = 1.0


class Prediction(_Part):
    """Of a :class:`~gpureport.records.Prediction` from the specification."""

    key: SweepKey
    kind: Literal["specification"]
    metric: Metric
    axis: Axis
    points: tuple[PredictedPoint, ...]
    features: tuple[CurveFeature, ...]


class Calibrated(_Part):
    """Of a calibrated prediction, with which nothing is compared."""

    kind: Literal["calibrated"]


class ObservedPoint(_Part):
    """Of an :class:`~gpureport.records.ObservedPoint`."""

    point: Place
    value: Positive
    ci_low: Positive
    ci_high: Positive


class Observation(_Part):
    """Of an :class:`~gpureport.records.Observation`."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: tuple[ObservedPoint, ...]


class MeasuredPoint(_Part):
    """Of a :class:`~gpureport.records.MeasuredPoint`."""

    point: Place
    samples_s: Many[Seconds] = ()


class Measurement(_Part):
    """Of a :class:`~gpureport.records.Measurement`."""

    key: SweepKey
    points: tuple[MeasuredPoint, ...] = ()


class Finding(_Part):
    """Of a :class:`~gpureport.records.Finding`."""

    workload: str
    variant: str
    sweep: str
    feature: str
    position: str
    level: str
    basis: str
    predicted: Positive | None
    observed: Positive | None
    ci_low: Positive | None
    ci_high: Positive | None
    unit: str


class WorkloadInfo(_Part):
    """Of a :class:`~gpureport.report.document.WorkloadInfo`."""

    counting: str = ""


class Excerpt(_Part):
    """Of a :class:`~gpureport.report.document.Report`."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION, strict=True)]
    tool_version: str
    created_at: str
    status: str = "complete"
    device: Device
    match: Match
    machine: Machine | None
    publication: Publication | None = None
    settings: Settings = Settings()
    workloads: dict[str, WorkloadInfo] = Field(default_factory=dict)
    predictions: tuple[Annotated[Prediction | Calibrated, Field(discriminator="kind")], ...] = ()
    measurements: tuple[Measurement, ...] = ()
    observations: tuple[Observation, ...] = ()
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
