"""Hypotheses: how a device may work differently from the model. Each is a change of the model's input.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted again under each
hypothesis; ``gpureport.explain.trials`` compares these curves with the observed one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpureport.explain import variations
from gpureport.explain.point_model import PointModel
from gpureport.explain.variations import Vary

AND = " + "
"""Between the names of two hypotheses that together explain a curve."""


@dataclass(frozen=True)
class Hypothesis:
    """One way in which a device may work: its name, a clause to follow "that", and the changed input of a point."""

    name: str
    statement: str
    vary: Vary

    def time_s(self, point: PointModel) -> float:
        """Return the seconds of one dispatch under the hypothesis; the model's where it does not apply."""
        return sum(varied.time_s for varied in self.vary(point)) or point.time_s


_STATEMENTS = {
    "measured microbenchmarks": "the device has the values that the microbenchmarks measured, not those of its entry",
    "shared cores": "each thread of the processor gets half of a core and of its caches",
    "cold caches": "caches contain no data from earlier accesses",
    "independent loads": "all loads of a work-item are in flight at once",
    "one pipe": "all instructions share one pipe",
    "scalar code": "work-items run one after another, not as lanes of a vector",
    "vector code": "work-items run as lanes of a vector in spite of branches",
    "no overlap": "the loads, the instructions and the stores of a dispatch do not overlap",
    "reads and writes in turn": "memory serves the reads and the writes of a dispatch one after the other",
    "two rounds of loads": "the loads of a work-item wait for one another once, for example behind branches",
    "stores wait": "a work-group stays resident until its stores are complete",
    "write allocation": "caches read data from memory before stores overwrite them",
    "set conflicts": "lines at a distance of a power of two share few sets of the caches and evict each other",
    "far partition": "all loads come from the far partition of the cache that all compute units share",
}

HYPOTHESES = tuple(
    Hypothesis(name, statement, getattr(variations, name.replace(" ", "_"))) for name, statement in _STATEMENTS.items()
)
"""All hypotheses that are tested; each is named after its function."""


def pair(first: Hypothesis, second: Hypothesis) -> Hypothesis:
    """Return the hypothesis that both apply: the second changes every part that the first makes of a point."""

    def vary(point: PointModel) -> Sequence[PointModel]:
        return [part for one in first.vary(point) or (point,) for part in second.vary(one) or (one,)]

    return Hypothesis(f"{first.name}{AND}{second.name}", f"{first.statement}, and {second.statement}", vary)


def single_names(name: str | None) -> tuple[str, ...]:
    """Return the names of the hypotheses in *name*: of both if it is a pair, of none without a name."""
    return tuple(name.split(AND)) if name else ()
