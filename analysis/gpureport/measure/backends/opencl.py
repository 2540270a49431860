"""OpenCL: the devices that are present, and a backend that runs kernels on one. Only here is pyopencl."""

import contextlib
import os
import shlex
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gpureport.data import data_dir
from gpureport.errors import DeviceError
from gpureport.measure.backends import nvidia
from gpureport.measure.backends.buildlog import compilation, first_error, tidy
from gpureport.measure.backends.describe import Ask, describe, kind
from gpureport.measure.backends.linker import provide_linker
from gpureport.measure.backends.pocl import KernelLibraries, provide_cache
from gpureport.measure.backends.protocol import (
    AllocationError,
    BufferId,
    BuildError,
    LaunchError,
    LaunchId,
    ProgramId,
)
from gpureport.measure.backends.runtimes import RuntimeDevice
from gpureport.records.measurement import Compilation
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Argument, Buffer, Dispatch, Local

# A cached binary comes without the compiler's log, in which NVIDIA tells registers. Read once, on loading.
os.environ["PYOPENCL_NO_CACHE"] = "1"
os.environ["CUDA_CACHE_DISABLE"] = "1"

import pyopencl as cl

warnings.filterwarnings("ignore", category=cl.CompilerWarning)  # of each build the log is kept

_BUILDERS = 8  # threads: more do not compile faster on 16 cores
_POCL = "Portable Computing Language"
_FILL_PATTERN = np.full(2**18, 0x9E3779B9, np.uint32)
_HOLD_SOURCE = "common/hold.cl"
_HOLD_PROBE = 20_000
_PROBES = 5
_SHORTEST_HOLD_S = 50e-6
_HELD = 1.3  # times what queueing took the last time
_LONGEST_HOLD_S = 0.05
_REST_S = 0.05  # between questions whether the clocks have fallen
_SLOWEST_ENQUEUE_S = 20e-6  # more than that was compilation or another process, not queueing
_KERNEL_FACTS = (
    "LOCAL_MEM_SIZE",
    "PRIVATE_MEM_SIZE",
    "PREFERRED_WORK_GROUP_SIZE_MULTIPLE",
    "WORK_GROUP_SIZE",
)
_SUB_GROUP_FACTS = ("MAX_SUB_GROUP_SIZE",)


def list_devices() -> tuple[PresentDevice, ...]:
    """Return the OpenCL devices that the loader of this process finds, indexed over all platforms.

    To find those of a machine, broken drivers among them, use :func:`gpureport.measure.presence.find_devices`.

    Raises:
        DeviceError: there is none.
    """
    return tuple(
        describe(index, device.platform.name, device.platform.version, _asker(device))
        for index, device in enumerate(_devices())
    )


def _devices() -> list[cl.Device]:
    provide_cache()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        platforms = []
    devices = [device for platform in platforms for device in _platform_devices(platform)]
    if not devices:
        raise DeviceError("it lists no device")
    return devices


def _platform_devices(platform: cl.Platform) -> list[cl.Device]:
    try:
        return [device for device in platform.get_devices() if kind(_asker(device)) is not None]
    except cl.Error:
        return []


def _asker(device: cl.Device) -> Ask:
    def ask(query: str) -> object:
        try:
            return device.get_info(getattr(cl.device_info, query))
        except (cl.Error, AttributeError, UnicodeDecodeError):
            return None

    return ask


@dataclass(frozen=True)
class _Program:
    program: cl.Program
    options: str
    log: str


@dataclass(frozen=True)
class _Launch:
    program: _Program
    kernel: cl.Kernel
    dispatch: Dispatch


