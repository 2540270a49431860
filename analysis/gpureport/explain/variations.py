"""Changes of the model's input: pure functions, one for each hypothesis."""
# ruff: noqa: D103 - the statements of the hypotheses say what each of these assumes

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gpureport.explain.point_model import PointModel
from gpureport.spec.models import Cache
from gpureport.workloads.model import Demand

Vary = Callable[[PointModel], Sequence[PointModel]]
"""Returns the changed point, or the parts that run one after another; nothing where the hypothesis changes nothing."""


# Each of these replaces parts of a point, and returns nothing where that changes nothing.


def _device(point: PointModel, **update: object) -> Sequence[PointModel]:
    device = point.device.model_copy(update=update)
    return () if device == point.device else (replace(point, device=device),)


def _architecture(point: PointModel, **update: object) -> Sequence[PointModel]:
    return _device(point, architecture=point.device.architecture.model_copy(update=update))


def _demand(point: PointModel, **changes: Any) -> Sequence[PointModel]:  # noqa: ANN401 - fields of a demand
    demand = replace(point.demand, **changes)
    return () if demand == point.demand else (replace(point, demand=demand),)


def _one_after_another(point: PointModel, demands: Sequence[Demand]) -> Sequence[PointModel]:
    """Split a dispatch into parts, of which only the first has a launch cost; nothing if it has one part."""
    if len(demands) < 2:
        return ()
    launch = point.device.launch.model_copy(update={"batched_s": 0.0, "single_s": 0.0})
    following = point.device.model_copy(update={"launch": launch})
    first, *others = (replace(point, demand=demand) for demand in demands)
    return (first, *(replace(other, device=following) for other in others))


# The whole device.


def measured_microbenchmarks(point: PointModel) -> Sequence[PointModel]:
    return (point.calibrated,) if point.calibrated else ()


def shared_cores(point: PointModel) -> Sequence[PointModel]:
    if not point.device.is_cpu:
        return ()
    first = point.device.caches[0].name if point.device.caches else ""
    architecture = point.device.architecture
    rates = {name: rate / 2 for name, rate in architecture.rates_per_cycle.items()}

    def half(cache: Cache) -> Mapping[str, object]:
        """Halve the caches of a core, its loads and its path to the shared cache.

        The architecture (x86_64) already lists half of the path to a second cache.
        """
        divided = cache.name == first or cache.scope == "device"
        return {
            "capacity_bytes": cache.capacity_bytes / (2 if cache.scope == "compute_unit" else 1),
            "bandwidth_bytes_per_cycle": cache.bandwidth_bytes_per_cycle / (2 if divided else 1),
        }

    return _device(
        point,
        architecture=architecture.model_copy(update={"rates_per_cycle": rates}),
        caches=tuple(cache.model_copy(update=dict(half(cache))) for cache in point.device.caches),
    )


# Memory, instructions, and how they overlap.


cold_caches = partial(_demand, reused="never")


def independent_loads(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, memory_chain=min(point.demand.memory_chain, 1.0))


def one_pipe(point: PointModel) -> Sequence[PointModel]:
    used = [name for name in point.demand.operations if name != "instruction"]
    return _architecture(point, pipes={"one pipe": tuple(used)})


scalar_code = partial(_demand, branches=True)
vector_code = partial(_demand, branches=False)


def _directions(demand: Demand) -> tuple[Demand, Demand]:
    """Return the parts of a dispatch that load and store; streams that no level transfers are left out."""
    moved = [stream for stream in demand.streams if stream.elements and stream.passes and stream.outer_passes]
    reads = tuple(stream for stream in moved if not stream.write)
    writes = tuple(stream for stream in moved if stream.write)
    loading = replace(demand, streams=reads, line_writes=0.0)
    return loading, replace(demand, streams=writes, operations={}, chain={}, memory_chain=0.0)


def no_overlap(point: PointModel) -> Sequence[PointModel]:
    loading, storing = _directions(point.demand)
    loading = replace(loading, operations={}, chain={})
    computing = replace(point.demand, streams=(), memory_chain=0.0, line_writes=0.0)
    return _one_after_another(
        point, [part for part in (loading, computing, storing) if part.streams or part.operations]
    )


def reads_and_writes_in_turn(point: PointModel) -> Sequence[PointModel]:
    parts = _directions(point.demand)
    return _one_after_another(point, parts) if all(part.streams for part in parts) else ()


# Loads and stores of work-groups.


def _shared_cache(point: PointModel, **update: object) -> Sequence[PointModel]:
    caches = (c.model_copy(update=update) if c.scope == "device" else c for c in point.device.caches)
    return _device(point, caches=tuple(caches))


def two_rounds_of_loads(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, memory_chain=2.0) if point.demand.memory_chain == 1 else ()


def stores_wait(point: PointModel) -> Sequence[PointModel]:
    shared = point.device.shared_cache
    return _architecture(point, store_cycles=shared.latency_cycles) if shared and not point.device.is_cpu else ()


def write_allocation(point: PointModel) -> Sequence[PointModel]:
    return _architecture(point, write_allocate=True)


def far_partition(point: PointModel) -> Sequence[PointModel]:
    far = max((cache.far_latency_cycles or 0.0 for cache in point.device.caches if cache.scope == "device"), default=0)
    return _shared_cache(point, latency_cycles=far) if far else ()


_WAYS = 16
"""Ways of a GPU's cache whose sets are selected by bits of the address. At strides of a sixteenth of the capacity or
less, fewer ways give the same."""


def set_conflicts(point: PointModel) -> Sequence[PointModel]:
    device = point.device
    records = [stream.record_bytes for stream in point.demand.streams if stream.used_bytes < stream.record_bytes]
    stride = point.demand.stride_bytes or max((record & -record for record in records), default=0)
    ways = None if device.is_cpu else _WAYS
    caches = tuple(c.model_copy(update={"ways": c.ways or ways}) for c in device.caches)
    varied = replace(
        point, device=device.model_copy(update={"caches": caches}), demand=replace(point.demand, stride_bytes=stride)
    )
    return () if varied == point else (varied,)
