"""Changes of the model's input: pure functions, one for each hypothesis."""
# ruff: noqa: D103 - the statements of the hypotheses say what each of these assumes

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, prod
from typing import Any

from gpureport.explain.point_model import PointModel
from gpureport.spec.models import SPECIAL_TRANSITIONS, TRANSITIONS, Cache, NvidiaOccupancy, Transition
from gpureport.workloads.model import Stream

Vary = Callable[[PointModel], Sequence[PointModel]]
"""Returns the changed point, or the parts that run one after another; nothing where the hypothesis changes nothing."""


# Each of these replaces parts of a point, and returns nothing where that changes nothing.


def _device(point: PointModel, **update: object) -> Sequence[PointModel]:
    device = point.device.model_copy(update=update)
    return () if device == point.device else (replace(point, device=device),)


def _architecture(point: PointModel, **update: object) -> Sequence[PointModel]:
    return _device(point, architecture=point.device.architecture.model_copy(update=update))


def _caches(point: PointModel, change: Callable[[Cache], Mapping[str, object]]) -> Sequence[PointModel]:
    return _device(point, caches=tuple(cache.model_copy(update=dict(change(cache))) for cache in point.device.caches))


def _launch(point: PointModel, **update: object) -> Sequence[PointModel]:
    return _device(point, launch=point.device.launch.model_copy(update=update))


def _demand(point: PointModel, **changes: Any) -> Sequence[PointModel]:  # noqa: ANN401 - fields of a demand
    demand = replace(point.demand, **changes)
    return () if demand == point.demand else (replace(point, demand=demand),)


def _streams(point: PointModel, change: Callable[[int, Stream], Stream]) -> Sequence[PointModel]:
    return _demand(point, streams=tuple(change(i, stream) for i, stream in enumerate(point.demand.streams)))


def _in_sequence(point: PointModel, *varies: Vary) -> Sequence[PointModel]:
    """Apply several changes."""
    changed: Sequence[PointModel] = ()
    for vary in varies:
        changed = vary(point) or changed
        point = changed[0] if changed else point
    return changed


# Caches: their capacity, and which data they contain.


def one_partition(point: PointModel) -> Sequence[PointModel]:
    of_both = dict.fromkeys(SPECIAL_TRANSITIONS)
    return _caches(point, lambda cache: {"capacity_bytes": cache.capacity_bytes / cache.partitions, **of_both})


_SHARP = Transition(onset=0.98, midpoint=1.0, end=1.02)
full_capacity = partial(_caches, change=lambda _: dict.fromkeys(TRANSITIONS, _SHARP))


def no_carve_out(point: PointModel) -> Sequence[PointModel]:
    rules = point.device.architecture.occupancy
    if not isinstance(rules, NvidiaOccupancy):
        return ()
    return _architecture(point, occupancy=rules.model_copy(update={"carveouts_bytes": ()}))


def shared_cores(point: PointModel) -> Sequence[PointModel]:
    if not point.device.is_cpu:
        return ()
    first = point.device.caches[0].name if point.device.caches else ""
    rates = {name: rate / 2 for name, rate in point.device.architecture.rates_per_cycle.items()}

    def half(cache: Cache) -> Mapping[str, object]:
        """Halve the caches of a core, its loads and its path to the shared cache.

        The architecture (x86_64) already lists half of the path to a second cache.
        """
        divided = cache.name == first or cache.scope == "device"
        return {
            "capacity_bytes": cache.capacity_bytes / (2 if cache.scope == "compute_unit" else 1),
            "bandwidth_bytes_per_cycle": cache.bandwidth_bytes_per_cycle / (2 if divided else 1),
        }

    return _in_sequence(
        point, lambda point: _architecture(point, rates_per_cycle=rates), lambda point: _caches(point, half)
    )


warm_caches = partial(_caches, change=lambda _: {"persistent": True})
cold_caches = partial(_demand, reused="never")
replicated_data = partial(_demand, shared=True)
distributed_data = partial(_demand, shared=False)
one_buffer = partial(_demand, one_buffer=True)


def separate_footprints(point: PointModel) -> Sequence[PointModel]:
    return _streams(point, lambda i, stream: replace(stream, buffer=str(i)))


def no_crossing(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, ping_pong=False) if _has_partitions(point) else ()


