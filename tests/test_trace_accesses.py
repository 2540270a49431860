"""Accesses of waves: lines, sectors, banks and misses of patterns whose truth is known."""

import re
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpureport.spec.database import Database
from gpureport.trace import demand as demands
from gpureport.trace.accesses import COUNTED, AccessRecorder, Placement
from gpureport.trace.compiler import compile_file
from gpureport.trace.demand import dispatch_demand, placed
from gpureport.trace.program import PRIVATE, Access, Program, program
from gpureport.trace.reuse import ReuseClock
from gpureport.workloads.model import Dispatch
from tests.builders import altered
from tests.toy import TOY

PLACEMENT = Placement(
    wave=32,
    units=4,
    units_per_group=1,
    groups_per_place=2,
    line_bytes=128,
    sector_bytes=32,
    unit_bytes=32,
    access_bytes=64,
    cache_bytes=64 * 128,
    last_cache_bytes=0,
    allocates=False,
    merges=True,
    banks=32,
    schedulers=4,
    aligned=True,
    scalar_unit=False,
    latencies=(),
)
LANES = np.arange(64)
WAVES = LANES // 32
LOAD = Access(
    number=0, line=1, space="global", write=False, atomic=False, nbytes=4, region=0, dtype=np.dtype(np.float32)
)
STORE, ATOMIC, LOCAL = replace(LOAD, write=True), replace(LOAD, write=True, atomic=True), replace(LOAD, space="local")
TILE = LANES % 8 * 4 + LANES // 8 * 4096
"""Offsets of tiles of eight columns of words, four rows for each wave, in rows of 4096 bytes."""


def recorded(access: Access, *executions: NDArray[np.int64]) -> tuple[SimpleNamespace, AccessRecorder]:
    """Return what executions of an access at these offsets touch, two waves each, summed over both."""
    recorder = AccessRecorder(PLACEMENT, {0: 1 << 20}, 1)
    for offsets in executions:
        recorder.accessed(access, 0, offsets, WAVES)
    totals = sum(found.total for found in recorder.instructions.values())
    return SimpleNamespace(**dict(zip(COUNTED, np.asarray(totals).tolist(), strict=True))), recorder


