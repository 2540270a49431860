"""Measurements of microbenchmarks, kept for later runs on the same device with the same driver."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from gpureport import __version__
from gpureport.data import cache_dir
from gpureport.errors import GpuReportError, InputError
from gpureport.records.report import Report, RunSettings, load_report, save_report
from gpureport.run.resuming import VARYING, changes
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.model import Workload

_LONGEST = timedelta(days=30)


def kept_measurements(
    present: PresentDevice, device: Device, settings: RunSettings, workloads: Iterable[Workload]
) -> Report | None:
    """Return the kept measurements of the microbenchmarks among *workloads*, at most 30 days old.

    Database entry, driver and version are still the same.
    """
    with suppress(InputError):
        kept = load_report(_file(present, settings, _microbenchmarks(workloads)))
        recent = datetime.now(UTC) - datetime.fromisoformat(kept.created_at) <= _LONGEST
        if recent and not any(changes(kept, __version__, present, device, settings)):
            return kept
    return None


def keep_measurements(report: Report, workloads: Iterable[Workload], disturbed: Iterable[str]) -> None:
    """Keep what a complete run measured of the microbenchmarks among *workloads*, if none was *disturbed*."""
    names = _microbenchmarks(workloads)
    if report.status != "complete" or report.machine is None or report.calibrated_at or names.intersection(disturbed):
        return
    own = report.of_workloads(*names)
    measured = tuple(each.model_copy(update={"began_s": None}) for each in own.measurements)
    infos = {name: info for name, info in report.workloads.items() if name in names}
    others = {"conditions": (), "energy": None}
    kept = own.model_copy(update={"measurements": measured, "workloads": infos, **others})
    file = _file(report.machine.opencl, report.settings, names)
    with suppress(GpuReportError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        save_report(kept, file)


def _microbenchmarks(workloads: Iterable[Workload]) -> set[str]:
    return {each.name for each in workloads if each.microbenchmark}


def _file(present: PresentDevice, settings: RunSettings, names: Iterable[str]) -> Path:
    facts = present.model_dump_json(exclude={*VARYING}), settings.quick, settings.seed, sorted(names)
    return cache_dir() / "microbenchmarks" / f"{sha256(repr(facts).encode()).hexdigest()[:16]}.json"