def partition_crossing(point: PointModel) -> Sequence[PointModel]:
    writes = any(stream.write for stream in point.demand.streams)
    return _demand(point, ping_pong=True) if writes and _has_partitions(point) else ()


def _has_partitions(point: PointModel) -> bool:
    return any(cache.scope == "device" and cache.partitions > 1 for cache in point.device.caches)


# Traffic: bytes that an access moves.


def useful_bytes(point: PointModel) -> Sequence[PointModel]:
    return _streams(point, lambda _, stream: replace(stream, record_bytes=min(stream.record_bytes, stream.used_bytes)))


def whole_lines(point: PointModel) -> Sequence[PointModel]:
    memory, line = point.device.memory, max((cache.line_bytes for cache in point.device.caches), default=0)
    moved = memory.model_copy(update={"access_bytes": max(line, memory.access_bytes)})
    return _in_sequence(
        point,
        lambda point: _caches(point, lambda cache: {"sector_bytes": cache.line_bytes}),
        lambda point: _device(point, memory=moved),
    )


def no_fill(point: PointModel) -> Sequence[PointModel]:
    return _in_sequence(
        point,
        lambda point: _streams(point, lambda _, stream: replace(stream, write=False)),
        lambda point: _architecture(point, write_allocate=False),
    )


fill = partial(_architecture, write_allocate=True)


def no_reuse(point: PointModel) -> Sequence[PointModel]:
    return _streams(point, lambda _, s: replace(s, outer_passes=max(s.outer_passes, s.passes)))


def full_reuse(point: PointModel) -> Sequence[PointModel]:
    return _streams(point, lambda _, s: replace(s, outer_passes=min(s.outer_passes, 1.0)))


# Instructions: how many are executed, and their dependences.


def hoisted(point: PointModel) -> Sequence[PointModel]:
    return (replace(point, demand=point.once),) if point.once else ()


no_bank_conflicts = partial(_demand, local_conflicts=1.0)


def bank_conflicts(point: PointModel) -> Sequence[PointModel]:
    banks = min(point.device.architecture.local_memory_banks, point.device.architecture.wave_size)
    return _demand(point, local_conflicts=float(max(1, banks)))


one_line_per_wave = partial(_demand, lines_per_access=1.0, line_conflicts=1.0)
no_line_conflicts = partial(_demand, line_conflicts=1.0)


def one_line_per_lane(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, lines_per_access=float(point.device.architecture.wave_size))


def dependent_loads(point: PointModel) -> Sequence[PointModel]:
    accesses = point.demand.operations.get("memory", 0.0) / point.demand.work_items
    return _demand(point, memory_chain=max(point.demand.memory_chain, accesses))


def independent_loads(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, memory_chain=min(point.demand.memory_chain, 1.0))


def one_pipe(point: PointModel) -> Sequence[PointModel]:
    used = [name for name in point.demand.operations if name != "instruction"]
    return _architecture(point, pipes={"one pipe": tuple(used)})


separate_pipes = partial(_architecture, pipes={})
scalar_code = partial(_demand, branches=True)
vector_code = partial(_demand, branches=False)


# Latency and overlap.


loaded_latency = partial(_demand, loaded=True)
unloaded_latency = partial(_demand, loaded=False)


def no_overlap(point: PointModel) -> Sequence[PointModel]:
    demand = point.demand
    if not (demand.streams and demand.operations):
        return ()
    moves = _demand(point, operations={}, chain={})
    computes = replace(point, demand=replace(demand, streams=(), memory_chain=0.0))
    return (*moves, *_launch(computes, batched_s=0.0, single_s=0.0))


# Launches, clocks and timers.


isolated_dispatches = partial(_demand, isolated=True)


def wave_by_wave(point: PointModel) -> Sequence[PointModel]:
    waves = ceil(prod(point.demand.work_group) / point.device.architecture.wave_size)
    return _launch(point, groups_per_cycle=point.device.launch.groups_per_cycle / waves)


def measured_microbenchmarks(point: PointModel) -> Sequence[PointModel]:
    return (point.calibrated,) if point.calibrated else ()


def measured_clock(point: PointModel) -> Sequence[PointModel]:
    return _device(point, clock_hz=point.conditions.clock_hz) if point.conditions.clock_hz else ()


def timer_ticks(point: PointModel) -> Sequence[PointModel]:
    return (replace(point, rounded=True),) if point.conditions.tick_s else ()
