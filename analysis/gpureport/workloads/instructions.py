"""Rate and latency of instructions by class, and the cost of barriers: chains of one operation.

First come the operations, each with one step of its chain in NumPy.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil, prod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Calibration, Demand, Job, Limits, Parameters, Sweep, UnstoredResults
from gpureport.workloads.sub_group import AMD, NVIDIA, Exchanging

Words = NDArray[np.uint32]
Numbers = NDArray[Any]
Step = Callable[[tuple[Words, ...], tuple[Words, ...], int], tuple[Words, ...]]
"""From the words of a chain (oldest first), four operands and the index of the step to the words after that step."""
Draw = Callable[[np.random.Generator, int], Words]
"""Draws :data:`TABLE` random words, for a number of lanes per work-item."""

TABLE = 1024
"""Number of initial words, and of operands."""
_ROWS, _BANKS = TABLE // 32, 32

_KIN = {"add": "int32", "ternary": "int32", "shift": "int32", "ballot": "shuffle", "fp32_three": "fp32"}
"""The class used instead of one that an architecture does not list."""


class Operation(NamedTuple):
    """One operation; *step*, *initial* and *operands* are one step in NumPy, and draws of the words of its chains."""

    name: str  # the instruction class, as in ``Architecture.rates_per_cycle`` and ``latency_cycles``
    states: int  # words per chain
    step: Step
    initial: Draw
    operands: Draw
    besides: Mapping[str, float] = {}  # additional operations of a step, by class
    group: bool = False  # whether work-items cooperate; a CPU then also needs whole work-groups
    words: int = 1  # 32-bit registers of a state
    vectors: bool = True  # whether there is a form for vectors, which work-items of a CPU process
    vector_step: Step | None = None  # one step of that form, if it differs
    extensions: tuple[str, ...] = ()  # OpenCL extensions one of which is required; none: all devices have it
    loaded: Callable[[Words], Any] = lambda words: words
    """From a word in memory to a state; a state of two words is a 64-bit integer."""
    folded: Callable[[Any], Words] = lambda words: words
    """From a state to a word of the result, which does not depend on the device."""

    def missing(self, present: PresentDevice) -> str | None:
        if not self.extensions or {*self.extensions} & {*present.extensions}:
            return None
        named = [name for name in self.extensions if not name.endswith("_query")]
        return f"the device does not support {' or '.join(named) or 'this operation'}"

    def classes(self, listed: Collection[str]) -> dict[str, float]:
        return {listed_class(name, listed): count for name, count in {self.name: 1.0, **self.besides}.items()}


def listed_class(name: str, listed: Collection[str]) -> str:
    """Return instruction class *name*, or the one used instead if it is not *listed*."""
    return name if name in listed else _KIN.get(name, name)


def fma(a: Numbers, b: Numbers, c: Numbers) -> Numbers:
    """Return a * b + c, rounded once.

    The product of two numbers of at most single precision is exact in double precision. The sum is rounded to odd there
    (Boldo and Melquiond, Emulation of a FMA and Correctly Rounded Sums, IEEE Transactions on Computers 57(4), 2008), so
    that the second rounding is correct. A product in double precision is the sum of two numbers (Dekker, A
    Floating-Point Technique for Extending the Available Precision, Numerische Mathematik 18, 1971).
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    if a.dtype != np.float64:
        return _to_odd(*_sum(product, addend)).astype(a.dtype)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    below = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    upper, lower = _sum(addend, below)
    total, error = _sum(product, upper)
    found = total + _to_odd(*_sum(lower, error))
    return np.where(np.isfinite(found), found, product + addend)


