"""Curves, which have all records of a sweep, and their form in files: columns (:mod:`gpureport.records.tables`).

All records of a sweep share its key, metric, axis and points; in a file they are one curve. What the calibrated
prediction leaves out is that of the specification.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, create_model

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
    SweepRecord,
)
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.quantities import Many, Whole, once, refuse_repeated
from gpureport.records.tables import (
    MOST_ROWS,
    Columns,
    Rows,
    columns_of,
    columns_type,
    length_of,
    present,
    refuse_others,
    type_like,
)

SHARED = tuple(SweepRecord.model_fields)
_PARTS: dict[str, tuple[type[Record], type[Point]]] = {
    "specification": (Prediction, PredictedPoint),
    "calibrated": (Prediction, PredictedPoint),
    "measurement": (Measurement, MeasuredPoint),
    "observation": (Observation, ObservedPoint),
}
"""By field of a curve, the type of the record, and that of its points."""


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

    @property
    def values(self) -> dict[str, Prediction | Observation]:
        """Its records with values and features: ``specification``, ``calibrated`` and ``observed``."""
        every = {"specification": self.specification, "calibrated": self.calibrated, "observed": self.observation}
        return {name: record for name, record in every.items() if record}

    def compared(self, kind: Basis) -> Iterator[tuple[PredictedPoint, ObservedPoint]]:
        """Yield each point that is both in this *kind* of prediction and observed."""
        predicted: Prediction | None = getattr(self, kind)
        return predicted.points.pairs(self.observation.points) if predicted and self.observation else iter(())


@cache
def stored_type(report: type[Record]) -> type[BaseModel]:
    """Return the type of a *report* in a file."""
    fields: Columns = {name: (field.annotation, ...) for name, field in SweepRecord.model_fields.items()}
    fields["points"] = (columns_type(PointKey), ...)
    for name, (record, row) in _PARTS.items():
        own: Columns = {
            n: (Annotated[f.annotation, *f.metadata, None] | None, None)
            for n, f in record.model_fields.items()
            if n not in (*SHARED, "kind", "points")
        }
        points = create_model(f"{name}Points", __base__=columns_type(row, "point"), at=(Many[Whole] | None, None))
        fields[name] = (type_like(record, f"{name.capitalize()}Part", own | {"points": (points, ...)}) | None, None)
    curve: Any = create_model("Curve", __base__=Record, __doc__=_CURVE, **fields)
    curves = Annotated[Many[curve], once("sweep", lambda each: each.key, lambda each: each.key)]
    others = {n: (f.annotation, f) for n, f in report.model_fields.items() if n not in GROWING}
    return type_like(report, "StoredReport", {**others, "curves": (curves, ())})


_CURVE = """A sweep. The points of a part are those *at* some indices of the points of the curve, or all of them. Fields
and columns that the calibrated part leaves out are those of the specification; ``null`` is the default."""
GROWING = ("predictions", "measurements", "observations")
"""Fields of a report that are curves in a file."""


def packed(curve: Curve) -> Columns:
    """Return the stored records of a curve, ready for JSON."""
    points = {row.point.identity: row.point for record in curve.records for row in record.points}
    places = {identity: place for place, identity in enumerate(points)}
    parts: Columns = {}
    for name, (_, kind) in _PARTS.items():
        if (record := getattr(curve, name)) is not None:
            part = record.model_dump(mode="json", exclude={*SHARED, "kind"}, exclude_defaults=True)
            at = [places[row.point.identity] for row in record.points]
            columns = {} if at == list(places.values()) else {"at": at}
            parts[name] = {**part, "points": {**columns, **columns_of(part.get("points", ()), kind, "point")}}
    if "calibrated" in parts and "specification" in parts:
        parts["calibrated"] = {"points": {}, **_difference(parts["calibrated"], parts["specification"])}
    shared = {name: getattr(curve, name).model_dump(mode="json") for name in SHARED}
    keys = [point.model_dump(mode="json") for point in points.values()]
    return {**shared, "points": columns_of(keys, PointKey), **parts}


def _difference(own: Columns, base: Columns) -> Columns:
    """Return what *own* has in another way than *base*, and ``None`` for what it lacks."""
    found: Columns = {name: own.get(name) for name in {**base, **own} if own.get(name) != base.get(name)}
    nested = [name for name in ("points", "ceilings_s") if found.get(name) and name in base]
    return found | {name: _difference(found[name], base[name]) for name in nested}


def unpacked(curves: Iterable[Any]) -> Columns:
    """Return the records of *curves*, by field of a report.

    Raises:
        ValueError: a column has another number of values than there are points, or a point is there twice.
    """
    found: dict[str, list[Any]] = {part: [] for part in _PARTS}
    left = MOST_ROWS
    for number, curve in enumerate(curves):
        place, columns = f"curves[{number}]", present(curve.points)
        with _place(f"{place}.points"):
            left -= (count := length_of(columns))
            if left < 0:
                raise ValueError(f"must have at most {MOST_ROWS} rows, together with the curves before it")
            keys = _keys(columns, count)
        for part, kind in ((part, kind) for part, (kind, _) in _PARTS.items() if getattr(curve, part)):
            with _place(f"{place}.{part}"):
                own = _required(kind, _fields(curve, part))
            with _place(f"{place}.{part}.points"):
                own["points"] = _part_points(_PARTS[part][1], own["points"], keys)
            own |= {name: getattr(curve, name) for name in SHARED} | ({"kind": part} if kind is Prediction else {})
            found[part].append(kind.model_construct(**own))
    specified, calibrated, *others = map(tuple, found.values())
    return dict(zip(GROWING, (specified + calibrated, *others), strict=True))


@contextmanager
def _place(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _keys(columns: Columns, count: int) -> Rows[PointKey]:
    keys = Rows[PointKey].of_columns(PointKey, columns, count)
    refuse_repeated("point", [key.identity for key in keys], lambda place: keys[place].label)
    return keys


def _fields(curve: Any, part: str) -> Columns:  # noqa: ANN401
    record = getattr(curve, part)
    own = {**present(record), "points": present(record.points)} if record else {}
    return _merged(_fields(curve, "specification"), own) if part == "calibrated" else own


def _merged(base: Columns, own: Columns) -> Columns:
    """Return *base* with what is different in *own*, as :func:`_difference` found it."""
    both = (name for name in own if isinstance(own[name], dict) and isinstance(base.get(name), dict))
    return {**base, **own, **{name: _merged(base[name], own[name]) for name in both}}


def _required(kind: type[Record], fields: Columns) -> Columns:
    missing = (n for n, f in kind.model_fields.items() if f.is_required() and n not in (*SHARED, "kind", "point"))
    for name in missing:
        if fields.get(name) is None:
            raise ValueError(f"must have {name}")
    return {name: value for name, value in fields.items() if value is not None}


def _part_points(row: type[Point], columns: Columns, keys: Rows[PointKey]) -> Points[Any]:
    columns = _required(row, columns)
    at: Sequence[int] = columns.pop("at", range(len(keys)))
    if max(at, default=-1) >= len(keys):
        raise ValueError(f"must have values of at below {len(keys)}, the number of the curve's points")
    refuse_repeated("point", at, lambda place: keys[at[place]].label)
    refuse_others(columns, len(at))
    samples, times = (columns.get(name, [()] * len(at)) for name in ("samples_s", "taken_at_s"))
    if any(len(each) not in (0, len(own)) for own, each in zip(samples, times, strict=True)):
        raise ValueError("must have as many values in taken_at_s as in samples_s, or none")
    return Points[Any].of_columns(row, {**columns, "point": tuple(keys[i] for i in at)}, len(at))
