"""Runs on the nodes of a cluster, with ReFrame: how they are started, and what each does on its node."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import disk_usage
from typing import Any

from gpureport.errors import GpuReportError, InputError, InterruptionError
from gpureport.files import move_folder
from gpureport.fleet.cluster_file import FILE_VARIABLE, NODES_VARIABLE, OUTPUT, Cluster, partition_name
from gpureport.measure.presence import in_order
from gpureport.records.report import FILE_NAME as REPORT
from gpureport.spec.models import PresentDevice

_ENGINE = Path(__file__).parent / "engine"
_REPORT = "reframe.json"
_MOST_REASON = 300
_LEAST_FREE = 100_000  # bytes of a disk that is not full
COMPLETE = "all devices of this node were measured"
"""In the last line of output, after success."""
FAILED = "not measured: "
"""Begins a line of output for each device that failed."""
_LOG = "log.txt"
_MOST_LINE = 500


@dataclass(frozen=True)
class NodeRun:
    """What came of a node.

    Attributes:
        node: its name.
        reason: why it failed, one line; empty after success.
        folder: with the reports of its devices, ``DEVICE/report.json``.
        devices: number of these reports.
        attempts: jobs that ran.
    """

    node: str
    reason: str
    folder: Path
    devices: int
    attempts: int


def require_reframe() -> None:
    """Raise if ReFrame is not installed."""
    if find_spec("reframe") is None:
        raise InputError("ReFrame is not installed; install it beside gpureport: pip install 'gpureport[fleet]'")


def run_nodes(cluster: Cluster, file: Path, nodes: Sequence[str], folder: Path) -> list[NodeRun]:
    """Measure *nodes* of the *cluster* in *file*, one job each; reports go to *folder*, ``NODE/DEVICE/report.json``.

    ReFrame prints its progress.

    Raises:
        GpuReportError: ReFrame did not start, or could not write its results.
        InterruptionError: by the keyboard or a signal.
    """
    folder.mkdir(parents=True)
    command = [sys.executable, "-P", "-c", "from reframe.frontend.cli import main; main()", "--run"]
    command += ["--config-file", str(_ENGINE / "settings.py"), "--checkpath", str(_ENGINE / "check.py")]
    command += ["--prefix", "reframe", "--report-file", _REPORT, "--keep-stage-files"]
    command += ["--max-retries", str(cluster.retries)]
    if cluster.jobs == 1:  # ReFrame's own limits hold for each partition, which is a node
        command += ["--exec-policy", "serial"]
    if not sys.stderr.isatty():
        command.append("--nocolor")
    given = {FILE_VARIABLE: str(file.absolute()), NODES_VARIABLE: json.dumps(list(nodes))}
    exit_code = _reframe(command, folder, os.environ | given)
    for number, node in enumerate(nodes):
        for device in sorted(folder.glob(f"reframe/stage/*/{partition_name(node, number)}/*/*/{OUTPUT}/*/")):
            move_folder(device, folder / node / device.name)
    if exit_code == InterruptionError.exit_code:
        raise InterruptionError(f"interrupted; all jobs were ended; reports and logs are in {folder}")
    try:
        results = json.loads((folder / _REPORT).read_text())
    except (OSError, ValueError):
        full = disk_usage(folder).free < _LEAST_FREE
        why = "the disk is full; free some space, then run again" if full else f"see {folder / 'reframe.log'}"
        raise GpuReportError(f"{folder}: ReFrame ended without results (exit code {exit_code}); {why}") from None
    return list(_collected(results, nodes, folder, cluster.pending_limit_minutes))


def _reframe(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Run ReFrame and return its exit code; 130 if a signal to this program made ReFrame end or cancel all jobs.

    ReFrame gets a session of its own, as its jobs do, and therefore one signal, not also that of the terminal.
    """
    with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
        reframe = subprocess.Popen(  # noqa: S603
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True
        )
        try:
            return reframe.wait()
        except KeyboardInterrupt:
            reframe.terminate()
            reframe.wait()
            return InterruptionError.exit_code


@contextmanager
def _interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    earlier = [(each, signal.signal(each, signal.default_int_handler)) for each in signals]
    try:
        yield
    finally:
        for each, handler in earlier:
            signal.signal(each, handler)


Case = dict[str, Any]
"""A test case of ReFrame's report."""


def _collected(
    results: dict[str, Any], nodes: Sequence[str], folder: Path, pending_limit_minutes: int
) -> Iterator[NodeRun]:
    cases: list[Case] = [case for run in results["runs"] for case in run["testcases"]]
    for number, node in enumerate(nodes):
        own = [case for case in cases if case["partition"] == partition_name(node, number)]
        found = len(list((folder / node).glob(f"*/{REPORT}")))
        reason = _reason(own[-1], pending_limit_minutes) if own else "ReFrame ran no job"
        yield NodeRun(node, reason, folder / node, found, len(own))


def _reason(case: Case, pending_limit_minutes: int) -> str:
    """Return why a case failed: what the node or scheduler said last, or ReFrame's reason. Empty after success."""
    if case["result"] == "pass":
        return ""
    if case["fail_phase"] != "sanity":
        reason, _, output = str(case["fail_reason"] or "").strip().partition("\n")
        said = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("---")]
        return (said or [reason or f"failed in phase {case['fail_phase']}"])[-1][:_MOST_REASON]
    if _waited(case, 60 * pending_limit_minutes):
        waited = f"its job still waited after the limit of {pending_limit_minutes} min"
        return f"the node is unresponsive, down or busy: {waited}"
    lines = [line for name in ("job_stderr", "job_stdout") for line in _lines(case, name) if line.strip()]
    said = [line for line in lines if line.startswith(FAILED)]
    silent = "the job ended without output; the node may be unresponsive or down"
    return (said or lines or [silent])[-1].strip()[:_MOST_REASON]


def _waited(case: Case, limit_s: float) -> bool:
    """Return whether ReFrame cancelled a job of Slurm that waited for its node, which ReFrame itself does not report.

    Slurm queues the job of a node that stopped answering again; its output may be that of the first start.
    """
    if case["scheduler"] not in ("slurm", "squeue") or case["job_nodelist"] or not case["job_completion_time_unix"]:
        return False
    return bool(case["job_completion_time_unix"] - case["job_submit_time"] >= limit_s)


def _lines(case: Case, name: str) -> list[str]:
    try:
        return Path(case["stagedir"], case[name]).read_text(errors="replace").splitlines()
    except (OSError, TypeError):
        return []


@dataclass(frozen=True)
class DeviceRun:
    """The measurement of one device.

    Attributes:
        device: which.
        folder: of its report and log.
        exit_code: of ``gpureport measure``; negative: ended by a signal.
        last_line: of its log.
    """

    device: PresentDevice
    folder: Path
    exit_code: int
    last_line: str


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
) -> Iterator[DeviceRun]:
    """Measure *devices* into their folders, in sequence or in *parallel*; yield each when it has ended.

    A report that an earlier job left incomplete is continued; others are measured with these *settings*, options of
    ``gpureport measure``.
    """
    for together in [devices] if parallel else [[each] for each in devices]:
        started = [(device, folder, _started(device, folder, settings)) for device, folder in together]
        for device, folder, process in started:
            yield DeviceRun(device, folder, process.wait(), _last_line(folder / _LOG))


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
