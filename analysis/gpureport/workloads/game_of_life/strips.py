"""Game of Life limited by memory bandwidth: strips of several rows per work-item, one byte or one bit per cell."""

from dataclasses import replace
from math import ceil, prod
from typing import ClassVar, NamedTuple

import numpy as np

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters

_PAGE_BYTES = 4096
_SCALARS = constant(24.0)  # scalar instructions per iteration of the loop on a CPU


class _Form(NamedTuple):
    """How a kernel divides a board."""

    kernel: str
    words: int  # per vector
    rows: int  # per strip
    to_sum: float  # integer operations that add a word and its neighbours in a row
    to_rule: float  # those that compute a new word from three sums
    span: int = 1  # vectors per work-item in each row

    @property
    def exchanges(self) -> bool:
        return self.span == 1

    @property
    def vector_bytes(self) -> int:
        return 4 * self.words


# GPU: two shifts across words, one addition; then three additions and four operations of the rule.
_GPU_BYTES = _Form("step_strips", words=4, rows=8, to_sum=3.0, to_rule=7.0)
# Two shifts across words, parity, majority; then four for the sums and the carries, and seven for the rule.
_GPU_BITS = _Form("step_strips", words=4, rows=10, to_sum=4.0, to_rule=11.0)
# CPU: two additions; then one and a half (pairs of rows share one), a subtraction and five operations of the rule.
_CPU_BYTES = _Form("step_strips_cpu", words=8, rows=4, to_sum=2.0, to_rule=7.5, span=32)
# Of two inputs each: six for shifts across words, five for the sum; then eight for two sums (pairs of rows share
# a part) and seven for the rule.
_CPU_BITS = _CPU_BYTES._replace(to_sum=11.0, to_rule=15.0)


