"""Copies between two devices of PoCL, which pass for GPUs; ``python -m tests.two_devices`` prints the report of a run.

The variable ``POCL_DEVICES`` lists the devices; PoCL reads it once, when it is loaded. Therefore this is a process.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyopencl as cl

from gpureport.measure.backends.opencl import OpenCLBackend, _devices, _peers, list_devices
from gpureport.measure.limits import SweepSettings
from gpureport.measure.presence import find_devices
from gpureport.records.report import Report, RunSettings
from gpureport.run.pipeline import Plan, run
from gpureport.spec.database import load_database
from gpureport.spec.models import DeviceMatch
from gpureport.workloads import select
from gpureport.workloads.model import Limits
from tests.fake_backend import Steps
from tests.present import LocalMeasurer

ENTRY = "nvidia/h200_sxm"
LIMITS = Limits(max_bytes=2**24, max_buffer_bytes=2**22, max_work_group=64, quick=True)


@contextmanager
def recorded_copies() -> Iterator[list[tuple[int, int, int]]]:
    """Yield the copies between buffers, while they are queued: address of the device, of the target and the source."""
    copies: list[tuple[int, int, int]] = []
    copy = cl.enqueue_copy

    def recorded(queue: cl.CommandQueue, target: Any, source: Any, **options: Any) -> Any:
        if isinstance(target, cl.Buffer) and isinstance(source, cl.Buffer) and not options:
            copies.append((queue.device.int_ptr, target.int_ptr, source.int_ptr))
        return copy(queue, target, source, **options)

    with patch.object(cl, "enqueue_copy", recorded):
        yield copies


def measured(backend: OpenCLBackend) -> Report:
    """Run the workload, predicted for a GPU of the database."""
    device = load_database().device(ENTRY)
    match = DeviceMatch(device=device, entry=ENTRY, how="chosen by the test", draft=False)
    settings = SweepSettings(LIMITS, budget_s=0.8)
    requested = RunSettings(quick=True, seed=0, workloads=("transfer/devices",), command="test")
    plan = Plan(match, select(("transfer/devices",)), settings, requested)
    with LocalMeasurer(backend) as measurer:
        return run(plan, measurer, lambda _: None, Steps())


def main() -> None:
    """Print the numbers of like devices, the report, and for each copy whether it ran on the first device."""
    candidate = next(each for each in find_devices().candidates if each.device.platform.startswith("Portable"))
    present = candidate.device.model_copy(update={"kind": "gpu", "peers": 1})
    backend = OpenCLBackend(replace(candidate, device=present))
    devices = _devices()
    found = {
        "like": [len(_peers(device, devices)) for device in devices],
        "peers of CPUs": [device.peers for device in list_devices()],
    }
    if found["like"] == [1, 1]:
        with recorded_copies() as copies:
            report = measured(backend)
        first = devices[candidate.position].int_ptr
        found["report"] = json.loads(report.model_dump_json())
        found["copies"] = [(device == first, target, source) for device, target, source in copies]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
