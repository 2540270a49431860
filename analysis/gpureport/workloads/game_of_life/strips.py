"""Game of Life at the speed of memory: strips of several rows a work-item, one byte or one bit a cell."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import ClassVar

import numpy as np

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.game_of_life.tiling import Tiling
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters, Sweep

_PAGE_BYTES = 4096
_MOST_ITEMS = 512  # of a GPU's work-group, which then takes 40 KiB of local memory
_SCALARS = 24.0  # instructions of a turn of a CPU's loop that handle no vectors


@dataclass(frozen=True)
class _Form:
    """How a board is cut up: vectors of a row, rows of a strip, vectors of a work-item in each row."""

    words: int
    rows: int
    span: int = 1

    @property
    def exchanges(self) -> bool:
        """Whether work-items tell each other the words at their edges."""
        return self.span == 1

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector."""
        return 4 * self.words


_GPU, _CPU = _Form(words=4, rows=8), _Form(words=8, rows=4, span=32)


def _form(parameters: Parameters) -> _Form:
    return _CPU if parameters.get("words") == _CPU.words else _GPU


class _Strips(Board):
    """Vectors of 16 bytes a lane of a GPU; of 32 bytes, many in a row, a work-item of a CPU.

    Work-items of a GPU exchange the words at their edges through local memory; those of a CPU load each row thrice,
    one place apart.
    """

    source = "game_of_life/strips.cl"
    kernel = "step_strips"
    essential = True
    mapped = True
    element_bytes = 64
    shape = (128, 1)
    published_side = 65_536
    registers = 96
    branches = False
    operations_of_a_word: ClassVar[Mapping[_Form, tuple[float, float]]]
    """Integer operations that sum a word of a row with its neighbours; those that make a new word of three sums."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The usual ones, cut up for the device."""
        form = _CPU if device.kind == "cpu" else _GPU
        usual = super().sweeps(device, limits)
        return tuple(replace(sweep, points=self._cut(sweep, form, limits)) for sweep in usual)

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
        """Those for which a GPU has the local memory."""
        shapes = super().shapes(device, limits)
        return shapes if device.kind == "cpu" else tuple(shape for shape in shapes if prod(shape) <= _MOST_ITEMS)

    def _cut(self, sweep: Sweep, form: _Form, limits: Limits) -> tuple[Parameters, ...]:
        """Return a sweep's points in a form, without those whose rows, with what fills them up, need too much."""
        points = [{**point, "words": form.words} for point in sweep.points]
        if form is _CPU and sweep.axis.quantity != "work_group":
            points = [{**point, "local_x": self._row_of_items(point)} for point in points]
        most = min(limits.max_bytes / 2, limits.max_buffer_bytes)
        return tuple(point for point in points if self.board_bytes(point) <= most)

    def _row_of_items(self, parameters: Parameters) -> int:
        """Return a group's work-items that cover a row: idle ones cost a CPU time, too."""
        return int(min(parameters["local_x"], 1 << (self.items(parameters)[0] - 1).bit_length()))

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes from one row to the next; never whole pages on a CPU.

        Its first cache would keep all rows of a strip in the same few places.
        """
        size = super().row_bytes(parameters)
        padded = _form(parameters) is _CPU and size % _PAGE_BYTES == 0
        return size + self.element_bytes if padded else size

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One column of work-items a span of vectors, one row of them a strip."""
        form = _form(parameters)
        return ceil(self._vectors(parameters) / form.span), ceil(parameters["height"] / form.rows)

    def _vectors(self, parameters: Parameters) -> int:
        return self.row_bytes(parameters) // _form(parameters).vector_bytes

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Strips of vectors."""
        form, group = _form(parameters), (parameters["local_x"], parameters["local_y"])
        return Tiling(device, self.items(parameters), group, form.span * form.vector_bytes, form.rows)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Two rows more are loaded and summed than are written; sums are shared by the rows that need them."""
        base = super().demand(parameters, device)
        form = _form(parameters)
        if form.exchanges:
            busy, operations = self.tiling(parameters, device).busy_items, self._lanes(form)
        else:
            busy, operations = self._vectors(parameters) * self.items(parameters)[1], self._turn(form)
        return replace(
            base,
            operations={name: count * busy for name, count in operations.items()},
            chain={"int32": 8.0 * form.words + 2.0 * form.rows, "local": 2.0, "barrier": 1.0}
            if form.exchanges
            else {"int32": 24.0},  # of a vector; the next does not wait for it
            local_memory_bytes=self._local_bytes(parameters) if form.exchanges else 0,
        )

    def _integer(self, form: _Form) -> float:
        """Return the operations of a vector of all rows."""
        to_sum, to_rule = self.operations_of_a_word[form]
        return form.words * (to_sum * (form.rows + 2) + to_rule * form.rows)

    def _lanes(self, form: _Form) -> dict[str, float]:
        """Return the operations of a GPU's work-item by class."""
        integer, addresses = self._integer(form), 12.0 * (form.rows + 2) + 3.0 * form.rows
        local = 4.0 * (form.rows + 2)  # two words of each row to local memory, two from there
        memory = 2.0 * form.rows + 2
        return {
            "memory": memory,
            "int32": integer + addresses,
            "instruction": integer + 3.0 * addresses + local + memory,
            "local": local,
            "barrier": 1.0,
        }

    def _turn(self, form: _Form) -> dict[str, float]:
        """Return those of a turn of a CPU's loop; an instruction, scalar ones too, counts once a word of a vector."""
        memory = form.words * (3.0 * (form.rows + 2) + form.rows)
        integer = self._integer(form)
        return {"memory": memory, "int32": integer, "instruction": integer + memory + _SCALARS * form.words}

    def passes(self, parameters: Parameters) -> float:
        """Each row is loaded by the work-items of its strip, and by those above and below; thrice by those of a CPU."""
        form = _form(parameters)
        return (1 if form.exchanges else 3) * (form.rows + 2) / form.rows

    def _local_bytes(self, parameters: Parameters) -> int:
        return 2 * 4 * (_GPU.rows + 2) * parameters["local_x"] * parameters["local_y"]

    def build_options(self, parameters: Parameters) -> str:
        """The form of cells and vectors."""
        form = _form(parameters)
        return f"-DBITS={self.bits_per_cell} -DROWS={form.rows} -DWORDS={form.words} -DSPAN={form.span}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Vectors of a row, height and width; where words are exchanged, room for the first and the last of each."""
        vectors, (width, height) = self._vectors(parameters), super().scalars(parameters)
        half = Local(self._local_bytes(parameters) // 2)
        return (np.uint32(vectors), height, width, *((half, half) if _form(parameters).exchanges else ()))

    def verification(self) -> tuple[Parameters, ...]:
        """The odd boards, cut for GPUs and for CPUs; for these also rows of a page, of several spans."""
        boards = super().verification()
        page = {"width": 4090 * 8 // self.bits_per_cell, "height": 13, "local_x": 8, "local_y": 2}
        return (*({**b, "words": _GPU.words} for b in boards), *({**b, "words": _CPU.words} for b in (*boards, page)))


class BytesStrips(_Strips):
    """One byte a cell."""

    variant = "bytes_strips"
    title = "Game of Life, one byte a cell, strips"
    description = (
        "The fastest kernel of bytes: a work-item asks for ten rows of 16 bytes at once, sums each row's cells with "
        "their neighbours once, and writes eight; work-items side by side exchange the words at their edges through "
        "local memory. On a CPU it writes four rows, 1024 bytes long, and loads them thrice, a cell apart; rows of "
        "whole pages are a line longer there. Dead beyond the border. Counted: cells advanced by one generation."
    )
    bits_per_cell = 8
    # GPU: two shifts across words and an addition; then three additions, the test for three, and its bit. CPU: two
    # additions; then one and a half, since pairs of rows share one, a subtraction, and five for the test and its bit.
    operations_of_a_word: ClassVar[Mapping[_Form, tuple[float, float]]] = {_GPU: (3.0, 7.0), _CPU: (2.0, 7.5)}


class PackedStrips(_Strips):
    """One bit a cell."""

    variant = "packed_strips"
    title = "Game of Life, one bit a cell, strips"
    description = (
        "The fastest kernel of bits for one generation: as the strips of bytes, with 128 cells a row of a work-item "
        "(8192 on a CPU), summed on bit planes; dead beyond the border. Counted: cells advanced by one generation."
    )
    bits_per_cell = 1
    # GPU: two shifts across words, parity and majority; then four of sums and carries, and the rule. CPU, with two
    # inputs: six of shifts across words, five of the sum; then eight of two sums, a part shared by pairs of rows, and
    # seven of the rule.
    operations_of_a_word: ClassVar[Mapping[_Form, tuple[float, float]]] = {_GPU: (4.0, 11.0), _CPU: (11.0, 15.0)}


WORKLOADS = (BytesStrips(), PackedStrips())
