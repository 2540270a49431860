"""What hypotheses change of a case: pure functions, each one other way in which a device may work."""
# ruff: noqa: D103 - the claims of the hypotheses say what each of these makes so

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import Any

from gpureport.explain.case import Case
from gpureport.spec.models import SPECIAL_TRANSITIONS, TRANSITIONS, Cache, NvidiaOccupancy, Transition
from gpureport.workloads.model import Stream

Vary = Callable[[Case], Sequence[Case]]
"""What a hypothesis makes of a point: several cases run one after another; none where it does not apply."""


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


def one_partition(case: Case) -> Sequence[Case]:
    of_both = dict.fromkeys(SPECIAL_TRANSITIONS)
    return _caches(case, lambda cache: {"capacity_bytes": cache.capacity_bytes / cache.partitions, **of_both})


_FULL = Transition(onset=0.98, midpoint=1.0, end=1.02)


def whole_cache(case: Case) -> Sequence[Case]:
    return _all_caches(case, **dict.fromkeys(TRANSITIONS, _FULL))


def no_carve_out(case: Case) -> Sequence[Case]:
    rules = case.device.architecture.occupancy
    if not isinstance(rules, NvidiaOccupancy):
        return ()
    return _architecture(case, occupancy=rules.model_copy(update={"carveouts_bytes": ()}))


def shared_cores(case: Case) -> Sequence[Case]:
    if case.device.kind != "cpu":
        return ()
    first = case.device.caches[0].name if case.device.caches else ""
    rates = {name: rate / 2 for name, rate in case.device.architecture.rates_per_cycle.items()}

    def half(cache: Cache) -> Mapping[str, object]:
        """Two threads share what a core holds, its loads and its way to the cache of all cores.

        Not the path to a second cache: the architecture lists what one thread gets of it, which is half (x86_64).
        """
        divided = cache.name == first or cache.scope == "device"
        return {
            "capacity_bytes": cache.capacity_bytes / (2 if cache.scope == "compute_unit" else 1),
            "bandwidth_bytes_per_cycle": cache.bandwidth_bytes_per_cycle / (2 if divided else 1),
        }

    return _chained(case, lambda case: _architecture(case, rates_per_cycle=rates), lambda case: _caches(case, half))


def kept_by_all(case: Case) -> Sequence[Case]:
    return _all_caches(case, persistent=True)


def nothing_kept(case: Case) -> Sequence[Case]:
    return _asks(case, reused="never")


def shared(case: Case) -> Sequence[Case]:
    return _asks(case, shared=True)


def divided(case: Case) -> Sequence[Case]:
    return _asks(case, shared=False)


def one_buffer(case: Case) -> Sequence[Case]:
    return _asks(case, one_buffer=True)


def own_buffers(case: Case) -> Sequence[Case]:
    return _streams(case, lambda i, stream: replace(stream, buffer=str(i)))


def both_sides(case: Case) -> Sequence[Case]:
    return _asks(case, ping_pong=False) if _parted(case) else ()


def to_and_fro(case: Case) -> Sequence[Case]:
    writes = any(stream.write for stream in case.demand.streams)
    return _asks(case, ping_pong=True) if writes and _parted(case) else ()


def _parted(case: Case) -> bool:
    return any(cache.scope == "device" and cache.partitions > 1 for cache in case.device.caches)


# Traffic: what moves when a work-item asks for some bytes.


def useful_bytes(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, stream: replace(stream, record_bytes=min(stream.record_bytes, stream.used_bytes)))


def whole_lines(case: Case) -> Sequence[Case]:
    memory, line = case.device.memory, max((cache.line_bytes for cache in case.device.caches), default=0)
    moved = memory.model_copy(update={"access_bytes": max(line, memory.access_bytes)})
    return _chained(
        case,
        lambda case: _caches(case, lambda cache: {"sector_bytes": cache.line_bytes}),
        lambda case: _device(case, memory=moved),
    )


def no_fill(case: Case) -> Sequence[Case]:
    return _chained(
        case,
        lambda case: _streams(case, lambda _, stream: replace(stream, write=False)),
        lambda case: _architecture(case, write_allocate=False),
    )


def fill(case: Case) -> Sequence[Case]:
    return _architecture(case, write_allocate=True)


def reread(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, s: replace(s, outer_passes=max(s.outer_passes, s.passes)))


def read_once(case: Case) -> Sequence[Case]:
    return _streams(case, lambda _, s: replace(s, outer_passes=min(s.outer_passes, 1.0)))


# Instructions: how many of them are executed, and what waits for what.


def hoisted(case: Case) -> Sequence[Case]:
    return (replace(case, demand=case.once),) if case.once else ()


def no_conflicts(case: Case) -> Sequence[Case]:
    return _asks(case, local_conflicts=1.0)


def conflicts(case: Case) -> Sequence[Case]:
    banks = min(case.device.architecture.local_memory_banks, case.device.architecture.wave_size)
    return _asks(case, local_conflicts=float(max(1, banks)))


def one_line(case: Case) -> Sequence[Case]:
    return _asks(case, lines_per_access=1.0, line_conflicts=1.0)


def banks_apart(case: Case) -> Sequence[Case]:
    return _asks(case, line_conflicts=1.0)


def line_a_lane(case: Case) -> Sequence[Case]:
    return _asks(case, lines_per_access=float(case.device.architecture.wave_size))


def loads_in_turn(case: Case) -> Sequence[Case]:
    accesses = case.demand.operations.get("memory", 0.0) / case.demand.work_items
    return _asks(case, memory_chain=max(case.demand.memory_chain, accesses))


def loads_at_once(case: Case) -> Sequence[Case]:
    return _asks(case, memory_chain=min(case.demand.memory_chain, 1.0))


def one_pipe(case: Case) -> Sequence[Case]:
    used = [name for name in case.demand.operations if name != "instruction"]
    return _architecture(case, pipes={"one pipe": tuple(used)})


def own_pipes(case: Case) -> Sequence[Case]:
    return _architecture(case, pipes={})


def scalar(case: Case) -> Sequence[Case]:
    return _asks(case, branches=True)


def vector(case: Case) -> Sequence[Case]:
    return _asks(case, branches=False)


# Waiting: which waits hide behind what.


def loaded(case: Case) -> Sequence[Case]:
    return _asks(case, loaded=True)


def unloaded(case: Case) -> Sequence[Case]:
    return _asks(case, loaded=False)


def in_turn(case: Case) -> Sequence[Case]:
    demand = case.demand
    if not (demand.streams and demand.operations):
        return ()
    moves = _asks(case, operations={}, chain={})
    computes = replace(case, demand=replace(demand, streams=(), memory_chain=0.0))
    return (*moves, *_launch(computes, batched_s=0.0, single_s=0.0))


# Starting and ending: launches, groups, clocks, timers.


def isolated_launches(case: Case) -> Sequence[Case]:
    return _asks(case, isolated=True)


def waves_started(case: Case) -> Sequence[Case]:
    waves = ceil(prod(case.demand.work_group) / case.device.architecture.wave_size)
    return _launch(case, groups_per_cycle=case.device.launch.groups_per_cycle / waves)


def measured_microbenchmarks(case: Case) -> Sequence[Case]:
    return (case.informed,) if case.informed else ()


def measured_clock(case: Case) -> Sequence[Case]:
    return _device(case, clock_hz=case.clock_hz) if case.clock_hz else ()


def ticks(case: Case) -> Sequence[Case]:
    return (replace(case, rounded=True),) if case.tick_s else ()
