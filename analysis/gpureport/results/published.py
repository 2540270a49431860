"""Published results: compact YAML records, converted to the records of measurements, and to reports.

A record (``reports/published/<name>.yaml``) cites its source and contains series; a series is one curve of a workload
of this project, as medians. The model is compared with them by the same code as with our own measurements.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from pydantic import BeforeValidator, Field, FiniteFloat

from gpureport import __version__
from gpureport.errors import InputError
from gpureport.explain.trials import explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import ModelInput, predict_sweep
from gpureport.predict.occupancy import Compiled
from gpureport.records.curves import Axis, Basis, Metric, Observation, Points, SweepKey
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.prediction import Prediction
from gpureport.records.quantities import Name
from gpureport.records.report import Publication, PublishedStatement, Report, workload_info
from gpureport.results.replay import Result, Series
from gpureport.spec.database import Database
from gpureport.spec.models import EntryMatch
from gpureport.spec.reading import Document, read_file
from gpureport.spec.values import Strict
from gpureport.units import DIMENSIONS
from gpureport.workloads import select
from gpureport.workloads.model import Sweep, Workload

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
    ecc: bool = True
    series: tuple[SeriesFields, ...] = Field(min_length=1, max_length=100)


VALUES: dict[str, tuple[str, float]] = {
    "time_ms": ("", 1e-3),
    "time_us": ("", 1e-6),
    "GB_per_s": ("B", 1e9),
    "ns_per_load": ("loads", 1e-9),
}
"""Columns of measured values: the required unit of the workload's metric (empty for the time of a dispatch), and the
factor to SI units."""
RESOURCES = ("registers", "local_memory")
"""Columns of the resources of a work-item and of a work-group."""
_VALUED = frozenset({*VALUES, *RESOURCES})
OPTIONAL = frozenset({"resident", "pointers"})
"""Parameters that occur only in published points: see ``Workload.point`` and ``PointerChase.demand``."""


def load(path: Path, database: Database) -> Result:
    """Read one record of a device of *database*; an InputError with its place and correction if it is invalid."""
    document = read_file(path, RecordFields)
    if ("vendor",) in document.lines and ("series",) not in document.lines:
        what = "is a device or architecture file, not a published record"
        raise InputError(f"{path}: {what}; check it with `gpureport devices check {path}`")
    fields = document.get()
    if fields.device not in database.entries:
        what = f"{fields.device!r} is not in the database; `gpureport devices --known` lists the devices"
        raise document.error("device", what)
    series = tuple(_series(document, number) for number in range(len(fields.series)))
    keys = [str(one.measurement.key) for one in series]
    if twice := next((number for number, key in enumerate(keys) if key in keys[:number]), None):
        raise document.error(f"series.{twice}.sweep", f"{keys[twice]} is already a series; give it its own name")
    _check_statements(document, series)
    conditions = {str(one.measurement.key): one.conditions for one in series if one.conditions}
    publication = Publication(**fields.model_dump(exclude={"device", "ecc", "series"}), conditions=conditions)
    device = database.device(fields.device)
    return Result(path.stem, device if fields.ecc else device.without_ecc, series, publication=publication)


def _check_statements(document: Document[RecordFields], series: Sequence[Series]) -> None:
    known = {name for one in series for name in (str(one.measurement.key), one.workload.name)}
    for number, statement in enumerate(document.get().statements):
        for place, name in enumerate(statement.about):
            if name not in known:
                what = f"there is no series {name!r}; the record has {', '.join(sorted(known))}"
                raise document.error(f"statements.{number}.about.{place}", what)
        if statement.at and statement.compare != "times":
            raise document.error(f"statements.{number}.at", "applies only to 'compare: times'; remove it")
        about = (s for s in series if {str(s.measurement.key), s.workload.name} & {*statement.about})
        points = (dict(point) for one in about for point in one.sweep.points)
        if statement.at and not any(statement.at.items() <= point.items() for point in points):
            raise document.error(f"statements.{number}.at", "no series of this statement has such a point")


def _series(document: Document[RecordFields], number: int) -> Series:
    record = document.get()
    fields = record.series[number]

    def refuse(field: str, message: str) -> NoReturn:
        raise document.error(f"series.{number}.{field}", message) from None

    try:
        workload = select((fields.workload,))[0]
    except InputError as error:
        refuse("workload", str(error))
    for field, message in _problems(fields, workload):
        refuse(field, message)
    rows = [fields.fixed | dict(zip(fields.columns, row, strict=True)) for row in fields.rows]
    points = tuple({name: int(value) for name, value in row.items() if name not in _VALUED} for row in rows)
    named = fields.axis.replace("work_", "work-").replace("_", " ")
    axis = Axis(quantity=fields.axis, label=fields.label or named)
    title, isolated = fields.conditions or axis.label, record.isolated
    sweep = Sweep(fields.sweep, axis, points, title, isolated=isolated, read_between=record.read_between)
    measured = []
    for place, (row, parameters) in enumerate(zip(rows, points, strict=True)):
        point = workload.point(parameters, sweep)
        (time_s,) = (_time_s(name, row[name], point.work, workload.metric) for name in VALUES.keys() & row.keys())
        if not DIMENSIONS["seconds"].least <= time_s <= DIMENSIONS["seconds"].most:
            refuse(f"rows.{place}", f"a dispatch of {time_s:g} s is impossible; check the unit")
        measured.append(MeasuredPoint(point=point, samples_s=(time_s,)))
    return Series(
        workload=workload,
        sweep=sweep,
        resources={"specification": tuple(map(_resources, rows)), "calibrated": ()},
        measurement=Measurement(
            key=SweepKey(family=workload.family, variant=workload.variant, sweep=sweep.name),
            metric=workload.metric,
            axis=sweep.axis,
            points=Points(measured),
        ),
        conditions=fields.conditions,
    )


def _problems(fields: SeriesFields, workload: Workload) -> Iterator[tuple[str, str]]:
    given = (*fields.columns, *fields.fixed)
    if workload.name != fields.workload:
        yield "workload", f"{fields.workload!r} is a family; give a variant, such as {workload.name!r}"
    values = [name for name in given if name in VALUES]
    if len(values) != 1 or values[0] in fields.fixed:
        yield "columns", f"exactly one column must contain measured values: {', '.join(VALUES)}"
    for name in sorted(name for name in set(given) if given.count(name) > 1):
        yield "columns", f"{name!r} is given twice"
    unit, _ = VALUES[values[0]]
    if unit not in ("", workload.metric.unit):
        yield "columns", f"{values[0]!r} needs a workload that counts {unit}; for {workload.name} give time_us"
    points = [set(point) for point in workload.verification()]
    known, own = OPTIONAL.union(*points), set(given) - _VALUED
    for name in sorted(set.intersection(*points) - own):
        yield "columns", f"{workload.name} needs the parameter {name!r}"
    for name in sorted(own - known):
        yield "columns", f"{workload.name} has no parameter {name!r}; use {', '.join(sorted(known))}"
    if "local_memory" in given and "registers" not in given:
        yield "columns", "'local_memory' also needs 'registers'"
    yield from _row_problems(fields)


def _row_problems(fields: SeriesFields) -> Iterator[tuple[str, str]]:
    columns, first = fields.columns, dict[tuple[float, ...], int]()
    for number, row in enumerate(fields.rows):
        field = f"rows.{number}"
        if len(row) != len(columns):
            yield field, f"has {len(row)} values for {len(columns)} columns"
        for name, value in zip(columns, row, strict=False):
            if name not in VALUES and value % 1:
                yield field, f"{name!r} must be a whole number"
        if min(row) <= 0:
            yield field, "values must be above zero"
        point = tuple(value for name, value in zip(columns, row, strict=False) if name not in _VALUED)
        if first.setdefault(point, number) < number:
            what = f"has the same point as rows.{first[point]}; remove one of them, or put each run into its own series"
            yield field, what


def _time_s(column: str, value: float, work: float, metric: Metric) -> float:
    unit, scale = VALUES[column]
    if not unit:
        return value * scale
    return work / (value * scale) if metric.kind == "rate" else work * (value * scale)


def _resources(row: Mapping[str, float]) -> Compiled:
    if "registers" not in row:
        return {}
    registers, local = int(row["registers"]), int(row.get("local_memory", 0))
    return {"registers": registers, "local_memory_bytes": local, "compiled": True}


def published_report(result: Result) -> Report:
    """Return the report of a published record.

    It has no machine, compiled kernels or calibrated predictions, because these are unknown. Published values have no
    intervals.
    """
    device = result.device
    predictions, observations = list[Prediction](), list[Observation]()
    found, reasons = list[Finding](), list[Explanation]()
    for series in result.series:
        resources, observation = series.resources["specification"], _observation(series)
        prediction = predict_sweep(device, series.workload, series.sweep, "specification", resources)
        findings = find(device, (prediction,), (series.measurement,), (observation,))
        inputs: dict[Basis, ModelInput] = {"specification": ModelInput(device, {series.sweep.name: resources})}
        why = explanations(series.workload, (series.sweep,), inputs, findings, (observation,))
        predictions.append(prediction)
        observations.append(observation)
        found += findings
        reasons += map(_uncertain, why) if len(observation.points) == 1 else why
    workloads = {series.workload.name: series.workload for series in result.series}
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=device.id, how="named by the published record"),
        machine=None,
        publication=result.publication,
        workloads={name: workload_info(workload) for name, workload in workloads.items()},
        predictions=tuple(predictions),
        measurements=tuple(series.measurement for series in result.series),
        observations=tuple(observations),
        findings=tuple(found),
        explanations=tuple(reasons),
    )


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
