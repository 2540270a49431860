"""The Game of Life: rule, layouts, kernels that write only changes, demands."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from gpureport.workloads.game_of_life.board import Board, generations
from gpureport.workloads.game_of_life.packed import Bytes, Bytes4, BytesWide, Interleaved, Packed
from gpureport.workloads.game_of_life.words import Words, WordsChangedGlider, WordsChangedRandom, changed
from gpureport.workloads.model import Limits
from tests.toy import TOY, on_cpu

CPU = on_cpu()
GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.bool_)
SQUARE = {"width": 1024, "height": 1024, "local_x": 256, "local_y": 1}


def _board(height: int, width: int, cells: NDArray[np.bool_], y: int, x: int) -> NDArray[np.bool_]:
    board = np.zeros((height, width), dtype=np.bool_)
    board[y : y + cells.shape[0], x : x + cells.shape[1]] = cells
    return board


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_glider_flies(wrapped: bool) -> None:
    """After four generations it is itself, one cell further along the diagonal."""
    board = _board(70, 70, GLIDER, 60, 61)
    np.testing.assert_array_equal(generations(board, 4, wrapped=wrapped), np.roll(board, (1, 1), (0, 1)))


def test_borders_are_dead_or_wrapped() -> None:
    """A glider moves around a torus; a blinker at a dead edge loses the cell beyond it."""
    board = _board(9, 7, GLIDER, 6, 4)
    edge = _board(5, 7, np.ones((1, 3), dtype=np.bool_), 4, 3)
    np.testing.assert_array_equal(generations(board, 4 * 9 * 7, wrapped=True), board)
    assert generations(edge, 1, wrapped=False)[3:, 4].tolist() == [True, True]
    assert generations(edge, 1, wrapped=True)[[3, 4, 0], 4].tolist() == [True, True, True]


@given(
    st.integers(1, 70), st.integers(1, 5), st.sampled_from([Packed(64), Bytes(), BytesWide(), Words()]), st.integers(0)
)
def test_cells_survive_being_stored(width: int, height: int, workload: Board, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 2, (height, width)).astype(np.bool_)
    stored = workload.stored(cells, {"width": width, "height": height})
    assert stored.shape == (height, workload.row_bytes({"width": width}))
    assert np.unpackbits(stored).sum() == cells.sum()
    np.testing.assert_array_equal(workload.cells_in(stored, {"width": width}), cells)


def test_the_westernmost_cell_is_the_lowest_bit() -> None:
    """Of a 64-bit word, and of a 32-bit word of four byte cells."""
    cells = _board(1, 64, np.ones((1, 1), dtype=np.bool_), 0, 9)
    assert Packed(64).stored(cells, {"width": 64}).view("<u8").tolist() == [[1 << 9]]
    assert BytesWide().stored(cells[:, 8:12], {"width": 4}).view("<u4").tolist() == [[1 << 8]]


@pytest.mark.parametrize("workload", [Packed(8), Bytes(), Words()], ids=lambda workload: workload.variant)
def test_random_boards_are_half_alive(workload: Board) -> None:
    stored = workload.drawn(np.random.default_rng(1), 2**16)
    alive = workload.cells_in(stored.reshape(1, -1), {"width": 2**19 // workload.bits_per_cell})
    assert alive.mean() == pytest.approx(0.5, abs=0.02)
    assert np.unpackbits(stored).sum() == alive.sum()


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_writing_only_changes_changes_nothing(height: int, width: int, dispatches: int, seed: int) -> None:
    """The cells are those of the plain rule, for any states, if both boards are equal at the start."""
    source = np.random.default_rng(seed).integers(0, 4, (height, width), dtype=np.uint32)
    target, plain = source.copy(), (source & 1).astype(np.bool_)
    for _ in range(dispatches):
        source, target = changed(source, target), source
        plain = generations(plain, 1, wrapped=True)
        np.testing.assert_array_equal((source & 1).astype(np.bool_), plain)


def test_as_many_cells_change_as_the_model_says() -> None:
    """The share written in the second generation of a random board; almost every sector is written."""
    workload = WordsChangedRandom()
    board = {"width": 512, "height": 512, "local_x": 64, "local_y": 1}
    source = workload.start(board, workload.job(board, np.random.default_rng(3)))
    older, source = source, changed(source, source)
    marked = np.full_like(older, 9)  # no state: what is left was not written
    written = changed(source, marked) != 9
    assert written.mean() == pytest.approx(workload.written_share, abs=0.05)
    assert written.reshape(-1, 8).any(axis=1).mean() > 0.99


def test_glider_boards_start_with_one_glider() -> None:
    board = {"width": 300, "height": 290, "local_x": 64, "local_y": 1}
    workload = WordsChangedGlider()
    job = workload.job(board, np.random.default_rng(0))
    assert [dispatch.arguments[0] for dispatch in job.before] == ["a", "b"]
    np.testing.assert_array_equal(workload.start(board, job) == 1, _board(290, 300, GLIDER, 0, 0))
    random = WordsChangedRandom()
    start = random.start(board, random.job(board, np.random.default_rng(0)))
    np.testing.assert_array_equal(start[256:], start[:34])
    assert set(np.unique(start)) == {0, 1, 2, 3}


def test_padding_work_items_count() -> None:
    """A 100 x 10 board in groups of 64 x 4 launches 128 x 12 work-items in six groups."""
    board = {"width": 100, "height": 10, "local_x": 64, "local_y": 4}
    demand = Bytes().demand(board, TOY)
    assert demand.work_items == 128 * 12
    assert demand.groups == 6
    # A wave is 32 x 1 items: four of them cross a row, and the rows beyond the board return at once.
    assert demand.operations["instruction"] == Bytes.operations["instruction"] * 4 * 32 * 10


def test_interleaved_cells_are_in_the_middle_of_a_word() -> None:
    """Bit 2 + i of word j is cell 4 i + j of a strip of 112; the two lowest and highest bits are zero."""
    workload = Interleaved(8, "eight")
    cells = np.zeros((1, 130), dtype=np.bool_)
    cells[0, [0, 5, 111, 114]] = True
    board = {"width": 130, "height": 1}
    stored, together = workload.stored(cells, board), workload.stored(cells, {**board, "lanes": 8})
    assert stored.view("<u4").tolist() == [[1 << 2, 1 << 3, 0, 1 << 29, 0, 0, 1 << 2, 0]]
    # On a CPU eight strips share a row of 128 bytes: word 0 of all of them, then word 1.
    np.testing.assert_array_equal(together.view("<u4").reshape(4, 8)[:, :2].T, stored.view("<u4").reshape(2, 4))
    np.testing.assert_array_equal(workload.cells_in(stored, board), cells)
    np.testing.assert_array_equal(workload.cells_in(together, {**board, "lanes": 8}), cells)
    drawn = workload.drawn(np.random.default_rng(0), 2**10).view("<u4")
    assert np.bitwise_or.reduce(drawn) == 0x3FFFFFFC


@pytest.mark.parametrize(
    ("workload", "first", "outer"),
    [
        # Asked of L1 per byte of the board; a row of 256 work-items with the rows above and below and one sector of
        # 32 bytes to either side.
        (Bytes(), 9.0, 3 * (256 + 64) / 256),
        (Bytes4(), 4.5, 3 * (1024 + 64) / 1024),
        (BytesWide(), 9.0, 3 * (1024 + 64) / 1024),
        (Packed(64), 9.0, 3 * (2048 + 64) / 2048),
        (Words(), 9.0, 3 * (1024 + 64) / 1024),
    ],
    ids=lambda value: value.variant if isinstance(value, Board) else None,
)
def test_what_a_stencil_reads(workload: Board, first: float, outer: float) -> None:
    """Computed by hand for groups of 256 x 1 that divide the board."""
    read, written = workload.demand({"width": 2**16, "height": 64, "local_x": 256, "local_y": 1}, TOY).streams
    assert read.passes == pytest.approx(first)
    assert read.outer_passes == pytest.approx(outer)
    assert (written.passes, written.outer_passes) == (1.0, 1.0)
    assert read.elements * read.record_bytes == workload.board_bytes({"width": 2**16, "height": 64})


@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
def test_sweeps_fit_the_smallest_devices(device: Device) -> None:
    """Work-groups of 64 and little memory."""
    limits = Limits(max_bytes=2.0**22, max_buffer_bytes=2.0**21, max_work_group=64)
    for workload in (each for each in all_workloads() if isinstance(each, Board)):
        for parameters in (point for sweep in workload.sweeps(device, limits) for point in sweep.points):
            assert 2 * workload.board_bytes(parameters) + workload.extra_bytes <= limits.max_bytes
            assert workload.board_bytes(parameters) <= limits.max_buffer_bytes
            assert prod(workload.geometry(parameters)[1]) <= 64
