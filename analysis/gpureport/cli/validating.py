"""``gpureport validate``."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from math import inf, isnan
from pathlib import Path
from typing import Any, TypeAlias, cast

import pandas as pd

from gpureport.cli import shared
from gpureport.cli.app import ValidateOptions
from gpureport.cli.console import ProgressBar, note, print_lines, print_sentences, print_table, print_written
from gpureport.errors import GpuReportError, InputError
from gpureport.files import real_path, write_file
from gpureport.inputs import files_below
from gpureport.records.curves import BASES
from gpureport.records.report import FILE_NAME, reports_below
from gpureport.results.opening import is_record, kept_results, measured_report, short_name
from gpureport.results.published import load
from gpureport.results.replay import LACKING, Result, report_result
from gpureport.spec.database import Database
from gpureport.text import counted
from gpureport.units import UNKNOWN, format_percent, format_ratio, off_by, precise_percent
from gpureport.validate.residuals import WHATS, Residual, What, frame, independence, residuals
from gpureport.validate.scoreboard import scoreboard_residuals
from gpureport.validate.sealing import lacking, read_sealed, seal, sealed_files, with_sealed
from gpureport.validate.tables import table_folders, table_residuals
from gpureport.validate.targets import TARGETS, contests, judge, summarise, where_calibrated
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload

Summary: TypeAlias = Any
"""A row of :func:`summarise`, or of :func:`judge`; pandas has no types for rows."""

STATISTICS = ("n", "median", "MAPE", "90 %", "bias", "inside", "unmatched")
COLUMN_NAMES = {"title": "result", "kind": "predictions", "device_class": "device class", "independence": "constants"}
COLUMN_NAMES |= {"architecture": "generation", "data_set": "data set", "kernel_class": "kernel class", "sealed": "file"}
TARGET_COLUMNS = ("data", "what", "constants", "n", *BASES)
LABELS = {"habitat": "Habitat", "li": "Li et al.", "neusight": "NeuSight", "neusight_roofline": "NeuSight roofline"}
"""Names of rivals, for readers."""
_CLIFFS: tuple[What, ...] = ("latency cliffs", "bandwidth cliffs")
"""Quantities whose position is compared, not their value."""


def validate_results(options: ValidateOptions) -> int:
    """Compare the model with stored results, and print its errors; a GpuReportError if no sweep could be compared."""
    compares: dict[str, object] = {"--json": options.json_file, "--strict": options.strict, "--times": options.times}
    compares |= {"--workload": options.workloads, "--kernel": options.kernels, "--sealed": options.sealed}
    if options.seal and (given := " and ".join(name for name, value in compares.items() if value)):
        raise InputError(f"--seal: cannot be combined with {given}; omit --seal, or omit {given}")
    with shared.writing((file for file in (options.json_file, options.seal) if file), force=options.force):
        if options.seal:
            return _seal(options, options.seal)
        found, complete = compared(options)
        if found.empty:
            which = f" of {', '.join(options.workloads)}" if options.workloads else ""
            raise GpuReportError(f"nothing was validated: the results contain no sweep{which} that can be predicted")
        if options.json_file:
            _write(options.json_file, found)
    names = _names(options)
    missing = [workload.name for workload in all_workloads() if names and workload.name not in names]
    targets = [target for target in TARGETS if not any(map(target.includes, missing))]
    judged = judge(found[~found["described"]], targets)
    _print(found)
    everything = not (options.paths or options.workloads or options.times)
    shown = judged if everything else judged[judged["reached"].notna()]
    rows = [target_row(each) for _, each in shown.groupby(["data", "what", "statistic"], sort=False)]
    print_table("Accuracy targets", TARGET_COLUMNS, rows)
    if rows:
        print_sentences("targets_legend")
    return 1 if options.strict and (judged["result"].eq("MISS").any() or not complete) else 0


def compared(options: ValidateOptions) -> tuple[pd.DataFrame, bool]:
    """Return residuals of stored results, and whether no file was left out; note what cannot be read or predicted."""
    names, kernels = _names(options), shared.described(options.kernels)
    if names:
        names |= {kernel.name for kernel in kernels}
    paths = _paths(options)
    tables = [folder for path in paths for folder in table_folders(path)]
    folders = _once(map(_files, paths))
    database = shared.open_database(options.entries)
    results = [
        each for files in folders for each in shared.open_all(files, lambda file: _result(file, database, kernels))
    ]
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
            unknown = list(result.skipped.values()).count(LACKING)
            if unknown and not names:
                note(f"{file}: left out {counted(unknown, 'sweep')} of workloads that this version lacks")
    if not names:
        sealed = [*options.sealed, *(file for path in paths for file in sealed_files(path))]
        published = [residual for folder in tables for residual in table_residuals(folder, database)]
        contents = dict(map(read_sealed, *_once([sealed])))
        found += with_sealed(published, contents)
        for sentence in lacking(published, contents):
            note(sentence)
    return frame(found), complete


def _paths(options: ValidateOptions) -> Sequence[Path]:
    if not (paths := options.paths or kept_results()):  # wheels do not contain them
        raise InputError("validate: this installation has no reports/; give a report.json or a folder of reports")
    return paths


def _seal(options: ValidateOptions, file: Path) -> int:
    database = shared.open_database(options.entries)
    folders = [folder for path in _paths(options) for folder in table_folders(path)]
    rows = [row for folder in folders for row in scoreboard_residuals(folder, database)]
    if not rows:
        raise InputError("--seal: there are no tables of kernels; give a folder with tables like those of the project")
    if not (sealed := sum(row["expected"] is not None for row in rows)):
        raise InputError("--seal: no row of the tables has a prediction; see the operators of the project's tables")
    text, hashed = seal(rows, database, datetime.now(UTC).isoformat(timespec="seconds"))
    write_file(file, text)
    print_written([file])
    print_lines(f"{counted(sealed, 'row')} sealed, {len(rows) - sealed} without a prediction.")
    print_lines(f"SHA-256 of all lines after the first: {hashed}")
    return 0


def _names(options: ValidateOptions) -> set[str]:
    return (
        {workload.name for workload in shared.selected(options.workloads, quick=False)} if options.workloads else set()
    )


def _once(folders: Iterable[Iterable[Path]]) -> list[list[Path]]:
    """Return the files of *folders* without repetitions, also under other names of the same file."""
    first: dict[Path, Path] = {}
    return [[file for file in folder if first.setdefault(real_path(file), file) is file] for folder in folders]


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        if path.name.endswith((".csv", ".csv.xz")):
            raise InputError(f"{path}: is a table; give its folder, with the name scoreboard, or the folder above it")
        yield path
        return
    found = {
        *reports_below(path),
        *(each for each in files_below(path, ".yaml") if each.parent == path or each.parent.name == "published"),
    }
    if not found and not table_folders(path):
        raise InputError(f"{path}: contains no {FILE_NAME}, published/*.yaml or scoreboard/*.csv")
    yield from sorted(found)


def _result(file: Path, database: Database, kernels: Sequence[Workload]) -> Result:
    if is_record(file):
        return load(file, database)
    report = measured_report(file)
    if report.of_software:
        raise InputError(f"{file}: a program takes the place of its device, so that nothing is predicted")
    return report_result(report, short_name(file), database, (*all_workloads(), *kernels))


def _print(found: pd.DataFrame) -> None:
    scored, found = found[found["data_set"] != ""], found[found["data_set"] == ""]
    _print_scoreboard(scored)
    cliffs, levels = found["what"].isin(_CLIFFS), found["level"].where(found["predicted"].notna(), "other")
    found = found.assign(
        title=found["result"] + ", " + found["device"] + found["published"].map({True: ", published", False: ""}),
        feature=found["what"].where(~cliffs, found["what"] + ", " + levels),
        order=found["what"].map(WHATS.index),
    )
    own, found = found[found["described"]], found[~found["described"]]
    times = found[found["what"] == "times"]
    listed = times[times["kind"] == "specification"]
    both = pd.concat([times[times["kind"] == "calibrated"], where_calibrated(times)])
    ordered = found.sort_values(["order", "feature"], kind="stable")
    _print_aggregates("Times by result, specification predictions", listed, "title", "independence")
    _print_aggregates("Times of the points with a calibrated prediction", both.sort_values("title"), "title", "kind")
    for kind in BASES:
        these = ordered[ordered["kind"] == kind]
        _print_aggregates(f"Errors by device class, {kind} predictions", these, "device_class", "feature")
    _print_aggregates("Kernels of the user", own, "title", "workload", "feature", "kind")
    if len(found) or scored["error"].notna().any():
        print_sentences("aggregates_legend")
        print_lines("")


def _print_scoreboard(scored: pd.DataFrame) -> None:
    predicted = scored[scored["error"].notna()]
    columns, rows = contest_table(predicted, "kernel_class", "*")
    title = "Scoreboard: MAPE / 90th percentile in %, on the same rows"
    print_table(title, columns, rows, range(1, len(columns)))
    if len(scored):
        empty = {name: int(scored[name].isna().sum()) for name in ("predicted", "observed")}
        print_sentences("scoreboard_legend", compared=len(predicted), **empty)
        print_lines("")
    for title, *by in (
        ("vendor", "device_class"),
        ("data set", "data_set", "device_class"),
        ("generation", "architecture"),
    ):
        _print_aggregates(f"Scoreboard by {title}", predicted.sort_values([*by, "independence"]), *by, "independence")
    _print_aggregates("Sealed predictions", predicted[predicted["sealed"] != ""], "sealed", "data_set")


def _write(path: Path, found: pd.DataFrame) -> None:
    written = found.drop(columns=["described", "compiler", "ratio", "inside"]).astype(object)
    rows = written.where(written.notna(), None).to_dict("records")
    plain = partial(json.dumps, ensure_ascii=False, allow_nan=False, default=lambda point: point.model_dump())
    lines = ",\n ".join(map(plain, rows))
    write_file(path, f"[{lines}]\n")


def _print_aggregates(title: str, residuals: pd.DataFrame, *by: str) -> None:
    found = summarise(residuals, list(by)).itertuples() if len(residuals) else ()
    rows = [(*map(str, cast("tuple[object, ...]", each.Index)), *statistic_cells(each)) for each in found]
    columns = (*(COLUMN_NAMES.get(name, name) for name in by), *STATISTICS)
    print_table(title, columns, rows, range(len(by), len(columns)))


def statistic_cells(summary: Summary) -> tuple[str, ...]:
    """Write the columns :data:`STATISTICS`."""
    ratio = format_ratio(None if isnan(summary.ratio) else summary.ratio)
    inside = "" if isnan(summary.inside) else format_percent(summary.inside)
    return str(summary.n), *error_cells(summary), ratio, inside, unmatched(summary)


def unmatched(summary: Summary) -> str:
    """Write the numbers of features that were not observed and not predicted; empty if all have a counterpart."""
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def error_cells(summary: Summary) -> tuple[str, str, str]:
    """Write median, MAPE and 90th percentile of the errors."""
    return _off(summary.median), UNKNOWN if isnan(summary.mape) else precise_percent(summary.mape), _off(summary.p90)


def _off(error: float) -> str:
    return UNKNOWN if isnan(error) else off_by(error, ".1f")


def contest_table(scored: pd.DataFrame, by: str, mark: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows of MAPE / 90th percentile by a column, in %; a *mark* is after the best ones."""
    found = sorted(contests(scored, by), key=lambda each: (each[0], -len(each[1])))
    names = dict.fromkeys(
        str(name) for _, errors in sorted(found, key=lambda each: -len(each[1])) for name in errors.index
    )
    rows = []
    for value, errors in found:
        texts = (100 * errors).map("{:.0f}".format) + errors.eq(errors.min()).replace({True: mark, False: ""})
        cells = texts["mape"] + " / " + texts["p90"]
        rows.append((value, f"{errors['n'].iloc[0]:.0f}", *(cells.get(name, "") for name in names)))
    return (COLUMN_NAMES.get(by, by), "n", *(LABELS.get(name, name) for name in names)), rows


def target_row(results: pd.DataFrame) -> tuple[str, ...]:
    """Return the cells of a target, :data:`TARGET_COLUMNS`, with a result for each kind of prediction it limits."""
    first, *_ = each = list(results.itertuples())
    lacking = f", unmatched {unmatched(first)}" if unmatched(first) else ""
    cells = {result.kind: _result_cell(result) for result in each}
    named = (str(first.data), f"{first.what}, {first.statistic}", str(first.constants), f"{first.n}{lacking}")
    return *named, *(cells.get(kind, "") for kind in BASES)


def _result_cell(judged: Summary) -> str:
    error = "no data" if isnan(judged.reached) else _off(judged.reached)
    limit = f"(≤ {off_by(judged.limit)} {judged.result}".rstrip()
    return f"{f'({_off(judged.of_matched)})' if judged.reached == inf else error} {limit})"
