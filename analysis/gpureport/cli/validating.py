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
class Validation:
    """What is to be validated, as typed.

    Attributes:
        paths: of reports, published results, or folders of them; none: the project's.
        workloads: names; none: all.
        times_only: leave out cliffs, tapers and plateaus.
        every_feature: print every feature on a line of its own.
        worst: how many of the worst sweeps to print.
        json_file: where to write every residual.
        force: whether to overwrite it.
        strict: whether a missed target fails.
        entries: folders of device entries besides the shipped ones.
    """

    paths: tuple[Path, ...] = ()
    workloads: tuple[str, ...] = ()
    times_only: bool = False
    every_feature: bool = False
    worst: int = 0
    json_file: Path | None = None
    force: bool = False
    strict: bool = False
    entries: tuple[Path, ...] = ()


def validate_results(asked: Validation) -> int:
    """Hold the model against results, and print how far off it is."""
    with writing((asked.json_file,) if asked.json_file else (), force=asked.force, option="--json"):
        found = compared(asked)
        if asked.json_file:
            _write(asked.json_file, found)
    _print_details(asked, found)
    _print_aggregates(found)
    # What is required of all workloads is not judged by a few.
    targets = [target for target in TARGETS if not asked.workloads or target.workloads != ("*",)]
    judged = judge(found, targets)
    shown = [verdicts for verdicts in judged if not asked.paths or verdicts[0].reached is not None]
    if shown:
        print_targets(shown)
    missed = any(verdict.passed is False for verdicts in judged for verdict in verdicts)
    return 1 if asked.strict and missed else 0


def compared(asked: Validation) -> list[Residual]:
    """Read the results and predict them again; what is left out, or unknown to today's workloads, is noted."""
    names = {workload.name for workload in selected(asked.workloads, quick=False)} if asked.workloads else set()
    folders = _once(_files(path) for path in asked.paths or (_results_dir(),))
    database = open_database(asked.entries)
    results = [each for files in folders for each in open_all(files, lambda file: _result(file, database))]
    found: list[Residual] = []
    with ProgressBar("validating") as bar:
        for number, (file, result) in enumerate(results):
            bar.advance(result.name, number / len(results))
            found += residuals(result, features=not asked.times_only, workloads=names)
            if result.unknown:
                note(f"{file}: not predicted, since today's workloads differ: {', '.join(result.unknown)}")
    return found


def _once(folders: Iterable[Iterable[Path]]) -> list[list[Path]]:
    """Return the files of *folders* without those that came before, maybe in another spelling."""
    first: dict[Path, Path] = {}
    return [[file for file in folder if first.setdefault(real_path(file), file) is file] for folder in folders]


def _results_dir() -> Path:
    """Return the folder of the results that the project keeps.

    Raises:
        InputError: there is none, as in an installation from a wheel.
    """
    try:
        return data_dir("reports")
    except FileNotFoundError:
        raise InputError(
            "validate: this installation has no reports/; name a report.json or a folder of some"
        ) from None


def _files(path: Path) -> Iterator[Path]:
    """Yield the results at *path*, or below it.

    Raises:
        InputError: there are none.
    """
    if not path.is_dir():
        yield path
        return
    found = sorted((*path.rglob(FILE_NAME), *path.rglob(f"{_PUBLISHED}/*.yaml"), *path.glob("*.yaml")))
    if not found:
        raise InputError(f"{path}: holds neither a {FILE_NAME} nor a {_PUBLISHED}/*.yaml, and no folder below it does")
    yield from dict.fromkeys(found)


_PUBLISHED = "published"


def _result(file: Path, database: Database) -> Result:
    """Read a result, and find its device.

    Raises:
        InputError: the file is wrong, or names a device that the database has not.
    """
    if not is_record(file):
        return report_result(measured_report(file), short_name(file), database, all_workloads())
    record = open_record(file, database)
    return published_result(record, database)


def _print_details(asked: Validation, found: Sequence[Residual]) -> None:
    """Print what was asked for beyond the aggregates."""
    if asked.every_feature:
        print_features(found)
    if not asked.worst:
        return
    for kind in KINDS:
        print_worst(found, kind, asked.worst)
    times = [c for c in found if c.what == "times"]
    print_aggregates(
        "Times by the ceiling that binds", "ceiling", times, heading=_result_title, row=lambda c: c.bottleneck
    )


def _print_aggregates(found: Sequence[Residual]) -> None:
    """Print the errors by result and by class of devices, in one order of features for all."""
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
    """Name a result, its device, and whose it is."""
    curve = residual.curve
    return f"{curve.result}, {curve.device}{', published' if curve.published else ''}"


def _write(path: Path, found: Sequence[Residual]) -> None:
    """Write every residual as JSON, a line each."""
    lines = ",\n ".join(json.dumps(_plain(residual), ensure_ascii=False, allow_nan=False) for residual in found)
    write_file(path, f"[{lines}]\n")


def _plain(residual: Residual) -> dict[str, object]:
    """Return a residual as plain data, without what does not apply to it."""
    curve, key = residual.curve, residual.curve.key
    values: dict[str, object] = {
        "result": curve.result,
        "device": curve.device,
        "device_class": curve.device_class,
        "published": curve.published,
        "workload": key.workload,
        "sweep": key.sweep,
        "conditions": curve.conditions,
        "kind": curve.kind,
        "what": residual.what,
        "label": residual.label,
        "unit": residual.unit,
        "predicted": residual.predicted,
        "observed": residual.observed,
        "interval": residual.interval,
        "expected": residual.expected,
        "error": residual.error,
    }
    if residual.point is not None:
        values |= {"point": residual.point.model_dump(), "bottleneck": residual.bottleneck}
        values |= {"ceilings_s": dict(residual.ceilings_s)}
    return values | {"level": residual.level}
