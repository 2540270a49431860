"""``gpureport validate``."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from operator import attrgetter
from pathlib import Path

from gpureport.cli.app import ValidateOptions
from gpureport.cli.console import ProgressBar, note, print_line, print_sentences
from gpureport.cli.options import described, open_all, open_database, selected, writing
from gpureport.cli.tables import Row, print_table
from gpureport.errors import GpuReportError, InputError
from gpureport.files import real_path, write_file
from gpureport.grouping import grouped
from gpureport.records.curves import BASES
from gpureport.records.report import FILE_NAME, reports_below
from gpureport.results.opening import is_record, kept_folders, measured_report, short_name
from gpureport.results.published import load
from gpureport.results.replay import Result, report_result
from gpureport.spec.database import Database
from gpureport.units import UNKNOWN, format_percent, format_ratio, off_by
from gpureport.validate.residuals import WHATS, Residual, What, independence, residuals
from gpureport.validate.tables import table_folders, table_residuals
from gpureport.validate.targets import TARGETS, Summary, Target, TargetResult, judge, summarise, where_calibrated
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload

Key = Callable[[Residual], str]

_STATISTICS = ("n", "unmatched", "median", "mean", "90 %", "predicted / observed", "inside")
_CLIFFS: tuple[What, ...] = ("latency cliffs", "bandwidth cliffs")
"""Quantities whose position is compared, not their value."""


def validate_results(options: ValidateOptions) -> int:
    """Compare the model with stored results, and print its errors.

    Raises:
        GpuReportError: no sweep could be compared.
    """
    with writing((options.json_file,) if options.json_file else (), force=options.force, option="--json"):
        found, complete = compared(options)
        if not found:
            which = f" of {', '.join(options.workloads)}" if options.workloads else ""
            raise GpuReportError(f"nothing was validated: the results contain no sweep{which} that can be predicted")
        if options.json_file:
            _write(options.json_file, found)
    judged = judge([each for each in found if not each.curve.described], _targets(options))
    _print(found)
    everything = not options.paths and not options.workloads
    _print_targets(each for results in judged for each in results if everything or each.reached is not None)
    missed = any(result.passed is False for results in judged for result in results)
    return 1 if options.strict and (missed or not complete) else 0


def compared(options: ValidateOptions) -> tuple[list[Residual], bool]:
    """Predict stored results again; report invalid files, and sweeps that cannot be predicted.

    Returns:
        The residuals, and whether no file was left out.
    """
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
            bar.advance(result.name, number / len(results))
            origin = independence(result.device, database)
            found += residuals(result, origin, features=not options.times, workloads=names)
            for key, reason in result.skipped.items():
                if not names or key.workload in names:
                    note(f"{file}: left out {key}: {reason}")
    if not names:
        found += [residual for folder in tables for residual in table_residuals(folder, database)]
    return found, complete


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


def _print(found: Sequence[Residual]) -> None:
    own, found = [c for c in found if c.curve.described], [c for c in found if not c.curve.described]
    times, own_times = ([c for c in each if c.what == "times"] for each in (found, own))
    ordered = sorted(found, key=lambda c: (WHATS.index(c.what), _feature_row(c)))
    of_class = attrgetter("curve.device_class")
    _print_aggregates("Times by result", "result", times, of_class, _result_title, origin=True)
    title = "Times of the points that also have a calibrated prediction"
    _print_aggregates(title, "result", where_calibrated(times), of_class, _result_title)
    _print_aggregates("Errors by device class", "feature", ordered, of_class, _feature_row)
    _print_aggregates("Times by kernel of the user", "kernel", own_times, _result_title, lambda c: c.curve.key.workload)
    _print_aggregates("Errors of kernels of the user", "feature", own, _result_title, _feature_row)
    _print_legend(origin=True)


def _result_title(residual: Residual) -> str:
    curve = residual.curve
    return f"{curve.result}, {curve.device}{', published' if curve.published else ''}"


def _write(path: Path, found: Sequence[Residual]) -> None:
    lines = ",\n ".join(json.dumps(_plain(residual), ensure_ascii=False, allow_nan=False) for residual in found)
    write_file(path, f"[{lines}]\n")


def _plain(residual: Residual) -> dict[str, object]:
    curve, key = residual.curve, residual.curve.key
    of_curve = ("result", "device", "device_class", "published", "conditions", "kind", "independence")
    of_residual = ("what", "label", "unit", "predicted", "observed", "interval", "expected", "error", "level")
    values: dict[str, object] = {name: getattr(curve, name) for name in of_curve}
    values |= {"workload": key.workload, "sweep": key.sweep}
    values |= {name: getattr(residual, name) for name in of_residual}
    if residual.point is not None:
        values |= {"point": residual.point.model_dump(), "bottleneck": residual.bottleneck}
        values |= {"ceilings_s": dict(residual.ceilings_s)}
    return values


def _print_legend(*, origin: bool = False) -> None:
    print_sentences("aggregates_legend", origin=origin)
    print_line("")


def _print_aggregates(
    title: str, first: str, residuals: Sequence[Residual], heading: Key, row: Key, *, origin: bool = False
) -> None:
    """Print tables of errors by *heading* and *row*, the *first* column; *origin* adds that of the constants."""
    columns = (first, *(("constants",) if origin else ()), *_STATISTICS)
    right = range(len(columns) - len(_STATISTICS), len(columns))
    for kind in BASES:
        for name, members in grouped((heading(c), c) for c in residuals if c.curve.kind == kind).items():
            rows = [
                (label, *((constants(own),) if origin else ()), *_cells(summarise(own)))
                for label, own in grouped((row(c), c) for c in members).items()
            ]
            print_table(f"{title}, {kind} predictions: {name}", columns, rows, right)


def constants(residuals: Iterable[Residual]) -> str:
    """Return what the constants of the predictions were fitted to; several answers are joined by a comma."""
    return ", ".join(sorted({residual.curve.independence or "" for residual in residuals}))


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        str(summary.n),
        unmatched(summary),
        *error_cells(summary),
        format_ratio(summary.ratio),
        "" if summary.inside is None else format_percent(summary.inside),
    )


def unmatched(summary: Summary) -> str:
    """Write the numbers of features that were not observed and not predicted; empty if all have a counterpart."""
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def _feature_row(residual: Residual) -> str:
    level = f", {residual.level if residual.predicted else 'other'}" if residual.what in _CLIFFS else ""
    return f"{residual.what}{level}"


def error_cells(summary: Summary) -> tuple[str, str, str]:
    """Write median, mean and 90th percentile of the errors."""
    errors = summary.errors
    return (UNKNOWN,) * 3 if errors is None else (_off(errors.median), _off(errors.mean), _off(errors.p90))


def _off(error: float | None) -> str:
    return UNKNOWN if error is None else off_by(error, ".1f")


def _print_targets(results: Iterable[TargetResult]) -> None:
    by_data = grouped(((result.kind, result.target.data), result) for result in results)
    for (kind, data), own in by_data.items():
        columns = ("compared", "n", "unmatched", "error", "limit", "result")
        print_table(f"Accuracy targets, {kind} predictions: {data}", columns, map(_target, own), right=(1, 2, 3, 4))
    if by_data:
        print_sentences("targets_legend")


def _target(result: TargetResult) -> Row:
    target, summary = result.target, result.summary
    return f"{target.what}, {target.statistic}", str(summary.n), unmatched(summary), *result_cells(result)


def result_cells(result: TargetResult) -> tuple[str, str, str]:
    """Write error, limit, and whether the target is reached."""
    limit = f"≤ {off_by(result.target.limit(result.kind) or 0.0)}"
    word = {None: "", True: "pass", False: "MISS"}[result.passed]
    error = "no data" if result.reached is None else _off(result.reached)
    return f"({_off(result.of_matched)})" if result.reached == inf else error, limit, word
