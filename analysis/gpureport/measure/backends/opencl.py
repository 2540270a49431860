"""OpenCL: the devices that are present, and a backend that runs kernels on one. The only module with pyopencl."""

import contextlib
import os
import shlex
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.data import data_dir
from gpureport.errors import DeviceError
from gpureport.measure.backends import sensors
from gpureport.measure.backends.answers import DeviceQuery, compilation, describe, first_error, kind, tidy
from gpureport.measure.backends.builds import BuildLogs
from gpureport.measure.backends.common import AllocationError, BufferId, LaunchId, ProgramId
from gpureport.measure.backends.machine import free_bytes
from gpureport.measure.backends.pocl import KernelLibraries, provide_cache, provide_linker
from gpureport.measure.backends.runtimes import RuntimeDevice
from gpureport.records.measurement import Compilation
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Argument, Buffer, Dispatch, Local, Transfer

# A stored binary has no compiler log, in which NVIDIA reports registers: a process of a device shares a new store with
# its builders, any other one has none. The variables are read once, on loading.
os.environ["PYOPENCL_NO_CACHE"] = "1"
os.environ.setdefault("CUDA_CACHE_DISABLE", "1")

import pyopencl as cl
from pyopencl import invoker

# Without its cache on disk, pyopencl would compile the same Python function again for each kernel object.
with contextlib.suppress(AttributeError):
    invoker._generate_enqueue_and_set_args_module = cache(invoker._generate_enqueue_and_set_args_module)
warnings.filterwarnings("ignore", category=cl.CompilerWarning)  # the log of each build is stored

_T = TypeVar("_T")
_Array = NDArray[np.uint8]
_FILL_PATTERN = np.full(2**18, 0x9E3779B9, np.uint32)
_BLOCKING_SOURCE = "common/hold.cl"
_PROBE_ITERATIONS = 20_000
_PROBES = 5
_SHORTEST_BLOCKING_S = 50e-6
_BLOCKING_MARGIN = 1.3  # times the last measured time of queueing
_LONGEST_BLOCKING_S = 0.05
_SLOWEST_ENQUEUE_S = 20e-6  # more than that includes compilation or another process
_KERNEL_FACTS = ("LOCAL_MEM_SIZE", "PRIVATE_MEM_SIZE", "PREFERRED_WORK_GROUP_SIZE_MULTIPLE", "WORK_GROUP_SIZE")


def list_devices() -> tuple[PresentDevice, ...]:
    """Return the OpenCL devices that the loader of this process finds, indexed over all platforms.

    :func:`gpureport.measure.presence.find_devices` finds those of a machine, which may have broken drivers.

    Raises:
        DeviceError: there is none.
    """
    return tuple(
        sensors.with_system(describe(index, each.platform.name, each.platform.version, _query(each)))
        for index, each in enumerate(_devices())
    )


def _devices() -> list[cl.Device]:
    provide_cache()
    listed = [device for platform in _known(cl.get_platforms) or () for device in _known(platform.get_devices) or ()]
    if not (devices := [device for device in listed if kind(_query(device)) is not None]):
        raise DeviceError("it lists no device")
    return devices


def _query(device: cl.Device) -> DeviceQuery:
    return lambda name: _known(lambda: device.get_info(getattr(cl.device_info, name)))


def _known(query: Callable[[], _T]) -> _T | None:
    try:
        return query()
    except (cl.Error, AttributeError, UnicodeDecodeError):
        return None


def _repeated_bytes(buffer: Buffer) -> _Array:
    data = _FILL_PATTERN if buffer.contents is None or not buffer.contents.size else buffer.contents
    return np.ascontiguousarray(data).view(np.uint8).ravel()


class _Program(NamedTuple):
    program: cl.Program
    options: str
    log: str


class _Memory(NamedTuple):
    """A buffer of the runtime, memory of the host, or both: pinned memory is a buffer that is mapped there."""

    buffer: cl.Buffer | None = None
    array: _Array | None = None


class _Launch(NamedTuple):
    program: _Program
    kernel: cl.Kernel
    dispatch: Dispatch


class _Transfer(NamedTuple):
    """Copies (target, source), where arrays are memory of the host."""

    dispatch: Transfer
    copies: tuple[tuple[cl.Buffer | _Array, cl.Buffer | _Array], ...]


