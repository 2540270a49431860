"""Runs of the devices of a node, each in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpureport.measure.presence import in_order
from gpureport.records.report import FILE_NAME as REPORT
from gpureport.spec.models import PresentDevice

_LOG = "log.txt"
_MOST_LINE = 500


def devices_to_measure(devices: Sequence[PresentDevice]) -> list[PresentDevice]:
    """Return all GPUs and accelerators, by index; the best CPU if there are none.

    Raises:
        InputError: all devices are simulators.
    """
    real = in_order(devices)
    others = [device for device in real if not device.on_host]
    return sorted(others, key=lambda device: device.index) or real[:1]


def measure_devices(
    devices: Sequence[tuple[PresentDevice, Path]], settings: Sequence[str], *, parallel: bool
) -> Iterator[tuple[PresentDevice, Path, str]]:
    """Measure *devices* into their folders, in sequence or in *parallel*; yield each, with its problem, at its end.

    A report that an earlier job left incomplete is continued; others are measured with these *settings*, options of
    ``gpureport measure``. The problem is its exit code (negative: ended by a signal) and the last line of its log;
    empty: none.
    """
    for together in [devices] if parallel else [[each] for each in devices]:
        started = [(device, folder, _started(device, folder, settings)) for device, folder in together]
        for device, folder, process in started:
            code = process.wait()
            yield device, folder, f"exit code {code}: {_last_line(folder / _LOG)}" if code else ""


def _started(device: PresentDevice, folder: Path, settings: Sequence[str]) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / REPORT
    new = ["--device", str(device.index), "--output", str(report), *settings]
    how = ["--resume", str(report)] if report.exists() else new
    with (folder / _LOG).open("ab") as log:
        command = [sys.executable, "-P", "-m", "gpureport", "measure", *how]
        return subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - this program


def _last_line(file: Path) -> str:
    lines = file.read_text(errors="replace").splitlines()
    return next((line.strip()[:_MOST_LINE] for line in reversed(lines) if line.strip()), "")
