"""``gpureport validate``."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf, isnan
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from gpureport.cli.app import ValidateOptions
from gpureport.cli.console import ProgressBar, note, print_lines, print_sentences, print_table
from gpureport.cli.options import described, open_all, open_database, selected, writing
from gpureport.errors import GpuReportError, InputError
from gpureport.files import real_path, write_file
from gpureport.records.curves import BASES
from gpureport.records.report import FILE_NAME, reports_below
from gpureport.results.opening import is_record, kept_folders, measured_report, short_name
from gpureport.results.published import load
from gpureport.results.replay import LACKING, Result, report_result
from gpureport.spec.database import Database
from gpureport.text import counted
from gpureport.units import UNKNOWN, format_percent, format_ratio, off_by
from gpureport.validate.residuals import WHATS, Residual, What, frame, independence, residuals
from gpureport.validate.tables import table_folders, table_residuals
from gpureport.validate.targets import TARGETS, Target, judge, summarise, where_calibrated
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload

Summary: TypeAlias = Any
"""A row of :func:`summarise`, or of :func:`judge`; pandas has no types for rows."""

_STATISTICS = ("n", "unmatched", "median", "mean", "90 %", "predicted / observed", "inside")
_CLIFFS: tuple[What, ...] = ("latency cliffs", "bandwidth cliffs")
"""Quantities whose position is compared, not their value."""


def validate_results(options: ValidateOptions) -> int:
    """Compare the model with stored results, and print its errors.

    Raises:
        GpuReportError: no sweep could be compared.
    """
    with writing((options.json_file,) if options.json_file else (), force=options.force):
        found, complete = compared(options)
        if found.empty:
            which = f" of {', '.join(options.workloads)}" if options.workloads else ""
            raise GpuReportError(f"nothing was validated: the results contain no sweep{which} that can be predicted")
        if options.json_file:
            _write(options.json_file, found)
    judged = judge(found[~found["described"]], _targets(options))
    _print(found)
    everything = not options.paths and not options.workloads
    _print_targets(judged if everything else judged[judged["reached"].notna()])
    return 1 if options.strict and (judged["result"].eq("MISS").any() or not complete) else 0


def compared(options: ValidateOptions) -> tuple[pd.DataFrame, bool]:
    """Return residuals of stored results, and whether no file was left out; note what cannot be read or predicted."""
    names, kernels = _names(options), described(options.kernels)
    if names:
        names |= {kernel.name for kernel in kernels}
    paths = options.paths or kept_folders()
    if not paths:  # wheels do not contain them
        raise InputError("validate: this installation has no reports/; give a report.json or a folder of reports")
    tables = [folder for path in paths for folder in table_folders(path)]
    folders = _once(_files(path) for path in paths if path not in tables)
    database = open_database(options.entries)
    results = [each for files in folders for each in open_all(files, lambda file: _result(file, database, kernels))]
    complete = len(results) == sum(map(len, folders))
    found: list[Residual] = []
    with ProgressBar("validating") as bar:
        for number, (file, result) in enumerate(results):
            bar.advance("validating", result.name, number / len(results))
            origin = independence(result.device, database)
            found += residuals(result, origin, features=not options.times, workloads=names)
            for key, reason in result.skipped.items():
                if reason != LACKING and (not names or key.workload in names):
                    note(f"{file}: left out {key}: {reason}")
            lacking = list(result.skipped.values()).count(LACKING)
            if lacking and not names:
                note(f"{file}: left out {counted(lacking, 'sweep')} of workloads that this version lacks")
    if not names:
        found += [residual for folder in tables for residual in table_residuals(folder, database)]
    return frame(found), complete


def _names(options: ValidateOptions) -> set[str]:
    return {workload.name for workload in selected(options.workloads, quick=False)} if options.workloads else set()


def _targets(options: ValidateOptions) -> list[Target]:
    names = _names(options)
    missing = [workload.name for workload in all_workloads() if names and workload.name not in names]
    return [target for target in TARGETS if not any(map(target.includes, missing))]


def _once(folders: Iterable[Iterable[Path]]) -> list[list[Path]]:
    """Return the files of *folders* without repetitions, also under other names of the same file."""
    first: dict[Path, Path] = {}
    return [[file for file in folder if first.setdefault(real_path(file), file) is file] for folder in folders]


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = {*reports_below(path), *path.rglob("published/*.yaml"), *path.glob("*.yaml")}
    if not found:
        raise InputError(f"{path}: contains no {FILE_NAME} and no published/*.yaml, also in its subfolders")
    yield from sorted(found)


def _result(file: Path, database: Database, kernels: Sequence[Workload]) -> Result:
    if not is_record(file):
        return report_result(measured_report(file), short_name(file), database, (*all_workloads(), *kernels))
    return load(file, database)


def _print(found: pd.DataFrame) -> None:
    found = found[found["data_set"] == ""]
    cliffs, levels = found["what"].isin(_CLIFFS), found["level"].where(found["predicted"].notna(), "other")
    found = found.assign(
        title=found["result"] + ", " + found["device"] + found["published"].map({True: ", published", False: ""}),
        feature=found["what"].where(~cliffs, found["what"] + ", " + levels),
        order=found["what"].map(WHATS.index),
    )
    own, found = found[found["described"]], found[~found["described"]]
    times, own_times = (each[each["what"] == "times"] for each in (found, own))
    ordered = found.sort_values(["order", "feature"], kind="stable")
    _print_aggregates("Times by result", "result", times, "device_class", "title", origin=True)
    title = "Times of the points that also have a calibrated prediction"
    _print_aggregates(title, "result", where_calibrated(times), "device_class", "title")
    _print_aggregates("Errors by device class", "feature", ordered, "device_class", "feature")
    _print_aggregates("Times by kernel of the user", "kernel", own_times, "title", "workload")
    _print_aggregates("Errors of kernels of the user", "feature", own, "title", "feature")
    print_sentences("aggregates_legend")
    print_lines("")


def _write(path: Path, found: pd.DataFrame) -> None:
    written = found.drop(columns=["architecture", "described", "compiler", "ratio", "inside"]).astype(object)
    rows = written.where(written.notna(), None).to_dict("records")
    plain = partial(json.dumps, ensure_ascii=False, allow_nan=False, default=lambda point: point.model_dump())
    lines = ",\n ".join(map(plain, rows))
    write_file(path, f"[{lines}]\n")


def _print_aggregates(
    title: str, first: str, residuals: pd.DataFrame, heading: str, row: str, *, origin: bool = False
) -> None:
    """Print tables of errors by the columns *heading* and *row*, shown as *first*; *origin* adds the constants."""
    columns = (first, *(("constants",) if origin else ()), *_STATISTICS)
    right = range(len(columns) - len(_STATISTICS), len(columns))
    for kind in BASES:
        for name, members in residuals[residuals["kind"] == kind].groupby(heading, sort=False):
            rows = [
                (each.Index, *((each.constants,) if origin else ()), *_cells(each))
                for each in summarise(members, row).itertuples()
            ]
            print_table(f"{title}, {kind} predictions: {name}", columns, rows, right)


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        str(summary.n),
        unmatched(summary),
        *error_cells(summary),
        format_ratio(None if isnan(summary.ratio) else summary.ratio),
        "" if isnan(summary.inside) else format_percent(summary.inside),
    )


def unmatched(summary: Summary) -> str:
    """Write the numbers of features that were not observed and not predicted; empty if all have a counterpart."""
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def error_cells(summary: Summary) -> tuple[str, str, str]:
    """Write median, mean and 90th percentile of the errors."""
    return _off(summary.median), _off(summary.mean), _off(summary.p90)


def _off(error: float) -> str:
    return UNKNOWN if isnan(error) else off_by(error, ".1f")


def _print_targets(judged: pd.DataFrame) -> None:
    columns = ("compared", "n", "unmatched", "error", "limit", "result")
    for (kind, data), own in judged.groupby(["kind", "data"], sort=False):
        title = f"Accuracy targets, {kind} predictions: {data}"
        rows = [(f"{t.what}, {t.statistic}", str(t.n), unmatched(t), *result_cells(t)) for t in own.itertuples()]
        print_table(title, columns, rows, right=(1, 2, 3, 4))
    if not judged.empty:
        print_sentences("targets_legend")


def result_cells(judged: Summary) -> tuple[str, str, str]:
    """Write error, limit, and whether the target is reached."""
    error = "no data" if isnan(judged.reached) else _off(judged.reached)
    limit = f"≤ {off_by(judged.limit)}"
    return f"({_off(judged.of_matched)})" if judged.reached == inf else error, limit, judged.result
