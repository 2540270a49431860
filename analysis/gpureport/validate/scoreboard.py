"""Measurements that others published, row by row, with the model's prediction and those of published rivals.

A table has a row for each measurement: ``device``, an entry of the database; ``kernel_class`` and ``operator``;
``time_s``, which may be missing; ``bytes`` and ``flop``, what the operator must at least move and compute, for a plain
roofline; ``model``, what contains the operator, and ``type`` of its numbers (fp32), both of which may be empty;
``ecc``, 0 if error correction was off. Columns of rivals end in ``_s``. All others
are the operator's parameters: numbers, empty where it has none of this name.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import hypot
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from gpureport.files import real_path
from gpureport.inputs import FileError, files_below
from gpureport.observe.statistics import Floats
from gpureport.predict.model import PointModel, PointTime, execution_kind, point_times
from gpureport.predict.sensitivity import spread, uncertain
from gpureport.spec.database import Database
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import sourced
from gpureport.validate.matrix_products import PRODUCTS, fastest, product
from gpureport.validate.operators import ESTIMATED, OPERATORS, ROWS_DEVIATION, MissingError
from gpureport.validate.reading import check, check_known, read_table
from gpureport.validate.residuals import Residual, independence, of_device
from gpureport.validate.software import DATA_SETS, DataSet, Row, Timing, stack_of, timing_of
from gpureport.validate.streams import STREAMS
from gpureport.validate.targets import OWN

_KERNELS = {**OPERATORS, **STREAMS}
_TEXTS, _OPTIONAL_TEXTS = ("device", "kernel_class", "operator"), ("model", "type")
_NO_PARAMETERS = frozenset({*_TEXTS, *_OPTIONAL_TEXTS, "time_s", "bytes", "flop"})
_SUFFIX = "_s"
"""End of the name of a column of times."""
_OWN = ("", OWN, "roofline")
"""Names that no rival may have: tables contain other values under them."""
_MOST_GROUP = 1 << 16
"""Work-items of a work-group; devices have 4096 at most."""
USERS_DEVIATION = sourced("validate.scoreboard.USERS_DEVIATION", float)
"""Relative standard deviation of times on machines of users: clocks, limits of power and drivers are not known."""


class Predicted(NamedTuple):
    """A time, and the factor of its 95 % interval."""

    time_s: float
    spread: float


def score_tables(folder: Path) -> list[Path]:
    """Return the tables in *folder*: all if it is called ``scoreboard``, else only those of the project."""
    tables = files_below(folder, ".csv", ".csv.xz", deep=False)
    return [path for path in tables if real_path(folder).name == "scoreboard" or path.name in DATA_SETS]


def scoreboard_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of the tables in *folder*; an InputError if one has wrong columns or values."""
    for path in score_tables(folder):
        yield from _of_table(path, DATA_SETS.get(path.name, DataSet(path.name.split(".")[0])), database)


def _read(path: Path, data: DataSet, database: Database) -> pd.DataFrame:
    """Return the table at *path*; an InputError if it has wrong columns, cells or rows."""
    texts = (*_TEXTS, "model") if data.parts else _TEXTS
    table = read_table(path, texts, (), zero=("bytes", "flop"), optional=_OPTIONAL_TEXTS)
    if "time_s" in table:
        times = table["time_s"]
        check(path, times.map("{:g}".format), times.ne(0), " is no number above zero")
    check_known(path, table["device"], database.entries)
    if path.name not in DATA_SETS and (repeated := table.index[table.duplicated()].to_list()):
        raise FileError(str(path), "repeats an earlier row; remove it", repeated[0] + 2)
    if ours := [column for column in _rivals(table) if column.removesuffix(_SUFFIX) in _OWN]:
        raise FileError(str(path), f"{ours[0]}: is no name of a rival; choose another one", 1)
    if "group" in table:
        groups = table["group"]
        check(path, groups.map("{:g}".format), ~groups.gt(_MOST_GROUP), f" is more than {_MOST_GROUP}")
    return table


def _rivals(table: pd.DataFrame) -> list[str]:
    return [column for column in map(str, table) if column.endswith(_SUFFIX) and column != "time_s"]


def _of_table(path: Path, data: DataSet, database: Database) -> Iterator[Residual]:
    table = _read(path, data, database)
    rivals = _rivals(table)
    parameters = [str(column) for column in table if column not in (*_NO_PARAMETERS, *rivals)]
    of_parts = path.parent / data.parts if data.parts else path
    models = dict[str, dict[int, Row]]()
    if data.parts:
        operators = read_table(of_parts, ("model", *_TEXTS[1:]), ("count",), zero=("bytes", "flop"), optional=("type",))
        models = {str(model): _rows(own) for model, own in operators.groupby("model")}
        check_known(path, table["model"], models)
    with_ecc = table["ecc"].ne(0) if "ecc" in table else table["device"].notna()
    for (device_id, ecc), own in table.groupby(["device", with_ecc]):
        device, rows = database.device(str(device_id)), _rows(own)
        device = device if ecc else device.without_ecc
        parts = {number: models.get(str(row.get("model")), {number: row}) for number, row in rows.items()}
        curve = of_device(device) | {
            "result": path.name.split(".")[0],
            "data_set": data.title,
            "published": True,
            "sweep": "rows",
            "independence": independence(device, database, data.timing),
            "what": "times",
            "unit": "s",
            "ecc": bool(device.memory.ecc) and device.id not in device.provenance["memory.ecc"].measured_on,
        }
        answers = predict_rows(of_parts, parts, device, data)
        for (number, row), predicted in zip(rows.items(), answers, strict=True):
            roofline = sum(roofline_s(part, device) for part in parts[number].values())
            label = (f"{name} {row[name]:.9g}" for name in parameters if name in row)
            given = {name.removesuffix(_SUFFIX): row[name] for name in rivals if name in row}
            yield curve | {
                "workload": f"{row['kernel_class']}/{row['operator']}",
                "kernel_class": row["kernel_class"],
                "conditions": row.get("model", ""),
                "label": ", ".join((*label, *([str(row["type"])] if "type" in row else ()))),
                "predicted": predicted and predicted.time_s,
                "expected": predicted and (predicted.time_s / predicted.spread, predicted.time_s * predicted.spread),
                "observed": row.get("time_s"),
                "rivals": {"roofline": roofline, **given},
            }


