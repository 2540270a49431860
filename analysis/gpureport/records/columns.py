"""Curves, which have all records of a sweep, and their form in files: columns.

All records of a sweep share its key, metric, axis and points; in a file they are one curve. A column has a value for
each point, or a single one if all are equal; it is left out if all have the default. The types of columns follow from
those of the records of points. What the calibrated prediction leaves out is that of the specification.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, Discriminator, Tag, create_model
from pydantic.fields import FieldInfo

from gpureport.records.curves import (
    Axis,
    Basis,
    Metric,
    Observation,
    ObservedPoint,
    Point,
    PointKey,
    Points,
    Record,
    SweepKey,
)
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import MeasuredPoint, Measurement, check_paired
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.quantities import Many, Table, Whole, once, refuse_repeated
from gpureport.records.tables import Columns, columns_of, length_of, rows_of, spread_out

Part = Literal["specification", "calibrated", "measurement", "observation"]
_SHARED = ("key", "metric", "axis")
_PARTS: dict[Part, tuple[type[Record], type[Point]]] = {
    "specification": (Prediction, PredictedPoint),
    "calibrated": (Prediction, PredictedPoint),
    "measurement": (Measurement, MeasuredPoint),
    "observation": (Observation, ObservedPoint),
}
"""By field of a curve, the type of the record, and that of its points."""
_INHERITED: dict[Part, Part] = {"calibrated": "specification"}
"""Parts that leave out what they share with another one."""


@dataclass(frozen=True)
class Curve:
    """All records of one sweep, at least one of which is a prediction, measurement or observation."""

    key: SweepKey
    metric: Metric
    axis: Axis
    specification: Prediction | None = None
    calibrated: Prediction | None = None
    measurement: Measurement | None = None
    observation: Observation | None = None
    findings: tuple[Finding, ...] = ()
    explanation: Explanation | None = None

    @property
    def records(self) -> tuple[Prediction | Measurement | Observation, ...]:
        """What is stored as a curve."""
        return tuple(filter(None, (self.specification, self.calibrated, self.measurement, self.observation)))

    def compared(self, kind: Basis) -> Iterator[tuple[PredictedPoint, ObservedPoint]]:
        """Yield each point that is both in this *kind* of prediction and observed."""
        predicted: Prediction | None = getattr(self, kind)
        return predicted.points.pairs(self.observation.points) if predicted and self.observation else iter(())


def joined(
    predictions: Iterable[Prediction] = (),
    measurements: Iterable[Measurement] = (),
    observations: Iterable[Observation] = (),
    findings: Iterable[Finding] = (),
    explanations: Iterable[Explanation] = (),
) -> tuple[Curve, ...]:
    """Join the records of each sweep, in the order of the first of its records."""
    found: dict[SweepKey, Columns] = {}
    for prediction in predictions:
        found.setdefault(prediction.key, {})[prediction.kind] = prediction
    for measurement in measurements:
        found.setdefault(measurement.key, {})["measurement"] = measurement
    for observation in observations:
        found.setdefault(observation.key, {})["observation"] = observation
    compared: dict[SweepKey, list[Finding]] = defaultdict(list)
    for finding in findings:
        compared[finding.key].append(finding)
    tested = {explanation.key: explanation for explanation in explanations}
    firsts = {key: next(iter(records.values())) for key, records in found.items()}
    return tuple(
        Curve(
            key=key,
            metric=firsts[key].metric,
            axis=firsts[key].axis,
            **records,
            findings=tuple(compared[key]),
            explanation=tested.get(key),
        )
        for key, records in found.items()
    )


# Types


EACH, ALL = "each", "all"
"""Tags of a column in the places of errors: it has a value for each point, or one for all."""


def _values(value: Any, each: Any) -> Any:  # noqa: ANN401 - types
    either = Discriminator(lambda column: EACH if isinstance(column, list | tuple) else ALL)
    return Annotated[Annotated[Many[each], Tag(EACH)] | Annotated[value, Tag(ALL)], either]


def _column(field: FieldInfo) -> Any:  # noqa: ANN401 - a type
    value = _unrounded(Annotated[field.annotation, *field.metadata, None])
    if get_origin(field.annotation) is dict:
        name, each = get_args(field.annotation)
        return Table[name, _values(_unrounded(each) | None, _unrounded(each) | None)]  # type: ignore[misc,valid-type]
    return Many[value] if get_origin(field.annotation) is tuple else _values(value, value)  # type: ignore[valid-type]


def _unrounded(kind: Any) -> Any:  # noqa: ANN401 - types
    """Return the *kind* of a number without its rounding, which takes long; numbers in files are rounded."""
    if get_origin(kind) is tuple:
        return tuple[_unrounded(get_args(kind)[0]), ...]  # type: ignore[misc]
    if get_origin(kind) is not Annotated:
        return kind
    inner, *rules = get_args(kind)
    return Annotated[_unrounded(inner), *(rule for rule in rules if not isinstance(rule, AfterValidator))]


def _of(record: type[Record], name: str, fields: Columns) -> type[Record]:
    """Return a type with other *fields* that have the docstrings of those of *record*."""
    made = create_model(name, __base__=Record, __doc__=record.__doc__, **fields)
    made.documented_by = (record, {field: field for field in record.model_fields})  # type: ignore[attr-defined]
    return made


def _columns(row: type[Record], *, partial: bool = False, **others: Any) -> type[Record]:  # noqa: ANN401
    """Return the type of the columns of rows; *partial*: those that are required may also be left out."""
    fields = {
        name: (_column(field), ...) if field.is_required() and not partial else (_column(field) | None, None)
        for name, field in row.model_fields.items()
        if name != "point"
    }
    return _of(row, f"{'Some' if partial else ''}{row.__name__}Columns", {**fields, **others})


@cache
def curve_type() -> Any:  # noqa: ANN401
    """Return the type of a curve in a file."""
    fields: Columns = {"key": (SweepKey, ...), "metric": (Metric, ...), "axis": (Axis, ...)}
    fields["points"] = (_columns(PointKey), ...)
    for name, (record, row) in _PARTS.items():
        partial = name in _INHERITED
        own: Columns = {
            n: (Annotated[f.annotation, *f.metadata, None] | None, None) if partial else (f.annotation, f)
            for n, f in record.model_fields.items()
            if n not in (*_SHARED, "kind", "points")
        }
        own["points"] = (_columns(row, partial=partial, at=(Many[Whole] | None, None)), ...)
        fields[name] = (_of(record, f"{name.capitalize()}Part", own) | None, None)
    return create_model("Curve", __base__=Record, __doc__=_CURVE, **fields)


_CURVE = """A sweep. The points of a part are those *at* some indices of the points of the curve, or all of them. Fields
and columns that the calibrated part leaves out are those of the specification; ``null`` is the default."""


@cache
def stored_type(report: type[Record]) -> type[Record]:
    """Return the type of a *report* in a file."""
    curve: Any = curve_type()
    curves = Annotated[Many[curve], once("sweep", lambda each: each.key, lambda each: each.key)]
    fields = {n: (f.annotation, f) for n, f in report.model_fields.items() if n not in GROWING}
    return _of(report, "StoredReport", {**fields, "curves": (curves, ())})


GROWING = ("predictions", "measurements", "observations")
"""Fields of a report that are curves in a file."""

# Writing


def packed(curve: Curve) -> Columns:
    """Return the stored records of a curve, ready for JSON."""
    keys: dict[str, Columns] = {}
    parts: Columns = {}
    for name, (_, kind) in _PARTS.items():
        if (record := getattr(curve, name)) is None:
            continue
        part = record.model_dump(mode="json", exclude={*_SHARED, "kind"}, exclude_defaults=True)
        rows = part.pop("points", [])
        own = [row["point"] for row in rows]
        names = list(map(repr, own))
        keys |= zip(names, own, strict=True)
        parts[name] = {**part, "points": {"at": names, **columns_of(rows, kind, {"point"})}}
    places = {name: place for place, name in enumerate(keys)}
    for part in parts.values():
        at = part["points"].pop("at")
        if at != list(keys):
            part["points"]["at"] = [places[name] for name in at]
    for name, base in _INHERITED.items():
        if name in parts and base in parts:
            parts[name] = {"points": {}, **_difference(parts[name], parts[base])}
    shared = {name: getattr(curve, name).model_dump(mode="json") for name in _SHARED}
    return {**shared, "points": columns_of(list(keys.values()), PointKey), **parts}


_NESTED = ("points", "ceilings_s")


def _difference(own: Columns, base: Columns) -> Columns:
    """Return what *own* has in another way than *base*, and ``None`` for what it lacks."""
    found: Columns = {name: None for name in base if name not in own}
    for name, value in own.items():
        if name not in base:
            found[name] = value
        elif value != base[name]:
            nested = name in _NESTED and isinstance(value, dict) and isinstance(base[name], dict)
            found[name] = _difference(value, base[name]) if nested else value
    return found


# Reading

_MOST_POINTS = 200_000  # a few bytes of a file would otherwise become a kilobyte of memory


def unpacked(curves: Iterable[Any]) -> Columns:
    """Return the records of *curves*, by field of a report; their points are made when they are first used.

    Raises:
        ValueError: a column has another number of values than there are points, or a point is there twice.
    """
    found: dict[str, list[Any]] = {part: [] for part in _PARTS}
    total = 0
    for number, curve in enumerate(curves):
        with _place(f"curves[{number}].points"):
            count = length_of(dict(curve.points), PointKey)
            total += count
            if total > _MOST_POINTS:
                raise ValueError(f"must have at most {_MOST_POINTS} points, together with the curves before it")
        for part, record in _records(curve, count, f"curves[{number}]"):
            found[part].append(record)
    specified, calibrated, *others = map(tuple, found.values())
    return dict(zip(GROWING, (specified + calibrated, *others), strict=True))


def _records(curve: Any, count: int, place: str) -> Iterator[tuple[Part, Record]]:  # noqa: ANN401
    """Yield the record of each part of a *curve* of *count* points at a *place* of the file."""
    columns: Columns = dict(curve.points)
    with _place(f"{place}.points"):
        rows = rows_of(columns, count, PointKey)
        keys = cache(lambda: tuple(PointKey.model_construct(**row) for row in rows()))
        refuse_repeated("point", _identities(columns, count), lambda index: keys()[index].label)
    for part, (kind, row) in _PARTS.items():
        if getattr(curve, part) is None:
            continue
        with _place(f"{place}.{part}"):
            own = _required(kind, _fields(curve, part))
        with _place(f"{place}.{part}.points"):
            own["points"] = _part_points(row, _required(row, own["points"]), keys, count)
        own |= {name: getattr(curve, name) for name in _SHARED} | ({"kind": part} if kind is Prediction else {})
        yield part, kind.model_construct(**own)


@contextmanager
def _place(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name} is wrong: it {error}") from None


def _fields(curve: Any, part: Part) -> Columns:  # noqa: ANN401
    base = getattr(curve, _INHERITED.get(part, part))
    fields = _present(getattr(curve, part))
    return _merged(_present(base), fields) if base is not None else fields


def _present(part: Any) -> Columns:  # noqa: ANN401
    return {name: getattr(part, name) for name in part.model_fields_set} | {
        "points": {name: getattr(part.points, name) for name in part.points.model_fields_set}
    }


def _merged(base: Columns, own: Columns) -> Columns:
    """Return *base* with what is different in *own*, as :func:`_difference` found it."""
    both = (name for name in own if isinstance(own[name], dict) and isinstance(base.get(name), dict))
    return {**base, **own, **{name: _merged(base[name], own[name]) for name in both}}


def _required(kind: type[Record], fields: Columns) -> Columns:
    """Return the *fields* that are not ``None``; refuse to go on without one that *kind* requires."""
    missing = (n for n, f in kind.model_fields.items() if f.is_required() and n not in (*_SHARED, "kind", "point"))
    for name in missing:
        if fields.get(name) is None:
            raise ValueError(f"must have {name}")
    return {name: value for name, value in fields.items() if value is not None}


def _identities(columns: Columns, count: int) -> list[Hashable]:
    """Return what no two points have: the parameters, or the label of a point without them."""
    labels = spread_out("label", columns["label"], count)
    parameters = zip(*(spread_out(name, column, count) for name, column in columns["parameters"].items()), strict=True)
    rows = parameters if columns["parameters"] else repeat(())
    return [row if set(row) - {None} else label for label, row in zip(labels, rows, strict=False)]


def _part_points(
    row: type[Point], columns: Columns, keys: Callable[[], Sequence[PointKey]], of_curve: int
) -> Points[Any]:
    """Return the points of a part, which are some or all of a curve's, with these *keys*."""
    at = columns.pop("at", None)
    if at is not None and max(at, default=0) >= of_curve:
        raise ValueError(f"must have values of at below {of_curve}, the number of the curve's points")
    refuse_repeated("point", at or (), lambda place: keys()[at[place]].label)
    places = range(of_curve) if at is None else at
    if row is MeasuredPoint:
        none = [()] * len(places)
        samples, times = (
            spread_out(name, columns.get(name, none), len(places)) for name in ("samples_s", "taken_at_s")
        )
        check_paired(samples, times)
    rows = rows_of(columns, len(places), row)
    return Points(
        lambda: (row.model_construct(point=keys()[i], **each) for i, each in zip(places, rows(), strict=True)),
        len(places),
    )
