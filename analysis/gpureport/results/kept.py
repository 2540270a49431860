"""Kept reports of other devices of the same model."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import json_bytes
from gpureport.records.finding import Finding
from gpureport.records.report import Report, load_report, reports_below


def kept_folders() -> tuple[Path, ...]:
    """Return the folder of the project's kept reports; none in an installation without it."""
    try:
        return (data_dir("reports"),)
    except FileNotFoundError:
        return ()


def same_model(report: Report, folders: Iterable[Path]) -> tuple[tuple[Finding, ...], ...]:
    """Return the findings of each other report below *folders* of the same model, measured in the same way.

    Reports of a model have the same entry, device name, number of compute units and kind of run. Only files that
    contain the entry's id are read completely; files with errors are left out.
    """
    if report.machine is None or report.match.entry is None:
        return ()
    files = (file for folder in folders for file in reports_below(folder))
    return tuple(found.findings for found in _of_entry(files, report.match.entry) if _is_other(found, report))


def _of_entry(files: Iterable[Path], entry: str) -> Iterator[Report]:
    for file in files:
        with suppress(InputError):
            if f'"{entry}"'.encode() in json_bytes(file):
                yield load_report(file)


def _is_other(found: Report, report: Report) -> bool:
    """Return whether *found* is a complete report of another run on a device of the model."""
    if found.machine is None or report.machine is None or found.created_at == report.created_at:
        return False
    theirs, ours = found.machine.opencl, report.machine.opencl
    return (
        found.status == "complete"
        and found.match.entry == report.match.entry
        and (theirs.name, theirs.compute_units) == (ours.name, ours.compute_units)
        and found.settings.quick == report.settings.quick
    )