class OpenCLBackend:
    """One device, open, with an in-order queue that keeps time stamps; see :class:`~.protocol.Backend`."""

    def __init__(self, candidate: RuntimeDevice) -> None:
        """Open a device, and load its runtime: a process can load only one.

        Raises:
            DeviceError: the device refuses to be opened, or the process has loaded another runtime.
        """
        device = self._present = candidate.device
        with candidate.runtime.loading():
            self._device = _devices()[candidate.position]
        self._libraries = KernelLibraries() if self._runs_libraries else None
        if self._device.platform.name == _POCL and candidate.runtime.of_wheel:
            provide_linker()
        with _refusals(DeviceError, f"{device.name} cannot be opened"):
            self._context = cl.Context([self._device])
            self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._enqueue_s = 5e-6
        self._ids = count()
        self._ahead: dict[tuple[str, str], Future[_Program]] = {}
        self._built: dict[tuple[str, str], ProgramId | BuildError] = {}
        self._programs: dict[ProgramId, _Program] = {}
        self._buffers: dict[BufferId, cl.Buffer] = {}
        self._launches: dict[LaunchId, _Launch] = {}
        self._binaries: dict[tuple[_Program, str], bytes] = {}

    @property
    def device(self) -> PresentDevice:
        """What is open."""
        return self._present

    def now(self) -> float:
        """Return seconds of the host's monotonic clock."""
        return time.monotonic()

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Start builds in threads of their own, which the driver's compiler runs in outside of Python's lock.

        Processors need none: their kernels are compiled at the first launch.
        """
        if self._present.kind == "cpu":
            return
        builders = ThreadPoolExecutor(_BUILDERS)
        for key in dict.fromkeys(requests):
            if key not in self._built and key not in self._ahead:
                self._ahead[key] = builders.submit(self._build, *key)
        builders.shutdown(wait=False)

    def build(self, source: str, options: str) -> ProgramId:
        """Build a file of ``kernels_cl/``; a failure, too, is remembered."""
        key = source, options
        if key not in self._built:
            ahead = self._ahead.pop(key, None)
            try:
                program = ahead.result() if ahead else self._build(source, options)
            except BuildError as error:
                self._built[key] = error
            else:
                identity = ProgramId(next(self._ids))
                self._programs[identity] = program
                self._built[key] = identity
        result = self._built[key]
        if isinstance(result, BuildError):
            raise result
        return result

    def _build(self, source: str, options: str) -> _Program:
        folder = data_dir("kernels_cl")
        if "nvidia" in self._present.platform.casefold():
            options = f"{options} -cl-nv-verbose".strip()
        elif "portable" in self._present.platform.casefold():
            options = f"{options} -w".strip()  # PoCL prints the number of warnings to standard error itself
        include = f'"{folder}"' if " " in str(folder) else str(folder)
        program = cl.Program(self._context, (folder / source).read_text(encoding="utf-8"))
        failure: cl.Error | None = None
        try:
            program.build(["-I", include, *shlex.split(options)])
        except cl.Error as error:
            failure = error
        log = tidy(self._log(program) or str(failure or ""), source)
        if failure is not None:
            raise BuildError(f"{source} does not build on {self._present.name}: {first_error(log)}", log) from failure
        return _Program(program, options, log)

    def _log(self, program: cl.Program) -> str:
        try:
            return str(program.get_build_info(self._device, cl.program_build_info.LOG) or "")  # type: ignore[no-untyped-call]
        except (cl.Error, UnicodeDecodeError):
            return ""

    def allocate(self, buffer: Buffer) -> BufferId:
        """Allocate and fill a buffer; waits, since drivers find out only then whether there is room."""
        with _refusals(AllocationError, f"no room for a buffer of {buffer.nbytes} bytes"):
            memory = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, buffer.nbytes)
            try:
                self._fill(memory, buffer)
            except cl.Error:
                memory.release()
                raise
        identity = BufferId(next(self._ids))
        self._buffers[identity] = memory
        return identity

    def _fill(self, memory: cl.Buffer, buffer: Buffer) -> None:
        # Copies that double what is there, for the pattern, too: drivers fill gigabytes in minutes.
        given = _FILL_PATTERN if buffer.contents is None or not buffer.contents.size else buffer.contents
        contents = np.ascontiguousarray(given).view(np.uint8).ravel()
        filled = min(len(contents), buffer.nbytes)
        cl.enqueue_copy(self._queue, memory, contents[:filled])
        while filled < buffer.nbytes:
            part = min(filled, buffer.nbytes - filled)
            cl.enqueue_copy(self._queue, memory, memory, byte_count=part, src_offset=0, dst_offset=filled)
            filled += part
        self._queue.finish()

    def read(self, buffer: BufferId, nbytes: int) -> NDArray[np.uint8]:
        """Copy the first *nbytes* of a buffer back."""
        data = np.empty(nbytes, np.uint8)
        with _refusals(LaunchError, "results cannot be read back"):
            cl.enqueue_copy(self._queue, data, self._buffers[buffer])
        return data

    def free(self, buffer: BufferId) -> None:
        """Give one buffer back."""
        self._buffers.pop(buffer).release()

    def prepare(self, program: ProgramId, dispatch: Dispatch, buffers: Mapping[str, BufferId]) -> LaunchId:
        """Make a kernel object of its own with its arguments set."""
        built = self._programs[program]
        with _refusals(LaunchError, f"{dispatch.kernel} cannot be launched"):
            kernel = cl.Kernel(built.program, dispatch.kernel)
            for position, argument in enumerate(dispatch.arguments):
                kernel.set_arg(position, self._argument(argument, buffers))  # type: ignore[arg-type]
        identity = LaunchId(next(self._ids))
        self._launches[identity] = _Launch(built, kernel, dispatch)
        return identity

    def _argument(self, argument: Argument, buffers: Mapping[str, BufferId]) -> cl.Buffer | cl.LocalMemory | np.generic:
        if isinstance(argument, str):
            return self._buffers[buffers[argument]]
        return cl.LocalMemory(argument.nbytes) if isinstance(argument, Local) else argument

    def compilation(self, launch: LaunchId) -> Compilation:
        """Ask the compiler's log, the program's binary and the runtime about the launch's kernel.

        PoCL has machine code of a kernel only once it was launched; that of the size asked for first is kept.
        """
        ready = self._launches[launch]
        facts = {query: self._kernel_fact(ready.kernel, query) for query in _KERNEL_FACTS}
        facts |= {query: self._sub_group_fact(ready, query) for query in _SUB_GROUP_FACTS}
        return compilation(ready.dispatch, ready.program.options, ready.program.log, facts, self._binary(ready))

    def _kernel_fact(self, kernel: cl.Kernel, query: str) -> int | None:
        try:
            answer = kernel.get_work_group_info(getattr(cl.kernel_work_group_info, query), self._device)
        except cl.Error:
            return None
        return answer if isinstance(answer, int) else None

    def _sub_group_fact(self, ready: _Launch, query: str) -> int | None:
        """Ask about a launch's sub-groups; runtimes before OpenCL 2.1 have no such function to call."""
        local = ready.dispatch.local_size
        if self._present.platform_version < "OpenCL 2.1" or not local:
            return None
        try:
            query_id = getattr(cl.kernel_sub_group_info, f"{query}_FOR_NDRANGE")
            answer = ready.kernel.get_sub_group_info(self._device, query_id, list(local))
        except (cl.Error, AttributeError):
            return None
        return answer if isinstance(answer, int) and answer else None

    def _binary(self, ready: _Launch) -> bytes:
        """Return the library that the launch runs as (PoCL), or its program's binary; nothing if there is none."""
        kernel = ready.dispatch.kernel if self._libraries else ""
        key = ready.program, kernel
        if not self._binaries.get(key):
            self._binaries[key] = self._read_binary(ready)
        return self._binaries[key]

    def _read_binary(self, ready: _Launch) -> bytes:
        if self._libraries:
            return self._libraries.read(ready.program, ready.dispatch.kernel, ready.dispatch.local_size)
        try:
            binaries = cast("list[bytes]", ready.program.program.get_info(cl.program_info.BINARIES))
        except cl.Error:
            return b""
        return binaries[0] if binaries else b""

    @property
    def _runs_libraries(self) -> bool:
        return self._device.platform.name == _POCL and self._present.kind == "cpu"

    def _note(self, launches: Sequence[LaunchId]) -> None:
        """Find out where PoCL keeps what has just run."""
        if self._libraries:
            for ready in (self._launches[launch] for launch in dict.fromkeys(launches)):
                self._libraries.note(ready.program, ready.dispatch.kernel, ready.dispatch.local_size)

    def run(self, launches: Sequence[LaunchId]) -> None:
        """Run each of *launches* once, in order."""
        with _refusals(LaunchError, "a kernel failed"):
            for launch in launches:
                self._enqueue(launch)
            self._queue.finish()
        self._note(launches)

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        """Run both rows and return the device time of the second, in seconds.

        A row of short dispatches would run only as fast as the host can queue them, so it is queued while a
        kernel that touches no memory keeps the device busy; if that ended too early, again behind a
        longer one.
        """
        hold_s = 0.0 if len(timed) == 1 else _SHORTEST_HOLD_S + _HELD * len(timed) * self._enqueue_s
        with _refusals(LaunchError, f"{self._launches[timed[0]].dispatch.kernel} failed"):
            seconds, held = self._row(untimed, timed, hold_s)
            while not held and 0.0 < hold_s < _LONGEST_HOLD_S:
                hold_s *= 3.0
                seconds, held = self._row(untimed, timed, hold_s)
        self._note([*untimed, *timed])
        return seconds

    def trace(self, launches: Sequence[LaunchId]) -> list[tuple[float, float]]:
        """Run each of *launches* by itself, waiting for its end before the next is queued, as frames are."""
        stamps = []
        with _refusals(LaunchError, f"{self._launches[launches[0]].dispatch.kernel} failed"):
            for launch in launches:
                event = self._enqueue(launch)
                self._queue.finish()
                stamps.append((event.profile.start, event.profile.end))
        first = stamps[0][0]
        return [((start - first) * 1e-9, (end - start) * 1e-9) for start, end in stamps]

    def rest(self, most_s: float) -> None:
        """Sleep until the vendor's interface tells that clocks have fallen; where there is none, all of *most_s*."""
        until = time.monotonic() + most_s
        while (left := until - time.monotonic()) > 0 and not nvidia.is_idle(self._present):
            time.sleep(min(left, _REST_S))

    def _row(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId], hold_s: float) -> tuple[float, bool]:
        """Return device seconds of *timed*, and whether all was queued before the device came to it."""
        gate = self._enqueue_hold(hold_s) if hold_s else None
        began = time.monotonic()
        for launch in untimed:
            gate = self._enqueue(launch)
        first = last = self._enqueue(timed[0])
        for launch in timed[1:]:
            last = self._enqueue(launch)
        each_s = (time.monotonic() - began) / (len(untimed) + len(timed))
        self._enqueue_s = min(each_s, _SLOWEST_ENQUEUE_S)
        held = gate is None or gate.command_execution_status != cl.command_execution_status.COMPLETE
        self._queue.finish()
        return (last.profile.end - first.profile.start) * 1e-9, held

    def _enqueue(self, launch: LaunchId) -> cl.Event:
        ready = self._launches[launch]
        return cl.enqueue_nd_range_kernel(
            self._queue, ready.kernel, ready.dispatch.global_size, ready.dispatch.local_size or None
        )

    def _enqueue_hold(self, seconds: float) -> cl.Event:
        self._hold_kernel.set_arg(1, np.uint32(1 + seconds * self._hold_iterations_per_s))
        event = cl.enqueue_nd_range_kernel(self._queue, self._hold_kernel, (1,), (1,))
        self._queue.flush()
        return event

    @cached_property
    def _hold_kernel(self) -> cl.Kernel:
        kernel = cl.Kernel(self._programs[self.build(_HOLD_SOURCE, "")].program, "hold")
        kernel.set_arg(0, self._hold_state)
        return kernel

    @cached_property
    def _hold_state(self) -> cl.Buffer:
        state = Buffer(_FILL_PATTERN.itemsize)
        memory = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, state.nbytes)
        self._fill(memory, state)
        return memory

    @cached_property
    def _hold_iterations_per_s(self) -> float:
        return _HOLD_PROBE / max(self._time_hold(_HOLD_PROBE), 1e-9)

    @cached_property
    def launch_cost_s(self) -> float:
        """Shortest time between the stamps of one dispatch that does next to nothing."""
        return self._time_hold(0)

    def _time_hold(self, iterations: int) -> float:
        times = []
        with _refusals(LaunchError, f"{self._present.name} runs no kernels"):
            self._hold_kernel.set_arg(1, np.uint32(iterations))
            for _ in range(_PROBES):
                event = cl.enqueue_nd_range_kernel(self._queue, self._hold_kernel, (1,), (1,))
                self._queue.finish()
                times.append((event.profile.end - event.profile.start) * 1e-9)
        return min(times)

    def clear(self) -> None:
        """Give back all buffers and forget all launches."""
        self._launches.clear()
        for memory in self._buffers.values():
            memory.release()
        self._buffers.clear()


@contextlib.contextmanager
def _refusals(kind: type[DeviceError], what: str) -> Iterator[None]:
    """Turn an error of the runtime into one of ours, with the runtime's reason in one line."""
    try:
        yield
    except cl.Error as error:
        raise kind(f"{what}: {' '.join(str(error).split())}") from error
