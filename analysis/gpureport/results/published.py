"""Published results: compact YAML records, converted to the records of measurements, and to reports.

A record (``reports/published/<name>.yaml``) cites its source and contains series; a series is one curve of a workload
of this project, as medians. The model is compared with them by the same code as with our own measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from gpureport import __version__
from gpureport.errors import InputError
from gpureport.explain.trials import ModelInput, explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.predict.occupancy import Resources
from gpureport.records.curves import Axis, Basis, Observation, Points, SweepKey
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.prediction import Prediction
from gpureport.records.quantities import Name
from gpureport.records.report import EntryMatch, Publication, PublishedStatement, Report, workload_info
from gpureport.results.replay import Result, Series
from gpureport.spec.database import Database
from gpureport.spec.models import Device
from gpureport.spec.reading import Document, read_file
from gpureport.spec.values import Strict
from gpureport.units import DIMENSIONS
from gpureport.workloads import select
from gpureport.workloads.model import Parameters, Sweep, Workload

Quantity = Literal["working_set", "work_items", "work_group", "case"]
_MOST = 1 << 40
Parameter = Annotated[int, Field(ge=1, le=_MOST)]
Value = Annotated[FiniteFloat, Field(le=_MOST)]


class SeriesFields(Strict):
    """One series in the file."""

    workload: str
    sweep: Name
    axis: Quantity
    label: Name = ""
    conditions: str = ""
    fixed: dict[str, Parameter] = Field(default_factory=dict)
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...] = Field(min_length=1, max_length=1000)


class StatementFields(PublishedStatement, Strict):
    """One published statement in the file."""


class RecordFields(Strict):
    """The fields of a file."""

    title: Name
    citation: str
    url: str = Field(pattern="^https://")
    device: str = Field(pattern="^[a-z]+/[a-z0-9_]+$")
    date: Annotated[str, BeforeValidator(str)] = Field(default="", pattern=r"^\d{4}(-\d{2}){0,2}$")
    notes: tuple[str, ...] = ()
    statements: tuple[StatementFields, ...] = Field(default=(), max_length=100)
    isolated: bool = False
    read_between: bool = False
    series: tuple[SeriesFields, ...] = Field(min_length=1, max_length=100)


@dataclass(frozen=True)
class Published:
    """Published results of one device.

    Attributes:
        id: name of the file, without suffix.
        fields: of the file.
        series: the curves; sweep keys are unique.
    """

    id: str
    fields: RecordFields
    series: tuple[Series, ...]


LABELS: dict[Quantity, str] = {
    "working_set": "working set",
    "work_items": "work-items",
    "work_group": "work-group",
    "case": "case",
}
VALUES: dict[str, tuple[str, float]] = {
    "time_s": ("", 1.0),
    "time_ms": ("", 1e-3),
    "time_us": ("", 1e-6),
    "time_ns": ("", 1e-9),
    "GB_per_s": ("B", 1e9),
    "ns_per_load": ("loads", 1e-9),
}
"""Columns of measured values: the required unit of the workload's metric (empty for the time of a dispatch), and the
factor to SI units."""
RESOURCES = ("registers", "local_memory")
"""Columns of the resources of a work-item and of a work-group."""
OPTIONAL = frozenset({"resident", "pointers"})
"""Parameters that occur only in published points: see ``Workload.point`` and ``PointerChase.demand``."""


def load(path: Path) -> Published:
    """Read one record.

    Raises:
        InputError: it is invalid; the message names file, line and field, and the correction.
    """
    document = read_file(path, RecordFields)
    _refuse_entry(document)
    fields = document.get()
    series = tuple(_Reader(document, number, one).series() for number, one in enumerate(fields.series))
    _check_names(document, series)
    _check_statements(document, series)
    return Published(path.stem, fields, series)


def _refuse_entry(document: Document[RecordFields]) -> None:
    """Raise if the file is one of the database: these have a vendor, and no series."""
    if ("vendor",) in document.lines and ("series",) not in document.lines:
        what = "a device entry" if ("architecture",) in document.lines else "an architecture"
        commands = (
            f"check it with `gpureport devices check {document.path}`, or predict devices with `gpureport predict`"
        )
        raise InputError(f"{document.path}: is {what}, not a published record; {commands}")


def _check_names(document: Document[RecordFields], series: Sequence[Series]) -> None:
    """Raise if two series are the same sweep."""
    first: dict[SweepKey, int] = {}
    for number, key in enumerate(one.measurement.key for one in series):
        if key in first:
            what = f"{key} is already the name of series.{first[key]}; give each sweep its own name"
            raise _error(document, f"series.{number}.sweep", what)
        first[key] = number


def _check_statements(document: Document[RecordFields], series: Sequence[Series]) -> None:
    """Raise if a statement refers to series or points that the record does not contain."""
    sweeps = [str(one.measurement.key) for one in series]
    known = {*sweeps, *(sweep.rpartition("/")[0] for sweep in sweeps)}
    for number, statement in enumerate(document.get().statements):
        for place, name in enumerate(statement.about):
            if name not in known:
                what = f"there is no series {name!r}; the record has {', '.join(sorted(known))}"
                raise _error(document, f"statements.{number}.about.{place}", what)
        if statement.at and statement.compare not in {"times", "spread"}:
            raise _error(document, f"statements.{number}.at", "applies only to 'compare: times' or 'spread'; remove it")
        if statement.at and not any(_shows(one, statement) for one in series):
            raise _error(document, f"statements.{number}.at", "no series of this statement has such a point")


def _shows(series: Series, statement: StatementFields) -> bool:
    """Return whether a series of the statement has one of its points."""
    key = str(series.measurement.key)
    about = key in statement.about or key.rpartition("/")[0] in statement.about
    return about and any(statement.at.items() <= dict(point).items() for point in series.sweep.points)


def _error(document: Document[RecordFields], field: str, message: str) -> InputError:
    return InputError(str(document.problem(field, message, "error")))


@dataclass(frozen=True)
class _Reader:
    """Converts the fields of one series to records; every error has its line."""

    document: Document[RecordFields]
    number: int
    fields: SeriesFields

    def series(self) -> Series:
        """Return the series."""
        workload, value = self._workload(), self._value_column()
        unit, scale = VALUES[value]
        if unit and unit != workload.metric.unit:
            what = f"{value!r} needs a workload that counts {unit}; for {workload.name} give time_us"
            raise self._error("columns", what)
        self._check_parameters(workload)
        rows = [self._row(number) for number in range(len(self.fields.rows))]
        parameters = tuple(self._parameters(row) for row in rows)
        self._check_rows(parameters)
        sweep = self._sweep(parameters)
        points = tuple(
            self._point(workload, sweep, number, row[value] * scale, published=unit) for number, row in enumerate(rows)
        )
        return Series(
            workload=workload,
            sweep=sweep,
            published_resources=tuple(map(self._resources, rows)),
            measurement=Measurement(
                key=SweepKey(family=workload.family, variant=workload.variant, sweep=sweep.name),
                metric=workload.metric,
                axis=sweep.axis,
                points=points,
            ),
            conditions=self.fields.conditions,
        )

    def _workload(self) -> Workload:
        name = self.fields.workload
        try:
            found = select((name,))[0]
        except InputError as error:
            raise self._error("workload", str(error)) from None
        if found.name != name:
            raise self._error("workload", f"{name!r} is a family; give a variant, such as {found.name!r}")
        return found

    def _value_column(self) -> str:
        columns = self.fields.columns
        found = [name for name in columns if name in VALUES]
        if len(found) != 1:
            raise self._error("columns", f"exactly one column must contain measured values: {', '.join(VALUES)}")
        twice = [name for name in {*columns, *self.fields.fixed} if [*columns, *self.fields.fixed].count(name) > 1]
        if twice:
            raise self._error("columns", f"{min(twice)!r} is given twice")
        return found[0]

    def _check_parameters(self, workload: Workload) -> None:
        """Compare the parameters with those of the workload's verification points."""
        given = {*self.fields.columns, *self.fields.fixed} - VALUES.keys() - set(RESOURCES)
        points = [set(point) for point in workload.verification()]
        missing = set.intersection(*points) - given
        if missing:
            raise self._error("columns", f"{workload.name} needs the parameter {min(missing)!r}")
        known = OPTIONAL.union(*points)
        if given - known:
            names = ", ".join(sorted(known))
            raise self._error("columns", f"{workload.name} has no parameter {min(given - known)!r}; use {names}")

    def _row(self, number: int) -> dict[str, float]:
        """Return the values of a row by column, with the fixed ones."""
        row, columns = self.fields.rows[number], self.fields.columns
        if len(row) != len(columns):
            raise self._error(f"rows.{number}", f"has {len(row)} values for {len(columns)} columns")
        wrong = [name for name, value in zip(columns, row, strict=True) if name not in VALUES and value % 1]
        if wrong:
            raise self._error(f"rows.{number}", f"{wrong[0]!r} must be a whole number")
        if min(row) <= 0:
            raise self._error(f"rows.{number}", "values must be above zero")
        return self.fields.fixed | dict(zip(columns, row, strict=True))

    def _parameters(self, row: dict[str, float]) -> Parameters:
        return {name: int(value) for name, value in row.items() if name not in VALUES and name not in RESOURCES}

    def _check_rows(self, points: tuple[Parameters, ...]) -> None:
        """Raise if two rows have the same point."""
        for number, point in enumerate(points):
            if (first := points.index(point)) < number:
                what = f"has the same point as rows.{first}; remove one of them, or put each run into its own series"
                raise self._error(f"rows.{number}", what)

    def _sweep(self, points: tuple[Parameters, ...]) -> Sweep:
        axis = Axis(quantity=self.fields.axis, label=self.fields.label or LABELS[self.fields.axis])
        record, title = self.document.get(), self.fields.conditions or axis.label
        return Sweep(self.fields.sweep, axis, points, title, isolated=record.isolated, read_between=record.read_between)

    def _resources(self, row: dict[str, float]) -> Resources | None:
        if not any(name in row for name in RESOURCES):
            return None
        if "registers" not in row:
            raise self._error("columns", "'local_memory' also needs 'registers'")
        return Resources(int(row["registers"]), int(row.get("local_memory", 0)), compiled=True)

    def _point(self, workload: Workload, sweep: Sweep, number: int, value: float, *, published: str) -> MeasuredPoint:
        """Return one point from the time of a dispatch, or from a value per *published* unit of work."""
        point = workload.point(sweep.points[number], sweep)
        time_s = value
        if published:
            time_s = point.work / value if workload.metric.kind == "rate" else point.work * value
        least, most = DIMENSIONS["seconds"].least, DIMENSIONS["seconds"].most
        if not least <= time_s <= most:
            raise self._error(f"rows.{number}", f"a dispatch of {time_s:g} s is impossible; check the unit")
        return MeasuredPoint(point=point, samples_s=(time_s,))

    def _error(self, field: str, message: str) -> InputError:
        return _error(self.document, f"series.{self.number}.{field}", message)


