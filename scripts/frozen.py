"""Frozen predictions: what the model predicted when the file was last renewed, compared with what it predicts now.

``python scripts/frozen.py`` compares everything and prints the largest differences; with ``--renew`` it replaces the
file. The file contains the times with their spreads, features with intervals, bottlenecks, levels and occupancies of

- every workload on five devices of each architecture (or fewer), for the sweeps of quick runs: all features, and every
  eighth point;
- all sweeps of the kept reports, from the specification, and calibrated by the report's own microbenchmarks;
- what is observed in the samples of the kept reports, and the verdicts on the predictions that are stored with them;
- the published records, and the published tables for one machine of each type of CPU core, and every eighth row of the
  scoreboard;
- the example kernels on seven devices, every sixteenth point.

Times and features have nine significant digits, observed values five, spreads four. A value differs if it is off by
more than one unit of its last digit. Texts must be equal. The exit code is 1 if anything differs.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import islice
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from gpureport.data import data_dir
from gpureport.findings.verdicts import find
from gpureport.kernel_files import load_kernels
from gpureport.observe.observation import observe
from gpureport.predict import limits_of, predict, predict_sweep, predict_sweeps
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.curves import CurveFeature
from gpureport.records.finding import Finding
from gpureport.records.prediction import Prediction
from gpureport.records.report import load_report
from gpureport.results.published import load
from gpureport.results.replay import host_of, report_result
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from gpureport.validate.tables import table_folders, table_residuals
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload

FROZEN = Path(__file__).parents[1] / "tests" / "data" / "frozen.parquet"
HOST = "pocl-epyc-2-cores-quick"
"""The kept report whose processor is that of the entries for any CPU."""
WITH_KERNELS = (
    *("nvidia/h100_sxm", "nvidia/gtx_1060_6gb", "amd/mi300x", "amd/rx_7900_xtx", "intel/arc_a770", "apple/m2"),
    "cpu/x86_64",
)
"""Devices of the example kernels."""
KEYS = ["subject", "curve", "item"]
NUMBERS = {"value": 9, "low": 9, "high": 9, "spread": 4, "observed": 5}
"""Columns of numbers, and their significant digits."""
_MOST_LINES = 40


class Row(NamedTuple):
    """One predicted point, feature or occupancy; one observed feature, or the verdict on it.

    Attributes:
        curve: kind of the prediction, ``observed`` or ``found``, and the sweep.
        item: label of the point, name of the feature, or shape of the work-groups.
        text: bottleneck and level, unit, limiter, or verdict.
        value: time in seconds, value of the feature, or resident waves.
        low: lower end of a feature's interval; of an occupancy its work-groups.
        high: upper end.
        spread: of a time.
        observed: value of a feature, or its ratio to the prediction.
    """

    curve: str
    item: str
    text: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    spread: float = np.nan
    observed: float = np.nan


@cache
def _database() -> Database:
    """The shipped database with the same processor on every machine."""
    found, report = load_database(), load_report(data_dir("reports") / HOST)
    assert report.machine  # noqa: S101 - the report of a run
    found.host = host_of(report.device, report.machine)
    return found


def _of_device(name: str) -> Iterator[Row]:
    yield from _of_workloads(_database().device(name), all_workloads(), every=8)


def _of_kernels(name: str) -> Iterator[Row]:
    files, device = sorted((data_dir("kernels_cl") / "examples").glob("*.yaml")), _database().device(name)
    for kernel in load_kernels(files):
        sweeps = kernel.sweeps(device, limits_of(device, quick=True))
        fewer = [replace(sweep, points=sweep.points[8::16] or sweep.points[1:2]) for sweep in sweeps]  # each is traced
        for each in predict_sweeps(device, kernel, fewer):
            yield from _rows(each.prediction)


def _of_workloads(device: Device, workloads: Iterable[Workload], every: int = 1) -> Iterator[Row]:
    limits = limits_of(device, quick=True)
    for workload in workloads:
        for prediction in predict(device, workload, limits):
            yield from _rows(prediction, every)


def _of_report(name: str) -> Iterator[Row]:
    """Calibrate by the stored observations, whose last digits do not depend on this machine."""
    report = load_report(data_dir("reports") / name)
    result = report_result(report, name, _database(), all_workloads())
    specified = [
        predict_sweep(result.device, each.workload, each.sweep, "specification", each.resources["specification"])
        for each in result.series
    ]
    measured = calibrated(result.device, specified, report.observations)
    for series, prediction in zip(result.series, specified, strict=True):
        yield from _rows(prediction)
        if not series.workload.microbenchmark:
            resources = series.resources["calibrated"]
            yield from _rows(predict_sweep(measured, series.workload, series.sweep, "calibrated", resources))


def _of_samples(name: str) -> Iterator[Row]:
    """Observe the samples of a report, and judge its stored predictions."""
    report = load_report(data_dir("reports") / name)
    observations = [found for each in report.measurements if (found := observe(each))]
    for observation in observations:
        for feature in observation.features:
            for end, value in zip(("", " low", " high"), (feature.value, *feature.ends), strict=True):
                yield Row(f"observed {observation.key}", f"{_name(feature)}{end}", feature.unit, observed=value)
    for finding in find(report.device, report.predictions, report.measurements, observations):
        curve = f"found {finding.basis} {finding.key}"
        yield Row(curve, _name(finding), str(finding.verdict), observed=finding.ratio or np.nan)


def _of_record(name: str) -> Iterator[Row]:
    result = load(data_dir("reports") / "published" / f"{name}.yaml", _database())
    for number, series in enumerate(result.series):
        resources = series.resources["specification"]
        rows = predict_sweep(result.device, series.workload, series.sweep, "specification", resources)
        yield from (row._replace(curve=f"{row.curve} {number}") for row in _rows(rows))


def _of_table(name: str) -> Iterator[Row]:
    """Return the first machine of each architecture, all transfers, and every eighth row of the scoreboard."""
    first: dict[tuple[str, str], str] = {}
    residuals = table_residuals(data_dir("reports") / "published" / name, _database())
    for each in islice(residuals, None, None, 8 if name == "scoreboard" else 1):
        place = each["device"], each["workload"].partition("/")[0]
        if name == "cpus" and first.setdefault(place, each["conditions"]) != each["conditions"]:
            continue
        low, high = each.get("expected") or (np.nan, np.nan)
        curve = f"specification {each['device']} {each['workload']}/{each['sweep']} {each['conditions']}"
        yield Row(curve, each["label"], each["unit"], each["predicted"] or 0.0, low, high)


def _rows(prediction: Prediction, every: int = 1) -> Iterator[Row]:
    """Yield the rows of one sweep."""
    curve = f"{prediction.kind} {prediction.key}"
    for point in prediction.points[::every]:
        yield Row(curve, point.point.label, f"{point.bottleneck} | {point.level}", point.time_s, spread=point.spread)
    for feature in prediction.features:
        yield Row(curve, _name(feature), feature.unit, feature.value, *feature.ends)
    for held in prediction.occupancy:
        shape = " x ".join(map(str, held.work_group))
        text = f"{held.limiter}, {held.source}, {held.registers_per_work_item}, {held.local_memory_bytes}"
        yield Row(curve, f"occupancy {shape}", text, held.waves_per_compute_unit, held.groups_per_compute_unit)


def _name(feature: CurveFeature | Finding) -> str:
    return f"{feature.feature} {feature.position} {feature.level}"


_MADE_BY: dict[str, Callable[[str], Iterator[Row]]] = {
    "device": _of_device,
    "report": _of_report,
    "samples": _of_samples,
    "record": _of_record,
    "table": _of_table,
    "kernels": _of_kernels,
}


def subjects() -> list[str]:
    """Return the names of all subjects, such as ``device nvidia/h200_sxm``; reports, which take longest, come first."""
    reports = data_dir("reports")
    kept = sorted(file.parent.name for file in reports.glob("*/report.json.xz"))  # not those of runs
    names = {
        "report": kept,
        "samples": kept,
        "table": sorted(folder.name for folder in table_folders(reports)),
        "record": sorted(file.stem for file in (reports / "published").glob("*.yaml")),
        "kernels": WITH_KERNELS,
        "device": _devices(),
    }
    return [f"{kind} {name}" for kind, each in names.items() for name in each]


def _devices() -> list[str]:
    """Return at most five devices of each architecture, evenly spread over their names."""
    by_architecture = defaultdict[str, list[str]](list)
    for name, entry in sorted(_database().entries.items()):
        by_architecture[entry.file.architecture].append(name)
    return sorted(name for own in by_architecture.values() for name in own[:: ceil(len(own) / 5)])


def predicted(subject: str) -> pd.DataFrame:
    """Return what the model predicts for a subject: the columns of the file. Items with one name are numbered."""
    kind, _, name = subject.partition(" ")
    frame = pd.DataFrame(_MADE_BY[kind](name), columns=Row._fields)
    frame.insert(0, "subject", subject)
    number = frame.groupby(KEYS).cumcount() + 1
    frame["item"] = frame["item"].where(number == 1, frame["item"] + " (" + number.astype(str) + ")")
    for column, digits in NUMBERS.items():
        frame[column] = [float(format(value, f".{digits}g")) for value in frame[column]]
    return frame


def all_predicted(names: Iterable[str]) -> pd.DataFrame:
    """Return the predictions of several subjects, in parallel."""
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        return pd.concat(pool.map(predicted, names), ignore_index=True)


def read(names: Collection[str] | None = None) -> pd.DataFrame:
    """Return the frozen predictions, of some subjects only if *names* are given."""
    frame = pq.read_table(FROZEN, filters=[("subject", "in", list(names))] if names else None).to_pandas()
    for column in NUMBERS:
        digits, exponent = (frame.pop(name).astype("Int64").astype("string") for name in (column, f"{column}_exponent"))
        frame[column] = pd.to_numeric(digits + "e" + exponent).astype(float)
    for column in (*KEYS, "text"):
        frame[column] = frame[column].astype(str)
    return frame


def write(frame: pd.DataFrame) -> None:
    """Replace the file. Numbers are stored as whole numbers of their last digit and a power of ten, which pack well."""
    packed = frame.sort_values("subject", kind="stable").reset_index(drop=True)
    for column, digits in NUMBERS.items():
        parts = packed[column].map(lambda value, d=digits: f"{value:.{d - 1}e}", na_action="ignore").str.split("e")
        packed[column] = pd.to_numeric(parts.str[0].str.replace(".", "")).astype("Int32")
        packed[f"{column}_exponent"] = (pd.to_numeric(parts.str[1]) - digits + 1).astype("Int16")
    table = pa.Table.from_pandas(packed, preserve_index=False)
    pq.write_table(
        table,
        FROZEN,
        compression="zstd",
        compression_level=22,
        use_dictionary=[name for name in table.column_names if name not in ("value", "low", "high")],
        use_byte_stream_split=["value", "low", "high"],
    )


def differences(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that differ: the keys, what differs, both values, and the ratio of numbers.

    ``quantity`` is ``missing``, ``new``, ``text`` or a column of numbers. ``ratio`` is infinite for the first three, so
    that they come first.
    """
    both = before.merge(after, "outer", KEYS, suffixes=("_before", "_after"), indicator="where")
    found = []
    for where, name in (("left_only", "missing"), ("right_only", "new")):
        found.append(_of_texts(both[both["where"] == where], name))
    both = both[both["where"] == "both"]
    found.append(_of_texts(both[both["text_before"] != both["text_after"]], "text"))
    for column, digits in NUMBERS.items():
        old, new = (both[f"{column}_{which}"].to_numpy(float) for which in ("before", "after"))
        size = np.fmax(np.abs(old), np.abs(new))
        unit = 10.0 ** (np.floor(np.log10(np.where(size > 0, size, 1.0))) - digits + 1)
        differs = (np.abs(old - new) > 1.5 * unit) | (np.isnan(old) != np.isnan(new))
        rows = both[differs]
        with np.errstate(divide="ignore"):
            ratio = np.nan_to_num(new[differs] / old[differs], nan=np.inf)
        found.append(rows[KEYS].assign(quantity=column, before=old[differs], after=new[differs], ratio=ratio))
    return pd.concat(found, ignore_index=True)


