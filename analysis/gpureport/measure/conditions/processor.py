"""State of the processor from Linux: busy and stolen time, context switches, load, frequency."""

import os
import resource
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from statistics import median

from gpureport.measure.backends.pci import read_or_empty, whole

PROC, CORES = Path("/proc"), Path("/sys/devices/system/cpu")

_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq: proc_stat(5); guests are counted in user and nice
_STEAL = 7
_MOST_CORES = 4  # of which the frequency is read: each reading interrupts that core


class Processor:
    """Reads the state of the processor; totals count from its first reading."""

    def __init__(self, proc: Path = PROC, cores: Path = CORES) -> None:
        self._proc, self._folder = proc, cores
        self._usable = usable_cores()
        self._first: dict[str, float] = {}

    def __call__(self) -> dict[str, object]:
        """Return the fields of a ``Reading`` for the processor, without those that are not known."""
        ticks = core_ticks(read_or_empty(self._proc / "stat"), self._usable)
        found: dict[str, float] = {
            "cpu_own_total_s": _own_s() / len(self._usable),
            "context_switches": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        }
        if ticks is not None:
            per_s = os.sysconf("SC_CLK_TCK") * len(self._usable)
            found |= {"cpu_busy_total_s": ticks[0] / per_s, "cpu_steal_total_s": ticks[1] / per_s}
        for name, value in found.items():
            self._first.setdefault(name, value)
        state: dict[str, object] = {
            # Counters may decrease when a virtual machine migrates.
            name: max(0, value - self._first[name])
            for name, value in found.items()
        }
        with suppress(OSError):  # not known
            state["load_average"] = os.getloadavg()[0]
        return state

    def clock(self) -> dict[str, object]:
        """Return the median frequency of some cores, if the system reports it."""
        files = (
            self._folder / f"cpu{core}" / "cpufreq" / "scaling_cur_freq" for core in sorted(self._usable)[:_MOST_CORES]
        )
        known = [hz for file in files if (hz := frequency(read_or_empty(file))) is not None]
        return {"clock_hz": median(known)} if known else {}


def usable_cores() -> frozenset[int]:
    """Return the logical cores that this process may use."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def core_ticks(stat: str, usable: Collection[int]) -> tuple[int, int] | None:
    """Return the busy ticks and the stolen ticks of *usable* cores, from the text of ``/proc/stat``.

    ``None`` if a core or a field is missing, or all are zero, as in sandboxes that do not count.
    """
    names = {f"cpu{core}" for core in usable}
    rows = [fields[1 : _STEAL + 2] for line in stat.splitlines() if (fields := line.split()) and fields[0] in names]
    ticks = [[count for field in row if (count := whole(field)) is not None] for row in rows]
    if len(ticks) != len(names) or any(len(core) <= _STEAL for core in ticks) or not any(map(any, ticks)):
        return None
    return sum(core[field] for core in ticks for field in _BUSY), sum(core[_STEAL] for core in ticks)


def frequency(text: str, unit_hz: float = 1e3) -> float | None:
    """Return a frequency in Hz from the text of a file, by default in kHz; ``None`` for zero."""
    count = whole(text)
    return unit_hz * count if count else None


def _own_s() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
