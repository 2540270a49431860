"""Reports and comparisons as pandas frames.

Columns are the fields of the records (:mod:`gpureport.records`, :mod:`gpureport.compare.records`), in SI base units.
Every frame of a report has the columns ``family``, ``variant`` and ``sweep``, by which frames can be joined.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd
from pydantic import BaseModel

from gpureport.compare.records import Comparison, Condition, Landmark, Machine, RatioEstimate
from gpureport.records.columns import Curve
from gpureport.records.curves import CurveFeature, Level, Metric, SweepKey
from gpureport.records.finding import Finding, Verdict
from gpureport.records.measurement import Measurement
from gpureport.records.report import Report

Row = dict[str, object]

_KEY = ("family", "variant", "sweep")
_POINT = ("point", "x", "working_set_bytes", "work_items", "unit")
_PREDICTED = ("specification", "specification_low", "specification_high", "calibrated", "level", "bottleneck")
_OBSERVED = ("observed", "ci_low", "ci_high")
_SAMPLE = ("point", "taken_at_s", "time_s")
_STANDING = ("family", "variant", "regime", "unit", "machine", "point", "value", "ci_low", "ci_high", "predicted_peak")
_LANDMARK = ("machine", "workload", "sweep")
_ENDS = ("", "_low", "_high")
_SPEED = tuple(f"speed{end}" for end in _ENDS)
_RATIOS = ("speed", "efficiency")


@dataclass(frozen=True)
class ReportFrames:
    """A measured, published or predicted report as frames; ``report`` is complete, as records."""

    report: Report

    @property
    def device(self) -> str:
        """The device's name."""
        return self.report.device.name

    @cached_property
    def findings(self) -> pd.DataFrame:
        """Predicted and observed values: a row for each position of each feature and each prediction (``basis``)."""
        return _table(map(_flat, self.report.findings), (*_KEY, *Finding.model_fields))

    @cached_property
    def points(self) -> pd.DataFrame:
        """Curves: a row for each point, with predicted and observed values in the row's ``unit``.

        ``specification`` has the 95 % interval of the prediction, ``observed`` that of the median.
        """
        rows = (row for curve in self.report.curves for row in _points(curve))
        return _table(rows, (*_KEY, *_POINT, *_PREDICTED, *_OBSERVED))

    @cached_property
    def features(self) -> pd.DataFrame:
        """Cliffs, tapers and rates of each curve; ``kind``: ``specification``, ``calibrated`` or ``observed``."""
        rows = (
            {**dict(curve.key), "kind": kind, **_flat(f)}
            for curve in self.report.curves
            for kind, record in curve.values.items()
            for f in record.features
        )
        return _table(rows, (*_KEY, "kind", *CurveFeature.model_fields))

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Every raw sample: seconds of one dispatch, and the time within its sweep."""
        rows = (row for measurement in self.report.measurements for row in _samples(measurement))
        return _table(rows, (*_KEY, *_SAMPLE))


@dataclass(frozen=True)
class ComparisonFrames:
    """A comparison of machines as frames; ``comparison`` is complete, as records."""

    comparison: Comparison

    @cached_property
    def machines(self) -> pd.DataFrame:
        """A row for each machine."""
        return _table(map(_flat, self.comparison.machines), Machine.model_fields)

    @cached_property
    def conditions(self) -> pd.DataFrame:
        """Differences between the machines other than the device."""
        return _table(map(_flat, self.comparison.conditions), Condition.model_fields)

    @cached_property
    def standings(self) -> pd.DataFrame:
        """Speeds: a row for each workload, regime and machine.

        ``speed`` is relative to the baseline, ``efficiency`` to the machine's own predicted peak. Each has a 95 %
        interval if known.
        """
        rows = (
            {**_split(each.workload), "regime": each.regime, "unit": _unit(each.metric), **_flat(standing)}
            for each in self.comparison.contests
            for standing in each.standings
        )
        return _table(rows, (*_STANDING, *(f"{name}{end}" for name in _RATIOS for end in _ENDS)))

    @cached_property
    def landmarks(self) -> pd.DataFrame:
        """Cliffs and tapers of all machines, predicted and observed."""
        rows = ({**_flat(mark), **_split(mark.workload)} for mark in self.comparison.landmarks)
        return _table(rows, ("machine", *_KEY, *(name for name in Landmark.model_fields if name not in _LANDMARK)))

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Sweeps of machines with the baseline's device, and whether they differ significantly."""
        rows = ({**_flat(each), **_split(each.sweep)} for each in self.comparison.differences)
        return _table(rows, ("machine", *_KEY, "points", *_SPEED, "p_value", "significant"))


def _table(rows: Iterable[Row], columns: Iterable[str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[name for name in columns if name != "key"])


def _flat(record: BaseModel) -> Row:
    """Return a record's fields: keys and ratios in several columns, levels and verdicts as text."""
    row: Row = {}
    for field, value in record:
        if isinstance(value, SweepKey):
            row |= dict(value)
        elif isinstance(value, RatioEstimate):
            ends = (value.value, value.ci_low, value.ci_high)
            name = "speed" if field == "to_baseline" else field
            row |= dict(zip((f"{name}{end}" for end in _ENDS), ends, strict=True))
        else:
            row[field] = str(value) if isinstance(value, Level | Verdict) else value
    return row


def _split(name: str) -> Row:
    return dict(zip(_KEY, name.split("/"), strict=False))


def _unit(metric: Metric) -> str:
    return f"{metric.unit}/s" if metric.kind == "rate" else f"s/{metric.unit}"


def _points(curve: Curve) -> Iterator[Row]:
    """Yield the points, with what all records have of each; what several have is that of the first."""
    rows: dict[str, Row] = {}
    for name, record in curve.values.items():
        for each in record.points:
            values = dict(zip((f"{name}{end}" for end in _ENDS), (each.value, *each.interval), strict=True))
            rows[each.point.label] = {**_flat(each), **dict(each.point), **values, **rows.get(each.point.label, {})}
    for label, row in rows.items():
        yield {**row, **dict(curve.key), "point": label, "unit": _unit(curve.metric)}


def _samples(measurement: Measurement) -> Iterator[Row]:
    for p in measurement.points:
        times = p.taken_at_s or (None,) * len(p.samples_s)
        for taken_at_s, time_s in zip(times, p.samples_s, strict=True):
            yield {**dict(measurement.key), "point": p.point.label, "taken_at_s": taken_at_s, "time_s": time_s}