def published_result(record: Published, database: Database) -> Result:
    """Return the result of a published record."""
    return Result(record.id, database.device(record.fields.device), record.series, published=True)


def published_report(record: Published, device: Device) -> Report:
    """Return the report of a published record and its *device*.

    It has no machine, compiled kernels or calibrated predictions, because these are unknown. Published values have no
    intervals.
    """
    predictions, observations = list[Prediction](), list[Observation]()
    found, reasons = list[Finding](), list[Explanation]()
    for series in record.series:
        resources, observation = series.published_resources, _observation(series)
        prediction = predict_sweep(device, series.workload, series.sweep, "specification", resources)
        findings = find(device, (prediction,), (series.measurement,), (observation,))
        inputs: dict[Basis, ModelInput] = {"specification": ModelInput(device, {series.sweep.name: resources})}
        why = explanations(series.workload, (series.sweep,), inputs, findings, (observation,))
        predictions.append(prediction)
        observations.append(observation)
        found += findings
        reasons += map(_uncertain, why) if len(observation.points) == 1 else why
    workloads = {series.workload.name: series.workload for series in record.series}
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=record.fields.device, how="named by the published record"),
        machine=None,
        publication=_publication(record),
        workloads={name: workload_info(workload) for name, workload in workloads.items()},
        predictions=tuple(predictions),
        measurements=tuple(series.measurement for series in record.series),
        observations=tuple(observations),
        findings=tuple(found),
        explanations=tuple(reasons),
    )


def _publication(record: Published) -> Publication:
    conditions = {str(one.measurement.key): one.conditions for one in record.series if one.conditions}
    return Publication(**record.fields.model_dump(exclude={"device", "series"}), conditions=conditions)


def _observation(series: Series) -> Observation:
    """Observe a series, and remove the intervals: single published values have no known uncertainty."""
    observation = observe(series.measurement)
    assert observation is not None  # noqa: S101 - each point has one sample
    return observation.model_copy(
        update={
            "points": Points(p.model_copy(update={"ci_low": p.value, "ci_high": p.value}) for p in observation.points),
            "features": tuple(f.model_copy(update={"ci_low": None, "ci_high": None}) for f in observation.features),
            "warnings": (),
        }
    )


def _uncertain(explanation: Explanation) -> Explanation:
    """Remove the certainty of an explanation: a bootstrap over a single point says nothing about it."""
    outcome = "unexplained" if explanation.outcome == "unexplained" else "ambiguous"
    return explanation.model_copy(update={"outcome": outcome, "better_than_base": 0.0, "better_than_next": 0.0})