class OpenCLBackend:
    """One open device, with an in-order queue that records time stamps.

    The environment of the process selects its runtime, see :meth:`.Runtime.environment`.
    """

    def __init__(self, candidate: RuntimeDevice, logs: BuildLogs | None = None) -> None:
        """Open a device, and load its runtime; *logs* are those of programs that other processes build.

        Raises:
            DeviceError: the device cannot be opened.
            IndexError: the runtime does not list it any more.
        """
        device = self.device = candidate.device
        self._device = _devices()[candidate.position]
        links_kernels = device.implementation.links_kernels
        self._libraries = KernelLibraries() if links_kernels and device.on_host else None
        if links_kernels and candidate.runtime.of_wheel:
            provide_linker()
        with _errors_as(f"{device.name} cannot be opened"):
            self._context = cl.Context([self._device])
            self._queue = self._make_queue()
        self._enqueue_s = 5e-6
        self._ids = count()
        self._logs = logs
        self._builds: dict[tuple[str, str], ProgramId | DeviceError] = {}
        self._programs: dict[ProgramId, _Program] = {}
        self._memory: dict[BufferId, _Memory] = {}
        self._launches: dict[LaunchId, _Launch | _Transfer] = {}
        self._binaries: dict[tuple[_Program, str], bytes] = {}

    def _make_queue(self) -> cl.CommandQueue:
        """Return a queue with time stamps, or without if the driver refuses them, as rusticl's does for VideoCore GPUs.

        Only the attempt shows it: that driver lists them as supported.
        """
        if not self.device.timed_by_host:
            try:
                return cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
            except cl.Error as error:
                if error.code != cl.status_code.INVALID_QUEUE_PROPERTIES:
                    raise
                self.device = self.device.model_copy(update={"timed_by_host": True})
        return cl.CommandQueue(self._context)

    def now(self) -> float:
        """Return the seconds of a monotonic clock."""
        return time.monotonic()

    def build_ahead(self, requests: Iterable[tuple[str, str]], logs: BuildLogs) -> None:
        """Build each (source, options) for another process, which gets it from the driver's store, and its log."""
        for source, options in requests:
            with contextlib.suppress(DeviceError), logs.written(source, options) as log:
                log.append(self._programs[self.build(source, options)].log)

    def build(self, source: str, options: str) -> ProgramId:
        """Build a file of ``kernels_cl/`` or, by its absolute path, a user's; results and failures are cached.

        Raises:
            DeviceError: the compiler reports an error.
        """
        key = source, options
        if key not in self._builds:
            try:
                self._builds[key] = self._build(source, options)
            except DeviceError as error:
                self._builds[key] = error
        if isinstance(built := self._builds[key], DeviceError):
            raise built
        return built

    def _build(self, source: str, options: str) -> ProgramId:
        folder, own = data_dir("kernels_cl"), options
        options = f"{options} {self.device.implementation.options}".strip()
        path = folder / source
        of_user = Path(source).is_absolute()
        name, folders = (path.name, (folder, path.parent)) if of_user else (source, (folder,))
        includes = [part for each in folders for part in ("-I", f'"{each}"' if " " in str(each) else str(each))]
        program = cl.Program(self._context, path.read_text(encoding="utf-8", errors="replace"))
        failure: cl.Error | None = None
        try:
            program.build([*includes, *shlex.split(options)])
        except cl.Error as error:
            failure = error
        reported = _known(lambda: program.get_build_info(self._device, cl.program_build_info.LOG))  # type: ignore[no-untyped-call]
        log = tidy(str(reported or failure or ""), name) or (self._logs.read(source, own) if self._logs else "")
        if failure is not None:
            raise DeviceError(f"{name} does not build: {first_error(log)}") from failure
        identity = ProgramId(next(self._ids))
        self._programs[identity] = _Program(program, options, log)
        return identity

    def allocate(self, buffer: Buffer) -> BufferId:
        """Allocate a buffer and initialise it with its contents, repeated (with a fixed pattern if it has none).

        This waits, because drivers allocate the memory only then.

        Raises:
            AllocationError: there is not enough memory, or the device refuses the size.
        """
        identity = BufferId(next(self._ids))
        try:
            if buffer.place == "device":
                with _errors_as(f"a buffer of {buffer.nbytes} bytes cannot be allocated", AllocationError):
                    memory = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, buffer.nbytes)
                    self._memory[identity] = _Memory(memory)
                    self._fill(memory, buffer)
            else:
                self._allocate_on_host(identity, buffer)
        except AllocationError:
            with contextlib.suppress(cl.Error):  # of a lost device
                self.free(identity)
            raise
        return identity

    def _allocate_on_host(self, identity: BufferId, buffer: Buffer) -> None:
        """Allocate memory of the host; pinned memory is a buffer that stays mapped until it is freed."""
        failure = f"{buffer.nbytes} bytes of {buffer.place} memory cannot be allocated"
        if buffer.nbytes > free_bytes():
            raise AllocationError(f"{failure}: the machine has too little free memory")
        memory: cl.Buffer | None = None
        if buffer.place == "pageable":
            array = np.empty(buffer.nbytes, np.uint8)
        else:
            with _errors_as(failure, AllocationError):
                memory = cl.Buffer(self._context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, buffer.nbytes)
                self._memory[identity] = _Memory(memory)
                flags = cast("cl.map_flags", cl.map_flags.READ | cl.map_flags.WRITE)
                mapped: Any = cl.enqueue_map_buffer(self._queue, memory, flags, 0, (buffer.nbytes,), np.dtype(np.uint8))
                array = cast("_Array", mapped[0])
        self._memory[identity] = _Memory(memory, array)
        contents = _repeated_bytes(buffer)
        for begin in range(0, buffer.nbytes, len(contents)):  # all pages are touched
            array[begin : begin + len(contents)] = contents[: buffer.nbytes - begin]

    def _fill(self, memory: cl.Buffer, buffer: Buffer) -> None:
        # Each copy doubles the initialised part, also for the pattern: drivers' own fill takes minutes for gigabytes.
        contents = _repeated_bytes(buffer)
        filled = min(len(contents), buffer.nbytes)
        cl.enqueue_copy(self._queue, memory, contents[:filled])
        while filled < buffer.nbytes:
            part = min(filled, buffer.nbytes - filled)
            cl.enqueue_copy(self._queue, memory, memory, byte_count=part, src_offset=0, dst_offset=filled)
            filled += part
        self._queue.finish()

    def read(self, buffer: BufferId, nbytes: int) -> _Array:
        """Copy the first *nbytes* of a buffer back to the host; a DeviceError if work queued before it failed."""
        memory = self._memory[buffer]
        if memory.array is not None:
            return memory.array[:nbytes].copy()
        data = np.empty(nbytes, np.uint8)
        with _errors_as("results cannot be read back"):
            cl.enqueue_copy(self._queue, data, cast("cl.Buffer", memory.buffer))
        return data

    def free(self, buffer: BufferId) -> None:
        """Free one buffer; launches that use it must not run any more."""
        memory = self._memory.pop(buffer, None)
        if memory and memory.buffer is not None:
            if memory.array is not None:
                cast("cl.MemoryMap", memory.array.base).release(self._queue)
                self._queue.finish()
            memory.buffer.release()

    def prepare(self, program: ProgramId, dispatch: Dispatch, buffers: Mapping[str, BufferId]) -> LaunchId:
        """Create a kernel object for this launch and set its arguments, so that repeated launches are cheap.

        A transfer needs none.

        Raises:
            DeviceError: the kernel does not exist, or refuses the arguments.
        """
        identity = LaunchId(next(self._ids))
        if isinstance(dispatch, Transfer):
            self._launches[identity] = self._transfer(dispatch, buffers)
            return identity
        built = self._programs[program]
        with _errors_as(f"{dispatch.kernel} cannot be launched"):
            kernel = cl.Kernel(built.program, dispatch.kernel)
            for position, argument in enumerate(dispatch.arguments):
                kernel.set_arg(position, self._argument(argument, buffers))  # type: ignore[arg-type]
        self._launches[identity] = _Launch(built, kernel, dispatch)
        return identity

    def _argument(self, argument: Argument, buffers: Mapping[str, BufferId]) -> cl.Buffer | cl.LocalMemory | np.generic:
        if isinstance(argument, str):
            return cast("cl.Buffer", self._memory[buffers[argument]].buffer)
        return cl.LocalMemory(argument.nbytes) if isinstance(argument, Local) else argument

    def compilation(self, launch: LaunchId) -> Compilation:
        """Return the facts about the launch's kernel from the compiler's log, the binary and the runtime.

        PoCL has machine code of a kernel only after a launch; the code of the first requested size is cached.
        """
        (ready,) = self._kernels([launch])
        facts = {query: self._kernel_fact(ready.kernel, query) for query in _KERNEL_FACTS}
        facts["MAX_SUB_GROUP_SIZE"] = self._sub_group_size(ready)
        return compilation(ready.dispatch, ready.program.options, ready.program.log, facts, self._binary(ready))

    def _kernel_fact(self, kernel: cl.Kernel, query: str) -> int | None:
        value = _known(lambda: kernel.get_work_group_info(getattr(cl.kernel_work_group_info, query), self._device))
        return value if isinstance(value, int) else None

    def _sub_group_size(self, ready: _Launch) -> int | None:
        """Query the size of a launch's sub-groups; runtimes before OpenCL 2.1 lack the function."""
        local = list(ready.dispatch.local_size)
        if self.device.platform_version < "OpenCL 2.1" or not local:
            return None
        query = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
        value = _known(lambda: ready.kernel.get_sub_group_info(self._device, query, local))
        return value if isinstance(value, int) and value else None

    def _binary(self, ready: _Launch) -> bytes:
        """Return the kernel's library (PoCL) or its program's binary; empty if there is none."""
        program, dispatch = ready.program, ready.dispatch
        key = program, dispatch.kernel if self._libraries else ""
        if not self._binaries.get(key):
            if self._libraries:
                found = self._libraries.read(program, dispatch.kernel, dispatch.local_size)
            else:
                binaries = _known(lambda: cast("list[bytes]", program.program.get_info(cl.program_info.BINARIES)))
                found = binaries[0] if binaries else b""
            self._binaries[key] = found
        return self._binaries[key]

    def _kernels(self, launches: Iterable[LaunchId]) -> list[_Launch]:
        return [each for each in map(self._launches.__getitem__, launches) if isinstance(each, _Launch)]

    def _note_libraries(self, launches: Iterable[LaunchId]) -> None:
        if self._libraries:
            for ready in self._kernels(dict.fromkeys(launches)):
                self._libraries.note(ready.program, ready.dispatch.kernel, ready.dispatch.local_size)

    def run(self, launches: Sequence[LaunchId]) -> None:
        """Run each of *launches* once, in order, and wait for the end; a DeviceError if one was refused or failed."""
        with _errors_as("a kernel failed"):
            for ready in map(self._launches.__getitem__, launches):
                if isinstance(ready, _Transfer):
                    self._run_transfer(ready)
                else:
                    self._enqueue(ready)
            self._queue.finish()
        self._note_libraries(launches)

    def _transfer(self, dispatch: Transfer, buffers: Mapping[str, BufferId]) -> _Transfer:
        def side(name: str, nbytes: int) -> cl.Buffer | _Array:
            memory = self._memory[buffers[name]]
            return cast("cl.Buffer", memory.buffer) if memory.array is None else memory.array[:nbytes]

        copies = ((side(each.target, each.nbytes), side(each.source, each.nbytes)) for each in dispatch.copies)
        return _Transfer(dispatch, tuple(copies))

    def _run_transfer(self, ready: _Transfer) -> float:
        """Run a transfer and wait for its end; return its seconds, by the clock that it asks for.

        Time stamps of a CPU's copies are those of the host, without the cost of the call.
        """
        began = time.perf_counter()
        queues = (self._queue, self._other_queue)
        events = []
        for queue, (target, source) in zip(queues, ready.copies, strict=False):
            events.append(cl.enqueue_copy(queue, cast("cl.Buffer", target), cast("_Array", source), is_blocking=False))
            queue.flush()
        cl.wait_for_events(events)
        return self._elapsed_s(began, () if ready.dispatch.by_host or self.device.on_host else events)

    def _elapsed_s(self, began_s: float, ended: Sequence[cl.Event]) -> float:
        """Return the seconds from the first start to the last end of commands that *ended*, by their time stamps.

        Without commands, or if there are no time stamps: from *began_s* of the host's clock until now.
        """
        if self.device.timed_by_host or not ended:
            return time.perf_counter() - began_s
        return (max(each.profile.end for each in ended) - min(each.profile.start for each in ended)) * 1e-9

    @cached_property
    def _other_queue(self) -> cl.CommandQueue:
        return self._make_queue()

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        """Run *untimed*, then *timed*, as back-to-back dispatches in one in-order queue.

        Short dispatches would run only as fast as the host queues them. A batch is therefore queued while a blocking
        kernel, which accesses no memory, occupies the device. If that kernel ended before all dispatches were queued,
        the batches run again behind a longer one. The clock of the host would include that kernel: there is none.

        Returns:
            Device seconds from the start of the first of *timed* to the end of the last; by the clock of the host, also
            those of queueing and waiting, which :attr:`launch_cost_s` then includes.

        Raises:
            DeviceError: a launch was refused or failed.
        """
        if isinstance(self._launches[timed[0]], _Transfer):
            self.run(untimed)
            with _errors_as("a transfer failed"):
                return sum(self._run_transfer(cast("_Transfer", self._launches[each])) for each in timed)
        before, batch = self._kernels(untimed), self._kernels(timed)
        blocking_s = 0.0
        if len(batch) > 1 and not self.device.timed_by_host:
            blocking_s = _SHORTEST_BLOCKING_S + _BLOCKING_MARGIN * len(batch) * self._enqueue_s
        with _errors_as(f"{batch[0].dispatch.kernel} failed"):
            seconds, blocked = self._run_batches(before, batch, blocking_s)
            while not blocked and 0.0 < blocking_s < _LONGEST_BLOCKING_S:
                blocking_s *= 3.0
                seconds, blocked = self._run_batches(before, batch, blocking_s)
        self._note_libraries([*untimed, *timed])
        return seconds

    def _run_batches(
        self, untimed: Sequence[_Launch], timed: Sequence[_Launch], blocking_s: float
    ) -> tuple[float, bool]:
        """Return device seconds of *timed*, and whether all dispatches were queued before the device reached them."""
        gate = None
        if blocking_s:
            gate = self._enqueue_blocking(1 + blocking_s * self._blocking_iterations_per_s)
            self._queue.flush()
        for each in untimed:
            gate = self._enqueue(each)
        if self.device.timed_by_host:
            self._queue.finish()
        began = time.perf_counter()
        first = last = self._enqueue(timed[0])
        for each in timed[1:]:
            last = self._enqueue(each)
        each_s = (time.perf_counter() - began) / len(timed)
        self._enqueue_s = min(each_s, _SLOWEST_ENQUEUE_S)
        blocked = gate is None or gate.command_execution_status != cl.command_execution_status.COMPLETE
        self._queue.finish()
        return self._elapsed_s(began, (first, last)), blocked

    def _enqueue(self, ready: _Launch) -> cl.Event:
        return cl.enqueue_nd_range_kernel(
            self._queue, ready.kernel, ready.dispatch.global_size, ready.dispatch.local_size or None
        )

    def _enqueue_blocking(self, iterations: float) -> cl.Event:
        self._blocking_kernel.set_arg(1, np.uint32(iterations))
        return cl.enqueue_nd_range_kernel(self._queue, self._blocking_kernel, (1,), (1,))

    @cached_property
    def _blocking_kernel(self) -> cl.Kernel:
        kernel = cl.Kernel(self._programs[self.build(_BLOCKING_SOURCE, "")].program, "hold")
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self._blocking_state = cl.Buffer(self._context, flags, hostbuf=_FILL_PATTERN[:1])  # kernels do not keep buffers
        kernel.set_arg(0, self._blocking_state)
        return kernel

    @cached_property
    def _blocking_iterations_per_s(self) -> float:
        return _PROBE_ITERATIONS / max(self._time_blocking(_PROBE_ITERATIONS), 1e-9)

    @cached_property
    def launch_cost_s(self) -> float:
        """Shortest time of a dispatch that does almost nothing, measured as that of any other."""
        return self._time_blocking(0)

    def _time_blocking(self, iterations: int) -> float:
        times = []
        with _errors_as(f"{self.device.name} runs no kernels"):
            for _ in range(_PROBES):
                began = time.perf_counter()
                event = self._enqueue_blocking(iterations)
                self._queue.finish()
                times.append(self._elapsed_s(began, (event,)))
        return min(times)

    def clear(self) -> None:
        """Free all buffers and forget all launches; programs stay built."""
        self._launches.clear()
        for identity in [*self._memory]:
            self.free(identity)


@contextlib.contextmanager
def _errors_as(failure: str, kind: type[DeviceError] = DeviceError) -> Iterator[None]:
    """Turn an error of the runtime into a *kind* of ours, with the runtime's reason on the same line."""
    try:
        yield
    except cl.Error as error:
        raise kind(f"{failure}: {' '.join(str(error).split())}") from error
