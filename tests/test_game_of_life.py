"""The Game of Life: rule, layouts, kernels that write only changes, demands."""
# ruff: noqa: D103 - the names of the tests say what they check

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.game_of_life.bytes import Bytes, Bytes4, BytesTile, BytesWide
from gpureport.workloads.game_of_life.interleaved import Interleaved
from gpureport.workloads.game_of_life.packed import Packed
from gpureport.workloads.game_of_life.rules import cells_of, generations, random_cells, stored_of
from gpureport.workloads.game_of_life.strips import BytesStrips
from gpureport.workloads.game_of_life.words import (
    Words,
    WordsBlocks,
    WordsChangedGlider,
    WordsChangedRandom,
    WordsGlider,
    changed,
)
from gpureport.workloads.model import Buffer, Limits
from tests.toy import TOY

CPU = TOY.model_copy(update={"kind": "cpu"})
GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.bool_)
SQUARE = {"width": 1024, "height": 1024, "local_x": 256, "local_y": 1}


def _ids(workload: Board) -> str:
    return workload.variant


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


def test_on_a_tiny_torus_a_cell_is_its_own_neighbour() -> None:
    """One row of three living cells: each has itself twice and the others three times as neighbours, and dies."""
    assert not generations(np.ones((1, 3), dtype=np.bool_), 1, wrapped=True).any()


