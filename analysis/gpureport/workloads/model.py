"""What a workload is: what it computes, what it asks of a device, how it is launched, how it is checked.

Adding a workload is one module in this room and one ``.cl`` file in ``kernels_cl/``; nothing else changes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device

Parameters = Mapping[str, int]
"""The parameters of one point, e.g. ``{"n": 4096, "local_x": 64, "local_y": 1}``."""


@dataclass(frozen=True)
class Buffer:
    """A buffer of global memory.

    Attributes:
        nbytes: its size.
        contents: bytes to start from, repeated until the buffer is full (so that gigabytes of random data need
            only megabytes of it); ``None``: whatever was there.
    """

    nbytes: int
    contents: NDArray[np.generic] | None = None

    def filled(self) -> NDArray[np.generic]:
        """Return what the buffer holds at the start, as one array of the contents' type.

        Raises:
            ValueError: the buffer has no contents.
        """
        if self.contents is None:
            raise ValueError("the buffer starts with whatever was there")
        flat = self.contents.ravel()
        return np.resize(flat, self.nbytes // flat.itemsize)


@dataclass(frozen=True)
class Local:
    """A local-memory kernel argument of *nbytes*."""

    nbytes: int


Argument = str | Local | np.generic
"""A kernel argument: the name of a buffer, local memory, or a scalar."""


@dataclass(frozen=True)
class Dispatch:
    """One kernel launch."""

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Job:
    """One point, ready to run.

    Attributes:
        buffers: by name. Buffers of one name are shared by the points of a sweep (the largest serves all), so a
            name must always stand for the same contents.
        dispatches: run in turn, again and again (two for ping-pong).
        before: run once, untimed, before every sample, or before the first frame of a trace (to bring caches into the
            state that is to be measured).
    """

    buffers: Mapping[str, Buffer]
    dispatches: tuple[Dispatch, ...]
    before: tuple[Dispatch, ...] = ()


@dataclass(frozen=True)
class Stream:
    """One pass over an array of records.

    Attributes:
        buffer: name of the array (two streams over one buffer share its footprint).
        elements: number of records.
        record_bytes: distance from one record to the next.
        used_bytes: contiguous bytes of each record that are touched.
        write: written instead of read.
        passes: how often the array passes through the *first* cache level in one dispatch, beyond what registers
            and coalescing save (a stencil that loads each row three times: 3). Outer levels see ``outer_passes``.
        outer_passes: how often it passes through the levels behind the first.
    """

    buffer: str
    elements: float
    record_bytes: int
    used_bytes: int
    write: bool = False
    passes: float = 1.0
    outer_passes: float = 1.0


@dataclass(frozen=True)
class Demand:
    """What one dispatch asks of a device.

    Attributes:
        work_items: in all.
        work_group: its shape.
        streams: global memory traffic.
        operations: lane operations by instruction class (see ``Architecture.rates_per_cycle``), whole dispatch.
        chain: dependent instructions of one work-item by class: what must wait for what.
        memory_chain: dependent rounds of global loads of one work-item (independent loads count once).
        cached_chain: further rounds, of data that neighbours have brought into the nearest cache that all units share.
        registers: estimate of 32-bit registers of a work-item, used until the compiler tells.
        local_memory_bytes: of one work-group.
        lines_per_access: lines that one access of a wave touches; the load/store unit takes them one by one.
        line_conflicts: the most of them of which it wants one and the same bank.
        stores_per_sector: by how many stores each sector is filled.
        line_writes: lines that waves write, once for each store; ``None``: as many as the streams fill.
        branches: whether work-items take different paths; a CPU's compiler then does not run them as vector lanes.
        local_conflicts: factor by which bank conflicts multiply local-memory accesses.
        reused: what finds its data again: ``dispatch`` (the next dispatch, ping-pong), ``kernel`` (this dispatch,
            pass after pass), ``never`` (a single pass over fresh data).
        in_step: whether work-groups load, then compute, once each, so that those that start together keep in step.
        loaded: whether its own traffic loads the memory system, so that loads take longer than a lone one.
        shared: whether every compute unit sooner or later touches all data (caches of compute units then hold
            copies) or only its own part (they add up).
        ping_pong: whether the next dispatch reads what this one writes, and writes where this one reads.
        one_buffer: whether only the largest of its buffers takes room in the caches.
        idle_items: work-items that only fill work-groups up: they access nothing.
        alone: whether the dispatch is timed by itself, not in a row with others.
    """

    work_items: int
    work_group: tuple[int, ...]
    streams: tuple[Stream, ...] = ()
    operations: Mapping[str, float] = field(default_factory=dict)
    chain: Mapping[str, float] = field(default_factory=dict)
    memory_chain: float = 0.0
    cached_chain: float = 0.0
    registers: int = 32
    local_memory_bytes: int = 0
    lines_per_access: float = 1.0
    line_conflicts: float = 1.0
    stores_per_sector: float = 1.0
    line_writes: float | None = None
    branches: bool = False
    local_conflicts: float = 1.0
    reused: Literal["dispatch", "kernel", "never"] = "dispatch"
    shared: bool = True
    ping_pong: bool = False
    in_step: bool = True
    loaded: bool = True
    one_buffer: bool = False
    idle_items: int = 0
    isolated: bool = False

    @property
    def groups(self) -> float:
        """Number of work-groups."""
        return self.work_items / prod(self.work_group)


@dataclass(frozen=True)
class Limits:
    """How far a sweep may go.

    Attributes:
        max_bytes: most that all buffers of a point may take together.
        max_buffer_bytes: most that one buffer may take.
        max_work_group: of the live device, or the architecture's.
        quick: fewer points and smaller sizes.
    """

    max_bytes: float
    max_buffer_bytes: float
    max_work_group: int
    quick: bool = False


@dataclass(frozen=True)
class Features:
    """What the live device offers that some variants need (plain data)."""

    extensions: frozenset[str]
    vendor: str
    kind: str
    local_memory_bytes: int


@dataclass(frozen=True)
class Sweep:
    """The points of one curve.

    Attributes:
        name: the sweep's, e.g. ``working_set``.
        axis: what it varies.
        points: all that may be measured, in the order of the axis; all are predicted.
        title: for headings.
        coarse: every so many-th point is measured in any case, those between only where the curve bends.
        frames: successive dispatches of each point to keep, in the order in which they ran (a frame trace), instead
            of samples in random order; 0: no trace.
        alone: whether each dispatch was timed by itself instead of many in a row, as those of a trace always are.
        read_between: whether something else reads, between two dispatches, what the next one reads: that alone is then
            in the caches, whatever else the dispatch before had touched.
        absent: points that the device cannot show, each with the reason in a sentence; neither predicted nor run.
    """

    name: str
    axis: Axis
    points: tuple[Parameters, ...]
    title: str
    coarse: int = 1
    frames: int = 0
    isolated: bool = False
    read_between: bool = False
    absent: tuple[tuple[Parameters, str], ...] = ()


class Workload(ABC):
    """One variant of one family.

    Class attributes say what it is; the methods say what one point of it is. All methods are pure.
    """

    family: ClassVar[str]
    variant: ClassVar[str]
    title: ClassVar[str]
    """For headings, e.g. ``Game of Life, 64 cells a word``."""
    description: ClassVar[str]
    """Two or three sentences: layout, borders, how bytes and work are counted."""
    source: ClassVar[str]
    """File in ``kernels_cl/``."""
    metric: ClassVar[Metric]
    microbenchmark: ClassVar[bool] = False
    """Whether its measurements may calibrate predictions of other families."""
    essential: ClassVar[bool] = False
    """Whether a quick run, too, measures it."""

    @property
    def name(self) -> str:
        """``family/variant``."""
        return f"{self.family}/{self.variant}"

    def missing(self, features: Features) -> str | None:  # noqa: ARG002 - most variants need nothing
        """Say in a sentence why the variant cannot run there, or return ``None``."""
        return None

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002 - most variants need none
        """Return the build options of a point, e.g. ``-DREPEATS=8``; points with equal options share a build."""
        return ""

    def options(self, features: Features) -> str:  # noqa: ARG002 - most variants need none
        """Return build options that the live device calls for (e.g. which sub-group back end)."""
        return ""

    @abstractmethod
    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Return the sweeps, sized for the device: dense around its caches, within *limits*."""

    @abstractmethod
    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Describe one point: work, work-items, working set, x."""

    @abstractmethod
    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Say what one dispatch asks of the device."""

    @abstractmethod
    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Make one point ready to run, on random data from *rng*."""

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Make one point of :meth:`verification` ready; overridden where results are not kept when timed."""
        return self.job(parameters, rng)

    @abstractmethod
    def verification(self) -> Sequence[Parameters]:
        """Return the points, of odd sizes, on which results are checked before anything is timed."""

    @abstractmethod
    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Compute with NumPy what the named buffers hold after *dispatches* dispatches of *job*."""

    tolerance: ClassVar[float] = 0.0
    """Largest accepted relative difference from :meth:`expected`; 0: equal bit by bit."""
    verification_dispatches: ClassVar[int] = 1
    """Dispatches before results are compared."""
