"""``gpureport validate``."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpureport.cli.app import ValidateOptions
from gpureport.cli.console import ProgressBar, note, print_text
from gpureport.cli.database import open_all, open_database
from gpureport.cli.options import described, selected, writing
from gpureport.cli.validation_tables import (
    feature_row,
    print_aggregates,
    print_features,
    print_legend,
    print_targets,
    print_worst,
)
from gpureport.errors import GpuReportError, InputError
from gpureport.files import real_path, write_file
from gpureport.records.report import FILE_NAME, reports_below
from gpureport.results.opening import is_record, kept_folders, measured_report, open_record, short_name
from gpureport.results.published import published_result
from gpureport.results.replay import Result, report_result
from gpureport.spec.database import Database
from gpureport.spec.draft import GENERIC, first_day
from gpureport.validate.residuals import FIRST_DAY, WHATS, Residual, independence, residuals
from gpureport.validate.tables import table_folders, table_residuals
from gpureport.validate.targets import TARGETS, Target, judge, where_calibrated
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload


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
    if options.first_day:
        _print_first_day(found)
        return 1 if options.strict and not complete else 0
    judged = judge([each for each in found if not each.curve.described], _targets(options))
    _print(options, found)
    if not options.worst:
        everything = not options.paths and not options.workloads
        print_targets(each for results in judged for each in results if everything or each.reached is not None)
    missed = any(result.passed is False for results in judged for result in results)
    return 1 if options.strict and (missed or not complete) else 0


def compared(options: ValidateOptions) -> tuple[list[Residual], bool]:
    """Predict stored results again; report invalid files, and sweeps that cannot be predicted.

    Returns:
        The residuals, and whether no file was left out. If requested, those of GPUs on their architecture's first day
        follow.
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
            architecture = result.device.architecture.id
            known = architecture in database.architecture_paths.keys() - {GENERIC}
            if options.first_day and known and not result.device.is_cpu:
                early = _result(file, first_day(database, architecture), kernels)
                found += residuals(early, FIRST_DAY, features=not options.times, workloads=names)
    if not names and not options.first_day:
        found += [residual for folder in tables for residual in table_residuals(folder, database)]
    return found, complete


def _names(options: ValidateOptions) -> set[str]:
    """Return the names of the requested workloads; none for all."""
    return {workload.name for workload in selected(options.workloads, quick=False)} if options.workloads else set()


def _targets(options: ValidateOptions) -> list[Target]:
    """Return the targets whose workloads are all requested: the others would be judged by a part of their data."""
    names = _names(options)
    missing = [workload.name for workload in all_workloads() if names and workload.name not in names]
    return [target for target in TARGETS if not any(map(target.includes, missing))]


def _once(folders: Iterable[Iterable[Path]]) -> list[list[Path]]:
    """Return the files of *folders* without repetitions, also under other names of the same file."""
    first: dict[Path, Path] = {}
    return [[file for file in folder if first.setdefault(real_path(file), file) is file] for folder in folders]


def _files(path: Path) -> Iterator[Path]:
    """Yield the results at *path*, or below it; raise if there are none."""
    if not path.is_dir():
        yield path
        return
    found = {*reports_below(path), *path.rglob("published/*.yaml"), *path.glob("*.yaml")}
    if not found:
        raise InputError(f"{path}: contains no {FILE_NAME} and no published/*.yaml, also in its subfolders")
    yield from sorted(found)


def _result(file: Path, database: Database, kernels: Sequence[Workload]) -> Result:
    """Read a result, and find its device."""
    if not is_record(file):
        return report_result(measured_report(file), short_name(file), database, (*all_workloads(), *kernels))
    return published_result(open_record(file, database), database)


def _print(options: ValidateOptions, found: Sequence[Residual]) -> None:
    """Print the errors by device class and by result; on request those of each feature, or the largest only."""
    own, found = [c for c in found if c.curve.described], [c for c in found if not c.curve.described]
    times, own_times = ([c for c in each if c.what == "times"] for each in (found, own))
    ordered = sorted(found, key=lambda c: (WHATS.index(c.what), feature_row(c)))
    if options.every_feature:
        print_features(found)
        by_family = sorted(ordered, key=lambda c: (c.curve.result, c.curve.key.family))
        print_aggregates("Errors by result", "feature", by_family, _result_title, _family_row)
    if options.worst:
        print_worst(found, options.worst)
        print_aggregates("Times by bottleneck", "bottleneck", times, _result_title, lambda c: c.bottleneck)
    else:
        print_aggregates("Times by result", "result", times, _device_class, _result_title, origin=True)
        title = "Times of the points that also have a calibrated prediction"
        print_aggregates(title, "result", where_calibrated(times), _device_class, _result_title)
        print_aggregates("Errors by device class", "feature", ordered, _device_class, feature_row)
    print_aggregates("Times by kernel of the user", "kernel", own_times, _result_title, lambda c: c.curve.key.workload)
    print_aggregates("Errors of kernels of the user", "feature", own, _result_title, feature_row)
    print_legend(origin=not options.worst)


def _family_row(residual: Residual) -> str:
    return f"{residual.curve.key.family}: {feature_row(residual)}"


def _device_class(residual: Residual) -> str:
    return residual.curve.device_class


def _print_first_day(found: Sequence[Residual]) -> None:
    """Print the errors of each architecture, with its own constants and without them."""
    found = sorted((c for c in found if c.curve.device_class != "CPU"), key=lambda c: WHATS.index(c.what))
    times = [c for c in found if c.what == "times"]
    print_aggregates("Times by architecture", "architecture", times, lambda c: c.curve.architecture, _day)
    print_aggregates("Errors of all GPUs", "feature", found, feature_row, _day)
    print_text(
        "first day: what a device of a new architecture gets before anything is measured on it. Documented values of "
        "the architecture stay. The predecessor's values replace all others. now: with all values."
    )
    print_legend()


def _day(residual: Residual) -> str:
    return FIRST_DAY if residual.curve.independence == FIRST_DAY else "now"


def _result_title(residual: Residual) -> str:
    """Return a result's name and device, and whether it is published."""
    curve = residual.curve
    return f"{curve.result}, {curve.device}{', published' if curve.published else ''}"


def _write(path: Path, found: Sequence[Residual]) -> None:
    """Write every residual as one line of JSON."""
    lines = ",\n ".join(json.dumps(_plain(residual), ensure_ascii=False, allow_nan=False) for residual in found)
    write_file(path, f"[{lines}]\n")


def _plain(residual: Residual) -> dict[str, object]:
    """Return a residual as plain data, without fields that do not apply."""
    curve = residual.curve
    of_curve = ("result", "device", "device_class", "published", "conditions", "kind", "independence")
    of_residual = ("what", "label", "unit", "predicted", "observed", "interval", "expected", "error", "level")
    values = {name: getattr(curve, name) for name in of_curve}
    values |= {"workload": curve.key.workload, "sweep": curve.key.sweep}
    values |= {name: getattr(residual, name) for name in of_residual}
    if residual.point is not None:
        values |= {"point": residual.point.model_dump(), "bottleneck": residual.bottleneck}
        values |= {"ceilings_s": dict(residual.ceilings_s)}
    return values
