"""The process that loads one OpenCL runtime and executes the requests of its :class:`~.child.Child`."""

import contextlib
import ctypes
import os
import pickle
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, BinaryIO

import numpy as np

from gpureport.errors import DeviceError, GpuReportError, limit_remark
from gpureport.isolation import channel
from gpureport.measure.backends import sensors
from gpureport.measure.backends.builds import BuildLogs
from gpureport.measure.backends.common import Backend
from gpureport.measure.backends.opencl import OpenCLBackend, list_devices
from gpureport.measure.backends.runtimes import RuntimeDevice
from gpureport.measure.energy import Load, measure_energy
from gpureport.measure.kernels import compile_sweep
from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Compilations, Measured
from gpureport.measure.sweep import Task, measure_workload
from gpureport.measure.watch import Watch
from gpureport.records.measurement import Energy
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Buffer, Dispatch, Sweep, Workload

_GROUP = 8
_QUIET_S = 0.1  # between two progress messages about the same step


class DriverProcess:
    """Executes requests: each public method but :meth:`serve`, :meth:`advance` and :meth:`use` is one."""

    _watch: Watch
    _backend: Backend

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests, self._replies = requests, replies
        self._last: tuple[tuple[str, str], float] = ("", ""), 0.0

    def serve(self) -> None:
        """Answer requests until the other end closes its pipes."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                name, arguments = pickle.load(self._requests)  # noqa: S301 - of the process that started this one
                try:
                    self._send("answer", getattr(self, name)(*arguments))
                except GpuReportError as error:
                    self._send("refusal", error)

    def _send(self, kind: str, value: Any) -> None:  # noqa: ANN401 - see Message
        self._replies.write(pickle.dumps((kind, value)))
        self._replies.flush()

    def advance(self, what: str, step: str, done: float) -> None:
        """Send the progress, unless a message about the same step was sent less than 0.1 s ago."""
        last, at_s = self._last
        now_s = time.monotonic()
        if (what, step) != last or now_s - at_s >= _QUIET_S:
            self._last = (what, step), now_s
            self._send("progress", (what, step, done))

    def devices(self) -> tuple[PresentDevice, ...]:
        """Return the devices of the runtime; a DeviceError, which gives the reason, if it has none."""
        try:
            return list_devices()
        except GpuReportError as error:
            raise DeviceError((_loading_error() or str(error)) + limit_remark()) from error

    def open(self, candidate: RuntimeDevice, began_s: float) -> PresentDevice:
        """Open a device, run a kernel on it and return it; the run began at *began_s* of the monotonic clock.

        Raises:
            DeviceError: it cannot be opened, or runs no kernel.
        """
        try:
            backend = OpenCLBackend(candidate, BuildLogs(Path(gettempdir())))
            problem = kernel_problem(backend)
        except IndexError:
            raise DeviceError("its driver no longer lists it") from None
        if problem:
            raise DeviceError(problem)
        self.use(backend, began_s)
        self._watch.__enter__()
        return backend.device

    def use(self, backend: Backend, began_s: float) -> None:
        """Measure on an open device; the run began at *began_s*."""
        self._watch = Watch(backend, began_s=began_s)
        self._backend = self._watch.counted(backend)

    def build_ahead(self, candidate: RuntimeDevice, requests: Iterable[tuple[str, str]], folder: Path) -> None:
        """Build programs for a process that measures, whose temporary *folder* gets their logs."""
        OpenCLBackend(candidate).build_ahead(requests, BuildLogs(folder))

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> Compilations:
        """Return the compiler's facts about sweeps; send a progress message for each sweep."""
        found = {}
        for sweep in sweeps:
            self._send("progress", (workload.name, "building kernels", 0.0))
            found[sweep.name] = compile_sweep(self._backend, workload, sweep)
        return found

    def measure(self, task: Task) -> Measured:
        """Send the measurement of each sweep when it ends, with its begin; return the state afterwards."""
        with self._watch.measuring():
            for each in measure_workload(self._backend, task, self.advance, self._watch.spans):
                at_s = self._backend.now() - each.duration_s - self._watch.began_s
                self._send("item", each.model_copy(update={"began_s": round(at_s, 6)}))
        return Measured((), self._watch.taken(), sensors.facts(self._backend.device))

    def energy(self, loads: Sequence[Load], settings: SweepSettings) -> Energy:
        """Read power and energy while kernels run; send progress messages."""
        return measure_energy(self._backend, loads, settings, self.advance)


def _loading_error() -> str | None:
    try:
        with contextlib.suppress(KeyError):  # the loader finds the library by itself
            ctypes.CDLL(os.environ["OCL_ICD_FILENAMES"])
    except OSError as error:
        return f"its library cannot be loaded ({' '.join(str(error).split())})"
    return None


def kernel_problem(backend: Backend) -> str | None:
    """Check the results of a kernel that exchanges values within work-groups; ``None``: they are correct.

    Raises:
        DeviceError: the kernel does not build, or cannot be launched.
    """
    data = np.random.default_rng(0).integers(2**31, size=16 * _GROUP, dtype=np.uint32)
    expected = data.reshape(-1, _GROUP)[:, ::-1].ravel() + np.uint32(1)
    program = backend.build("common/check.cl", f"-DGROUP={_GROUP}")
    buffers = {"from": backend.allocate(Buffer(data.nbytes, data)), "to": backend.allocate(Buffer(data.nbytes))}
    backend.run([backend.prepare(program, Dispatch("check", data.shape, (_GROUP,), ("from", "to")), buffers)])
    found = backend.read(buffers["to"], data.nbytes).view(np.uint32)
    backend.clear()
    return None if np.array_equal(found, expected) else "a kernel gave wrong results"


if __name__ == "__main__":
    DriverProcess(*channel()).serve()