class _Strips(Board):
    """Two kernels: for GPUs with one vector of 16 bytes per row and work-item, for CPUs with many vectors of 32 bytes.

    Work-items of a GPU exchange the words at their edges through local memory. Those of a CPU load each vector three
    times, one place apart.
    """

    source = "game_of_life/strips.cl"
    essential = True
    mapped = True
    element_bytes = 64
    shape = (128, 1)
    published_side = 65_536
    registers = 96
    branches = False
    gpu: ClassVar[_Form]
    cpu: ClassVar[_Form]
    most_items: ClassVar[int]
    """Work-items of a work-group of a GPU at most, by local memory and registers."""

    def _form(self, parameters: Parameters) -> _Form:
        return self.cpu if parameters.get("words") == self.cpu.words else self.gpu

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
        """The usual shapes; on a GPU those with enough local memory."""
        most = grid.chosen(device, cpu=limits.max_work_group, gpu=self.most_items)
        return tuple(shape for shape in super().shapes(device, limits) if prod(shape) <= most)

    def adapted(self, parameters: Parameters, device: Device) -> Parameters:
        return {**parameters, "words": grid.chosen(device, cpu=self.cpu, gpu=self.gpu).words}

    def fitted(self, parameters: Parameters, device: Device) -> Parameters:
        """On a CPU a work-group covers a row at most: idle work-items also take time."""
        point = self.adapted(parameters, device)
        columns = 1 << (self.items(point)[0] - 1).bit_length()
        return {**point, "local_x": min(point["local_x"], grid.chosen(device, cpu=columns, gpu=point["local_x"]))}

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes from row to row; on a CPU no whole pages: rows would compete for sets of its first cache."""
        size = super().row_bytes(parameters)
        padded = not self._form(parameters).exchanges and size % _PAGE_BYTES == 0
        return size + self.element_bytes if padded else size

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One column of work-items per span of vectors, one row per strip."""
        form = self._form(parameters)
        return ceil(self._vectors(parameters) / form.span), ceil(parameters["height"] / form.rows)

    def _vectors(self, parameters: Parameters) -> int:
        return self.row_bytes(parameters) // self._form(parameters).vector_bytes

    def rectangle(self, parameters: Parameters) -> tuple[float, int]:
        form = self._form(parameters)
        return form.span * form.vector_bytes, form.rows

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Two more rows are loaded and added than written; rows share their sums."""
        base, form = super().demand(parameters, device), self._form(parameters)
        integer = form.words * (form.to_sum * (form.rows + 2) + form.to_rule * form.rows)  # of one vector of all rows
        if form.exchanges:
            busy, addresses = self.tiling(parameters, device).busy_items, 12.0 * (form.rows + 2) + 3.0 * form.rows
            local = 4.0 * (form.rows + 2)  # two words of each row are stored to local memory, two loaded
            memory = 2.0 * form.rows + 2
            instructions = integer + 3.0 * addresses + local + memory
            operations = {"int32": integer + addresses, "local": local, "barrier": 1.0}
            chain = {"int32": 8.0 * form.words + 2.0 * form.rows, "local": 2.0, "barrier": 1.0}
        else:  # every instruction counts once per word of a vector; vectors are independent
            busy, memory = self._vectors(parameters) * self.items(parameters)[1], form.words * (4.0 * form.rows + 6.0)
            instructions, operations = integer + memory + _SCALARS * form.words, {"int32": integer}
            chain = {"int32": 24.0}
        operations |= {"memory": memory, "instruction": instructions}
        return replace(
            base,
            operations={name: count * busy for name, count in operations.items()},
            chain=chain,
            local_memory_bytes=self._local_bytes(parameters) if form.exchanges else 0,
        )

    def passes(self, parameters: Parameters) -> float:
        """Strips also load the rows above and below; a CPU loads each row three times."""
        form = self._form(parameters)
        return (1 if form.exchanges else 3) * (form.rows + 2) / form.rows

    def _local_bytes(self, parameters: Parameters) -> int:
        return 2 * 4 * (self.gpu.rows + 2) * parameters["local_x"] * parameters["local_y"]

    def build_options(self, parameters: Parameters) -> str:
        form = self._form(parameters)
        return f"-DBITS={self.bits_per_cell} -DROWS={form.rows} -DWORDS={form.words} -DSPAN={form.span}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Vectors per row, height, width; for exchanges, local memory for the first and the last words."""
        vectors, (width, height) = self._vectors(parameters), super().scalars(parameters)
        half = Local(self._local_bytes(parameters) // 2)
        return (np.uint32(vectors), height, width, *((half, half) if self._form(parameters).exchanges else ()))

    def kernel_of(self, parameters: Parameters) -> str:
        return self._form(parameters).kernel

    def verification(self) -> tuple[Parameters, ...]:
        """The usual boards in both forms; for CPUs also rows of a page and several spans."""
        boards = self.verified
        page = {"width": 4090 * 8 // self.bits_per_cell, "height": 13, "local_x": 8, "local_y": 2}
        return (
            *({**b, "words": self.gpu.words} for b in boards),
            *({**b, "words": self.cpu.words} for b in (*boards, page)),
        )


class BytesStrips(_Strips):
    variant = "bytes_strips"
    title = "Game of Life, 1 byte per cell, strips"
    description = "A work-item loads ten rows of 16 bytes and writes eight; on a CPU it writes four of 1024 bytes."
    bits_per_cell = 8
    gpu, cpu = _GPU_BYTES, _CPU_BYTES
    most_items = 512  # 40 KiB of local memory


class PackedStrips(_Strips):
    variant = "packed_strips"
    title = "Game of Life, 1 bit per cell, strips"
    description = "As strips of bytes, with 128 cells per row of a work-item (8192 on a CPU), added on bit planes."
    bits_per_cell = 1
    gpu, cpu = _GPU_BITS, _CPU_BITS
    most_items = 256  # 512 need 48 KiB of local memory, which NVIDIA's driver does not grant
    registers = 122


WORKLOADS = (BytesStrips(), PackedStrips())
