"""Matrix instructions of the vendors: shapes, and where the lanes of a wave keep the elements (fragments)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Architecture
from gpureport.workloads.matrix.formats import Format, Integers

Indices = NDArray[np.int_]
Place = tuple[Indices, Indices]
"""Row and column of each element of a fragment; arrays of lanes x registers x elements of a register."""


@dataclass(frozen=True)
class Fragments:
    """How the lanes of a wave keep the matrices of D = A B + D.

    Attributes:
        m: rows of A and D.
        n: columns of B and D.
        k: columns of A, rows of B.
        a: places of A's elements.
        b: places of B's elements.
        d: places of the sums.
    """

    m: int
    n: int
    k: int
    a: Place
    b: Place
    d: Place

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one instruction."""
        return self.m * self.n * self.k

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


@dataclass(frozen=True)
class Unit(ABC):
    """The matrix instructions of one vendor.

    Attributes:
        instruction: its name in manuals.
        macro: selects the instructions in the kernel.
        extension: OpenCL extension by which a device shows that its compiler has them.
        formats: instruction classes of the number formats.
        lanes: size of a wave.
        shared_lanes: the first lanes of a wave, whose words of A and B the other lanes repeat.
    """

    instruction: str
    macro: str
    extension: str
    formats: frozenset[str]
    lanes: int
    shared_lanes: int

    def has(self, form: Format) -> bool:
        """Return whether there is an instruction for a number format."""
        return form.name in self.formats

    @abstractmethod
    def serves(self, architecture: Architecture) -> bool:
        """Return whether devices of *architecture* have these instructions."""

    @abstractmethod
    def fragments(self, form: Format) -> Fragments:
        """Return the fragments of the instruction for a number format."""


def _grid(lanes: int, registers: int, elements: int) -> tuple[Indices, Indices, Indices]:
    lane, register, element = np.indices((lanes, registers, elements))
    return lane, register, element


class NvidiaMma(Unit):
    """``mma.sync.m16n8`` of one warp (PTX ISA, matrix fragments), since compute capability 8.0."""

    def serves(self, architecture: Architecture) -> bool:
        """All architectures that list a rate."""
        return architecture.vendor == "NVIDIA"

    def fragments(self, form: Format) -> Fragments:
        """Groups of four lanes keep a row of A and D and a column of B."""
        lane, register, element = _grid(self.lanes, 4, form.per_word)
        a = lane // 4 + 8 * (register % 2), form.per_word * (lane % 4 + 4 * (register // 2)) + element
        lane, register, element = _grid(self.lanes, 2, form.per_word)
        b = form.per_word * (lane % 4 + 4 * register) + element, lane // 4
        lane, register, element = _grid(self.lanes, 4, 1)
        d = lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2
        return Fragments(16, 8, 8 * form.per_word, a, b, d)


class AmdMfma(Unit):
    """MFMA of 16 x 16 sums (AMD CDNA 3 Instruction Set Architecture), gfx942."""

    def serves(self, architecture: Architecture) -> bool:
        """Waves of 64, with 8-bit floating-point numbers: gfx942."""
        return architecture.vendor == "AMD" and architecture.wave_size == self.lanes and _has_fp8(architecture)

    def fragments(self, form: Format) -> Fragments:
        """Sixteen lanes keep the rows of A, and the columns of B and D; groups of sixteen share the columns of A."""
        lane, register, element = _grid(self.lanes, 2, form.per_word)
        inner = form.per_word * (2 * (lane // 16) + register) + element
        lane_d, register_d, _ = _grid(self.lanes, 4, 1)
        d = 4 * (lane_d // 16) + register_d, lane_d % 16
        return Fragments(16, 16, 8 * form.per_word, (lane % 16, inner), (inner, lane % 16), d)


class AmdWmma(Unit):
    """WMMA of 16 x 16 sums of RDNA 3 (RDNA 3 Instruction Set Architecture), waves of 32."""

    def serves(self, architecture: Architecture) -> bool:
        """Waves of 32 without 8-bit floating-point numbers: RDNA 4 has other fragments."""
        return architecture.vendor == "AMD" and architecture.wave_size == self.lanes and not _has_fp8(architecture)

    def fragments(self, form: Format) -> Fragments:
        """A lane keeps a whole row of A and column of B; the two halves of a wave repeat them."""
        lane, register, element = _grid(self.lanes, 16 // form.per_word, form.per_word)
        inner = register * form.per_word + element
        lane_d, register_d, _ = _grid(self.lanes, 8, 1)
        d = 2 * register_d + lane_d // 16, lane_d % 16
        return Fragments(16, 16, 16, (lane % 16, inner), (inner, lane % 16), d)


def _has_fp8(architecture: Architecture) -> bool:
    return "matrix_fp8" in architecture.rates_per_cycle


_ALL = frozenset({"matrix_fp16", "matrix_bf16", "matrix_tf32", "matrix_int8", "matrix_fp8"})
_OF_RDNA3 = frozenset({"matrix_fp16", "matrix_bf16", "matrix_int8"})

UNITS: tuple[Unit, ...] = (
    NvidiaMma("mma.sync", "NVIDIA_MMA", "cl_nv_device_attribute_query", _ALL, 32, 32),
    AmdMfma("MFMA", "AMD_MFMA", "cl_amd_device_attribute_query", _ALL, 64, 64),
    AmdWmma("WMMA", "AMD_WMMA", "cl_amd_device_attribute_query", _OF_RDNA3, 32, 16),
)
