"""The form of reports in files: curves as columns.

All records of a sweep share its key, metric, axis and points; in a file they are one curve. A column has a value for
each point, or a single one if all are equal; it is left out if all have the default. The types of columns follow from
those of the records of points.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import repeat
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, Discriminator, Tag, create_model
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from gpureport.records.keys import POINTS_ONCE, Axis, Metric, PointKey, Record, SweepKey
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.quantities import Many, Table, Whole, once

Curve = Prediction | Measurement | Observation
Part = Literal["specification", "calibrated", "measurement", "observation"]
Columns = dict[str, Any]
_SHARED = ("key", "metric", "axis")
_PARTS: dict[Part, tuple[type[Record], type[Record]]] = {
    "specification": (Prediction, PredictedPoint),
    "calibrated": (Prediction, PredictedPoint),
    "measurement": (Measurement, MeasuredPoint),
    "observation": (Observation, ObservedPoint),
}
"""By field of a curve, the type of the record, and that of its points."""


def part_of(record: Curve) -> Part:
    """Return the field of a curve that *record* is stored in."""
    if isinstance(record, Prediction):
        return record.kind
    return "measurement" if isinstance(record, Measurement) else "observation"


# Types


EACH, ALL = "each", "all"
"""Tags of a column in the places of errors: it has a value for each point, or one for all."""


def _values(value: Any, each: Any) -> Any:  # noqa: ANN401 - types
    either = Discriminator(lambda column: EACH if isinstance(column, list | tuple) else ALL)
    return Annotated[Annotated[Many[each], Tag(EACH)] | Annotated[value, Tag(ALL)], either]


def _column(field: FieldInfo) -> Any:  # noqa: ANN401 - a type and a default
    if get_origin(field.annotation) is dict:
        name, value = get_args(field.annotation)
        kind: Any = Table[name, _values(value, value | None)]  # type: ignore[misc,valid-type]
    else:  # single numbers are not rounded again, which takes long
        limits = [each for each in field.metadata if not isinstance(each, AfterValidator)]
        value = Annotated[field.annotation, *limits] if limits else field.annotation
        kind = Many[value] if get_origin(field.annotation) is tuple else _values(value, value)  # type: ignore[valid-type]
    return (kind, ...) if field.is_required() else (kind | None, None)


def _of(record: type[Record], name: str, fields: Columns) -> type[Record]:
    """Return a type with other *fields* that have the docstrings of those of *record*."""
    made = create_model(name, __base__=Record, __doc__=record.__doc__, **fields)
    made.documented_by = (record, {field: field for field in record.model_fields})  # type: ignore[attr-defined]
    return made


def _columns(row: type[Record], **others: Any) -> type[Record]:  # noqa: ANN401
    fields = {name: _column(field) for name, field in row.model_fields.items() if name != "point"}
    return _of(row, f"{row.__name__}Columns", {**fields, **others})


@cache
def curve_type() -> Any:  # noqa: ANN401
    """Return the type of a curve in a file."""
    fields: Columns = {"key": (SweepKey, ...), "metric": (Metric, ...), "axis": (Axis, ...)}
    fields["points"] = (_columns(PointKey), ...)
    for name, (record, row) in _PARTS.items():
        own: Columns = {n: (f.annotation, f) for n, f in record.model_fields.items() if n not in (*_SHARED, "kind")}
        own["points"] = (_columns(row, at=(Many[Whole] | None, None)), ...)
        fields[name] = (_of(record, f"{name.capitalize()}Part", own) | None, None)
    return create_model("Curve", __base__=Record, __doc__=_CURVE, **fields)


_CURVE = "A sweep. The points of a part are those *at* some indices of the points of the curve, or all of them."


def stored_type(report: type[Record]) -> type[Record]:
    """Return the type of a *report* in a file."""
    curve: Any = curve_type()
    curves = Annotated[Many[curve], once("sweep", lambda each: each.key, lambda each: each.key)]
    fields = {n: (f.annotation, f) for n, f in report.model_fields.items() if n not in GROWING}
    return _of(report, "StoredReport", {**fields, "curves": (curves, ())})


GROWING = ("predictions", "measurements", "observations")
"""Fields of a report that are curves in a file."""

# Writing


def curves_of(records: Iterable[Curve]) -> Iterator[tuple[Curve, ...]]:
    """Yield the records of each sweep, in the order of the first."""
    found: dict[SweepKey, list[Curve]] = {}
    for record in records:
        found.setdefault(record.key, []).append(record)
    yield from map(tuple, found.values())


def packed(records: Sequence[Curve]) -> Columns:
    """Return the records of one sweep as a curve, ready for JSON."""
    keys: dict[str, Columns] = {}
    parts: Columns = {}
    for record in records:
        part = parts[part_of(record)] = record.model_dump(mode="json", exclude={*_SHARED, "kind"})
        own = [row.pop("point") for row in part["points"]]
        names = list(map(repr, own))
        keys |= zip(names, own, strict=True)
        part["points"] = {"at": names, **_packed(part["points"], _PARTS[part_of(record)][1])}
    places = {name: place for place, name in enumerate(keys)}
    for part in parts.values():
        at = part["points"].pop("at")
        if at != list(keys):
            part["points"]["at"] = [places[name] for name in at]
    shared = records[0].model_dump(mode="json", include=set(_SHARED))
    return {**shared, "points": _packed(list(keys.values()), PointKey), **parts}


def _packed(rows: Sequence[Mapping[str, Any]], kind: type[Record]) -> Columns:
    found: Columns = {}
    for name, field in kind.model_fields.items():
        values = [row[name] for row in rows if name != "point"]
        if get_origin(field.annotation) is dict:
            keys = dict.fromkeys(key for value in values for key in value)
            found[name] = {key: _same([value.get(key) for value in values]) for key in keys}
        elif field.is_required() or any(value != _default(kind, name) for value in values):
            found[name] = values if get_origin(field.annotation) is tuple else _same(values)
    return found


@cache
def _default(kind: type[Record], name: str) -> Any:  # noqa: ANN401
    return to_jsonable_python(kind.model_fields[name].get_default(call_default_factory=True))


def _same(values: list[Any]) -> Any:  # noqa: ANN401
    return values[0] if len(values) > 1 and all(value == values[0] for value in values) else values


# Reading

_once: Any = POINTS_ONCE.func
_MOST_POINTS = 200_000  # a few bytes of a file would otherwise become a kilobyte of memory


def unpacked(curves: Iterable[Any]) -> Columns:
    """Return the records of *curves*, by field of a report.

    Raises:
        ValueError: a column has another number of values than there are points, or a point is there twice.
    """
    found: dict[str, list[Any]] = {part: [] for part in _PARTS}
    total = 0
    for number, curve in enumerate(curves):
        with _place(f"curves[{number}].points"):
            count = _length(curve.points)
            total += count + sum(len(getattr(curve, part).points.at or ()) for part in _PARTS if getattr(curve, part))
            if total > _MOST_POINTS:
                raise ValueError(f"must have at most {_MOST_POINTS} points, together with the curves before it")
            keys = _rows(curve.points, PointKey, repeat({}, count))
        shared = {name: getattr(curve, name) for name in _SHARED}
        for part, (kind, row) in _PARTS.items():
            if (stored := getattr(curve, part)) is None:
                continue
            with _place(f"curves[{number}].{part}.points"):
                points = _rows(stored.points, row, [{"point": key} for key in _chosen(keys, stored.points.at)])
                if row is MeasuredPoint:
                    points = tuple(point.paired() for point in points)
                own: Columns = shared | dict(stored) | {"points": _once(points)}
            own |= {"kind": part} if kind is Prediction else {}
            found[part].append(kind.model_construct(**own))
    specified, calibrated, *others = map(tuple, found.values())
    return dict(zip(GROWING, (specified + calibrated, *others), strict=True))


@contextmanager
def _place(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name} is wrong: it {error}") from None


def _chosen(keys: Sequence[PointKey], at: Sequence[int] | None) -> Sequence[PointKey]:
    if at is not None and max(at, default=0) >= len(keys):
        raise ValueError(f"must have values of at below {len(keys)}, the number of the curve's points")
    return keys if at is None else [keys[place] for place in at]


def _length(columns: Record) -> int:
    """Return the number of points."""
    lists = (column for _, value in columns for column in (value.values() if isinstance(value, dict) else (value,)))
    return next((len(column) for column in lists if isinstance(column, tuple)), 1)


def _rows(columns: Record, kind: type[Record], begun: Iterable[Columns]) -> tuple[Any, ...]:
    """Return records with the fields that were *begun*, and those of *columns*."""
    rows = list(map(dict, begun))
    for name, value in columns:
        if value is None or name == "at":
            continue
        found = _tables(value, len(rows)) if isinstance(value, dict) else _spread(name, value, len(rows))
        for row, each in zip(rows, found, strict=True):
            row[name] = each
    return tuple(kind.model_construct(**row) for row in rows)


def _tables(columns: Columns, count: int) -> Iterable[Columns]:
    """Yield the table of each point, without the names that it lacks."""
    spread = [_spread(name, column, count) for name, column in columns.items()]
    for values in zip(*spread, strict=True):
        yield {name: value for name, value in zip(columns, values, strict=True) if value is not None}
    yield from repeat({}, 0 if columns else count)


def _spread(name: str, column: Any, count: int) -> Iterable[Any]:  # noqa: ANN401
    if not isinstance(column, tuple):
        return repeat(column, count)
    if len(column) != count:
        raise ValueError(f"must have {count} values of {name}, one for each point; it has {len(column)}")
    return column
