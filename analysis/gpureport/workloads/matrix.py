"""Matrix units: products of small matrices in registers, by number format.

Elements are small integers, so that all sums are exact. The vendors' instructions differ in their shapes, and in which
lanes of a wave keep which elements (fragments).
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Architecture, Device, MatrixInstruction, PresentDevice
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Sweep, UnstoredResults
from gpureport.workloads.sub_group import AMD, NVIDIA

_TABLE = 1024
_GROUPS_PER_UNIT = 16
_SECONDS = constant(1e-3)

Words = NDArray[np.uint32]
Integers = NDArray[np.int64]

MOST = 2
"""Elements are integers from minus this to this: products and their sums are exact in every format."""


class Format(NamedTuple):
    name: str  # the instruction class, as in ``Architecture.rates_per_cycle``
    per_word: int  # elements in a register
    encoded: tuple[int, ...]  # the bits of an element, for the integers from minus MOST to MOST
    integer_sums: bool = False  # sums are 32-bit integers; otherwise single-precision numbers

    def words(self, elements: Integers) -> Words:
        """Return registers of *elements*; the last axis has those of one register, the lowest bits first."""
        bits = np.array(self.encoded, dtype=np.uint32)[elements + MOST]
        shifts = np.arange(self.per_word, dtype=np.uint32) * np.uint32(32 // self.per_word)
        return np.asarray(np.bitwise_or.reduce(bits << shifts, axis=-1), dtype=np.uint32)

    def elements(self, words: Words) -> Integers:
        """Return the elements of registers, along a new last axis."""
        width = 32 // self.per_word
        shifts = np.arange(self.per_word, dtype=np.uint32) * np.uint32(width)
        bits = words[..., None] >> shifts & np.uint32(2**width - 1)
        place = np.argmax(bits[..., None] == np.array(self.encoded, dtype=np.uint32), axis=-1)
        return np.asarray(place - MOST, dtype=np.int64)

    def sums(self, integers: Integers) -> Words:
        return integers.astype(np.int32 if self.integer_sums else np.float32).view(np.uint32)


def _bits(of: Callable[[np.float32], int]) -> tuple[int, ...]:
    return tuple(of(np.float32(value)) for value in range(-MOST, MOST + 1))


def _single(value: np.float32) -> int:
    return int(value.view(np.uint32))


FORMATS = (
    Format("matrix_fp16", 2, _bits(lambda value: int(np.float16(value).view(np.uint16)))),
    Format("matrix_bf16", 2, _bits(lambda value: _single(value) >> 16)),
    Format("matrix_tf32", 1, _bits(_single)),
    Format("matrix_int8", 4, tuple(value & 0xFF for value in range(-MOST, MOST + 1)), integer_sums=True),
    Format("matrix_fp8", 4, (0xC0, 0xB8, 0x00, 0x38, 0x40)),  # e4m3: 4 bits of exponent with a bias of 7
)
Indices = NDArray[np.int_]
Place = tuple[Indices, Indices]
"""Row and column of each element of a fragment; arrays of lanes x registers x elements of a register."""


class Fragments(NamedTuple):
    """How the lanes of a wave keep the matrices of D = A B + D: A has *m* rows and *k* columns, D *n* columns."""

    m: int
    n: int
    k: int
    a: Place
    b: Place
    d: Place

    def registers(self) -> tuple[int, int, int]:
        """Return the registers of a lane for A, B and D."""
        return self.a[0].shape[1], self.b[0].shape[1], self.d[0].shape[1]

    def product(self, a: Integers, b: Integers) -> Integers:
        """Return the elements of A B that the lanes keep, from those of A and B; the last three axes are fragments."""
        left = np.zeros((*a.shape[:-3], self.m, self.k), dtype=np.int64)
        right = np.zeros((*b.shape[:-3], self.k, self.n), dtype=np.int64)
        left[..., self.a[0], self.a[1]] = a
        right[..., self.b[0], self.b[1]] = b
        return np.asarray((left @ right)[..., self.d[0], self.d[1]])


def _mma(form: Format) -> Fragments:
    """``mma.sync.m16n8`` of one warp (PTX ISA, matrix fragments), since compute capability 8.0.

    Groups of four lanes keep a row of A and D and a column of B.
    """
    lane, register, element = np.indices((32, 4, form.per_word))
    a = lane // 4 + 8 * (register % 2), form.per_word * (lane % 4 + 4 * (register // 2)) + element
    lane, register, element = np.indices((32, 2, form.per_word))
    b = form.per_word * (lane % 4 + 4 * register) + element, lane // 4
    lane, register, element = np.indices((32, 4, 1))
    d = lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2
    return Fragments(16, 8, 8 * form.per_word, a, b, d)


def _mfma(form: Format) -> Fragments:
    """MFMA of 16 x 16 sums (AMD CDNA 3 Instruction Set Architecture), gfx942.

    Sixteen lanes keep the rows of A, and the columns of B and D; groups of sixteen share the columns of A.
    """
    lane, register, element = np.indices((64, 2, form.per_word))
    inner = form.per_word * (2 * (lane // 16) + register) + element
    lane_d, register_d, _ = np.indices((64, 4, 1))
    d = 4 * (lane_d // 16) + register_d, lane_d % 16
    return Fragments(16, 16, 8 * form.per_word, (lane % 16, inner), (inner, lane % 16), d)


def _wmma(form: Format) -> Fragments:
    """WMMA of 16 x 16 sums of RDNA 3 (RDNA 3 Instruction Set Architecture).

    A lane keeps a whole row of A and column of B; the two halves of a wave repeat them.
    """
    lane, register, element = np.indices((32, 16 // form.per_word, form.per_word))
    inner = register * form.per_word + element
    lane_d, register_d, _ = np.indices((32, 8, 1))
    d = 2 * register_d + lane_d // 16, lane_d % 16
    return Fragments(16, 16, 16, (lane % 16, inner), (inner, lane % 16), d)


_ALL = frozenset(form.name for form in FORMATS)
_OF_RDNA3 = frozenset({"matrix_fp16", "matrix_bf16", "matrix_int8"})


class Unit(NamedTuple):
    """Matrix instructions, which architectures list by name."""

    instruction: MatrixInstruction
    beyond: str  # the instruction of peaks that entries list besides: OpenCL compilers do not build it
    macro: str  # selects the instructions in the kernel
    extension: str  # OpenCL extension by which a device shows that its compiler has them
    formats: frozenset[str]  # instruction classes of the number formats
    lanes: int  # size of a wave
    shared_lanes: int  # the first lanes of a wave, whose words of A and B the other lanes repeat
    fragments: Callable[[Format], Fragments]


UNITS = (
    Unit("mma.sync", "wgmma", "NVIDIA_MMA", NVIDIA, _ALL, 32, 32, _mma),
    Unit("MFMA", "", "AMD_MFMA", AMD, _ALL, 64, 64, _mfma),
    Unit("WMMA", "", "AMD_WMMA", AMD, _OF_RDNA3, 32, 16, _wmma),
)


def unit_of(architecture: Architecture) -> Unit | None:
    """Return the matrix instructions that the kernel uses on *architecture*, if any."""
    return next((unit for unit in UNITS if unit.instruction == architecture.matrix_instruction), None)


class MatrixRate(UnstoredResults):
    family = "matrix"
    variant = "rate"
    source = "matrix.cl"
    kernel = "matrix"
    macros = ("chains", "steps")
    microbenchmark = True
    essential = True
    title = "Matrix units"
    description = "NVIDIA's mma.sync (wgmma of Hopper is faster, and not measured), MFMA of CDNA 3, WMMA of RDNA 3."
    metric = Metric(kind="rate", unit="multiply-adds", label="multiply-add rate")
    working_set_of = (8 * _TABLE,)
    operation_of = ("unit", "case")
    verified = tuple(
        {"unit": unit, "case": case, "chains": 4, "steps": 16, "rounds": 2, "groups": 3, "local": 64}
        for unit, each in enumerate(UNITS, 1)
        for case, form in enumerate(FORMATS, 1)
        if form.name in each.formats
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The formats with a listed rate, with waves and independent chains for the peak, about a millisecond each."""
        architecture = device.architecture
        unit = unit_of(architecture)
        cases = [number for number, form in enumerate(FORMATS, 1) if form.name in architecture.rates_per_cycle]
        if unit is None or not cases:
            return ()
        local, groups = min(256, limits.max_work_group), _GROUPS_PER_UNIT * device.compute_units
        shape = {"unit": UNITS.index(unit) + 1, "chains": 4, "steps": 16, "groups": groups, "local": local}
        each = {case: self.work({**shape, "case": case, "rounds": 1}) for case in cases}
        wanted = {case: _SECONDS * device.rate_per_s(FORMATS[case - 1].name) for case in cases}
        points = ({**shape, "case": case, "rounds": max(1, ceil(wanted[case] / each[case]))} for case in cases)
        return (grid.by_case("format", "number format", points),)

    def form(self, parameters: Parameters) -> Format:
        return FORMATS[parameters["case"] - 1]

    def unit(self, parameters: Parameters) -> Unit:
        return UNITS[parameters["unit"] - 1]

    def unsupported(self, parameters: Parameters, present: PresentDevice) -> str | None:
        unit = self.unit(parameters)
        return None if unit.extension in present.extensions else f"the device's compiler lists no {unit.extension}"

    def missing(self, present: PresentDevice) -> str | None:
        if any(unit.extension in present.extensions for unit in UNITS):
            return None
        return "the device's compiler has no instruction for matrices that this program knows"

    def work(self, parameters: Parameters) -> float:
        unit, form = self.unit(parameters), self.form(parameters)
        instructions, each = parameters["chains"] * parameters["steps"] * parameters["rounds"], unit.fragments(form)
        return float(instructions * (self.work_items(parameters) // unit.lanes) * each.m * each.n * each.k)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return self.form(parameters).name

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        registers = self.unit(parameters).fragments(self.form(parameters)).registers()
        return Demand(
            *self.launched(parameters),
            operations={self.form(parameters).name: self.work(parameters)},
            registers=16 + registers[0] + registers[1] + registers[2] * parameters["chains"],
        )

    def build_options(self, parameters: Parameters) -> str:
        unit = self.unit(parameters)
        chosen = f"-D{unit.macro} -D{self.form(parameters).name.upper()}"
        lanes = f"-DLANES={unit.lanes} -DSHARED_LANES={unit.shared_lanes}"
        return f"{chosen} {lanes} {super().build_options(parameters)}"

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        """Random small integers, none of them zero in A and B; results are the sums."""
        form = self.form(parameters)
        elements = rng.choice([-MOST, -1, 1, MOST], size=(_TABLE, form.per_word))
        drawn = {
            "sums": rng.integers(-MOST, MOST + 1, _TABLE, dtype=np.int32).view(np.uint32),
            f"elements {form.name}": form.words(elements),
        }
        return {name: Buffer(4 * _TABLE, words) for name, words in drawn.items()}, (parameters["rounds"],)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        unit, form = self.unit(parameters), self.form(parameters)
        fragments = unit.fragments(form)
        in_a, in_b, in_d = fragments.registers()
        initial, operands = (job.buffers[name].filled().astype(np.uint32) for name in ("sums", f"elements {form.name}"))
        items = np.arange(self.work_items(parameters)).reshape(-1, unit.lanes)
        own = items - items % unit.lanes + items % unit.shared_lanes

        def held(first: int, registers: int) -> NDArray[np.int64]:
            index = own[..., None] + 64 * (first + np.arange(registers))
            return form.elements(operands[index % _TABLE])

        added = parameters["steps"] * parameters["rounds"] * fragments.product(held(0, in_a), held(in_a, in_b))[..., 0]
        total = np.zeros(items.shape, dtype=np.uint32)
        for chain in range(parameters["chains"]):
            index = items[..., None] + 64 * (chain * in_d + np.arange(in_d))
            sums = form.sums(initial[index % _TABLE].view(np.int32) + added)
            for register in range(in_d):
                total = np.uint32(3) * total ^ sums[..., register]
        return {"folded": total.ravel()}


WORKLOADS = (MatrixRate(),)
