"""A simulated device: its clock advances only by the dispatches that run, so that timing is exact."""
# ruff: noqa: ARG002 - see the OpenCL backend and the model

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import AllocationError, BufferId, LaunchId, ProgramId
from gpureport.records.curves import Axis, Metric, PointKey
from gpureport.records.measurement import Compilation
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep, Workload

PRESENT = PresentDevice(
    index=0,
    platform="Fake Platform",
    platform_version="OpenCL 3.0",
    name="Fake Device",
    vendor="Fake",
    kind="gpu",
    driver="1.0",
    version="OpenCL 3.0",
    compute_units=4,
    clock_hz=1e9,
    global_memory_bytes=2**30,
    max_allocation_bytes=2**28,
    global_cache_bytes=2**20,
    local_memory_bytes=2**15,
    max_work_group=256,
    timer_resolution_s=1e-9,
    extensions=("cl_khr_fp64",),
)
HOSTILE = PRESENT.model_copy(
    update={"index": 1, "name": "[red]<script>\x1b[31m\x85'\": {x}", "platform": "Intel(R) OpenCL HD Graphics"}
)
A40 = PRESENT.model_copy(update={"index": 2, "name": "NVIDIA A40", "platform": "NVIDIA CUDA", "pci_id": "10de:2235"})
LIMITS = Limits(max_bytes=2**20, max_buffer_bytes=2**19, max_work_group=256)


def having(*extensions: str, local_memory_bytes: int = 2**15) -> PresentDevice:
    """The fake device with other extensions."""
    return PRESENT.model_copy(update={"extensions": extensions, "local_memory_bytes": local_memory_bytes})


@dataclass
class FakeBackend:
    """Runs ``copy`` dispatches on host arrays.

    Attributes:
        seconds: how long a dispatch takes, by its global size and by when it runs.
        jitter: factor by which a timed batch takes longer.
        memory_bytes: what may be allocated in all.
        log: timed batches in order: global size and number of dispatches.
        wrong: whether the kernel spoils a result.
        wrong_options: with which the kernel is built that spoils a result.
    """

    seconds: Callable[[int, float], float] = lambda items, _: 1e-9 * items
    jitter: Callable[[], float] = lambda: 1.0
    memory_bytes: int = 2**20
    refused_options: str | None = None
    refused_items: int | None = None
    max_work_group: int = 256
    wrong: bool = False
    wrong_options: str | None = None
    clock_s: float = 0.0
    log: list[tuple[int, int]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    allocated: list[int] = field(default_factory=list)
    launch_cost_s: float = 1e-6

    def __post_init__(self) -> None:
        self._ids = count()
        self._options: dict[ProgramId, str] = {}
        self.buffers: dict[BufferId, NDArray[np.uint8]] = {}
        self._launches: dict[LaunchId, tuple[ProgramId, Dispatch, dict[str, BufferId]]] = {}

    @property
    def device(self) -> PresentDevice:
        return PRESENT

    def now(self) -> float:
        return self.clock_s

    def build(self, source: str, options: str) -> ProgramId:
        if options == self.refused_options:
            raise DeviceError(f"{source} does not build: use of undeclared identifier 'x'")
        self.built.append(options)
        program = ProgramId(next(self._ids))
        self._options[program] = options
        return program

    def allocate(self, buffer: Buffer) -> BufferId:
        if sum(a.nbytes for a in self.buffers.values()) + buffer.nbytes > self.memory_bytes:
            raise AllocationError(f"no room for a buffer of {buffer.nbytes} bytes: OUT_OF_RESOURCES")
        identity = BufferId(next(self._ids))
        contents = np.full(1, 0xA5, np.uint8) if buffer.contents is None else buffer.contents.view(np.uint8)
        self.buffers[identity] = np.resize(contents, buffer.nbytes)
        self.allocated.append(buffer.nbytes)
        return identity

    def read(self, buffer: BufferId, nbytes: int) -> NDArray[np.uint8]:
        return self.buffers[buffer][:nbytes].copy()

    def free(self, buffer: BufferId) -> None:
        del self.buffers[buffer]

    def prepare(self, program: ProgramId, dispatch: Dispatch, buffers: Mapping[str, BufferId]) -> LaunchId:
        launch = LaunchId(next(self._ids))
        self._launches[launch] = program, dispatch, dict(buffers)
        return launch

    def compilation(self, launch: LaunchId) -> Compilation:
        program, dispatch, _ = self._launches[launch]
        return Compilation(kernel=dispatch.kernel, options=self._options[program], max_work_group=self.max_work_group)

    def run(self, launches: Sequence[LaunchId]) -> None:
        for launch in launches:
            self._execute(launch)

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        self.run(untimed)
        start = self.clock_s
        self.run(timed)
        self.clock_s = start + (self.clock_s - start) * self.jitter()
        self.log.append((self._launches[timed[0]][1].global_size[0], len(timed)))
        return self.clock_s - start

    def clear(self) -> None:
        self.buffers.clear()
        self._launches.clear()

    def _execute(self, launch: LaunchId) -> None:
        program, dispatch, buffers = self._launches[launch]
        items = dispatch.global_size[0]
        if items == self.refused_items:
            raise DeviceError("copy failed: OUT_OF_RESOURCES")
        source, target = (self.buffers[buffers[str(name)]] for name in dispatch.arguments[:2])
        target[: 4 * items] = source[: 4 * items]
        if self.wrong or self._options[program] == self.wrong_options:
            target[5] ^= 1
        self.clock_s += self.seconds(items, self.clock_s)


class CopyWorkload(Workload):
    """Copies 4-byte words; with ``turns`` 2, alternately there and back."""

    family = "test"
    variant = "copy"
    title = "Copy"
    description = "Copies words."
    source = "copy.cl"
    metric = Metric(kind="rate", unit="B", label="bandwidth")
    axis = Axis(quantity="working_set", label="working set")

    def __init__(self, turns: int = 1, source: str = "copy.cl") -> None:
        self.turns = turns
        self.source = source  # type: ignore[misc]

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        raise NotImplementedError

    def sweep(self, *items: int, **parameters: int) -> Sweep:
        """A sweep over numbers of words."""
        return Sweep("size", self.axis, tuple({"items": n, **parameters} for n in items), "size")

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        items = parameters["items"]
        nbytes = 8 * items
        given = dict(parameters)
        return PointKey(
            label=str(items), parameters=given, work=nbytes, work_items=items, working_set_bytes=nbytes, x=nbytes
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        raise NotImplementedError

    def build_options(self, parameters: Parameters) -> str:
        return f"-DLOCAL={parameters.get('local', 1)}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        items, local = parameters["items"], parameters.get("local", 1)
        words = rng.integers(2**32, size=61, dtype=np.uint32)
        turns = (("from", "to"), ("to", "from"))[: self.turns]
        return Job(
            buffers={"from": Buffer(4 * items, words), "to": Buffer(4 * items)},
            dispatches=tuple(Dispatch("copy", (items,), (local,), pair) for pair in turns),
        )

    def verification(self) -> Sequence[Parameters]:
        return ({"items": 7}, {"items": 187})

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        return {"to": job.buffers["from"].filled()}


@dataclass
class Steps:
    """Records each step; an interrupt arrives at the one with the label *stop*."""

    stop: str = ""
    seen: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, what: str, step: str, done: float) -> None:
        label = f"{what}: {step}"
        if label == self.stop:
            raise KeyboardInterrupt
        self.seen.append((label, done))