@given(st.integers(1, 70), st.integers(1, 5), st.sampled_from([1, 8, 32]), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_cells_survive_being_stored(width: int, height: int, bits: int, spare: int, seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, 2, (height, width)).astype(np.bool_)
    row = -(-width * bits // 8) + spare * max(1, bits // 8)
    stored = stored_of(cells, row, bits)
    assert stored.shape == (height, row)
    assert np.unpackbits(stored).sum() == cells.sum()
    np.testing.assert_array_equal(cells_of(stored, width, bits), cells)


def test_the_westernmost_cell_is_the_lowest_bit() -> None:
    """Of a 64-bit word, and of a 32-bit word of four byte cells."""
    cells = _board(1, 64, np.ones((1, 1), dtype=np.bool_), 0, 9)
    assert stored_of(cells, 8, 1).view("<u8").tolist() == [[1 << 9]]
    assert stored_of(cells[:, 8:12], 4, 8).view("<u4").tolist() == [[1 << 8]]


@pytest.mark.parametrize("bits", [1, 8, 32])
def test_random_boards_are_half_alive(bits: int) -> None:
    stored = random_cells(np.random.default_rng(1), 2**16, bits)
    alive = cells_of(stored.reshape(1, -1), 2**19 // bits, bits)
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


def test_still_life_is_not_written() -> None:
    block = _board(6, 6, np.ones((2, 2), dtype=np.bool_), 2, 2)
    still, stale = block.astype(np.uint32) * 3, block.astype(np.uint32)
    np.testing.assert_array_equal(changed(still, stale), stale)
    np.testing.assert_array_equal(changed(stale, np.zeros_like(stale)), still)


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
    for workload in (WordsGlider(), WordsChangedGlider()):
        job = workload.job(board, np.random.default_rng(0))
        assert [dispatch.arguments[0] for dispatch in job.before] == ["a", "b"]
        np.testing.assert_array_equal(workload.start(board, job) == 1, _board(290, 300, GLIDER, 0, 0))
    random = WordsChangedRandom()
    start = random.start(board, random.job(board, np.random.default_rng(0)))
    np.testing.assert_array_equal(start[256:], start[:34])
    assert set(np.unique(start)) == {0, 1, 2, 3}


@pytest.mark.parametrize("workload", [Bytes(), BytesWide(), Packed(8), Packed(32), Packed(64), Words()], ids=_ids)
def test_the_check_follows_a_glider(workload: Board) -> None:
    """Across words, in the workload's own layout, on the board written last."""
    size = {"width": 70, "height": 70, "local_x": 8, "local_y": 8}
    board = _board(70, 70, GLIDER, 60, 61)
    job = workload.job(size, np.random.default_rng(0))
    contents = workload.stored(board, size)
    given_board = replace(job, buffers={name: Buffer(contents.size, contents) for name in ("a", "b")})
    (name, result), *rest = workload.expected(size, given_board, 4 // workload.generations).items()
    assert (name, rest) == ("a", [])
    after = workload.cells_in(np.asarray(result).view(np.uint8).reshape(70, -1), size)
    np.testing.assert_array_equal(after, np.roll(board, (1, 1), (0, 1)))


@pytest.mark.parametrize(("width", "mask"), [(64, 2**64 - 1), (65, 1), (127, 2**63 - 1)])
def test_the_last_word_is_masked(width: int, mask: int) -> None:
    words, height, last = Packed(64).word_scalars({"width": width, "height": 5})
    assert (int(words), int(height), int(last)) == (-(-width // 64), 5, mask)
    assert last.dtype == np.uint64
    assert int(BytesWide().word_scalars({"width": 7, "height": 1})[2]) == 0x00FFFFFF


def test_padding_work_items_count() -> None:
    """A 100 x 10 board in groups of 64 x 4 launches 128 x 12 work-items in six groups."""
    board = {"width": 100, "height": 10, "local_x": 64, "local_y": 4}
    demand = Bytes().demand(board, TOY)
    assert demand.work_items == 128 * 12
    assert demand.groups == 6
    # A wave is 32 x 1 items: four of them cross a row, and the rows beyond the board return at once.
    assert demand.operations["instruction"] == Bytes.operations["instruction"] * 4 * 32 * 10


def test_idle_lanes_of_a_wave_count() -> None:
    """Groups of 8 x 1 use a quarter of a wave of 32 lanes; a CPU has no idle lanes."""
    board = {"width": 100, "height": 10, "local_x": 8, "local_y": 1}
    assert Bytes().tiling(board, TOY).busy_items == 13 * 10 * 32
    assert Bytes().tiling(board, CPU).busy_items == 1000


def test_interleaved_strips_occupy_the_device_for_four_rounds() -> None:
    """586 strips across: 132 compute units with 384 work-items each process 344 blocks of rows in four rounds."""
    workload, board = Interleaved(8, "eight"), {"width": 2**16, "height": 2**16, "local_x": 64, "local_y": 1}
    units = TOY.model_copy(update={"compute_units": 132})
    board["rows"] = workload.strip_rows(board, units)
    demand = workload.demand(board, units)
    assert board["rows"] == 191  # with the 16 rows above and below, 69 passes of three rows
    assert workload.geometry(board) == ((3150 * 64, 1), (64, 1))
    assert demand.idle_items == 3150 * 64 - 586 * 344
    assert demand.groups <= 4 * 132 * 6
    assert demand.registers == 155
    assert demand.operations["int32"] == (32 * 9 + 16) * (1 + 0.2 * workload.at_border(board)) * 3150 * 64 * 207
    assert workload.strip_rows({**board, "local_x": 256}, units) == 287  # a second group of 256 would not be resident
    assert workload.strip_rows(board, CPU.model_copy(update={"compute_units": 64})) == 2429


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
    ("width", "rows", "share"),
    [
        (112 * 64, 16, 1.0),  # two waves per block of rows: each has the first or the last strip
        (112 * 128, 16, 1 - 2 * 2 / 16),  # four waves, four blocks: those inside have no border
        (112 * 129, 16, 1 - 2 * 3 / 17),  # waves start at another strip in each block
        (112 * 128, 18, 1 - 2 / 16),  # the third block ends ten rows above the border: two more than the generations
        (112 * 128, 64, 1.0),
    ],
)
def test_only_waves_at_the_border_check_for_it(width: int, rows: int, share: float) -> None:
    """Waves of 32 strips of a board with 64 rows, whatever the size of the work-groups."""
    board = {"width": width, "height": 64, "local_x": 8, "local_y": 1, "rows": rows}
    assert Interleaved(8, "eight").at_border(board) == pytest.approx(share)


@pytest.mark.parametrize(
    ("workload", "first", "outer"),
    [
        # Asked of L1 per byte of the board; a row of 256 work-items with the rows above and below and one sector of
        # 32 bytes to either side.
        (Bytes(), 9.0, 3 * (256 + 64) / 256),
        (Bytes4(), 4.5, 3 * (1024 + 64) / 1024),
        (BytesWide(), 9.0, 3 * (1024 + 64) / 1024),
        (BytesTile(), 258 * 3 / 256, 3 * (256 + 64) / 256),
        (Packed(64), 9.0, 3 * (2048 + 64) / 2048),
        (Words(), 9.0, 3 * (1024 + 64) / 1024),
        (WordsBlocks(), 4.0, 2 * (2048 + 64) / 2048),
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


@pytest.mark.parametrize(("words", "width", "nbytes"), [(8, 8192, 8256), (8, 8128, 8128), (4, 8192, 8192)])
def test_rows_of_whole_pages_are_a_line_longer_on_a_cpu(words: int, width: int, nbytes: int) -> None:
    """So that the rows of a strip do not compete for the same set of the first cache."""
    assert BytesStrips().row_bytes({"width": width, "height": 4, "words": words}) == nbytes


def test_columns_waste_sectors() -> None:
    """A column of work-items touches one line per lane; it reads and writes whole sectors for single bytes."""
    demand = Bytes().demand(SQUARE | {"local_x": 1, "local_y": 256}, TOY)
    read, written = demand.streams
    assert demand.lines_per_access == pytest.approx(32 * (1 + 0.6 / 128))
    assert written.outer_passes == 32
    assert read.outer_passes == pytest.approx(258 / 256 * 3 * 32)


@pytest.mark.parametrize(("width", "conflicts"), [(2**14, 32), (2**14 + 64, 16), (2**14 + 96, 8)])
def test_rows_with_equal_offsets_in_a_line_access_the_same_banks(width: int, conflicts: int) -> None:
    """All rows of whole lines; every second with half a line more; every fourth with a quarter."""
    shape = {"width": width, "local_x": 1, "local_y": 256}
    assert Bytes().demand(SQUARE | shape, TOY).line_conflicts == conflicts


@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
def test_sweeps_fit_the_smallest_devices(device: Device) -> None:
    """Work-groups of 64 and little memory."""
    limits = Limits(max_bytes=2.0**22, max_buffer_bytes=2.0**21, max_work_group=64)
    for workload in (each for each in all_workloads() if isinstance(each, Board)):
        for parameters in (point for sweep in workload.sweeps(device, limits) for point in sweep.points):
            assert 2 * workload.board_bytes(parameters) + workload.extra_bytes <= limits.max_bytes
            assert workload.board_bytes(parameters) <= limits.max_buffer_bytes
            assert prod(workload.geometry(parameters)[1]) <= 64