@pytest.mark.parametrize(
    ("access", "offsets", "lines", "sectors", "cycles", "distinct"),
    [
        (LOAD, 4 * LANES, 2, 8, 2, 64),
        (LOAD, 4 * LANES + 4, 4, 10, 2, 64),  # each wave from the second word of a line
        (LOAD, 8 * LANES, 4, 16, 4, 64),
        (LOAD, 128 * LANES, 64, 64, 64, 64),  # columns of a matrix: all in one bank
        (LOAD, 132 * LANES, 64, 64, 2, 64),  # padded by a word: each in its own bank
        (LOAD, 0 * LANES + 64, 2, 2, 2, 2),
        (LOAD, 4 * (LANES // 2), 2, 4, 2, 32),
        (LOAD, TILE, 8, 8, 8, 64),
        (replace(LOAD, nbytes=16), 16 * LANES, 8, 32, 8, 64),
        (replace(LOAD, nbytes=16), 16 * LANES + 120, 10, 34, 8, 64),  # not aligned: some cover two lines
        (replace(LOAD, nbytes=64), 64 * LANES, 128, 256, 128, 256),  # four accesses of 16 bytes
        (replace(LOAD, nbytes=16, align=4), 16 * LANES, 32, 128, 32, 256),  # four of a word, each in all lines
        (replace(STORE, nbytes=12, align=16), 16 * LANES, 16, 128 / 3, 16, 128),  # two words and one, merged in part
        (replace(LOAD, nbytes=1), LANES, 2, 2, 2, 64),
        (LOCAL, 8 * LANES, 4, 16, 4, 64),
        (replace(LOCAL, nbytes=8), 0 * LANES, 2, 2, 2, 2),
        (replace(LOCAL, nbytes=8), 8 * (LANES // 2), 2, 8, 2, 32),
        (replace(LOCAL, nbytes=8), 8 * (LANES % 16), 2, 8, 4, 32),  # the halves of a wave, one after the other
        (replace(LOCAL, nbytes=8), 16 * (LANES % 16), 4, 16, 8, 32),
        (replace(LOCAL, nbytes=16), 0 * LANES, 2, 2, 4, 2),
        (replace(LOCAL, nbytes=16), 16 * (LANES % 8), 2, 8, 8, 16),  # quarters of a wave
        (replace(LOCAL, nbytes=16), 32 * (LANES % 8), 4, 16, 16, 16),
        (replace(LOCAL, nbytes=12), 16 * LANES, 8, 32, 8, 64),  # 12 bytes are parts of as many lanes as 16
    ],
)
def test_lines_sectors_and_banks_of_a_wave(
    access: Access, offsets: NDArray[np.int64], lines: int, sectors: float, cycles: int, distinct: int
) -> None:
    counts, _ = recorded(access, offsets)

    parts = 2 if access.write else max(1, access.nbytes // (access.align or 16))
    assert (counts.lanes, counts.waves) == (64 * parts, 2 * parts)
    found = counts.lines, counts.sectors, counts.conflict_cycles, counts.distinct
    assert found == pytest.approx((lines, sectors, cycles, distinct))


def test_neighbours_that_load_the_same_words_are_in_one_wave() -> None:
    """Of an odd number of active lanes, all wait for the first word of a bank, or for one of two."""
    for apart, cycles in ((0, 2), (64, 4)):
        recorder = AccessRecorder(PLACEMENT, {0: 1 << 20}, 1)
        active = LANES % 32 < 31
        recorder.accessed(replace(LOCAL, nbytes=8), 0, (8 * (LANES // 2) + apart * (LANES % 2))[active], WAVES[active])
        (found,) = recorder.instructions.values()
        assert found.total[COUNTED.index("conflict_cycles")] == cycles


@pytest.mark.parametrize(
    ("offsets", "partly"),
    [(4 * LANES, 0), (8 * LANES, 4), (4 * LANES + 4, 4), (TILE, 0), (TILE + 16, 8), (0 * LANES, 2)],
)
def test_stores_that_do_not_cover_their_sectors(offsets: NDArray[np.int64], partly: int) -> None:
    counts, _ = recorded(STORE, offsets)

    assert counts.partly_written == partly


@pytest.mark.parametrize(
    ("words", "of", "step", "load", "sectors", "partly"),
    [
        (2, 2, 2, 0, 16, 0),
        (5, 5, 2, 0, 120, 30 - 10 / 2**4),
        (8, 8, 2, 0, 512, 128),
        (2, 4, 2, 0, 64 - 32 * 2 / 3, 16 - 8 * 2 / 3),
        (2, 2, 0, 0, 32, 8),
        (2, 2, 2, 1, 32, 8),
    ],
)
def test_stores_are_written_together(words: int, of: int, step: int, load: int, sectors: float, partly: float) -> None:
    """Two neighbouring words of each lane, half of five, none of eight; none in loops or before loads of others.

    Sectors are complete if all words *of* a lane are stored, and all of its stores are written together.
    """
    recorder = AccessRecorder(PLACEMENT, {0: 1 << 20, 1: 1 << 20}, 1, ordered={0, 1})
    for word in range(words):
        recorder.accessed(replace(STORE, number=step * word), 0, 4 * (of * LANES + word), WAVES)
        recorder.accessed(replace(LOAD, number=step * word + 1), load, 4 * LANES, WAVES)

    stores = [found.total for (access, _), found in recorder.instructions.items() if access.write]
    total = dict(zip(COUNTED, sum(stores), strict=True))
    assert (total["sectors"], total["partly_written"]) == pytest.approx((sectors, partly))


def test_atomic_operations_on_one_address() -> None:
    """Half of the lanes of each wave add to word 0, which both groups share, the others to their own words."""
    counts, recorder = recorded(ATOMIC, np.where(LANES % 2, 4 * LANES, 0))

    assert counts.turns == 16 + 3 + 16 + 4  # on word 0, and on words of other sectors
    assert [each[:2].tolist() for each in recorder.atomics(0)] == [[0, 1], [32, 1], [16, 1]]
    assert [len(each) for each in recorder.atomics(0)] == [33] * 3  # however large the buffer is


def test_a_loop_along_rows_misses_each_sector_once() -> None:
    """Each lane walks along its own row: 64 lines stay in the cache while all their sectors are fetched."""
    steps = [4096 * LANES + 4 * step for step in range(32)]
    counts, recorder = recorded(LOAD, *steps)

    assert counts.missed_sectors == 64 * 4
    assert counts.missing_waves == 2 * 4
    for nbytes in (16, 32):
        placement = replace(PLACEMENT, unit_bytes=nbytes)
        units = 64 * 128 // nbytes
        assert recorder.touched[0, False].extent(placement) == (64 * 128, units, units, 64, 128, 64)


def test_a_line_waits_for_every_wave_that_wants_it_and_is_fetched_once() -> None:
    counts, _ = recorded(LOAD, 4 * (LANES % 32), 4 * (LANES % 32))

    assert (counts.missed_sectors, counts.missing_waves, counts.sectors) == (4, 2, 16)


def test_rows_longer_than_the_cache_are_fetched_again() -> None:
    """Sweeps of 128 lines through a cache of 64: the last accesses to a line are too long ago."""
    sweep = [256 * block + 4 * LANES for block in range(64)]
    counts, _ = recorded(LOAD, *sweep, *sweep, *sweep, *sweep)

    assert counts.missed_sectors == counts.sectors


@pytest.mark.parametrize("together", [1, 4])
def test_interleaved_loads_find_the_lines_of_each_other(together: int) -> None:
    """Two loads along 128 rows, whose lines are too many for the cache, once for each of 32 words."""
    recorder = AccessRecorder(PLACEMENT, {0: 1 << 20}, 1, {0: together, 1: together})
    loads = [replace(LOAD, number=number) for number in (0, 1)]
    for step in range(32):
        for row, load in enumerate(loads):
            recorder.accessed(load, 0, 8192 * LANES + 4096 * row + 4 * step, WAVES)

    missed = [recorder.instructions[load, 0].total[COUNTED.index("missed_sectors")] for load in loads]
    assert sum(missed) == 2 * 32 * 64 / together


def test_long_loops_are_extrapolated_by_lanes() -> None:
    """Of 10,000 executions some 1,500 are recorded; the sums are those of all."""
    steps = (4 * LANES + 256 * (step % 4096) for step in range(10_000))
    counts, _ = recorded(LOAD, *steps)

    assert (counts.lanes, counts.waves, counts.lines) == (640_000, 20_000, 20_000)
    assert counts.missed_sectors == counts.sectors == 80_000


def lru_misses(lines: list[int], capacity: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for line in lines:
        misses += line not in cache
        cache[line] = None
        cache.move_to_end(line)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return misses


@pytest.mark.parametrize(("row_bytes", "barriers", "missed"), [(4096, 0, 1), (4160, 0, 1 / 16), (4096, 128, 1 / 16)])
def test_work_items_of_a_core_follow_each_other(row_bytes: int, barriers: int, missed: float) -> None:
    """Each of 64 walks down a column of words of 128 rows; an L1 has 12 lines for each place in pages."""
    core = replace(PLACEMENT, wave=1, line_bytes=64, sector_bytes=64, page_lines=64)
    core = replace(core, cache_bytes=49152, last_cache_bytes=49152, allocates=True)
    recorder = AccessRecorder(core, {0: 1 << 20}, 1)
    for row in range(128):
        recorder.accessed(LOAD, 0, row_bytes * row + 4 * LANES, LANES)
        if barriers:
            recorder.synchronised(0, LANES)

    lost, unexpected = recorder.beyond()
    total = dict(zip(COUNTED, recorder.instructions[LOAD, 0].total.tolist(), strict=True))
    assert (total["lines"], total["missed_sectors"]) == (64 * 128, 64 * 128 * missed)
    assert (lost, unexpected) == (pytest.approx(1 - 1 / 16 / missed), pytest.approx(128 * missed, abs=1))


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(["random", "skewed", "cyclic", "blocked"]), st.integers(8, 200))
def test_the_window_misses_as_a_cache_that_replaces_the_oldest_line(seed: int, kind: str, capacity: int) -> None:
    rng, steps = np.random.default_rng(seed), np.arange(3000)
    lines = {
        "random": rng.integers(0, 256, steps.size),
        "skewed": (256 * rng.random(steps.size) ** 3).astype(np.int64),
        "cyclic": steps % 256,
        "blocked": steps % 32 + steps // 256 * 32,
    }[kind]
    clock, last, misses = ReuseClock(capacity), np.zeros(0, np.int64), 0
    last = clock.lines(2048)
    for line in lines:
        misses += int(clock.touch(last, np.array([line]), 1)[0])

    assert misses / steps.size == pytest.approx(lru_misses(lines.tolist(), capacity) / steps.size, abs=0.03)


def compiled(folder: Path, text: str) -> Program:
    """Return the kernel ``k`` with these parameters and this body."""
    (source := folder / "k.cl").write_text(f"kernel void k({text}")
    return program(compile_file(source), "k")


def test_the_demand_of_a_dispatch_is_extrapolated_from_samples(database: Database, tmp_path: Path) -> None:
    """A copy of words to every eighth one: each store covers a part of its own sector, 8 lines for a wave."""
    items, device = 1 << 18, database.device("nvidia/h200_sxm")
    kernel = compiled(tmp_path, "global int *x, global int *y) { int i = get_global_id(0); y[8 * i] = x[i]; }")
    arrays, shape = [np.zeros(items, np.int32), np.zeros(8 * items, np.int32)], Dispatch("k", (items,), (256,))
    demand = dispatch_demand(kernel, arrays, shape, device, placed(device, kernel, shape))

    assert [(each.buffer, each.kind, each.lines / each.waves) for each in demand.accesses] == [
        ("x", "load", 1),
        ("y", "store", 8),
    ]
    read, written = demand.streams
    assert (read.elements, read.used_bytes, read.passes, read.outer_passes) == (items / 8, 32, 1, 1)
    assert (written.elements, written.record_bytes, written.used_bytes, written.outer_passes) == (items, 32, 4, 1)
    assert (demand.memory_chain, demand.nearest_chain, demand.operations["memory"]) == (1, 0, 2 * items)


@pytest.mark.parametrize(
    ("statement", "passes"),
    [("y[i] = x[i * 2654412789u % n]", 12), ("x[i * 2654412789u % n] = y[i]", 12), ("y[i] = x[i % n]", 1)],
)
def test_random_accesses_miss_lines_that_do_not_fit(
    database: Database, tmp_path: Path, statement: str, passes: float
) -> None:
    """An L2 of 60 MiB with two partitions contains a quarter of 120 MiB. A miss brings 64 bytes, for a word of 4.

    Words in order come from memory once.
    """
    items, words, device = 1 << 23, 30 << 20, database.device("nvidia/h200_sxm")
    body = f"{{ uint i = get_global_id(0); {statement}; }}"
    kernel = compiled(tmp_path, f"global float *restrict x, global float *restrict y, uint n) {body}")
    arrays, shape = [np.zeros(count, np.float32) for count in (words, items)], Dispatch("k", (items,), (256,))
    demand = dispatch_demand(kernel, [*arrays, np.uint32(words)], shape, device, placed(device, kernel, shape))
    own = [each for each in demand.streams if each.buffer == "x"]

    moved = sum(each.elements * each.record_bytes * (each.memory_passes or 0.0) for each in own)
    assert moved == pytest.approx(4 * items * passes, rel=0.03)


@pytest.mark.parametrize(
    ("statement", "read", "written"),
    [
        # Words 256 and 128 bytes apart; columns and the words after them, in one access
        ("y[64 * i] = x[64 * i]", (1, 1), 1),
        ("y[32 * i] = x[32 * i]", (1, 0.5), 0.5),
        ("y[64 * i] = x[64 * i] + x[64 * i + 8]", (1, 1), 1),
        # All accesses of 64 bytes, not all sectors; everything
        ("y[16 * i] = x[16 * i]", (1, 0), 0.25),
        ("y[i] = x[i]", (1 / 16, 0), 0),
        # In no order, 64 bytes apart: an access opens a row for itself.
        ("y[i] = x[16 * (i * 2654435761u >> 12)]", (1, 1), 0),
        # A third of the stored sectors is in no order, of 1/16 access for each work-item
        ("y[i] = x[i]; if ((i & 31) < 2) y[i * 2654435761u >> 12] = 1", (1 / 16, 0), 1 / 48),
    ],
)
def test_rows_of_memory_that_accesses_open(
    statement: str, read: tuple[float, float], written: float, database: Database, tmp_path: Path
) -> None:
    """Accesses of 64 bytes, and rows of which a part is accessed, for each of 2^20 work-items."""
    items, words, device = 1 << 20, 1 << 26, database.device("nvidia/h200_sxm")
    body = f"{{ uint i = get_global_id(0); {statement}; }}"
    kernel = compiled(tmp_path, f"global uint *restrict x, global uint *restrict y) {body}")
    shape = Dispatch("k", (items,), (256,))
    arrays = [np.zeros(words, np.uint32), np.zeros(words, np.uint32)]
    demand = dispatch_demand(kernel, arrays, shape, device, placed(device, kernel, shape))

    def of_item(buffer: str, name: str) -> float:
        own = [each for each in demand.streams if each.buffer == buffer]
        return sum((each.memory_passes or 0.0) * (getattr(each, name) or 0.0) for each in own) / items

    assert (of_item("x", "accesses"), of_item("x", "rows")) == pytest.approx(read, rel=0.03, abs=0.01)
    assert of_item("y", "rows") == pytest.approx(written, rel=0.03, abs=0.005)


def test_memory_may_have_long_accesses_and_no_caches(tmp_path: Path) -> None:
    """Words in order, in accesses of two rows."""
    items, device = 1 << 14, altered(TOY, caches=(), memory=altered(TOY.memory, access_bytes=512))
    kernel = compiled(tmp_path, "global int *x) { int i = get_global_id(0); x[i] = x[i] + 1; }")
    shape = Dispatch("k", (items,), (256,))
    demand = dispatch_demand(kernel, [np.zeros(items, np.int32)], shape, device, placed(device, kernel, shape))

    assert [each.elements * each.record_bytes for each in demand.streams] == [4 * items] * 2


def test_stores_that_are_part_of_others_move_nothing(database: Database, tmp_path: Path) -> None:
    kernel = compiled(tmp_path, "global int *y) { int i = get_global_id(0); y[2 * i] = i; y[2 * i + 1] = 1; }")
    shape, device = Dispatch("k", (1 << 14,), (64,)), database.device("nvidia/h200_sxm")
    demand = dispatch_demand(kernel, [np.zeros(1 << 15, np.int32)], shape, device, placed(device, kernel, shape))

    assert [(each.sectors, each.missed_sectors) for each in demand.accesses] == [(1 << 12, 0), (0, 0)]


def test_atomic_loads_move_what_atomic_operations_do(database: Database, tmp_path: Path) -> None:
    items, device = 1 << 12, database.device("nvidia/h200_sxm")
    body = "{ size_t i = get_global_id(0); y[i] = atomic_load_explicit(&x[i], memory_order_relaxed); }"
    kernel = compiled(tmp_path, f"global atomic_int *x, global int *y) {body}")
    arrays, shape = [np.zeros(items, np.int32)] * 2, Dispatch("k", (items,), (256,))
    demand = dispatch_demand(kernel, arrays, shape, device, placed(device, kernel, shape))

    assert [(each.buffer, each.elements * each.record_bytes) for each in demand.streams] == [
        ("x", 4 * items),
        ("y", 4 * items),
    ]


@pytest.mark.parametrize(("name", "kind"), [("nvidia/h200_sxm", "int32_mul"), ("cpu/x86_64", "shift")])
def test_left_shifts_are_multiplications_where_these_have_a_pipe(
    name: str, kind: str, database: Database, tmp_path: Path
) -> None:
    kernel = compiled(tmp_path, "global uint *x) { x[get_global_id(0)] <<= 13; }")
    shape, device = Dispatch("k", (256,), (64,)), database.device(name)
    placement = placed(device, kernel, shape)
    demand = dispatch_demand(kernel, [np.zeros(256, np.uint32)], shape, device, placement)

    assert demand.operations.keys() & {"int32_mul", "shift"} == {kind}
    assert dict(placement.latencies)["left_shift"] == device.architecture.latency_cycles[kind]


LOOP = "for (int k = 0; k < ({}); k++) v = v * v + 1;"
BRANCH, REST, TRIANGLE, VALUES = "i < m ? 500 : 0", "i < m ? 0 : 500", "i / 64", "x[0] > 0.25f ? 500 : 0"


@pytest.mark.parametrize(
    ("steps", "mean", "longest"), [(BRANCH, 300, 500), (REST, 200, 500), (TRIANGLE, 512, 1000), (VALUES, 500, 500)]
)
@pytest.mark.parametrize("resident", [2, 256])
def test_work_that_depends_on_the_place(steps: str, mean: float, longest: float, resident: int, tmp_path: Path) -> None:
    """1,024 groups, of which 8 or all run together, and two atomic instructions on one address."""
    body = f"int i = get_global_id(0); float v = x[i]; {LOOP.format(steps)} x[i] = v;"
    atomics = "atomic_inc(count); atomic_dec(count);"
    kernel = compiled(tmp_path, f"global float *x, global int *count, int m) {{ {body} {atomics} }}")
    shape = Dispatch("k", (65536,), (64,))
    placement = replace(PLACEMENT, groups_per_place=resident, latencies=(("fp32", 4.0), ("hit", 30.0), ("miss", 200.0)))
    for value in (0, 1):  # demands of other values are others
        arrays = np.full(65536, value, np.float32), np.zeros(1, np.int32)
        demand = dispatch_demand(kernel, [*arrays, np.int32(39322)], shape, TOY, placement)

    assert demand.operations["fp32"] / 65536 == pytest.approx(mean, rel=0.08)
    assert demand.chain["fp32"] == pytest.approx(mean if resident == 2 else longest, rel=0.25)
    assert [(each.hottest, each.same) for each in demand.accesses if each.kind == "atomic"] == [(2 * 65536, True)] * 2


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 8, 12, 15, 20, 48, 60, 100])
def test_few_groups_with_different_work(groups: int, tmp_path: Path) -> None:
    """Group g makes 16 * g steps. Up to a dozen groups are executed, all if there are so few; then 48."""
    body = f"int i = get_global_id(0); float v = x[i]; {LOOP.format('16 * get_group_id(0)')} x[i] = v;"
    kernel = compiled(tmp_path, f"global float *x) {{ {body} }}")
    shape, arrays = Dispatch("k", (64 * groups,), (64,)), [np.zeros(64 * groups, np.float32)]
    demand = dispatch_demand(kernel, arrays, shape, TOY, PLACEMENT)

    assert demand.operations.get("fp32", 0.0) == pytest.approx(64 * 16 * sum(range(groups)), rel=0.15)


def test_accesses_of_unknown_alignment_are_several_only_where_it_matters() -> None:
    """Words of vload4: four accesses of each wave, or one of 16 bytes, in the same eight lines."""
    access = replace(LOAD, nbytes=16, align=4)
    for aligned, loops, lines in ((True, 0, 32), (False, 0, 8), (False, 32, 8)):
        recorder = AccessRecorder(replace(PLACEMENT, aligned=aligned, page_lines=loops), {0: 1 << 20}, 1)
        recorder.accessed(access, 0, 16 * LANES, WAVES)
        totals = [dict(zip(COUNTED, found.total, strict=True)) for found in recorder.instructions.values()]
        assert (len(totals), sum(each["lines"] for each in totals)) == (4 if aligned else 1, lines)


@pytest.mark.parametrize(
    ("steps", "units", "uneven"),
    [
        *(("500", 1, 1), ("i / 32 % 4 ? 0 : 500", 1, 4), ("i < 256 ? 500 : 0", 1, 4), ("i / 32 % 2 ? 0 : 500", 1, 2)),
        ("i < 256 ? 500 : 0", 4, 1),
    ],
)
def test_work_that_schedulers_do_not_share(steps: str, units: int, uneven: float, tmp_path: Path) -> None:
    """Four groups of eight waves, each on a unit of its own or all on one place, whose four schedulers take turns."""
    body = f"int i = get_global_id(0); float v = x[i]; {LOOP.format(steps)} x[i] = v;"
    kernel, shape = compiled(tmp_path, f"global float *x) {{ {body} }}"), Dispatch("k", (1024,), (256,))
    placement = replace(PLACEMENT, units_per_group=units)
    demand = dispatch_demand(kernel, [np.zeros(1024, np.float32)], shape, TOY, placement)

    assert demand.uneven == pytest.approx(uneven, rel=0.05)


@pytest.mark.parametrize(("reordered", "links"), [(1, 400), (1 << 20, 100)])
def test_a_core_overlaps_what_it_reorders(
    reordered: int, links: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four loops of 100 dependent instructions, which do not depend on each other."""
    loop = f"for (int j = 0; j < m; j++) {{ float v = x[j]; {LOOP.format('n')} most = fmax(most, v); }}"
    text = f"global float *x, int n, int m) {{ float most = 0; {loop} x[get_global_id(0)] = most; }}"
    placement = replace(PLACEMENT, latencies=(("fp32", 4.0), ("hit", 1.0)), page_lines=64)
    monkeypatch.setattr(demands, "REORDERED", reordered)
    arguments, shape = [np.zeros(64, np.float32), np.int32(100), np.int32(4)], Dispatch("k", (64,), (64,))
    demand = dispatch_demand(compiled(tmp_path, text), arguments, shape, TOY, placement)

    assert (demand.branches, demand.maskable) == (True, False)
    assert demand.chain["fp32"] == pytest.approx(links, rel=0.1)


def private(
    placement: Placement, bytes_of_item: int, *executions: tuple[Access, NDArray[np.int64]]
) -> list[dict[str, float]]:
    """Return the counts of accesses to private memory, at these bytes of the work-items of two waves, in turn."""
    places, loops = range(bytes_of_item // 16), placement.page_lines
    recorder = AccessRecorder(placement, {PRIVATE: bytes_of_item * (32 if loops else 64)}, 1, private_places=places)
    for number, (access, own) in enumerate(executions):
        own_number = replace(access, number=number, region=PRIVATE, space="private")
        recorder.accessed(own_number, PRIVATE, LANES % 32 * bytes_of_item + own, WAVES)
    return [dict(zip(COUNTED, found.total.tolist(), strict=True)) for found in recorder.instructions.values()]


BYTE, WIDE = replace(LOAD, nbytes=1, dtype=np.dtype(np.int8)), replace(LOAD, nbytes=16)
NARROW = replace(BYTE, write=True)


@pytest.mark.parametrize(
    ("access", "own", "lines", "sectors", "cycles", "partly"),
    [
        (LOAD, 0 * LANES + 8, 2, 8, 2, 0),  # one index: all words of a line, of each wave
        (LOAD, 4 * (LANES % 2), 4, 16, 2, 0),  # two rows of words; no two lanes share a bank
        (LOAD, 4 * (LANES % 16), 32, 64, 2, 0),
        (WIDE, 0 * LANES + 16, 8, 32, 8, 0),
        (replace(WIDE, nbytes=12), 0 * LANES + 16, 8, 32, 8, 0),  # 12 bytes have places of 16
        (BYTE, 0 * LANES + 5, 2, 8, 2, 0),  # bytes are in words of their own lane
        (BYTE, LANES % 4, 2, 8, 2, 0),
        (NARROW, 0 * LANES + 5, 2, 8, 2, 2),
    ],
)
def test_lanes_interleave_their_private_memory(
    access: Access, own: NDArray[np.int64], lines: int, sectors: int, cycles: int, partly: int
) -> None:
    (total,) = private(PLACEMENT, 64, (access, own))
    found = [total[name] for name in ("lines", "sectors", "conflict_cycles", "partly_written", "missed_sectors")]
    assert found == [lines, sectors, cycles, partly, 0]


def test_cores_have_private_memory_on_a_stack() -> None:
    """Eight words of each of 32 lanes, one after the other, which the next wave uses again."""
    (total,) = private(replace(PLACEMENT, page_lines=32), 32, (LOAD, 0 * LANES))
    assert (total["lines"], total["sectors"]) == (16, 64)


@pytest.mark.parametrize(("rows", "missed"), [(16, 0.0), (32, 0.0), (64, 0.80), (128, 0.98)])
def test_private_memory_beyond_a_cache_misses_it_at_random(rows: int, missed: float) -> None:
    """Cyclic reads of 1/2, 1, 2 and 4 times the cache miss a share m = 1 - exp(-m * ratio); stores bring lines."""
    order = np.arange(64 * rows) % rows
    stores, *loads = private(
        PLACEMENT, 4 * rows, *[(STORE if n < rows else LOAD, 0 * LANES + 4 * row) for n, row in enumerate(order)]
    )
    later = loads[len(loads) // 2 :]
    assert stores["missed_sectors"] == 0
    assert sum(each["missed_sectors"] for each in later) / sum(each["sectors"] for each in later) == pytest.approx(
        missed, abs=0.02
    )


def test_loads_of_private_memory_keep_stores_apart() -> None:
    """Two bytes of a word are written together, unless a load is between them."""
    first, second = (NARROW, 0 * LANES), (NARROW, 0 * LANES + 1)
    together, apart = private(PLACEMENT, 16, first, second), private(PLACEMENT, 16, first, (BYTE, 0 * LANES), second)
    assert [sum(each["sectors"] for each in found) for found in (together, apart)] == [pytest.approx(8), 24]


FILLED = "int a[{0}]; for (int k = 0; k < {0}; k++) a[k] = k * i * (i ^ k);"


def test_private_arrays_cost_accesses_only_where_indices_are_computed(database: Database, tmp_path: Path) -> None:
    """Eight stores and one load of each work-item, which fit in the L1; none if the compiler knows all indices."""
    items, device = 1 << 16, database.device("nvidia/h200_sxm")
    found = {}
    for index in ("5", "i & 7"):
        body = f"{{ int i = get_global_id(0); {FILLED.format(8)} x[i] = a[{index}]; }}"
        kernel, shape = compiled(tmp_path, f"global int *x) {body}"), Dispatch("k", (items,), (256,))
        placement = placed(device, kernel, shape)
        found[index] = dispatch_demand(kernel, [np.zeros(items, np.int32)], shape, device, placement)

    assert [each.buffer for each in found["5"].accesses] == [each.buffer for each in found["5"].streams] == ["x"]
    demand, waves = found["i & 7"], items / 32
    own = [each for each in demand.accesses if each.space == "private"]
    assert [(each.kind, each.waves) for each in own] == [("store", waves)] * 8 + [("load", waves)]
    assert (own[-1].lines, own[-1].missed_sectors, demand.nearest_chain, demand.memory_chain) == (8 * waves, 0, 1, 0)
    written = {
        each.buffer: (each.write, each.elements, each.outer_passes, each.memory_passes) for each in demand.streams
    }
    # All 256 groups are resident, at most two on each unit; eight sectors are eight words of eight work-items.
    assert written["private memory"] == (True, items, 1, 0)
    assert demand.operations["memory"] == 10 * items


def test_arrays_of_different_times_are_in_one_place(tmp_path: Path) -> None:
    text = "int f(int i) { int a[8]; for (int k = 0; k < 8; k++) a[k] = k * i; return a[(i ^ 1) & 7]; }\n"
    body = "{ int i = get_global_id(0); x[i] = f(i); x[i + 1] = f(i + x[i]); }"
    (source := tmp_path / "k.cl").write_text(f"{text}kernel void k(global int *x) {body}")
    module = compile_file(source)
    kernel = program(module, "k")
    assert (kernel.private_bytes, kernel.placed_bytes) == (64, 32)
    head, code = module.kernels["k"]  # an array whose end is not known may be used by everything
    module.kernels["k"] = head, re.sub(r"\n[^\n]*llvm.lifetime.end[^\n]*", "", code, count=1)
    assert program(module, "k", 1).placed_bytes == 64


def test_loops_over_private_arrays_are_unrolled_for_gpus(tmp_path: Path) -> None:
    """A table of 128 numbers: a store for each, or one in a loop."""
    body = f"{{ int i = get_global_id(0); {FILLED.format(128)} x[i] = a[i & 127]; }}"
    (source := tmp_path / "k.cl").write_text(f"kernel void k(global int *x) {body}")
    module = compile_file(source)
    stores = [sum(each.write for each in program(module, "k", joins=joins).accesses) for joins in (True, False)]
    assert stores == [129, 2]
