"""Other ways in which a device may work than the model assumes: each a change to what the model is asked.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted once more under
each hypothesis, and ``gpureport.predict.explain`` tells which of those curves is the observed one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any

from gpureport.predict import asked
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Resources, occupancy
from gpureport.spec.models import Cache, Device, Extent
from gpureport.workloads.model import Demand, Parameters, Stream, Sweep, Workload


@dataclass(frozen=True)
class Circumstances:
    """What was known of the device while it was measured.

    Attributes:
        clock_hz: its clock then, if anything told.
        tick_s: resolution of its timer, divided among the dispatches between two time stamps; 0: no matter.
    """

    clock_hz: float | None = None
    tick_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """One point, as the model is asked about it.

    Attributes:
        device: as specified or calibrated.
        demand: of one dispatch.
        resources: of one work-item and work-group.
        once: the demand if repeats within the kernel were executed once; ``None`` if it has none.
        informed: the same point of the calibrated device, compiled; ``None`` if this is it, or there is none.
        clock_hz: the clock while measuring, if known.
        tick_s: the least difference that the timer tells, per dispatch timed.
        rounded: whether times come in whole ticks.
    """

    device: Device
    demand: Demand
    resources: Resources
    once: Demand | None = None
    informed: "Case | None" = None
    clock_hz: float | None = None
    tick_s: float = 0.0
    rounded: bool = False

    @property
    def time_s(self) -> float:
        """Seconds of one dispatch."""
        time_s = point_time(self.device, self.demand, self.resources).time_s
        return ceil(time_s / self.tick_s) * self.tick_s if self.rounded else time_s


Vary = Callable[[Case], Sequence[Case]]
"""What a hypothesis makes of a point: several cases run one after another; none where it does not apply."""


@dataclass(frozen=True)
class Hypothesis:
    """One way in which a device may work.

    Attributes:
        name: short, for tables.
        claim: what would then be so, to stand after "that".
        vary: what it makes of a point.
    """

    name: str
    claim: str
    vary: Vary

    def time_s(self, case: Case) -> float:
        """Return the seconds of one dispatch under the hypothesis; without it where it does not apply."""
        return sum(varied.time_s for varied in self.vary(case)) or case.time_s


_REPEATS = ("repeats", "passes", "rounds")
"""Parameters that say how often a kernel does the same again."""


def case_of(
    device: Device,
    workload: Workload,
    sweep: Sweep,
    parameters: Parameters,
    compiled: Resources | None,
    known: Circumstances,
) -> Case:
    """Return one point of *sweep* as the model is asked about it.

    Args:
        device: as specified or calibrated.
        workload: what is swept.
        sweep: the point's.
        parameters: the point's.
        compiled: registers and local memory as compiled, if known.
        known: of the device while it was measured.
    """
    device, demand, resources = asked(device, workload, sweep, parameters, compiled)
    repeated = [name for name in _REPEATS if parameters.get(name, 1) > 1]
    once = workload.demand({**parameters, **dict.fromkeys(repeated, 1)}, device) if repeated else None
    return Case(device, demand, resources, once, clock_hz=known.clock_hz, tick_s=known.tick_s)


# How a case is changed: parts of it replaced. Nothing is returned where that changes nothing.


def _device(case: Case, **update: object) -> Sequence[Case]:
    device = case.device.model_copy(update=update)
    return () if device == case.device else (replace(case, device=device),)


def _architecture(case: Case, **update: object) -> Sequence[Case]:
    return _device(case, architecture=case.device.architecture.model_copy(update=update))


def _caches(case: Case, change: Callable[[Cache], Mapping[str, object]]) -> Sequence[Case]:
    return _device(case, caches=tuple(cache.model_copy(update=dict(change(cache))) for cache in case.device.caches))


def _all_caches(case: Case, **update: object) -> Sequence[Case]:
    return _caches(case, lambda _: update)


def _launch(case: Case, **update: object) -> Sequence[Case]:
    return _device(case, launch=case.device.launch.model_copy(update=update))


def _asks(case: Case, **changes: Any) -> Sequence[Case]:  # noqa: ANN401 - fields of a demand
    demand = replace(case.demand, **changes)
    return () if demand == case.demand else (replace(case, demand=demand),)


def _streams(case: Case, change: Callable[[int, Stream], Stream]) -> Sequence[Case]:
    return _asks(case, streams=tuple(change(i, stream) for i, stream in enumerate(case.demand.streams)))


def _chained(case: Case, *varies: Vary) -> Sequence[Case]:
    """Change a case in one way after another."""
    changed: Sequence[Case] = ()
    for vary in varies:
        changed = vary(case) or changed
        case = changed[0] if changed else case
    return changed


# Caches: how much of them serves whom, and what stays in them.


def _one_partition(case: Case) -> Sequence[Case]:
    return _caches(case, lambda cache: {"capacity_bytes": cache.capacity_bytes / cache.partitions})


_FULL = Extent(departure=0.98, midpoint=1.0, arrival=1.02)


def _whole_cache(case: Case) -> Sequence[Case]:
    return _all_caches(case, bandwidth_extent=_FULL, latency_extent=_FULL)


def _no_carve_out(case: Case) -> Sequence[Case]:
    return _all_caches(case, unified_with_local_memory=False)


def _kept_by_all(case: Case) -> Sequence[Case]:
    return _all_caches(case, persistent=True)


def _nothing_kept(case: Case) -> Sequence[Case]:
    return _asks(case, reused="never")


def _shared(case: Case) -> Sequence[Case]:
    return _asks(case, shared=True)


def _divided(case: Case) -> Sequence[Case]:
    return _asks(case, shared=False)


def _one_buffer(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, stream: replace(stream, buffer=""))


def _own_buffers(case: Case) -> Sequence[Case]:
    return _streams(case, lambda i, stream: replace(stream, buffer=str(i)))


# Traffic: what moves when a work-item asks for some bytes.


def _useful_bytes(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, stream: replace(stream, record_bytes=min(stream.record_bytes, stream.used_bytes)))


def _whole_lines(case: Case) -> Sequence[Case]:
    memory, line = case.device.memory, max((cache.line_bytes for cache in case.device.caches), default=0)
    moved = memory.model_copy(update={"access_bytes": max(line, memory.access_bytes)})
    return _chained(
        case,
        lambda case: _caches(case, lambda cache: {"sector_bytes": cache.line_bytes}),
        lambda case: _device(case, memory=moved),
    )


def _no_fill(case: Case) -> Sequence[Case]:
    return _chained(
        case,
        lambda case: _streams(case, lambda _, stream: replace(stream, write=False)),
        lambda case: _architecture(case, write_allocate=False),
    )


def _fill(case: Case) -> Sequence[Case]:
    return _architecture(case, write_allocate=True)


def _reread(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, s: replace(s, outer_passes=max(s.outer_passes, s.passes)))


def _read_once(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, s: replace(s, outer_passes=min(s.outer_passes, 1.0)))


# Instructions: how many of them are executed, and what waits for what.


def _hoisted(case: Case) -> Sequence[Case]:
    return (replace(case, demand=case.once),) if case.once else ()


def _no_conflicts(case: Case) -> Sequence[Case]:
    return _asks(case, local_conflicts=1.0)


def _conflicts(case: Case) -> Sequence[Case]:
    banks = min(case.device.architecture.local_memory_banks, case.device.architecture.wave_width)
    return _asks(case, local_conflicts=float(max(1, banks)))


def _one_line(case: Case) -> Sequence[Case]:
    return _asks(case, lines_per_access=1.0)


def _line_a_lane(case: Case) -> Sequence[Case]:
    return _asks(case, lines_per_access=float(case.device.architecture.wave_width))


def _loads_in_turn(case: Case) -> Sequence[Case]:
    accesses = case.demand.operations.get("memory", 0.0) / case.demand.work_items
    return _asks(case, memory_chain=max(case.demand.memory_chain, accesses))


def _loads_at_once(case: Case) -> Sequence[Case]:
    return _asks(case, memory_chain=min(case.demand.memory_chain, 1.0))


def _one_pipe(case: Case) -> Sequence[Case]:
    used = [name for name in case.demand.operations if name != "instruction"]
    return _architecture(case, pipes={"one pipe": tuple(used)})


def _own_pipes(case: Case) -> Sequence[Case]:
    return _architecture(case, pipes={})


def _scalar(case: Case) -> Sequence[Case]:
    return _asks(case, branches=True)


def _vector(case: Case) -> Sequence[Case]:
    return _asks(case, branches=False)


# Waiting: which waits hide behind what.


def _loaded(case: Case) -> Sequence[Case]:
    return _asks(case, loaded=True)


def _unloaded(case: Case) -> Sequence[Case]:
    return _asks(case, loaded=False)


def _in_turn(case: Case) -> Sequence[Case]:
    demand = case.demand
    if not (demand.streams and demand.operations):
        return ()
    moves = _asks(case, operations={}, chain={})
    computes = replace(case, demand=replace(demand, streams=(), memory_chain=0.0))
    return (*moves, *_launch(computes, batched_s=0.0))


# Starting and ending: launches, groups, clocks, timers.


def _lone_launches(case: Case) -> Sequence[Case]:
    return _launch(case, batched_s=case.device.launch.single_s)


def _waves_started(case: Case) -> Sequence[Case]:
    waves = ceil(prod(case.demand.work_group) / case.device.architecture.wave_width)
    return _launch(case, groups_per_cycle=case.device.launch.groups_per_cycle / waves)


def _whole_rounds(case: Case) -> Sequence[Case]:
    """Fill the last round of resident groups."""
    resident = occupancy(case.device.architecture, case.demand.work_group, case.resources)
    return _filled(case, max(1, resident.groups_per_compute_unit) * case.device.compute_units)


def _fullest_unit(case: Case) -> Sequence[Case]:
    """Give every compute unit as many groups as the fullest has."""
    return _filled(case, case.device.compute_units)


def _fullest_scheduler(case: Case) -> Sequence[Case]:
    """Give every scheduler as many waves as the fullest has."""
    architecture = case.device.architecture
    waves = ceil(prod(case.demand.work_group) / architecture.wave_width)
    return _filled(case, max(1, architecture.schedulers // waves) * case.device.compute_units)


def _filled(case: Case, slots: float) -> Sequence[Case]:
    """Raise the operations to those of a whole multiple of *slots* groups, none of which is idle."""
    groups = case.demand.groups
    busy = min(case.device.compute_units, ceil(groups)) / case.device.compute_units
    factor = ceil(groups / slots) * slots / groups * busy
    return _asks(case, operations={name: count * factor for name, count in case.demand.operations.items()})


def _measured_primitives(case: Case) -> Sequence[Case]:
    return (case.informed,) if case.informed else ()


def _measured_clock(case: Case) -> Sequence[Case]:
    return _device(case, clock_hz=case.clock_hz) if case.clock_hz else ()


def _ticks(case: Case) -> Sequence[Case]:
    return (replace(case, rounded=True),) if case.tick_s else ()


HYPOTHESES = (
    Hypothesis("measured primitives", "the device differs from its entry as its primitives show", _measured_primitives),
    Hypothesis("one partition", "each part of the device uses only its own partition of a cache", _one_partition),
    Hypothesis("whole cache", "caches serve their whole capacity before they give out", _whole_cache),
    Hypothesis("no carve-out", "local memory takes nothing of the first cache", _no_carve_out),
    Hypothesis("caches keep", "compute units' caches keep their data from one dispatch to the next", _kept_by_all),
    Hypothesis("caches forget", "no cache holds anything of the data from before", _nothing_kept),
    Hypothesis("caches copy", "each compute unit's cache holds a copy of all data", _shared),
    Hypothesis("caches divide", "compute units' caches divide the data among them", _divided),
    Hypothesis("one buffer", "only one of the buffers stays in the caches", _one_buffer),
    Hypothesis("own buffers", "reads and writes of one buffer take room in the caches twice", _own_buffers),
    Hypothesis("useful bytes", "only the bytes that are used move", _useful_bytes),
    Hypothesis("whole lines", "whole lines move, not sectors", _whole_lines),
    Hypothesis("no fill", "lines are written without being filled from memory first", _no_fill),
    Hypothesis("fill", "every line is filled from memory before it is written", _fill),
    Hypothesis("re-read", "the first cache serves no reuse, so that neighbours' loads move the data again", _reread),
    Hypothesis("read once", "whatever neighbours share moves but once", _read_once),
    Hypothesis("hoisted", "the compiler took the work out of the loop, which is done once instead of again", _hoisted),
    Hypothesis("no conflicts", "accesses to local memory meet no bank conflicts", _no_conflicts),
    Hypothesis("conflicts", "all lanes of an access to local memory meet in one bank", _conflicts),
    Hypothesis("one line", "an access of a wave costs as much as one line, however many it touches", _one_line),
    Hypothesis("line a lane", "every lane's access touches a line of its own", _line_a_lane),
    Hypothesis("loads in turn", "each load of a work-item waits for the one before", _loads_in_turn),
    Hypothesis("loads at once", "all loads of a work-item are under way at once", _loads_at_once),
    Hypothesis("one pipe", "all instructions share one pipe", _one_pipe),
    Hypothesis("own pipes", "every class of instructions has a pipe of its own", _own_pipes),
    Hypothesis("scalar", "work-items run one after another, not as lanes of a vector", _scalar),
    Hypothesis("vector", "work-items run as lanes of a vector in spite of branches", _vector),
    Hypothesis("loaded latency", "its own traffic makes loads wait longer", _loaded),
    Hypothesis("lone latency", "loads wait no longer than a lone one", _unloaded),
    Hypothesis("no overlap", "memory traffic and instructions take turns instead of overlapping", _in_turn),
    Hypothesis("lone launches", "each dispatch costs as much as one that is waited for", _lone_launches),
    Hypothesis("waves started", "work-groups start wave by wave, one in the time listed for a group", _waves_started),
    Hypothesis("fullest unit", "all wait for the compute unit that has most work-groups", _fullest_unit),
    Hypothesis("fullest scheduler", "all wait for the scheduler that has most waves", _fullest_scheduler),
    Hypothesis("whole rounds", "the last round of resident work-groups takes as long as a full one", _whole_rounds),
    Hypothesis("measured clock", "the clock is the one that was measured, not the listed one", _measured_clock),
    Hypothesis("timer ticks", "times are told in whole ticks of the timer", _ticks),
)
"""All that are tested."""
