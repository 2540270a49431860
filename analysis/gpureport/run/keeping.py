"""Measurements of microbenchmarks, kept for later runs on the same device with the same driver."""

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gpureport import __version__
from gpureport.data import cache_dir
from gpureport.errors import GpuReportError, InputError
from gpureport.records.columns import GROWING
from gpureport.records.report import Report, RunSettings, load_report, save_report
from gpureport.run.resuming import changes
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.model import Workload


def kept_measurements(present: PresentDevice, device: Device, settings: RunSettings) -> Report | None:
    """Return the kept measurements of a device, if database entry, driver and version are still the same."""
    with suppress(InputError):
        kept = load_report(_file(present, settings))
        if not any(changes(kept, __version__, present, device, settings)):
            return kept
    return None


def keep_measurements(report: Report, workloads: Iterable[Workload]) -> None:
    """Keep what a complete run measured of the microbenchmarks among *workloads*; without a folder, nothing."""
    names = {each.name for each in workloads if each.microbenchmark}
    if report.status != "complete" or report.machine is None or report.calibrated_at:
        return
    parts = {field: tuple(each for each in getattr(report, field) if each.key.workload in names) for field in GROWING}
    parts["measurements"] = tuple(each.model_copy(update={"began_s": None}) for each in parts["measurements"])
    own = {name: info for name, info in report.workloads.items() if name in names}
    without = {"findings": (), "explanations": (), "advice": (), "evidence": (), "conditions": (), "timings": ()}
    file = _file(report.machine.opencl, report.settings)
    with suppress(GpuReportError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        save_report(report.model_copy(update={**parts, **without, "workloads": own, "energy": None}), file)


def _file(present: PresentDevice, settings: RunSettings) -> Path:
    facts = present.model_dump_json(exclude={"index"}), settings.quick, settings.seed
    return cache_dir() / "microbenchmarks" / f"{sha256(repr(facts).encode()).hexdigest()[:16]}.json"