def _rows(table: pd.DataFrame) -> dict[int, Row]:
    """Return the rows of *table*, without empty cells, by their number."""
    columns = [str(column) for column in table]
    return {
        number: {name: value for name, value in zip(columns, cells, strict=True) if value == value and value != ""}
        for number, *cells in table.itertuples(name=None)
    }


def roofline_s(row: Row, device: Device) -> float:
    """Return the larger of bytes / listed bandwidth and operations / listed peak, in seconds."""
    kind, rates = str(row.get("type", "fp32")), device.architecture.rates_per_cycle
    is_product = row["kernel_class"] == "matrix product"
    named = next(name for name in (f"matrix_{kind}" if is_product else kind, kind, "fp32") if name in rates)
    peak = 2.0 * device.rate_per_s(named)
    if named == "fp32":
        peak *= device.architecture.listed_fp32
    elif named in ("matrix_fp16", "matrix_bf16"):
        peak = device.matrix_peak_flop_per_s or peak
    count = float(row.get("count", 1.0))
    return count * max(float(row["bytes"]) / device.memory.bandwidth_bytes_per_s, float(row["flop"]) / peak)


def _is_described(row: Row, device: Device) -> bool:
    """Return whether the operator of *row* is known, for numbers of its type and on a device with its rates."""
    name, kind, rates = row["operator"], row.get("type", "fp32"), device.architecture.rates_per_cycle
    if name in PRODUCTS:
        return kind == "fp32" or (kind == "fp16" and "matrix_fp16" in rates)
    if name in OPERATORS:
        return kind in ("fp32", "fp16")
    return name in STREAMS and (name != "multiply_add" or kind in rates)


def predict_rows(
    path: Path, rows: Mapping[int, Mapping[int, Row]], device: Device, data: DataSet
) -> list[Predicted | None]:
    """Predict rows of one device, each with its operators, by their number in the table at *path*.

    All kernels of all rows are predicted together. The time of a row is the sum of its kernels, with what the way of
    timing adds; ``None`` if an operator is not known for the type of its numbers, or the rate of these on the device.
    """
    traced, facts = uncertain(device)
    alternatives = []
    counts: dict[int, list[tuple[float, float]]] = {}  # how often each kernel runs, and its deviation
    for number, parts in rows.items():
        counts[number] = []
        for line, part in parts.items() if all(_is_described(part, device) for part in parts.values()) else ():
            name = str(part["operator"])
            try:
                made = product(part, device) if name in PRODUCTS else (_KERNELS[name](part, device),)
            except MissingError as error:
                raise FileError(str(path), f"{error.args[0]}: {name} needs a number from 1 on", line + 2) from None
            alternatives.append(made)
            deviation = ROWS_DEVIATION if name in ESTIMATED else 0.0
            deviation = stack_of(device).kernel_deviation if name in PRODUCTS else deviation
            counts[number] += [(float(part.get("count", 1.0)), deviation)] * len(made[0].dispatches)
    points = [PointModel(traced, each) for chosen in fastest(device, alternatives) for each in chosen.dispatches]
    answers = iter(point_times(points, len(facts)) if points else ())
    added = {number: timing_of(data.timing, next(iter(own.values())), device) for number, own in rows.items()}
    other = hypot(execution_kind(device).sigma, USERS_DEVIATION if data.by_users else 0.0)
    return [_with_timing(own, list(islice(answers, len(own))), added[number], other) for number, own in counts.items()]


def _with_timing(
    counts: Sequence[tuple[float, float]], kernels: Sequence[tuple[PointTime, Floats]], timing: Timing, other: float
) -> Predicted | None:
    if not kernels:
        return None
    times = [count * answer.time_s for (count, _), (answer, _) in zip(counts, kernels, strict=True)]
    busy_s = timing.before_s + sum(times)
    if busy_s < timing.least_s:
        return Predicted(timing.least_s, spread(np.array([timing.deviation]), other))
    moved = np.sum([time_s * relative for time_s, (_, relative) in zip(times, kernels, strict=True)], axis=0)
    chosen = sum(time_s * deviation for time_s, (_, deviation) in zip(times, counts, strict=True))
    return Predicted(busy_s, spread(np.append(moved, (timing.before_s * timing.deviation, chosen)) / busy_s, other))
