"""Which accesses a cache serves, from the times between accesses to the same line.

The footprint fp(w) is the mean number of different lines in w successive accesses, over all such windows. A fully
associative LRU cache with fp(w) lines contains what the last w accesses touched, so that accesses whose line was last
touched longer ago miss (Xiang, Ding, Luo and Bao, HOTL: a higher order theory of locality, ASPLOS 2013).
"""

from bisect import bisect_right
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Found = NDArray[np.bool_]


def eviction_window(gaps: Times, first: Times, last: Times, accesses: int, capacity: float) -> float:
    """Return the number of accesses after which a line that is not touched again leaves a cache of *capacity* lines.

    A window of w accesses misses a line t - w times for each interval of t > w accesses without it: between two of its
    accesses, before the first, or after the last.

    Args:
        gaps: accesses from one access of a line to its next one, of all lines in any order.
        first: time of the first access of each line, counted from 1.
        last: time of the last access of each line.
        accesses: their number.
        capacity: lines of the cache; infinity is returned if all lines fit.
    """
    if first.size <= capacity:
        return inf
    without = np.sort(np.concatenate([gaps, first, accesses + 1 - last]))
    longer = np.append(np.cumsum(without[::-1])[::-1], 0)

    def footprint(window: int) -> float:
        at = int(np.searchsorted(without, window, side="right"))
        missed = longer[at] - window * (without.size - at)
        return float(first.size - missed / (accesses - window + 1))

    return bisect_right(range(1, accesses + 1), capacity, key=footprint)


class ReuseClock:
    """Times of accesses to lines, and the window of a cache of *capacity* lines that follows from them.

    Time is the number of accesses to lines. The window is computed again each time that the accesses have doubled.
    """

    def __init__(self, capacity: float) -> None:
        self.capacity, self.window = capacity, inf
        self.now, self._known, self._due = 0, 0, 0
        self._random, self._missed, self._since, self._rate = np.random.default_rng(0), 0, 0, 1.0
        self._gaps: list[Times] = []
        self._first: list[Times] = []
        self._last: list[Times] = []  # of each array of lines

    def lines(self, count: int) -> Times:
        """Return the times of the last accesses to *count* further lines, 0 for those without one."""
        self._last.append(np.zeros(count, np.int64))
        return self._last[-1]

    def touch(self, last: Times, lines: Times, accesses: int, since: float = inf, *, at_random: bool = False) -> Found:
        """Record *accesses* to different *lines* at once, and return which of these lines the cache does not contain.

        *last* are times of :meth:`lines`. Nothing has replaced the lines that were touched after *since*. Each miss
        replaces the line that was touched longest ago, or one *at_random*.
        """
        self.now += accesses
        before = last[lines]
        gaps = self.now - before
        new = before == 0
        known = int(lines.size - np.count_nonzero(new))
        self._gaps.append(gaps[~new] if known < lines.size else gaps)
        if known < lines.size:
            self._first.append(np.full(lines.size - known, self.now))
            self._known += lines.size - known
        last[lines] = self.now
        if self._known > self.capacity and self.now >= self._due:
            self.window, self._due = self._window_of(self.capacity), 2 * self.now
        window = self._lifetimes(gaps.size) if at_random and self.window < inf else self.window
        absent: Found = new | ((gaps > window) & (before <= since))
        self._missed += int(np.count_nonzero(absent))
        return absent

    def _lifetimes(self, count: int) -> NDArray[np.float64]:
        """Return after how many accesses lines leave the cache, if each miss replaces one at random."""
        if self.now >= 2 * self._since:
            self._rate = self._missed / (self.now - self._since) if self._since else self._rate
            self._missed, self._since = 0, self.now
        return self._random.exponential(self.capacity / (self._rate or 1e-9), count)

    def missed_again(self, capacity: float) -> float:
        """Return the share of accesses to lines that left a cache of *capacity* lines after an earlier access."""
        if self._known <= capacity:
            return 0.0
        window = self._window_of(capacity)
        return sum(int(np.count_nonzero(gaps > window)) for gaps in self._gaps) / self.now

    def skip(self, accesses: float) -> None:
        """Let the time of *accesses* that are not recorded pass."""
        self.now += int(accesses)

    def _window_of(self, capacity: float) -> float:
        self._gaps, self._first = [np.concatenate(self._gaps)], [np.concatenate(self._first)]
        last = np.concatenate([each[each > 0] for each in self._last])
        return eviction_window(self._gaps[0], self._first[0], last, self.now, capacity)


_MOST_RECORDED = 1 << 19


class LoopOrder:
    """Accesses in the order of cores, which execute the work-items between two barriers one after another.

    The first waves are recorded, as many as fit. Lines at the same place in their pages share sets of a cache, and
    among them the one that was accessed longest ago is replaced.
    """

    def __init__(self, page_lines: int) -> None:
        self._page_lines, self._phase, self._size, self._waves = page_lines, 0, 0, 1 << 62
        self._parts = [np.zeros((4, 0), np.int64)]

    def touch(self, instruction: int, waves: Times, lines: Times) -> None:
        """Record that *waves*, in ascending order, access *lines*."""
        each = np.stack(np.broadcast_arrays(waves, lines, self._phase, instruction))
        self._parts.append(each[:, : np.searchsorted(waves, self._waves)])
        self._size += self._parts[-1].shape[1]
        if self._size > _MOST_RECORDED and self._waves > 1:
            self._waves = 1 + int(max(part[0].max(initial=0) for part in self._parts)) // 2
            self._parts = [part[:, : np.searchsorted(part[0], self._waves)] for part in self._parts]
            self._size = sum(part.shape[1] for part in self._parts)

    def barrier(self) -> None:
        """Let what follows happen after all that was recorded."""
        self._phase += 1

    @cached_property
    def recorded(self) -> Times:
        """Rows: the wave of each access, its line, the number of barriers before, and the instruction."""
        return np.concatenate(self._parts, axis=1)

    def missed(self, capacity: float) -> Found:
        """Return which of the recorded accesses miss a cache of *capacity* lines."""
        order, gaps, first, last = self._reuse
        window = eviction_window(gaps[gaps > 0], first, last, gaps.size, capacity / self._page_lines)
        found = np.zeros(gaps.size, np.bool_)
        found[order] = (gaps == 0) | (gaps > window)
        return found

    @cached_property
    def _reuse(self) -> tuple[Times, Times, Times, Times]:
        """The order by place in pages, in it the gap before each access, and the ends of the accesses of each line."""
        waves, lines, phases, _ = self.recorded
        order = np.lexsort((waves, phases, lines % self._page_lines))
        by_line = np.argsort(lines[order], kind="stable")
        again = np.flatnonzero(np.diff(lines[order][by_line]) == 0) + 1
        gaps = np.zeros(lines.size, np.int64)
        gaps[by_line[again]] = by_line[again] - by_line[again - 1]
        return order, gaps, np.delete(by_line, again) + 1, np.delete(by_line, again - 1) + 1

    def jumps(self) -> Found:
        """Return which accesses are at least a page away from the instruction's last one: nothing prefetches them."""
        waves, lines, _, instructions = self.recorded
        order = np.lexsort((waves, instructions))
        found = np.zeros(lines.size, np.bool_)
        found[order[1:]] = np.abs(np.diff(lines[order])) >= self._page_lines
        return found
