"""The interface of a workload: its sweeps, its demand on a device, its dispatches and its expected results."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Axis, Metric, PointKey
from gpureport.records.finding import AccessKind, AddressSpace
from gpureport.spec.models import Device, PresentDevice
from gpureport.units import label_bytes, label_count

Parameters = Mapping[str, int]
"""The parameters of one point, e.g. ``{"n": 4096, "local_x": 64, "local_y": 1}``."""
Factors = tuple[str | int, ...]
"""Names of parameters, and numbers, which are multiplied."""
REPEATS = ("repeats", "passes", "rounds", "steps")
"""Parameters that count repetitions within a kernel; once if a point does not have them."""
GROUP = ("local", "local_x", "local_y")
"""Parameters that are dimensions of a work-group."""

Place = Literal["device", "pinned", "pageable"]
"""In global memory, or in memory of the host: pinned (a mapped ``CL_MEM_ALLOC_HOST_PTR`` buffer) or ordinary."""


@dataclass(frozen=True)
class Buffer:
    """A buffer of *nbytes* in global memory, or in the host's memory.

    *contents* are repeated up to *nbytes* (a large buffer then needs little random data); ``None``: not initialised.
    """

    nbytes: int
    contents: NDArray[np.generic] | None = None
    place: Place = "device"

    def filled(self) -> NDArray[np.generic]:
        """Return the initial data of the whole buffer in the contents' type; a ValueError if it is not initialised."""
        if self.contents is None:
            raise ValueError("the buffer is not initialised")
        flat = self.contents.ravel()
        return np.resize(flat, self.nbytes // flat.itemsize)


class Local(NamedTuple):
    nbytes: int


Argument = str | Local | np.generic
"""A kernel argument: the name of a buffer, local memory, or a scalar."""
Arguments = tuple[Argument, ...]
Shape = tuple[int, ...]
"""Work-items in each dimension."""
Buffers = Mapping[str, Buffer]


@dataclass(frozen=True)
class Dispatch:
    kernel: str
    global_size: Shape
    local_size: Shape
    arguments: Arguments = ()

    @property
    def groups(self) -> Shape:
        """Work-groups in each dimension."""
        return tuple(-(-items // local) for items, local in zip(self.global_size, self.local_size, strict=True))

    def on_host(self, buffers: Mapping[str, NDArray[np.generic] | Buffer]) -> list[Any]:
        """Return the arguments with arrays for *buffers* and bytes for local memory."""
        return [buffers[a] if isinstance(a, str) else a.nbytes if isinstance(a, Local) else a for a in self.arguments]


class Copy(NamedTuple):
    """A copy of the first *nbytes* of one buffer to another; one of them is on the host."""

    source: str
    target: str
    nbytes: int


@dataclass(frozen=True)
class Transfer(Dispatch):
    """Copies between host and device, in place of a kernel.

    Two copies, one for each direction, run at the same time, in two queues.
    """

    copies: tuple[Copy, ...] = ()
    by_host: bool = False
    """Whether the host times it, from call to end, as for pageable memory; otherwise the device's time stamps do."""

    @classmethod
    def of(cls, *copies: Copy, by_host: bool = False) -> "Transfer":
        names = tuple(name for copy in copies for name in (copy.source, copy.target))
        return cls("", (1,), (1,), names, copies, by_host)


@dataclass(frozen=True)
class HostTraffic:
    """The bytes that a transfer moves from host to device, and at the same time back."""

    to_device: float
    to_host: float
    memory: Literal["pinned", "pageable"]


@dataclass(frozen=True)
class Job:
    """One point, ready to run."""

    buffers: Buffers
    """By name. Points of a sweep share the largest buffer of a name, so equal names must mean equal contents."""
    dispatches: tuple[Dispatch, ...]
    """Run repeatedly, in this order (two for ping-pong)."""
    before: tuple[Dispatch, ...] = ()
    """Run once, untimed, before every sample, for example to warm caches."""
    once: tuple[Dispatch, ...] = ()
    """Run before all others, after buffers were initialised, for contents that a host would take long to write."""

    @classmethod
    def of(cls, buffers: Buffers, kernel: str, size: Shape, local: Shape, arguments: Arguments) -> "Job":
        """Return the job that launches *kernel* once."""
        return cls(buffers, (Dispatch(kernel, size, local, arguments),))

    @classmethod
    def linear(cls, buffers: Buffers, kernel: str, items: int, local: int, arguments: Arguments) -> "Job":
        """Return the same for one dimension: *items* work-items, rounded up to whole work-groups of *local*."""
        return cls.of(buffers, kernel, (ceil(items / local) * local,), (local,), arguments)

    def ping_pong(self, some: Sequence[str], others: Sequence[str]) -> "Job":
        """Return the same with a second dispatch, in which *some* buffers and the *others* are exchanged."""
        (there,) = self.dispatches
        names = {**dict(zip(some, others, strict=True)), **dict(zip(others, some, strict=True))}
        back = tuple(names.get(each, each) if isinstance(each, str) else each for each in there.arguments)
        return replace(self, dispatches=(there, replace(there, arguments=back)))


@dataclass(frozen=True)
class Stream:
    """One pass over an array of records."""

    buffer: str  # two streams over one buffer share its footprint
    elements: float  # number of records
    record_bytes: int  # from one record to the next
    used_bytes: int  # contiguous bytes of each record that are accessed
    write: bool = False
    passes: float = 1.0
    """How often one dispatch transfers the array between registers and the first cache level. A stencil that loads each
    row three times has 3; accesses that coalesce count once."""
    outer_passes: float = 1.0
    """How often one dispatch transfers the array through the levels beyond the first."""
    memory_passes: float | None = None
    """How often a dispatch that starts with empty caches moves it to or from memory; ``None``: as ``reused`` says."""
    accesses: float | None = None
    """Accesses of the memory that one pass needs; ``None``: as the records say."""
    rows: float | None = None
    """Rows of the memory that one pass opens for a part of their neighbouring bytes; ``None``: as the records say."""
    exchanged: bool = False
    """Whether neighbouring work-groups read and write parts of the same lines: an array that is updated in place, with
    accesses shifted by less than a line."""


@dataclass(frozen=True)
class AccessDemand:
    """What one load, store or atomic instruction accesses: sums over all waves, of the device's size, that execute it.

    Attributes:
        buffer: name of the array, which is that of its streams.
        nbytes: of one lane.
        waves: number of executions by a wave.
        lanes: number of executions by a work-item.
        lines: lines of a cache that each wave touches.
        sectors: the same of sectors.
        conflict_cycles: largest number of different words of a wave in one bank.
        distinct: different addresses of a wave.
        turns: atomic operations of a wave that follow each other: those on the most frequent address of each sector, or
            in the fullest bank of local memory; 0 if compilers combine them.
        missed_sectors: sectors of loads that are not in the nearest cache.
        missing_waves: number of executions by a wave in which a sector is not there.
        partly_written: lines of stores in which sectors are written only in part.
        backward: lanes whose address is below that of the lane before: half of all if addresses are random.
        hottest: of atomic operations: those on the most frequent address of the dispatch.
        same: whether compilers see that the lanes of a wave use one address, so that they combine atomic operations.
        line: of the source; 0: not known.
        end: bytes of the array up to the last one that is accessed; 0: not known.
    """

    buffer: str
    space: AddressSpace
    kind: AccessKind
    nbytes: int
    waves: float
    lanes: float
    lines: float = 0.0
    sectors: float = 0.0
    conflict_cycles: float = 0.0
    distinct: float = 0.0
    turns: float = 0.0
    missed_sectors: float = 0.0
    missing_waves: float = 0.0
    partly_written: float = 0.0
    backward: float = 0.0
    hottest: float = 0.0
    same: bool = False
    line: int = 0
    end: int = 0


@dataclass(frozen=True)
class Demand:
    """The resources that one dispatch needs."""

    work_items: int
    work_group: tuple[int, ...]
    streams: tuple[Stream, ...] = ()  # global memory traffic
    operations: Mapping[str, float] = field(default_factory=dict)
    """Operations of all lanes by instruction class (see ``Architecture.rates_per_cycle``)."""
    chain: Mapping[str, float] = field(default_factory=dict)
    """Length of the longest chain of dependent instructions of one work-item, by instruction class."""
    memory_chain: float = 0.0  # dependent rounds of global loads of one work-item (independent loads count once)
    cached_chain: float = 0.0
    """Further rounds whose data other work-items have already brought into the nearest cache of all compute units."""
    nearest_chain: float = 0.0
    """Further rounds whose data the work-group itself has just brought into the nearest cache."""
    registers: int = 32  # estimated 32-bit registers per work-item, used until the compiler reports them
    local_memory_bytes: int = 0  # of one work-group
    compiled: bool = False  # whether the compiler reported both
    accesses: tuple[AccessDemand, ...] = ()
    """By instruction, if known one by one; they replace the means below: lines, conflicts and writes of an access."""
    lines_per_access: float = 1.0
    """Cache lines that one access of a wave touches; the load/store unit handles one at a time."""
    line_conflicts: float = 1.0  # maximum number of these lines that map to the same bank
    stores_per_sector: float = 1.0  # number of stores that together write one sector
    line_writes: float | None = None
    """Lines written, summed over all stores of all waves; ``None``: the lines that the streams cover."""
    branches: bool = False  # whether work-items take different paths, which compilers for CPUs do not vectorise
    maskable: bool = False  # whether those with masked vector instructions vectorise these branches nevertheless
    lane_bytes: int = 4
    """Bytes of the integers with which a work-item computes; 4 also if ``operations`` counts longer ones as several of
    4. With shorter ones, a CPU's vector has more lanes."""
    vector_words: int = 0
    """Words of a work-item's vector types, with which compilers for CPUs emit no vectors of work-items; 0: scalars."""
    sub_group: int = 0  # work-items of the sub-groups that the kernel requires; 0: the compiler chooses
    scalar_instructions: float = 0.0
    """Of all work-items in code for a CPU without vectors; 0: not counted, ``operations`` apply."""
    vectorised: bool | None = None
    """Whether the compiled code for a CPU contains vectors of work-items; ``None``: not known."""
    instructions_per_stored_byte: float = 0.0
    """Of compiled code for a CPU that is a single straight loop; 0: other code."""
    local_conflicts: float = 1.0  # factor by which bank conflicts multiply local-memory accesses
    reused: Literal["dispatch", "kernel", "never"] = "dispatch"
    """What reads the data again: the next dispatch (also in ping-pong), a later pass of the same one, or nothing."""
    shared: bool = True
    """Whether every compute unit accesses all data, so that the caches of compute units contain copies; otherwise each
    accesses its own part, and their capacities add up."""
    ping_pong: bool = False
    """Whether the next dispatch reads what this one writes, and writes where this one reads."""
    phases_aligned: bool = True
    """Whether each work-group loads once and then computes: those that start together do not overlap their phases."""
    staged: bool = False
    """Whether work-groups alternately load a stage of data and compute with it, so that all waves of a group wait for
    each other again and again, as in products of matrices."""
    uneven: float = 1.0  # work of the busiest scheduler of a compute unit / what it would be if all waves were alike
    loaded: bool = True  # whether the dispatch's own traffic raises the latency of its loads
    one_buffer: bool = False  # whether only the largest buffer occupies the caches
    idle_items: int = 0  # work-items that only pad work-groups and access no memory
    isolated: bool = False  # whether the dispatch is timed by itself instead of back-to-back with others
    transfer: HostTraffic | None = None
    """What it moves between host and device, if it is no kernel; all else is then meaningless."""
    span_bytes: float = 0.0
    """Range of addresses whose pages dependent loads access in random order; 0: latencies of caches and memory include
    address translation."""
    later_dispatches: "tuple[Demand, ...]" = ()
    """The other dispatches of a sequence of different kernels; times are then the mean of all."""

    @property
    def dispatches(self) -> "tuple[Demand, ...]":
        """This dispatch and the later ones of a sequence, each alone."""
        alone = replace(self, later_dispatches=()) if self.later_dispatches else self
        return alone, *self.later_dispatches

    @property
    def writes(self) -> bool:
        return any(stream.write for stream in self.streams)

    @property
    def groups(self) -> float:
        return self.work_items / prod(self.work_group)


@dataclass(frozen=True)
class Limits:
    max_bytes: float  # of all buffers of a point together
    max_buffer_bytes: float  # of one buffer
    max_work_group: int  # work-items, as the device reports or the architecture specifies
    quick: bool = False  # whether to use fewer points and smaller sizes


@dataclass(frozen=True)
class Sweep:
    """The points of one curve, in the order of the axis; all are predicted."""

    name: str  # such as working_set
    axis: Axis
    points: tuple[Parameters, ...]
    title: str  # for headings
    coarse: int = 1
    """Step between the points that are always measured; the others are measured only where the curve bends."""
    isolated: bool = False
    """Whether each dispatch is timed by itself instead of back-to-back."""
    read_between: bool = False
    """Whether another kernel reads the next dispatch's input before it, so that caches contain that input only."""


Calibration = Literal[
    "launch_cost",  # time of a back-to-back dispatch of at most 8 work-groups
    "group_rate",  # work-groups per second
    "isolated_launch_cost",  # time of the case ``1 group`` in the sweep ``isolated``
    "memory_efficiency",  # share of the specified bandwidth beyond four times the last cache
    "write_transition",  # transition out of device-wide caches if dispatches also write
    "ping_pong_transition",  # the same if they read what the previous one wrote
    "sector_write_rate",  # sectors written in order
    "line_write_rate",  # lines written in part, where ``stride`` (words) gives each work-item its own line
    "device_cache_bandwidth",  # bandwidth and transition of caches of the device
    "unit_cache_bandwidth",  # the same of a compute unit
    "load_latency",  # unloaded latency of each memory level
    "cache_capacity",  # for devices without an entry
    "instruction_rates",  # by instruction class (:attr:`Workload.instruction_classes`)
    "instruction_latencies",  # the same
    "barrier_cost",  # rate of waves that reach a barrier, and the barrier's own cycles
]
"""A quantity that a microbenchmark measures in place of the device entry's value."""


class Workload(ABC):
    """One variant of one family. All methods are pure."""

    family: str
    variant: str
    title: str
    """A unique human name, e.g. ``Game of Life, 64 cells per word``."""
    description: str
    """One or two sentences about what the title does not say; the comments of the kernel say more."""
    counted: str = ""
    """The unit of work, which ends a sentence; empty: the metric says it."""
    source: str
    """File in ``kernels_cl/``, or the absolute path of a user's file."""
    metric: Metric
    macros: ClassVar[tuple[str, ...]] = ()
    """Parameters that the source file needs as macros."""
    microbenchmark: ClassVar[bool] = False
    """Whether it measures a property of the device; microbenchmarks run first and are never calibrated themselves."""
    calibrates: ClassVar[tuple[Calibration, ...]] = ()
    """Quantities that its measurements replace in calibrated predictions of other families."""
    working_set_of: ClassVar[Factors] = ("bytes",)
    work_items_of: ClassVar[Factors] = ("groups", "local")
    work_of: Factors | None = None
    """What is multiplied for the work; ``None``: the work is the working set."""
    labelled: ClassVar[str] = "{working_set:bytes}"
    """Label of points with parameters in braces, written as :class:`_Labelled` is, except in sweeps of work-groups."""
    verified: ClassVar[Sequence[Parameters]] = ()
    """The points of :meth:`verification`, unless they are computed."""
    operation_of: ClassVar[tuple[str, ...]] = ()
    """Parameters that select an operation, which compilers may refuse: only those of the sweeps are verified."""
    tolerance: float = 0.0
    """Maximum relative difference from :meth:`expected`; 0: bitwise equal."""
    verification_dispatches: int = 1
    """Number of dispatches before results are compared."""
    instruction_classes: ClassVar[Mapping[str, str]] = {}
    """Instruction classes that its points measure, by label; a label that is not listed names the class itself."""
    essential: bool = False
    """Whether a quick run includes it."""
    not_on_cpu: ClassVar[str] = ""
    """Why CPUs do not run it, in a sentence; its sweeps are then empty. Empty: they run it."""
    counter: ClassVar[tuple[str, int] | None] = None
    """A count that the kernel makes: first letters of a buffer's name, and the index of a 32-bit word in it."""
    place: str = ""
    """File, line and field of the expected results of a described kernel."""
    described: ClassVar[bool] = False
    """Whether it is a kernel of the user, who gets advice on it."""
    digest: str = ""
    """Of its source and description."""

    @property
    def name(self) -> str:
        return f"{self.family}/{self.variant}"

    def missing(self, present: PresentDevice) -> str | None:
        """Return the reason why the variant cannot run on a device, in a sentence, or ``None``."""
        return self.not_on_cpu or None if present.kind == "cpu" else None

    def unsupported(self, parameters: Parameters, present: PresentDevice) -> str | None:
        """Return the reason why one point cannot run on a device, in a sentence, or ``None``."""
        return None

    def build_options(self, parameters: Parameters) -> str:
        """Return build options, by default the :attr:`macros` (1 if a point lacks one); equal options share a build."""
        return " ".join(f"-D{name.upper()}={parameters.get(name, 1)}" for name in self.macros)

    def options(self, present: PresentDevice) -> str:
        """Return build options that depend on the device (e.g. the sub-group back end)."""
        return ""

    @abstractmethod
    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Return the sweeps, sized for the device's caches, within *limits*."""

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Return the work, work-items, working set, label and x value of one point.

        Over work-items the parameter ``resident`` of published points is the number of resident work-items: all points
        transfer the same data, and additional local memory limits the number of resident work-groups.
        """
        label, items, x = self.label(parameters, sweep), self.work_items(parameters), self.x(parameters, sweep)
        if sweep.axis.quantity == "work_items" and "resident" in parameters:
            items = parameters["resident"]
            label, x = label_count(items), items
        return PointKey(
            label=label,
            parameters=dict(parameters),
            work=self.work(parameters),
            work_items=items,
            working_set_bytes=self.nbytes(parameters),
            x=x,
        )

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        """Return the quantity of the axis.

        Of cases it is the parameter ``case``, or else the place in the sweep, and so it is of work-groups whose size is
        not the parameter ``local``.
        """
        if sweep.axis.quantity in ("case", "work_group"):
            given = parameters.get("case" if sweep.axis.quantity == "case" else "local")
            return sweep.points.index(parameters) if given is None else given
        return self.work_items(parameters) if sweep.axis.quantity == "work_items" else self.nbytes(parameters)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        """Return a point's label, unique in the *sweep*: its work-group, or what :attr:`labelled` says."""
        if sweep.axis.quantity == "work_group":
            return " x ".join(str(parameters[name]) for name in GROUP if name in parameters)
        values = {"working_set": self.nbytes(parameters), **parameters}
        return self.labelled.format(**{name: _Labelled(value) for name, value in values.items()})

    def work(self, parameters: Parameters) -> float:
        """Return the work of one dispatch, in the unit of :attr:`metric`."""
        return self.nbytes(parameters) if self.work_of is None else product(parameters, self.work_of)

    def work_items(self, parameters: Parameters) -> int:
        return product(parameters, self.work_items_of)

    def launched(self, parameters: Parameters) -> tuple[int, Shape]:
        """Return the work-items of a dispatch, and its work-group."""
        return self.work_items(parameters), tuple(parameters[name] for name in GROUP if name in parameters)

    def nbytes(self, parameters: Parameters) -> int:
        """Return the working set."""
        return product(parameters, self.working_set_of)

    @abstractmethod
    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Return the resources that one dispatch needs."""

    @abstractmethod
    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Return the buffers and dispatches of one point, with random data from *rng*."""

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Return the job of a point of :meth:`verification`; overridden where timed runs do not store results."""
        return self.job(parameters, rng)

    def verification(self) -> Sequence[Parameters]:
        """Return the points, of odd sizes, whose results are checked before anything is timed."""
        return self.verified

    def to_verify(self, sweeps: Sequence[Sweep]) -> Sequence[Parameters]:
        """Return the points of :meth:`verification` whose results must be correct before *sweeps* are timed."""
        used = {self._operation(point) for sweep in sweeps for point in sweep.points}
        return tuple(point for point in self.verification() if not self.operation_of or self._operation(point) in used)

    def _operation(self, parameters: Parameters) -> tuple[int, ...]:
        return tuple(parameters[name] for name in self.operation_of)

    @abstractmethod
    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Compute with NumPy the contents of the named buffers after *dispatches* dispatches of *job*."""

    def changes(self, parameters: Parameters, device: Device) -> Iterable[tuple[str, Demand]]:
        """Return changes of the kernel, as the ends of "you could …", each with the demand that results."""
        return ()

    def source_line(self, line: int) -> str:
        """Return the text of a line of the source, counted from 1; empty if there is none."""
        return ""


def product(parameters: Parameters, factors: Factors) -> int:
    """Return the product of numbers and of *parameters*, of which only :data:`REPEATS` may be missing (a KeyError)."""
    known = {**dict.fromkeys(REPEATS, 1), **parameters}
    return prod(known[each] if isinstance(each, str) else each for each in factors)


class _Labelled(int):
    """A number in ``bytes``, as a ``count``, or of things: ``group/s`` gives ``1 group`` and ``2 groups``."""

    def __format__(self, spec: str) -> str:
        if spec in ("", "bytes"):
            return label_bytes(self) if spec else str(int(self))
        noun, _, plural = spec.partition("/")
        return label_count(self) if noun == "count" else f"{label_count(self)} {noun}{plural if self > 1 else ''}"


class UnstoredResults(Workload):
    """A workload whose timed dispatches do not store their results; the dispatches that are verified do.

    Kernel arguments are the buffers and scalars of :meth:`inputs`, the number of work-items that store a result, and
    the buffer ``folded`` of these results: one word, or a vector of ``lanes`` words, per work-item.
    """

    kernel: ClassVar[str]

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        return self.job(parameters, rng, self.work_items(parameters))

    def job(self, parameters: Parameters, rng: np.random.Generator, results: int = 0) -> Job:
        buffers, scalars = self.inputs(parameters, rng)
        folded = Buffer(4 * parameters.get("lanes", 1) * max(1, results))
        arguments: tuple[Argument, ...] = (*buffers, *map(np.uint32, (*scalars, results)), "folded")
        named = {**buffers, "folded": folded}
        return Job.linear(named, self.kernel, self.work_items(parameters), parameters["local"], arguments)

    @abstractmethod
    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        """Return the buffers that the kernel reads, by name, and the scalars."""