def _sum(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    """Return a sum and its rounding error."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _halves(a: Numbers) -> tuple[Numbers, Numbers]:
    """Return the upper and the lower half of the digits."""
    large = a * (2.0**27 + 1)
    high = large - (large - a)
    return high, a - high


def _to_odd(total: Numbers, error: Numbers) -> Numbers:
    """Return the number of two next to the exact sum whose last bit is 1, or the sum itself if it is exact."""
    bits = total.view(np.uint64)
    # Towards the exact value: away from zero if the rounding error has the sign of the sum, else towards zero.
    step = np.where((error > 0) == (total > 0), np.uint64(1), np.uint64(2**64 - 1))
    odd = np.where((np.abs(error) > 0) & (bits & np.uint64(1) == 0), bits + step, bits)
    return odd.view(np.float64)


def _fma(a: Words, b: Words, c: Words) -> Words:
    return fma(a.view(np.float32), b.view(np.float32), c.view(np.float32)).view(np.uint32)


def _rotated_right(value: Words, by: Words) -> Words:
    right = by & np.uint32(31)
    left = -right & np.uint32(31)
    return np.asarray(value >> right | value << left, dtype=np.uint32)


def _turned(words: tuple[Words, ...], *_: object) -> tuple[Words, ...]:
    return (words[0].reshape(-1, 2, 4)[:, ::-1].ravel(),)


def _balloted(words: tuple[Words, ...], operands: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    """Return to each of eight lanes one bit per lane: whether the AND of its word and its operand is not zero."""
    voted = words[0] & operands[0] != 0
    bits = voted.reshape(-1, 8).astype(np.uint32) << np.arange(8, dtype=np.uint32)
    return (np.repeat(np.sum(bits, axis=1, dtype=np.uint32), 8),)


def _any_words(rng: np.random.Generator, lanes: int) -> Words:
    return rng.integers(0, 2**32, size=TABLE, dtype=np.uint32)


def _reals(low: int, high: int) -> Draw:
    """Return draws of x or b for which x * x + b stays bounded; integers for vectors, whose operators may be fused."""
    return lambda rng, lanes: _words(rng.uniform(-0.6, 0.2, TABLE) if lanes == 1 else rng.integers(low, high, TABLE))


def _whole_reals(rng: np.random.Generator, lanes: int) -> Words:
    """Small integers of both signs: the sum of millions of products is exact."""
    return _words(rng.integers(1, 4, TABLE) * rng.choice([-1, 1], TABLE))


def _words(numbers: NDArray[np.float64] | NDArray[np.int64]) -> Words:
    return numbers.astype(np.float32).view(np.uint32)


def _eight_masks(rng: np.random.Generator, lanes: int) -> Words:
    """Eight bits for each of eight lanes, repeated: the result is the same for all sub-group sizes."""
    return np.tile(rng.integers(1, 2**8, size=8, dtype=np.uint32), TABLE // 8)


def _neighbours(rng: np.random.Generator, lanes: int) -> Words:
    """Neighbouring words of the table: each lane of a wave has its own bank."""
    return np.arange(TABLE, dtype=np.uint32)


def _rows_in_a_cycle(rng: np.random.Generator, lanes: int) -> Words:
    """For each word of the table, the index of another in the same bank: a random cycle through all rows."""
    following = np.empty((_ROWS, _BANKS), dtype=np.uint32)
    for bank in range(_BANKS):
        order = rng.permutation(_ROWS).astype(np.uint32)
        following[order, bank] = np.roll(order, -1) * _BANKS + bank
    return following.ravel()


def _added(x: tuple[Words, ...], *_: object) -> tuple[Words, ...]:
    return x[1], x[0] + x[1]


def _squared(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    return (x[0] * x[0] + k[0],)


def _selected(words: tuple[Words, ...], operands: tuple[Words, ...], step: int) -> tuple[Words, ...]:
    if_clear, if_set = operands[2 * (step % 2)], operands[2 * (step % 2) + 1]
    return words[0] & if_set | ~words[0] & if_clear, words[1]


def _selected_by_older(words: tuple[Words, ...], operands: tuple[Words, ...], step: int) -> tuple[Words, ...]:
    older, newer = words
    return newer, older & newer | ~older & operands[step % 4]


ARITHMETIC = (
    Operation("fp32", 1, lambda x, k, _: (_fma(x[0], x[0], k[0]),), _reals(-1, 2), _reals(-2, 0)),
    Operation("fp32_three", 3, lambda x, *_: (_fma(x[1], x[2], x[0]), x[1], x[2]), _whole_reals, _whole_reals),
    Operation("add", 2, _added, _any_words, _any_words),
    Operation("int32_mul", 1, _squared, _any_words, _any_words),
    Operation("ternary", 2, _selected, _any_words, _any_words, vector_step=_selected_by_older),
    Operation("shift", 2, lambda x, *_: (x[1], _rotated_right(x[0], x[1])), _any_words, _any_words),
    Operation("local", 1, lambda x, table, _: (table[0][x[0]],), _neighbours, _rows_in_a_cycle, vectors=False),
    Operation("barrier", 1, lambda x, *_: x, _any_words, _any_words, group=True, vectors=False),
)
"""Operations of all devices."""

DOT_PRODUCT = "cl_khr_integer_dot_product"
_HALVES = ("cl_khr_fp16", NVIDIA)
_Integers = NDArray[np.int32]


def _small(rng: np.random.Generator, low: int, high: int) -> _Integers:
    return rng.integers(low, high, TABLE, dtype=np.int32)


def _bounded(encoded: Callable[[_Integers, _Integers], Words]) -> tuple[Draw, Draw]:
    """Return draws of words from two small integers x, and b, for which x * x + b stays bounded."""
    return (
        lambda rng, _: encoded(_small(rng, -1, 2), _small(rng, -1, 2)),
        lambda rng, _: encoded(_small(rng, -2, 0), _small(rng, -2, 0)),
    )


def _two_halves(low: _Integers, high: _Integers) -> Words:
    return np.stack([low, high], axis=1).astype(np.float16).view(np.uint32).ravel()


def _two_brain_numbers(high: _Integers, low: _Integers) -> Words:
    upper, lower = (each.astype(np.float32).view(np.uint32) for each in (high, low))
    return upper | lower >> np.uint32(16)


def _fma_pairs(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    a, b = (np.ascontiguousarray(words).view(np.float16) for words in (x[0], k[0]))
    return (np.ascontiguousarray(a * a + b).view(np.uint32),)


def _fma_brain_pairs(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    """The upper half of a single-precision number is a bfloat16 number; small integers are exact in both."""
    a, b, high = x[0], k[0], np.uint32(0xFFFF0000)
    lower = _fma(a << np.uint32(16), a << np.uint32(16), b << np.uint32(16)) >> np.uint32(16)
    return (_fma(a & high, a & high, b & high) & high | lower,)


def _dot_bytes(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    a, b = (np.ascontiguousarray(words).view(np.int8).reshape(-1, 4).astype(np.int32) for words in (x[0], k[0]))
    return (np.sum(a * b, axis=1, dtype=np.int32).view(np.uint32) + k[1],)


def _powers_of_two(rng: np.random.Generator, lanes: int) -> Words:
    return _words(np.ldexp(rng.choice([-1.0, 1.0], TABLE), _small(rng, -20, 21)))


_OTHER_BITS = np.uint32(0xFC7FFFFF)
"""All but the lowest three bits of the exponent."""


def _exponent_bits(rng: np.random.Generator, lanes: int) -> Words:
    """Values of these three bits but 7: the other bits of the exponent then alternate between two values.

    Without a change of the number, compilers would remove two reciprocals that follow each other.
    """
    return _small(rng, 0, 7).view(np.uint32) << np.uint32(23)


def _numbers_from_8192(rng: np.random.Generator, lanes: int) -> Words:
    """Single-precision numbers from 2^13 to 2^14. The XOR with such an integer is such a number again."""
    return _small(rng, 0, 2**23).view(np.uint32) | np.uint32(0x46000000)


def _reciprocal(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    return ((np.float32(1) / x[0].view(np.float32)).view(np.uint32) & _OTHER_BITS | k[0],)


def _truncated(x: tuple[Words, ...], k: tuple[Words, ...], _: int) -> tuple[Words, ...]:
    return (x[0].view(np.float32).astype(np.int32).view(np.uint32) ^ k[0],)


_LOGIC = {"ternary": 1.0}
PRECISIONS = (
    Operation(
        "fp64", 1, _squared, *_bounded(lambda first, _: first.view(np.uint32)), words=2, extensions=("cl_khr_fp64",)
    ),
    Operation(
        "fp16", 1, _fma_pairs, *_bounded(lambda low, _: _two_halves(low, 0 * low)), vectors=False, extensions=_HALVES
    ),
    Operation("fp16x2", 1, _fma_pairs, *_bounded(_two_halves), vectors=False, extensions=_HALVES),
    Operation("bf16x2", 1, _fma_brain_pairs, *_bounded(_two_brain_numbers), vectors=False, extensions=(NVIDIA,)),
    Operation("dot_int8", 1, _dot_bytes, _any_words, _any_words, vectors=False, extensions=(DOT_PRODUCT, NVIDIA, AMD)),
    Operation(
        "int64",
        2,
        _added,
        _any_words,
        _any_words,
        words=2,
        loaded=lambda words: words.astype(np.uint64) * np.uint64(0x100000001),
        folded=lambda words: (words ^ words >> np.uint64(32)).astype(np.uint32),
    ),
    Operation("transcendental", 1, _reciprocal, _powers_of_two, _exponent_bits, _LOGIC, vectors=False),
    Operation("conversion", 1, _truncated, _numbers_from_8192, _numbers_from_8192, _LOGIC),
)
"""Operations of number formats and units that not all devices have."""

EXCHANGES = (
    Operation("shuffle", 1, _turned, _any_words, _any_words, group=True, vectors=False),
    Operation(
        *("ballot", 1, _balloted, _eight_masks, _eight_masks, {"int32": 1.0}),
        group=True,
        vectors=False,
        folded=lambda votes: votes & np.uint32(0xFF),
    ),
)
"""Operations between the lanes of a sub-group."""


OPERATIONS = {"instructions": ARITHMETIC, "exchanges": EXCHANGES, "formats": PRECISIONS, "barriers": ARITHMETIC[-1:]}


class Chains(Exchanging, UnstoredResults):
    """The cases are operations: those *of* a set (:data:`OPERATIONS`)."""

    family = "instructions"
    source = "instructions.cl"
    kernel = "instructions"
    macros = ("chains", "steps", "lanes")
    microbenchmark = True
    working_set_of = (8 * TABLE,)
    operation_of = ("case",)
    listed_in: ClassVar[Literal["rates_per_cycle", "latency_cycles"]]
    """The table of an architecture that must list an operation on a number format, so that it is measured."""

    def __init__(
        self, variant: str, of: str, title: str, description: str, counted: str, *, essential: bool = True
    ) -> None:
        self.variant, self.of, self.title, self.essential = variant, of, title, essential
        self.description, self.counted = description, counted
        if of == "exchanges":
            self.required = ("shuffle", "ballot")

    @property
    def cases(self) -> tuple[Operation, ...]:
        return OPERATIONS[self.of]

    @abstractmethod
    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Return ``chains`` per work-item, unrolled ``steps``, ``rounds``, ``groups``, ``local`` and ``lanes``."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each operation that the architecture may have; no barrier on a CPU, whose compilers remove it."""
        listed = getattr(device.architecture, self.listed_in) if self.of == "formats" else {c.name for c in self.cases}
        measured = {*listed} - grid.chosen(device, cpu={"barrier"}, gpu=set())
        points = [
            {"case": number, **self.shape(case, device, limits)}
            for number, case in enumerate(self.cases, 1)
            if case.name in measured
        ]
        return (grid.by_case("operation", "instruction class", points),) if points else ()

    def unsupported(self, parameters: Parameters, present: PresentDevice) -> str | None:
        return self.case(parameters).missing(present)

    def options(self, present: PresentDevice) -> str:
        """Dot products are functions of OpenCL C 3.0."""
        used = self.of == "formats" and DOT_PRODUCT in present.extensions
        return "-cl-std=CL3.0" if used else super().options(present)

    def case(self, parameters: Parameters) -> Operation:
        return self.cases[parameters["case"] - 1]

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return self.case(parameters).name

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        case, items, architecture = self.case(parameters), self.work_items(parameters), device.architecture
        in_a_chain, lanes = float(parameters["steps"] * parameters["rounds"]), parameters["lanes"]
        each = in_a_chain * parameters["chains"] * items * lanes
        return Demand(
            *self.launched(parameters),
            operations={name: count * each for name, count in case.classes(architecture.rates_per_cycle).items()},
            chain={name: count * in_a_chain for name, count in case.classes(architecture.latency_cycles).items()},
            registers=16 + case.states * case.words * parameters["chains"],
            local_memory_bytes=4 * TABLE if case.name == "local" else 0,
            branches=lanes == 1 and not case.group,
        )

    def build_options(self, parameters: Parameters) -> str:
        return f"-DCASE_{self.case(parameters).name.upper()} {super().build_options(parameters)}"

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        case, lanes = self.case(parameters), parameters["lanes"]
        drawn = {"initial": case.initial(rng, lanes), "operands": case.operands(rng, lanes)}
        buffers = {f"{name} {case.name}": Buffer(4 * TABLE, words) for name, words in drawn.items()}
        return buffers, (parameters["rounds"],)

    def verification(self) -> Sequence[Parameters]:
        """Every operation in one chain and in several, on words and on vectors."""
        shapes = (
            {"chains": 1, "steps": 5, "rounds": 3, "groups": 3, "local": 64, "lanes": 1},
            {"chains": 3, "steps": 4, "rounds": 5, "groups": 2, "local": 32, "lanes": 8},
        )
        return tuple(
            {"case": 1 + i, **shape, "lanes": shape["lanes"] if case.vectors else 1}
            for i, case in enumerate(self.cases)
            for shape in shapes
        )

    def to_verify(self, sweeps: Sequence[Sweep]) -> Sequence[Parameters]:
        """The programs that are timed, in few work-groups: to build others would take longer than to verify."""
        points = (point for sweep in sweeps for point in sweep.points)
        return tuple({**point, "rounds": 2, "groups": min(2, point["groups"])} for point in points)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Compute all chains step by step; integers wrap around, multiply-adds round once."""
        case, lanes = self.case(parameters), parameters["lanes"]
        initial, operands = (
            job.buffers[f"{name} {case.name}"].filled().astype(np.uint32) for name in ("initial", "operands")
        )
        items = np.arange(self.work_items(parameters))
        # `local` uses the operands as one table; in all other cases each work-item has its own operands.
        k: tuple[NDArray[np.uint32], ...] = (operands,)
        if case.name != "local":
            own = (np.tile(items + 64 * number, parameters["chains"]) for number in range(4))
            k = tuple(case.loaded(_of_items(operands, each, lanes)) for each in own)
        following = case.vector_step if lanes > 1 and case.vector_step else case.step
        chains = np.arange(parameters["chains"])[:, None]
        starts = ((items + 64 * (chains * case.states + state)).ravel() for state in range(case.states))
        words = tuple(case.loaded(_of_items(initial, start, lanes)) for start in starts)
        for step in range(parameters["steps"] * parameters["rounds"]):
            words = following(words, k, step % parameters["steps"])
        total = np.zeros(len(items) * lanes, dtype=np.uint32)
        for of_chain in zip(*(case.folded(word).reshape(len(chains), -1) for word in words), strict=True):
            for word in of_chain:
                total = np.uint32(3) * total ^ word
        return {"folded": total}


def _of_items(table: NDArray[np.uint32], items: NDArray[np.int_], lanes: int) -> NDArray[np.uint32]:
    vectors = table.reshape(-1, lanes)
    return vectors[items % len(vectors)].ravel()


class Latency(Chains):
    """One wave computes one chain: each operation needs the result of the previous one."""

    calibrates = ("instruction_latencies",)
    metric = Metric(kind="time", unit="instructions", label="latency")
    work_of = ("steps", "rounds")
    listed_in = "latency_cycles"

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """A chain of about 0.2 ms."""
        wave, latencies = device.architecture.wave_size, device.architecture.latency_cycles
        of_group = "latency of a barrier" if case.name == "barrier" else "latencies of exchanges"
        shape = grid.launch(device, limits, of_group if case.group else "latencies of instructions")
        cycles = sum(count * latencies.get(name, 4.0) for name, count in case.classes(latencies).items())
        rounds = max(1, round(2e-4 * device.clock_hz / cycles / shape["steps"]))
        lanes = grid.chosen(device, cpu=wave if case.vectors else 1, gpu=1)
        return {"chains": 1, **shape, "rounds": rounds, "groups": 1, "lanes": lanes}


class Rate(Chains):
    """All work-items compute several independent chains, with enough work-items for the peak rate of every unit."""

    calibrates: ClassVar[tuple[Calibration, ...]] = ("instruction_rates",)
    metric = Metric(kind="rate", unit="instructions", label="instruction rate")
    work_of = ("chains", "steps", "rounds", "groups", "local", "lanes")
    listed_in = "rates_per_cycle"

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Eight chains on a GPU; on a CPU as many as its registers allow."""
        purpose = "barriers" if case.name == "barrier" else "rates of exchanges" if case.group else "rates"
        wide = device.architecture.wave_size if case.vectors else 1
        of_cpu = {1: 8, 2: 6}.get(case.states * case.words, 4)
        chains, lanes = grid.chosen(device, cpu=(of_cpu, wide), gpu=(8, 1))
        shape = {"chains": 1 if case.name == "barrier" else chains, **grid.launch(device, limits, purpose)}
        rates = device.architecture.rates_per_cycle
        each = [device.rate_per_s(name) / count for name, count in case.classes(rates).items() if name in rates]
        wanted = grid.seconds(device, limits, purpose) * min(each, default=device.rate_per_s("shuffle"))
        return {**shape, "rounds": max(1, ceil(wanted / (prod(shape.values()) * lanes))), "lanes": lanes}


class Barrier(Rate):
    calibrates = ("barrier_cost",)
    not_on_cpu = "compilers for CPUs turn barriers into ends of loops over work-items, and remove those without work"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Work-groups of one wave, two, four ..., with a constant number of work-items; none on a CPU."""
        if not grid.coalesces(device):
            return ()
        point = {"case": 1, **self.shape(self.cases[0], device, limits)}
        items, wave = point["groups"] * point["local"], device.architecture.wave_size
        sizes = [size for size in grid.work_groups(device, limits) if size % wave == 0]
        points = ({**point, "local": size, "groups": items // size} for size in sizes)
        return (grid.by_case("group_size", "work-items of a work-group", points, "work-group size"),)

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        return parameters["local"]

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return f"groups of {parameters['local']}"


_ONE_CHAIN = "One wave computes one chain: each operation needs the result of the previous one."
_EXCHANGED = "shuffles (with the lane four away) or ballots (each after an AND)."
WORKLOADS = (
    Barrier(
        *("barrier", "barriers", "Barriers by work-group size"),
        "Work-groups wait at barriers, each of which takes a time for each wave and a constant time.",
        "barriers times work-items.",
    ),
    Latency(
        *("latency", "instructions", "Instruction latency"),
        f"{_ONE_CHAIN} The barrier uses one work-group of several waves.",
        "the time of one operation.",
    ),
    Latency(
        *("sub_group_latency", "exchanges", "Sub-group exchange latency"),
        f"One wave computes one chain of {_EXCHANGED}",
        "the time of one exchange, which includes the AND of a ballot.",
    ),
    Latency(
        *("formats_latency", "formats", "Instruction latency of further number formats"),
        f"{_ONE_CHAIN} A reciprocal and a conversion to an integer include a bitwise operation.",
        "the time of one operation.",
        essential=False,
    ),
    Rate(
        *("rate", "instructions", "Instruction rate"),
        "Several independent chains of one operation. NVIDIA's compiler makes every second addition a multiply-add.",
        "instructions times lanes; a multiply-add is one.",
    ),
    Rate(
        *("sub_group_rate", "exchanges", "Sub-group exchange rate"),
        f"Several independent chains of {_EXCHANGED}",
        "exchanges times lanes.",
    ),
    Rate(
        *("formats", "formats", "Instruction rate of further number formats"),
        "Several independent chains of one operation; operations are those that the architecture's file lists.",
        "instructions times lanes; an instruction on a pair is one.",
    ),
)
