"""``gpureport validate``."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpureport.cli.console import note, print_text
from gpureport.cli.database import open_database
from gpureport.cli.opening import open_all
from gpureport.cli.options import selected, writing
from gpureport.cli.progress import ProgressBar
from gpureport.cli.validation_tables import (
    LEGEND,
    feature_row,
    print_aggregates,
    print_features,
    print_targets,
    print_worst,
)
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path, write_file
from gpureport.records.report import FILE_NAME
from gpureport.results.opening import is_record, measured_report, open_record, short_name
from gpureport.results.replay import Result, published_result, report_result
from gpureport.spec.database import Database
from gpureport.validate.residuals import WHATS, Residual, residuals
from gpureport.validate.targets import KINDS, TARGETS, judge
from gpureport.workloads import all_workloads


@dataclass(frozen=True)
class ValidationRequest:
    """The options of ``gpureport validate``, as typed; :mod:`gpureport.cli.app` describes them."""

    paths: tuple[Path, ...] = ()
    workloads: tuple[str, ...] = ()
    times_only: bool = False
    every_feature: bool = False
    worst: int = 0
    json_file: Path | None = None
    force: bool = False
    strict: bool = False
    entries: tuple[Path, ...] = ()


def validate_results(request: ValidationRequest) -> int:
    """Compare the model with stored results, and print its errors."""
    with writing((request.json_file,) if request.json_file else (), force=request.force, option="--json"):
        found, complete = compared(request)
        if request.json_file:
            _write(request.json_file, found)
    _print_details(request, found)
    _print_aggregates(found)
    # A target for all workloads says nothing about a few of them.
    targets = [target for target in TARGETS if not request.workloads or target.workloads != ("*",)]
    judged = judge(found, targets)
    print_targets([results for results in judged if not request.paths or results[0].reached is not None])
    missed = any(result.passed is False for results in judged for result in results)
    return 1 if request.strict and (missed or not complete) else 0


def compared(request: ValidationRequest) -> tuple[list[Residual], bool]:
    """Predict stored results again; report invalid files, and sweeps that the current workloads do not have.

    Returns:
        The residuals, and whether no file was left out.
    """
    names = {workload.name for workload in selected(request.workloads, quick=False)} if request.workloads else set()
    folders = _once(_files(path) for path in request.paths or (_results_dir(),))
    database = open_database(request.entries)
    results = [each for files in folders for each in open_all(files, lambda file: _result(file, database))]
    complete = len(results) == sum(map(len, folders))
    found: list[Residual] = []
    with ProgressBar("validating") as bar:
        for number, (file, result) in enumerate(results):
            bar.advance(result.name, number / len(results))
            found += residuals(result, features=not request.times_only, workloads=names)
            if result.unknown:
                note(f"{file}: sweeps that current workloads do not have were skipped: {', '.join(result.unknown)}")
    return found, complete


def _once(folders: Iterable[Iterable[Path]]) -> list[list[Path]]:
    """Return the files of *folders* without repetitions, also under other names of the same file."""
    first: dict[Path, Path] = {}
    return [[file for file in folder if first.setdefault(real_path(file), file) is file] for folder in folders]


def _results_dir() -> Path:
    """Return the folder of the project's stored results, which wheels do not contain."""
    try:
        return data_dir("reports")
    except FileNotFoundError:
        what = "this installation has no reports/; give a report.json or a folder of reports"
        raise InputError(f"validate: {what}") from None


def _files(path: Path) -> Iterator[Path]:
    """Yield the results at *path*, or below it; raise if there are none."""
    if not path.is_dir():
        yield path
        return
    found = {*path.rglob(FILE_NAME), *path.rglob("published/*.yaml"), *path.glob("*.yaml")}
    if not found:
        raise InputError(f"{path}: contains no {FILE_NAME} and no published/*.yaml, also in its subfolders")
    yield from sorted(found)


def _result(file: Path, database: Database) -> Result:
    """Read a result, and find its device."""
    if not is_record(file):
        return report_result(measured_report(file), short_name(file), database, all_workloads())
    return published_result(open_record(file, database), database)


def _print_details(request: ValidationRequest, found: Sequence[Residual]) -> None:
    if request.every_feature:
        print_features(found)
    if not request.worst:
        return
    for kind in KINDS:
        print_worst(found, kind, request.worst)
    times = [c for c in found if c.what == "times"]
    print_aggregates("Times by bottleneck", "bottleneck", times, heading=_result_title, row=lambda c: c.bottleneck)


def _print_aggregates(found: Sequence[Residual]) -> None:
    """Print the errors by result and by device class."""
    ordered = sorted(found, key=lambda c: (WHATS.index(c.what), feature_row(c)))
    results = list(dict.fromkeys(c.curve.result for c in found))
    by_family = sorted(ordered, key=lambda c: (results.index(c.curve.result), c.curve.key.family))
    times = [c for c in found if c.what == "times"]
    print_text(LEGEND)
    print_aggregates(
        "Errors by result",
        "feature",
        by_family,
        heading=_result_title,
        row=lambda c: f"{c.curve.key.family}: {feature_row(c)}",
    )
    print_aggregates("Times by result", "result", times, heading=lambda c: c.curve.device_class, row=_result_title)
    print_aggregates(
        "Errors by device class", "feature", ordered, heading=lambda c: c.curve.device_class, row=feature_row
    )


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
    of_curve = ("result", "device", "device_class", "published", "conditions", "kind")
    of_residual = ("what", "label", "unit", "predicted", "observed", "interval", "expected", "error", "level")
    values = {name: getattr(curve, name) for name in of_curve}
    values |= {"workload": curve.key.workload, "sweep": curve.key.sweep}
    values |= {name: getattr(residual, name) for name in of_residual}
    if residual.point is not None:
        values |= {"point": residual.point.model_dump(), "bottleneck": residual.bottleneck}
        values |= {"ceilings_s": dict(residual.ceilings_s)}
    return values
