"""Hypotheses: how a device may work differently from the model. Each is a change of the model's input.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted again under each
hypothesis; ``gpureport.explain.trials`` compares these curves with the observed one.
"""
# ruff: noqa: D103 - the statements of the hypotheses say what each function assumes

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gpureport.predict.cpu import CpuExecution
from gpureport.predict.model import PointModel, execution
from gpureport.spec.models import Cache
from gpureport.workloads.model import Demand

AND = " + "
"""Between the names of two hypotheses that together explain a curve."""
Vary = Callable[[PointModel], Sequence[PointModel]]
"""Returns the changed point, or the parts that run one after another; nothing where the hypothesis changes nothing."""


class Hypothesis(NamedTuple):
    """One way in which a device may work: its name, a clause to follow "that", and the changed input of a point."""

    name: str
    statement: str
    vary: Vary

    def time_s(self, point: PointModel) -> float:
        """Return the seconds of one dispatch under the hypothesis; the model's where it does not apply."""
        return sum(each.time_s for each in self.vary(point) or (point,))


UNCHANGED = Hypothesis("", "", lambda _: ())
"""The model as it is."""
_LISTED: list[Hypothesis] = []


def _assumes(statement: str) -> Callable[[Vary], Vary]:

    def listed(vary: Vary) -> Vary:
        _LISTED.append(Hypothesis(vary.__name__.replace("_", " "), statement, vary))
        return vary

    return listed


def pair(first: Hypothesis, second: Hypothesis) -> Hypothesis:
    """Return the hypothesis that both apply: the second changes every part that the first makes of a point."""

    def vary(point: PointModel) -> Sequence[PointModel]:
        return [part for one in first.vary(point) or (point,) for part in second.vary(one) or (one,)]

    return Hypothesis(f"{first.name}{AND}{second.name}", f"{first.statement}, and {second.statement}", vary)


def single_names(name: str | None) -> tuple[str, ...]:
    """Return the names of the hypotheses in *name*: of both if it is a pair, of none without a name."""
    return tuple(name.split(AND)) if name else ()


# Each of these replaces parts of a point, and returns nothing where that changes nothing.


def _device(point: PointModel, **update: object) -> Sequence[PointModel]:
    device = point.device.model_copy(update=update)
    return () if device == point.device else (point._replace(device=device),)


def _architecture(point: PointModel, **update: object) -> Sequence[PointModel]:
    return _device(point, architecture=point.device.architecture.model_copy(update=update))


def _demand(point: PointModel, **changes: Any) -> Sequence[PointModel]:  # noqa: ANN401 - fields of a demand
    demand = replace(point.demand, **changes)
    return () if demand == point.demand else (point._replace(demand=demand),)


def _branching(point: PointModel, *, branches: bool) -> Sequence[PointModel]:
    """Change branches; nothing unless that decides whether work-items run one by one (not with masks, nor on GPUs)."""
    changed = _demand(point, branches=branches)
    runs = [execution(*each) for each in (point, *changed)]
    lanes = [run.lanes for run in runs if isinstance(run, CpuExecution)]
    return changed if lanes and 1 == min(lanes) < max(lanes) else ()


def _one_after_another(point: PointModel, demands: Sequence[Demand]) -> Sequence[PointModel]:
    """Split a dispatch into parts, of which only the first has a launch cost; nothing if it has one part."""
    if len(demands) < 2:
        return ()
    launch = point.device.launch.model_copy(update={"batched_s": 0.0, "single_s": 0.0})
    following = point.device.model_copy(update={"launch": launch})
    first, *others = (point._replace(demand=demand) for demand in demands)
    return (first, *(other._replace(device=following) for other in others))


# The whole device. This is no part of the model: half of all rates raise median errors of kernels from 19 to 33 % to 37
# to 86 % in the seven reports/pocl-*. With 0.9 of them, the Xeon with 16 cores improves by 4 to 5 percentage points.
# The Zen 4, to which nothing was fitted, gets worse by 3 and 4 in two of three runs.


