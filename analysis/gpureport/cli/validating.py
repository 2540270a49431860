"""``gpureport validate``."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpureport.cli.console import note
from gpureport.cli.options import selected, writable_directory
from gpureport.cli.progress import ProgressBar
from gpureport.cli.validation_tables import print_aggregates, print_features, print_worst
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.replay import result_of
from gpureport.report.document import FILE_NAME, load_report
from gpureport.spec.database import Database, load_database
from gpureport.validation import KINDS, Comparison, Result, compare
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
        json_file: where to write every comparison.
        strict: whether a missed target fails.
        entries: folders of device entries besides the shipped ones.
    """

    paths: tuple[Path, ...] = ()
    workloads: tuple[str, ...] = ()
    times_only: bool = False
    every_feature: bool = False
    worst: int = 0
    json_file: Path | None = None
    strict: bool = False
    entries: tuple[Path, ...] = ()


def validate_results(asked: Validation) -> int:
    """Hold the model against results, and print how far off it is."""
    names = {workload.name for workload in selected(asked.workloads, quick=False)} if asked.workloads else set()
    files = [file for path in asked.paths or (_results_dir(),) for file in _files(path)]
    database = load_database(asked.entries)
    found: list[Comparison] = []
    with ProgressBar("validating") as bar:
        for number, file in enumerate(files):
            bar.advance(_name(file), number / len(files))
            comparisons, unknown = compare(_result(file, database), features=not asked.times_only, workloads=names)
            found += comparisons
            if unknown:
                note(f"{file}: not predicted, since today's workloads differ: {', '.join(unknown)}")
    _print(asked, found)
    if asked.json_file:
        _write(asked.json_file, found)
    return 0


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
    found = sorted(path.rglob(FILE_NAME)) if path.is_dir() else [path]
    if not found:
        raise InputError(f"{path}: holds no {FILE_NAME}, and no folder below it does")
    yield from found


def _name(file: Path) -> str:
    """Return how tables name the result of a file: the folder of a ``report.json``, or the file itself."""
    return file.absolute().parent.name if file.name == FILE_NAME else file.stem


def _result(file: Path, database: Database) -> Result:
    return result_of(load_report(file), _name(file), database, all_workloads())


def _print(asked: Validation, found: Sequence[Comparison]) -> None:
    if asked.every_feature:
        print_features(found)
    for kind in KINDS:
        if asked.worst:
            print_worst(found, kind, asked.worst)
    if asked.worst:
        print_aggregates(
            "Times by the ceiling that binds",
            "ceiling",
            [c for c in found if c.what == "times"],
            heading=lambda c: (c.curve.result, c.curve.device),
            row=lambda c: (c.binding,),
        )
    print_aggregates(
        "Errors by result",
        "feature",
        found,
        heading=lambda c: (c.curve.result, c.curve.device),
        row=lambda c: (c.curve.key.workload, c.what),
    )
    print_aggregates(
        "Errors by device class", "feature", found, heading=lambda c: (c.curve.device_class,), row=lambda c: (c.what,)
    )


def _write(path: Path, found: Sequence[Comparison]) -> None:
    """Write every comparison as JSON, a line each."""
    writable_directory(path.parent)
    lines = ",\n ".join(json.dumps(_plain(comparison), ensure_ascii=False, allow_nan=False) for comparison in found)
    path.write_text(f"[{lines}]\n", encoding="utf-8")


def _plain(comparison: Comparison) -> dict[str, object]:
    """Return a comparison as plain data, without what does not apply to it."""
    curve, key = comparison.curve, comparison.curve.key
    values: dict[str, object] = {
        "result": curve.result,
        "device": curve.device,
        "device_class": curve.device_class,
        "workload": f"{key.workload}/{key.variant}",
        "sweep": key.sweep,
        "kind": curve.kind,
        "what": comparison.what,
        "label": comparison.label,
        "unit": comparison.unit,
        "predicted": comparison.predicted,
        "observed": comparison.observed,
        "low": comparison.low,
        "high": comparison.high,
        "error": comparison.error,
    }
    if comparison.what == "times":
        values |= {"binding": comparison.binding, "ceilings_s": dict(comparison.ceilings_s)}
    return values | {"level": comparison.level}
