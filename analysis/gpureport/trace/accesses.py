"""What the memory accesses of waves touch: lines, sectors, banks and addresses, and which of them a cache contains."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.predict.traffic import ROW_BYTES
from gpureport.spec.uncertainty import sourced
from gpureport.trace.execution import Recorder
from gpureport.trace.instructions import WIDEST
from gpureport.trace.program import PRIVATE, PRIVATE_UNIT, Access
from gpureport.trace.reuse import LoopOrder, ReuseClock

Numbers = NDArray[np.int64]

_SPAN = 1 << 44
"""Bytes of the address space of each wave; offsets are counted from its middle."""
WORD_BYTES = 4
"""Granularity of used bytes, and width of a bank."""
_PAGE_BYTES = 4096
"""Granularity at which touched parts of a buffer are found; a multiple of all lines."""
_RECORDED, _PERIOD, _WARM_UP = 512, 4096, 64
"""Executions of an instruction that are recorded: the first ones of each period. Of later periods the first ones only
warm the cache, because what was not recorded before them has left no traces there."""

MERGED_LINES = sourced("trace.accesses.MERGED_LINES", float)
"""Lines that a wave stores, up to the next store to a sector, with which no cache writes both together; with a quarter
of them, it does so always. No branch back and no barrier is between such stores."""


@dataclass(frozen=True)
class Placement:
    """Where work-groups run, and how the accesses of their waves are split."""

    wave: int  # lanes of a wave
    units: int
    units_per_group: int  # units that share the waves of a work-group, as one place for groups
    groups_per_place: int  # work-groups that are resident together
    line_bytes: int
    sector_bytes: int  # what the nearest cache of a unit fetches on a miss
    unit_bytes: int  # smallest unit that any cache or the memory moves
    access_bytes: int  # smallest transfer from the memory
    cache_bytes: float  # capacity of the nearest cache, without local memory in use
    last_cache_bytes: float  # capacity of the cache before memory, which all units share; 0: there is none
    allocates: bool  # whether stores bring lines into the nearest cache
    merges: bool  # whether it writes neighbouring stores of a wave together
    banks: int  # banks of local memory, one word wide
    schedulers: int  # schedulers of a place, which execute its waves in turn
    aligned: bool  # whether accesses must be at a multiple of their size
    scalar_unit: bool  # whether a scalar unit executes branches, and integer instructions with one result for all lanes
    latencies: tuple[tuple[str, float], ...]
    """Cycles by class of instruction, of a ``hit`` and a ``miss`` in the nearest cache, of an ``atomic`` operation."""
    page_lines: int = 0
    """Lines of a page, if cores execute a group as loops over its waves; 0: its waves are in lock-step."""

    @property
    def resident(self) -> int:
        """Work-groups that share the nearest cache of a unit."""
        return max(1, self.groups_per_place // self.units_per_group)


COUNTED = (
    *("lanes", "waves", "lines", "sectors", "conflict_cycles", "distinct", "turns", "partly_written", "backward"),
    *("missed_sectors", "missing_waves"),
)
"""Fields of :class:`.AccessDemand` that are counted, in the order of arrays of them. Sectors of stores are the smallest
units that are moved."""
_no_counts = partial(np.zeros, len(COUNTED))
_LANES, _WAVES, _LINES, _SECTORS = range(4)
_PARTLY, _DISTINCT = COUNTED.index("partly_written"), COUNTED.index("distinct")
MISSED, POSSIBLE = slice(-2, None), [COUNTED.index(name) for name in ("sectors", "waves")]
"""Places of counts: the last two are what missed, of so many sectors and waves."""


def distinct(values: Numbers) -> Numbers:
    """Return the different ones of *values*, ascending; cheap if they are in order."""
    ordered = values if (values[1:] >= values[:-1]).all() else np.sort(values)
    return ordered[_starts(ordered)] if ordered.size else ordered


def _starts(ordered: Numbers) -> Numbers:
    """Return the index of the first of each run of equal values."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _within(units: Numbers, nbytes: int) -> Numbers:
    """Return units of *nbytes* without the wave in their high bits, relative to offset 0."""
    return units % (_SPAN // nbytes) - _SPAN // nbytes // 2


class Coalesced:
    """What one execution of an instruction touches, in all waves; lines and sectors relative to the first lane's line.

    Its lines and sectors are the different ones of all waves together, or of each wave, with
    the wave in the high bits; ``counts`` has no misses.
    """

    def __init__(self, access: Access, offsets: Numbers, waves: Numbers, placement: Placement) -> None:
        """Split the accesses of lanes, in the order of *waves*, at byte *offsets* from the first lane's line."""
        self.offsets, self.waves = offsets, waves
        self._access, self._placement = access, placement
        self._sector = placement.unit_bytes if access.write else placement.sector_bytes
        self._keys = np.sort(waves * _SPAN + offsets + _SPAN // 2)
        self._addresses = _starts(self._keys)
        sectors, per_line = self._units(self._sector), placement.line_bytes // self._sector
        self.lines_of_waves = distinct(sectors // per_line)
        self._first_sectors = _starts(sectors // (_SPAN // self._sector))
        self._sectors_of_waves = _within(sectors, self._sector)
        self.sectors = distinct(self._sectors_of_waves)
        in_line = self.sectors // per_line
        self.lines = distinct(in_line)
        self.line_of_sector = np.searchsorted(self.lines, in_line)
        counts = {
            "lanes": offsets.size,
            "waves": self._first_sectors.size,
            "lines": self.lines_of_waves.size,
            "sectors": sectors.size,
            "distinct": self._addresses.size,
            "conflict_cycles": self._bank_cycles(),
            "turns": self._turns() if access.atomic and not access.same else 0,
            "partly_written": self._partly_written() if access.write and not access.atomic else 0,
            "backward": int(np.count_nonzero(offsets[1:] < offsets[:-1])),
        }
        self.counts = np.array([counts.get(name, 0) for name in COUNTED], np.float64)

    def missing_waves(self, absent: NDArray[np.bool_]) -> float:
        """Return how many waves touch at least one of the *absent* ones of :attr:`sectors`."""
        if absent.all():
            return float(self._first_sectors.size)
        of_waves = absent[np.searchsorted(self.sectors, self._sectors_of_waves)]
        return float(np.count_nonzero(np.logical_or.reduceat(of_waves, self._first_sectors)))

    def _units(self, nbytes: int, keys: Numbers | None = None) -> Numbers:
        """Return the units of *nbytes* that each wave covers, wave after wave, with the wave in the high bits."""
        keys, last = self._keys[self._addresses] if keys is None else keys, self._access.nbytes - 1
        first, ends = keys // nbytes, (keys + last) // nbytes
        most = int((ends - first).max())
        each = first if not most else np.minimum(first[:, None] + np.arange(most + 1), ends[:, None]).ravel()
        return distinct(each)

    def _bank_cycles(self) -> float:
        """Return the words of the fullest bank of each wave; lanes that want the same word share it.

        A wide access happens in parts, each for as many active lanes as could access different banks. A load from local
        memory has parts of twice as many lanes if the two of each pair of neighbours load the same words. Thirteen
        patterns take these times on an H200.
        """
        offsets, places = self.offsets, 1 << (self._access.nbytes - 1).bit_length()
        lanes = self._placement.banks * WORD_BYTES // places
        if lanes >= self._placement.wave or self._access.nbytes <= WORD_BYTES:
            return self._in_fullest_bank(self._units(WORD_BYTES))
        starts = _starts(self.waves)
        lane = np.arange(offsets.size) - np.repeat(starts, np.diff(starts, append=offsets.size))
        if self._access.space == "local" and not self._access.write:
            lanes *= 1 + bool(((offsets[1:] == offsets[:-1]) | (lane[1:] % 2 == 0)).all())
        parts = self.waves * self._placement.wave + lane // max(1, lanes)
        return self._in_fullest_bank(self._units(WORD_BYTES, np.sort(parts * _SPAN + offsets + _SPAN // 2)))

    def _in_fullest_bank(self, words: Numbers) -> float:
        banks = self._placement.banks
        wave = np.cumsum(np.diff(words // (_SPAN // WORD_BYTES), prepend=-1) != 0) - 1
        in_bank = np.bincount(wave * banks + words % banks, minlength=banks * (int(wave[-1]) + 1))
        return float(in_bank.reshape(-1, banks).max(axis=1).sum())

    def _turns(self) -> float:
        """Return the updates of each wave that follow each other: in a bank, or on an address of each sector."""
        if self._access.space == "local":
            return self._in_fullest_bank(self._keys // WORD_BYTES)
        lanes = np.diff(self._addresses, append=self._keys.size)
        sectors = self._keys[self._addresses] // self._sector
        return float(np.maximum.reduceat(lanes, _starts(sectors)).sum())

    def _partly_written(self) -> float:
        """Return the lines with a sector of which the lanes of a wave do not write all bytes."""
        unit, sector = min(self._access.nbytes, WORD_BYTES), self._sector
        written = self._units(unit) // (sector // unit)
        starts = _starts(written)
        partly = written[starts][np.diff(starts, append=written.size) * unit < sector]
        return float(distinct(partly // (self._placement.line_bytes // sector)).size)


@dataclass(eq=False)
class Instruction:
    """The accesses of one instruction to one buffer."""

    number: int  # place in the order of first executions
    executions: int = 0
    lanes: int = 0
    early: NDArray[np.float64] = field(default_factory=_no_counts)  # counts of the first period's recorded executions
    later: NDArray[np.float64] = field(default_factory=_no_counts)  # the same of later periods
    known: dict[int, Coalesced] = field(default_factory=dict)  # earlier patterns, by the first lane's place in its line
    missed: list[float] = field(default_factory=lambda: [0.0] * _RECORDED)
    """Shares of waves that missed in the last recorded executions, in turn."""
    together: int = 0  # time at which the interleaved iterations of a loop began
    absent: float = 0.0  # share of lines that the nearest cache lacks, if it is found after all accesses
    end: int = 0  # bytes of the buffer up to the last one that is accessed

    @property
    def usual(self) -> NDArray[np.float64]:
        """Counts that represent executions that are not recorded."""
        return self.later if self.later[_LANES] else self.early

    @property
    def total(self) -> NDArray[np.float64]:
        """Counts of all executions, as of :data:`COUNTED`; not recorded ones are as the recorded ones."""
        others: float = (self.lanes - self.early[_LANES]) / self.usual[_LANES]
        total: NDArray[np.float64] = self.early + others * self.usual
        if self.absent:
            missed = self.absent * total[_LINES]
            total[MISSED] = missed, min(missed, total[_WAVES])
        return total


class Extent(NamedTuple):
    """What some work-groups touch of a buffer.

    These are bytes in whole words, units, completely touched ones, lines, accesses of the memory, and its rows.
    """

    used_bytes: float = 0.0
    units: float = 0.0
    full_units: float = 0.0
    lines: float = 0.0
    accesses: float = 0.0
    rows: float = 0.0


class Touched:
    """The words of a buffer that work-groups touch."""

    def __init__(self, nbytes: int) -> None:
        self._nbytes, pages = nbytes, -(-nbytes // _PAGE_BYTES)
        self._words = np.zeros((pages, _PAGE_BYTES // WORD_BYTES), np.bool_)
        self._pages = np.zeros(pages, np.bool_)

    def mark(self, offsets: Numbers, nbytes: int) -> None:
        """Mark what accesses of *nbytes* touch."""
        offsets = offsets if offsets.strides[0] else offsets[:1]
        words = offsets // WORD_BYTES
        for _ in range(max(1, nbytes // WORD_BYTES)):
            np.put(self._words, words, True, mode="clip")
            words = words + 1
        for ends in (offsets, offsets + nbytes - 1)[: 2 if nbytes > WORD_BYTES else 1]:
            np.put(self._pages, ends // _PAGE_BYTES, True, mode="clip")

    def add(self, other: "Touched") -> None:
        """Mark what is marked in *other*, of the same buffer."""
        pages = np.flatnonzero(other._pages)
        self._words[pages] |= other._words[pages]
        self._pages[pages] = True

    def places(self, placement: Placement) -> Numbers:
        """Return at which bytes of their lines words are touched."""
        lines = self._words[np.flatnonzero(self._pages)].reshape(-1, placement.line_bytes // WORD_BYTES)
        return np.flatnonzero(lines.any(axis=0)) * WORD_BYTES

    def most(self, places: Numbers, beyond: float, placement: Placement) -> Extent:
        """Return what further groups may touch: words at these *places*, in all lines from the first to the last.

        A share of these is *beyond* those that are touched.
        """
        pages = np.flatnonzero(self._pages)
        lines = min(self._nbytes, (1 + beyond) * (pages[-1] - pages[0] + 1) * _PAGE_BYTES) / placement.line_bytes
        sizes = (placement.unit_bytes, placement.access_bytes)
        units, accesses = (lines * np.unique(places // size).size for size in sizes)
        rows = lines * placement.line_bytes / ROW_BYTES
        return Extent(lines * places.size * WORD_BYTES, units, units, lines, accesses, rows)

    def extent(self, placement: Placement) -> Extent:
        """Return how much is touched."""
        pages = np.flatnonzero(self._pages)
        used = self._words[pages].reshape(-1, placement.unit_bytes // WORD_BYTES).sum(axis=1)
        full = used == placement.unit_bytes // WORD_BYTES
        larger = (placement.line_bytes, placement.access_bytes, ROW_BYTES)
        of_size = (used.reshape(-1, size // placement.unit_bytes).any(axis=1) for size in larger)
        return Extent(WORD_BYTES * int(used.sum()), *(int(np.count_nonzero(each)) for each in (used, full, *of_size)))


class SharedCache:
    """The nearest cache of work-groups in lock-step, which work on at the same pace."""

    def __init__(self, placement: Placement, buffers: Mapping[int, int]) -> None:
        """Start empty; *buffers* as of :class:`AccessRecorder`."""
        self._placement, self._sectors_per_line = placement, placement.line_bytes // placement.sector_bytes
        self.clock = ReuseClock(placement.cache_bytes / placement.line_bytes)
        self.beyond = ReuseClock(inf)
        lines = {n: size // placement.line_bytes + 2 for n, size in buffers.items()}
        self._last = {n: self.clock.lines(count) for n, count in lines.items()}
        self._last_beyond = {n: self.beyond.lines(count) for n, count in lines.items()}
        self._filled = {n: np.zeros(last.size, np.int64) for n, last in self._last.items()}
        self._used = {n: np.zeros(size // placement.sector_bytes + 2, np.int64) for n, size in buffers.items()}
        if PRIVATE in buffers:  # the waves before have used the same memory
            of_waves = np.arange(buffers[PRIVATE] // placement.line_bytes)
            self.clock.touch(self._last[PRIVATE], of_waves, of_waves.size)

    def looked_up(self, access: Access, buffer: int, pattern: Coalesced, line: int, since: int) -> tuple[float, float]:
        """Return the sectors that the cache fetches, and the waves that wait for one; lines *since* then are in it.

        Stores to private memory bring lines, but are written through on an H200: 7.4 cycles of a unit for each line of
        words, and 9.6 of bytes, at any size; loads then find these in the L1 up to its capacity.
        """
        filled, used = self._filled[buffer], self._used[buffer]
        lines = np.clip(pattern.lines + line, 0, filled.size - 1)
        if access.atomic or (access.write and not (self._placement.allocates or buffer == PRIVATE)):
            self.beyond.touch(self._last_beyond[buffer], lines, lines.size)
            return 0.0, 0.0
        sectors = np.clip(pattern.sectors + line * self._sectors_per_line, 0, used.size - 1)
        at_random = buffer == PRIVATE
        absent_lines = self.clock.touch(
            self._last[buffer], lines, int(pattern.counts[_LINES]), since, at_random=at_random
        )
        filled[lines[absent_lines]] = self.clock.now
        absent = used[sectors] < filled[lines][pattern.line_of_sector]
        used[sectors] = self.clock.now
        missed = int(np.count_nonzero(absent))
        if not missed or (access.write and not self._placement.allocates):
            return 0.0, 0.0
        if not at_random:
            fetched = lines[distinct(pattern.line_of_sector[absent])]
            self.beyond.touch(self._last_beyond[buffer], fetched, fetched.size)
        return missed, pattern.missing_waves(absent)


@dataclass
class _Stored:
    """What the latest store to a buffer has written in all waves."""

    number: tuple[int, int]  # of the access, with its part
    sectors: Numbers
    lines: float  # of a wave, with those of all stores before
    nbytes: float  # with those of the stores that are written together with it
    counts: NDArray[np.float64]  # of the first of these
    partly: float  # lines that this one writes partly
    share: float = 1.0  # of times that all of these are written together


class AccessRecorder(Recorder):
    """Counts the accesses of work-groups that are resident together, and simulates their nearest cache.

    Long loops are recorded in part, and extrapolated by the number of lanes. A wave waits for a line also if another
    wave fetches it in the same execution, but the line is fetched once.
    """

    def __init__(
        self,
        placement: Placement,
        buffers: Mapping[int, int],
        first_waves: int,
        interleaved: Mapping[int, int] | None = None,
        ordered: Collection[int] = (),
        private_places: Sequence[int] = (),
    ) -> None:
        """Start with an empty cache.

        *buffers*: bytes of each, by its number; *first_waves*: those of the first group; *interleaved*: executions of a
        load that follow each other at once, by its number; *ordered*: buffers that may be the same ones to a compiler;
        *private_places*: see :class:`.Program`; the private memory of resident waves is one of the buffers.
        """
        self._placement, self._sizes, self._first_waves = placement, buffers, first_waves
        self._private, self._private_units = np.array(private_places, np.int64), max(private_places, default=0) + 1
        self._resident = max(1, buffers.get(PRIVATE, 0) // (PRIVATE_UNIT * self._private_units * placement.wave))
        self._interleaved = interleaved or {}
        self.touched: dict[tuple[int, bool], Touched] = {}
        self.instructions: dict[tuple[Access, int], Instruction] = {}
        self._parts: dict[Access, list[Access]] = {}
        self._stored, self._lines, self._ordered = dict[int, _Stored](), 0.0, ordered
        self._atomics = defaultdict[int, list[tuple[Numbers, int]]](list)
        self.order = LoopOrder(placement.page_lines) if placement.page_lines else None
        self.cache = SharedCache(placement, {} if self.order else buffers)

    def accessed(self, access: Access, buffer: int, offsets: Numbers, waves: Numbers) -> float:
        """Record one execution of an instruction, as a :class:`.Recorder`; lines of local memory are not followed."""
        if not offsets.size:
            return 0.0
        if access not in self._parts:
            self._parts[access] = [*self._split(access)]
        parts = self._parts[access]
        return max(self._accessed(each, buffer, self._places(each, buffer, offsets, waves), waves) for each in parts)

    def _places(self, access: Access, buffer: int, offsets: Numbers, waves: Numbers) -> Numbers:
        """Return where lanes access a buffer.

        In private memory, GPUs have the first word of each lane of a wave, then the second words, and so on. Wider
        accesses touch the same lines as if words had their width (NVIDIA, CUDA C++ Programming Guide, local memory;
        AMD, RDNA 3 ISA, swizzled scratch memory). A core has the memory of lane after lane on its stack, which its
        waves use in turn.
        """
        at = offsets + access.part if access.part else offsets
        if buffer != PRIVATE:
            return at
        wave, word = self._placement.wave, max(WORD_BYTES, 1 << (access.nbytes - 1).bit_length())
        lanes, unit = np.divmod(at // PRIVATE_UNIT, self._private.size)
        first = lanes if self.order else waves % self._resident
        row = (first * self._private_units + self._private[unit]) * PRIVATE_UNIT + at % PRIVATE_UNIT
        return row if self.order else (row // word * wave + lanes) * word + row % word

    def _split(self, access: Access) -> Iterator[Access]:
        """Yield the accesses that compilers make of one: as wide as possible, stores of two to the power of n bytes."""
        most, at = access.nbytes if self.order else min(access.nbytes, WIDEST), 0
        if self._placement.aligned:
            most = min(most, access.align or most)
        while at < access.nbytes:
            nbytes = min(most, access.nbytes - at)
            if access.write and self._placement.aligned:
                nbytes = 1 << (nbytes.bit_length() - 1)
            yield replace(access, nbytes=nbytes, part=at)
            at += nbytes

    def _accessed(self, access: Access, buffer: int, offsets: Numbers, waves: Numbers) -> float:
        found = self.instructions.get((access, buffer))
        if found is None:
            found = self.instructions[access, buffer] = Instruction(len(self.instructions))
        at = found.executions % _PERIOD
        if found.executions % self._interleaved.get(access.number, 1) == 0:
            found.together = self.cache.clock.now
        found.executions, found.lanes = found.executions + 1, found.lanes + offsets.size
        if buffer in self._sizes:
            found.end = max(found.end, int(offsets.max()) + access.nbytes)
            self._mark(access, buffer, offsets, waves)
        if at >= _RECORDED and not self.order:
            usual = found.usual
            self.cache.clock.skip(usual[_LINES] / usual[_LANES] * offsets.size)
            return found.missed[at % _RECORDED]
        pattern, line = self._pattern(found, access, offsets, waves)
        counts = found.early if found.executions <= _PERIOD else found.later
        is_counted = counts is found.early or at >= _WARM_UP
        if is_counted:
            counts += pattern.counts
            self._merge(access, buffer, pattern, line, counts)
        if buffer not in self._sizes:
            return 0.0
        if self.order:
            lines = _within(pattern.lines_of_waves, self._placement.line_bytes) + line + (buffer << 36)
            self.order.touch(found.number, pattern.lines_of_waves // (_SPAN // self._placement.line_bytes), lines)
            return 0.0
        missed = self.cache.looked_up(access, buffer, pattern, line, found.together)
        if is_counted:
            counts[MISSED] += missed
        found.missed[at] = missed[1] / float(pattern.counts[_WAVES])
        return found.missed[at]

    def _merge(self, access: Access, buffer: int, pattern: Coalesced, line: int, counts: NDArray[np.float64]) -> None:
        """Let a store be written together with the one before it to the same sectors."""
        if not access.write and buffer in self._ordered:  # later stores wait for it, if they may change what it loads
            self._stored = {n: each for n, each in self._stored.items() if n == buffer or n not in self._ordered}
        if not access.write and buffer == PRIVATE:
            self._stored.pop(buffer, None)
        if not (self._placement.merges and access.write and buffer in self._sizes) or access.atomic:
            return
        sectors = pattern.sectors + line * (self._placement.line_bytes // self._placement.unit_bytes)
        self._lines += float(pattern.counts[_LINES] / pattern.counts[_WAVES])
        nbytes, partly = float(pattern.counts[_DISTINCT]) * access.nbytes, float(pattern.counts[_PARTLY])
        store = _Stored((access.number, access.part), sectors, self._lines, nbytes, counts, partly)
        earlier, self._stored[buffer] = self._stored.get(buffer, store), store
        if earlier.number < store.number:  # else the store is the next one of a loop
            share = max(0.0, 1 - (store.lines - earlier.lines) / MERGED_LINES) / (1 - 1 / 4)
            share = min(1.0, share) * float(np.isin(sectors, earlier.sectors).mean())
            counts[_SECTORS] -= share * pattern.counts[_SECTORS]
            counts[_PARTLY] -= share * partly
            if share:
                store.nbytes, store.counts, store.partly = earlier.nbytes + nbytes, earlier.counts, earlier.partly
                store.share = share * earlier.share
            if share and store.nbytes >= sectors.size * self._placement.unit_bytes:
                store.counts[_PARTLY] -= store.share * store.partly
                store.partly = 0.0

    def atomics(self, buffer: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return words of a global *buffer*, and the atomic operations of all groups and of the first one on each."""
        executed = self._atomics.get(buffer, [(np.zeros(0, np.int64), 0)])
        words, places = np.unique(np.concatenate([words for words, _ in executed]), return_inverse=True)
        of_first = np.concatenate([np.arange(len(words)) < first for words, first in executed])
        return words, np.bincount(places), np.bincount(places[of_first], minlength=len(words))

    def synchronised(self, line: int, waves: Numbers) -> None:  # noqa: ARG002
        """Accept that work-items leave a barrier."""
        self._stored.clear()
        if self.order:
            self.order.barrier()

    def _mark(self, access: Access, buffer: int, offsets: Numbers, waves: Numbers) -> None:
        key = buffer, access.write or access.atomic
        if key not in self.touched:
            self.touched[key] = Touched(self._sizes[buffer])
        self.touched[key].mark(offsets, access.nbytes)
        if access.atomic:
            first = int(np.searchsorted(waves, self._first_waves))
            words = np.clip(offsets // WORD_BYTES, 0, self._sizes[buffer] // WORD_BYTES)
            self._atomics[buffer].append((words, first))

    def _pattern(self, found: Instruction, access: Access, offsets: Numbers, waves: Numbers) -> tuple[Coalesced, int]:
        """Return what the lanes touch, relative to a line, and this line."""
        line, place = divmod(int(offsets[0]), self._placement.line_bytes)
        relative = offsets - line * self._placement.line_bytes
        known = found.known.get(place)
        same = known is not None and (known.waves is waves or np.array_equal(known.waves, waves))
        if known is None or not (same and np.array_equal(known.offsets, relative)):
            known = found.known[place] = Coalesced(access, relative, waves, self._placement)
        return known, line

    def beyond(self) -> tuple[float, float]:
        """Find what misses the nearest cache if waves follow each other.

        Return the share of missing lines that had been in the last cache, and lines that a wave must wait for: they
        miss it, and nothing prefetches them.
        """
        if not self.order or not self.instructions:
            return 0.0, 0.0
        lines = self._placement.line_bytes
        near, last, new = (
            self.order.missed(nbytes / lines)
            for nbytes in (self._placement.cache_bytes, self._placement.last_cache_bytes, inf)
        )
        waves, _, _, instructions = self.order.recorded
        every = np.bincount(instructions, minlength=len(self.instructions))
        missed = np.bincount(instructions, near, minlength=every.size)
        for found in self.instructions.values():
            found.absent = float(missed[found.number] / (every[found.number] or 1))
        again, unexpected = (int(np.count_nonzero(last & few)) for few in (~new, self.order.jumps()))
        return again / (int(np.count_nonzero(near)) or 1), unexpected / (distinct(waves).size or 1)