@_assumes("each thread of the processor gets half of a core and of its caches")
def shared_cores(point: PointModel) -> Sequence[PointModel]:
    if not point.device.architecture.has_neighbours:
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


@_assumes("caches contain no data from earlier accesses")
def cold_caches(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, reused="never")


@_assumes("all instructions share one pipe")
def one_pipe(point: PointModel) -> Sequence[PointModel]:
    used = [name for name in point.demand.operations if name != "instruction"]
    return _architecture(point, pipes={"one pipe": tuple(used)})


@_assumes("work-items run one after another, not as lanes of a vector")
def scalar_code(point: PointModel) -> Sequence[PointModel]:
    return _branching(point, branches=True)


@_assumes("work-items run as lanes of a vector in spite of branches")
def vector_code(point: PointModel) -> Sequence[PointModel]:
    return _branching(point, branches=False)


def _directions(demand: Demand) -> tuple[Demand, Demand]:
    moved = [stream for stream in demand.streams if stream.elements and stream.passes and stream.outer_passes]
    reads = tuple(stream for stream in moved if not stream.write)
    writes = tuple(stream for stream in moved if stream.write)
    loads = tuple(each for each in demand.accesses if each.kind == "load")
    stores = tuple(each for each in demand.accesses if each.kind != "load")
    loading = replace(demand, streams=reads, accesses=loads, line_writes=0.0)
    return loading, replace(demand, streams=writes, accesses=stores, operations={}, chain={}, memory_chain=0.0)


@_assumes("the loads, the instructions and the stores of a dispatch do not overlap")
def no_overlap(point: PointModel) -> Sequence[PointModel]:
    loading, storing = _directions(point.demand)
    loading = replace(loading, operations={}, chain={})
    local = tuple(each for each in point.demand.accesses if each.space == "local")
    computing = replace(point.demand, streams=(), accesses=local, memory_chain=0.0, line_writes=0.0)
    return _one_after_another(
        point, [part for part in (loading, computing, storing) if part.streams or part.operations]
    )


@_assumes("memory serves the reads and the writes of a dispatch one after the other")
def reads_and_writes_in_turn(point: PointModel) -> Sequence[PointModel]:
    parts = _directions(point.demand)
    return _one_after_another(point, parts) if all(part.streams for part in parts) else ()


# Loads and stores of work-groups.


@_assumes("the loads of a work-item wait for one another once, for example behind branches")
def two_rounds_of_loads(point: PointModel) -> Sequence[PointModel]:
    return _demand(point, memory_chain=2.0) if point.demand.memory_chain == 1 else ()


@_assumes("a work-group stays resident until its stores are complete")
def stores_wait(point: PointModel) -> Sequence[PointModel]:
    shared, loops = point.device.shared_cache, point.device.architecture.groups_as_loops
    return _architecture(point, store_cycles=shared.latency_cycles) if shared and not loops else ()


@_assumes("all loads come from the far partition of the cache that all compute units share")
def far_partition(point: PointModel) -> Sequence[PointModel]:
    caches = point.device.caches
    far = max((cache.far_latency_cycles or 0.0 for cache in caches if cache.scope == "device"), default=0)
    moved = (c.model_copy(update={"latency_cycles": far}) if c.scope == "device" else c for c in caches)
    return _device(point, caches=tuple(moved)) if far else ()


HYPOTHESES = tuple(_LISTED)
"""All hypotheses that are tested. Each has explained a curve of a kept run (``scripts/hypotheses.py``)."""


def statement(name: str | None) -> str:
    """Return the clause of a hypothesis, or of two; its name if it is no longer tested."""
    known = {hypothesis.name: hypothesis.statement for hypothesis in HYPOTHESES}
    return ", and ".join(known.get(each, each) for each in single_names(name))