def _of_texts(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return rows[KEYS].assign(quantity=quantity, before=rows["text_before"], after=rows["text_after"], ratio=np.inf)


def described(found: pd.DataFrame) -> str:
    """Return lines with the largest difference of each subject, workload and quantity, largest first."""
    if found.empty:
        return "no prediction differs"
    change = np.abs(np.log(found["ratio"].replace(0.0, np.inf).to_numpy(float)))
    workload = found["curve"].map(lambda curve: re.sub(r"/[^/]*$", "", curve))
    ordered = found.assign(change=change, workload=workload).sort_values("change", ascending=False, kind="stable")
    groups = ordered.groupby(["subject", "workload", "quantity"], sort=False)
    lines = [
        f"{row.subject}: {row.workload}: {row.quantity}: {count} differ; most: {row.curve.rpartition('/')[2]}, "
        f"{row.item}: {row.before} -> {row.after}{'' if np.isinf(row.change) else f' ({row.ratio - 1:+.3%})'}"
        for row, count in zip(groups.head(1).itertuples(), groups.size(), strict=True)
    ]
    more = [f"… and {len(lines) - _MOST_LINES} more groups"] if len(lines) > _MOST_LINES else []
    total = f"{len(found)} values of {found['subject'].nunique()} subjects differ from {FROZEN.name}"
    return "\n".join([*lines[:_MOST_LINES], *more, total])


def main(
    renew: Annotated[bool, typer.Option(help="Replace the file by the present predictions.")] = False,
    only: Annotated[str, typer.Option(help="Subjects whose name contains this text, such as 'h100'.")] = "",
) -> None:
    """Compare the frozen predictions with those of the present model, or renew them."""
    names = [name for name in subjects() if only in name]
    if not names:
        raise typer.BadParameter(f"no subject contains {only!r}")
    after = all_predicted(names)
    before = read() if FROZEN.exists() else after[:0]
    chosen = before["subject"].isin(names) | (not only)
    found = differences(before[chosen], after)
    typer.echo(described(found))
    if renew:
        write(pd.concat([before[~chosen], after], ignore_index=True))
    raise typer.Exit(0 if renew or found.empty else 1)


if __name__ == "__main__":
    typer.run(main)
