"""Hypotheses: how a device may work differently from the model. Each is a change of the model's input.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted again under each
hypothesis; ``gpureport.explain.trials`` compares these curves with the observed one.
"""
# ruff: noqa: D103 - the statements of the hypotheses say what each function assumes

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpureport.predict.model import PointModel
from gpureport.spec.models import Cache

AND = " + "
"""Between the names of two hypotheses that together explain a curve."""
Vary = Callable[[PointModel], Sequence[PointModel]]
"""Returns the changed point, or the parts that run one after another."""


@dataclass(frozen=True)
class Hypothesis:
    """One way in which a device may work: its name, a clause to follow "that", and the changed input of a point."""

    name: str
    statement: str
    vary: Vary

    def time_s(self, point: PointModel) -> float:
        """Return the seconds of one dispatch under the hypothesis."""
        return sum(each.time_s for each in self.vary(point))


UNCHANGED = Hypothesis("", "", lambda point: (point,))


def pair(first: Hypothesis, second: Hypothesis) -> Hypothesis:
    """Return the hypothesis that both apply: the second changes every part that the first makes of a point."""

    def vary(point: PointModel) -> Sequence[PointModel]:
        return [part for one in first.vary(point) for part in second.vary(one)]

    return Hypothesis(f"{first.name}{AND}{second.name}", f"{first.statement}, and {second.statement}", vary)


def single_names(name: str | None) -> tuple[str, ...]:
    """Return the names of the hypotheses in *name*: of both if it is a pair, of none without a name."""
    return tuple(name.split(AND)) if name else ()


# The whole device. This is no part of the model: half of all rates raise median errors of kernels from 19 to 33 % to 37
# to 86 % in the seven reports/pocl-*. With 0.9 of them, the Xeon with 16 cores improves by 4 to 5 percentage points.
# The Zen 4, to which nothing was fitted, gets worse by 3 and 4 in two of three runs.


def shared_cores(point: PointModel) -> Sequence[PointModel]:
    if not point.device.architecture.has_neighbours:
        return (point,)
    first = point.device.caches[0].name if point.device.caches else ""
    architecture = point.device.architecture
    rates = {name: rate / 2 for name, rate in architecture.rates_per_cycle.items()}

    def half(cache: Cache) -> Mapping[str, object]:
        """Halve a core's caches, loads and path to the shared cache; x86_64 lists half of that to a second already."""
        divided = cache.name == first or cache.scope == "device"
        return {
            "capacity_bytes": cache.capacity_bytes / (2 if cache.scope == "compute_unit" else 1),
            "bandwidth_bytes_per_cycle": cache.bandwidth_bytes_per_cycle / (2 if divided else 1),
        }

    halved = {
        "architecture": architecture.model_copy(update={"rates_per_cycle": rates}),
        "caches": tuple(cache.model_copy(update=dict(half(cache))) for cache in point.device.caches),
    }
    return (point._replace(device=point.device.model_copy(update=halved)),)


def cold_caches(point: PointModel) -> Sequence[PointModel]:
    return (point._replace(demand=replace(point.demand, reused="never")),)


def one_pipe(point: PointModel) -> Sequence[PointModel]:
    used = tuple(name for name in point.demand.operations if name != "instruction")
    architecture = point.device.architecture.model_copy(update={"pipes": {"one pipe": used}})
    return (point._replace(device=point.device.model_copy(update={"architecture": architecture})),)


def no_overlap(point: PointModel) -> Sequence[PointModel]:
    """Split a dispatch into loads, instructions and stores, of which only the first part has a launch cost."""
    demand = point.demand
    moved = [stream for stream in demand.streams if stream.elements and stream.passes and stream.outer_passes]
    alone = replace(demand, accesses=(), operations={}, chain={}, memory_chain=0.0, line_writes=0.0)
    parts = (
        replace(
            alone,
            streams=tuple(stream for stream in moved if not stream.write),
            accesses=tuple(each for each in demand.accesses if each.kind == "load"),
            memory_chain=demand.memory_chain,
        ),
        replace(
            alone,
            streams=(),
            accesses=tuple(each for each in demand.accesses if each.space == "local"),
            operations=demand.operations,
            chain=demand.chain,
        ),
        replace(
            alone,
            streams=tuple(stream for stream in moved if stream.write),
            accesses=tuple(each for each in demand.accesses if each.kind != "load"),
            line_writes=demand.line_writes,
        ),
    )
    used = [part for part in parts if part.streams or part.operations]
    if len(used) < 2:
        return (point,)
    launch = point.device.launch.model_copy(update={"batched_s": 0.0, "single_s": 0.0})
    following = point.device.model_copy(update={"launch": launch})
    return (point._replace(demand=used[0]), *(PointModel(following, demand) for demand in used[1:]))


HYPOTHESES = (
    Hypothesis("shared cores", "each thread of the processor gets half of a core and of its caches", shared_cores),
    Hypothesis("cold caches", "caches contain no data from earlier accesses", cold_caches),
    Hypothesis("one pipe", "all instructions share one pipe", one_pipe),
    Hypothesis("no overlap", "the loads, the instructions and the stores of a dispatch do not overlap", no_overlap),
)
"""All hypotheses that are tested. Each has explained several curves of kept runs (``scripts/hypotheses.py``)."""


def statement(name: str | None) -> str:
    """Return the clause of a hypothesis, or of two; its name if it is no longer tested."""
    known = {hypothesis.name: hypothesis.statement for hypothesis in HYPOTHESES}
    return ", and ".join(known.get(each, each) for each in single_names(name))
