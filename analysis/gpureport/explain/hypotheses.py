"""Hypotheses: how a device may work differently from the model. Each is a change of the model's input.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted again under each
hypothesis; ``gpureport.explain.trials`` compares these curves with the observed one.
"""

from dataclasses import dataclass

from gpureport.explain import variations
from gpureport.explain.point_model import PointModel
from gpureport.explain.variations import Vary


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
    "one partition": "each part of the device uses only its own partition of a cache",
    "full capacity": "caches serve working sets up to their full capacity",
    "no carve out": "local memory takes no capacity from the first cache",
    "shared cores": "each thread of the processor gets half of a core and of its caches",
    "warm caches": "caches of compute units keep their data from one dispatch to the next",
    "cold caches": "caches contain no data from earlier accesses",
    "replicated data": "each compute unit's cache contains a copy of all data",
    "distributed data": "the data are distributed over the compute units' caches",
    "one buffer": "only one of the buffers stays in the caches",
    "separate footprints": "reads and writes of one buffer occupy cache capacity twice",
    "no crossing": "data that the previous dispatch wrote are in all partitions of a cache",
    "partition crossing": "data that the previous dispatch wrote to another partition of a cache move to the reader",
    "useful bytes": "only the bytes that the kernel uses are moved",
    "whole lines": "whole cache lines are moved, not sectors",
    "no fill": "lines are written without being filled from memory first",
    "fill": "every line is filled from memory before it is written",
    "no reuse": "the first cache serves no reuse, so that loads of neighbouring work-items move the same data again",
    "full reuse": "data that neighbouring work-items share are moved only once",
    "hoisted": "the compiler moved the work out of the loop, so that it is done once",
    "no bank conflicts": "accesses to local memory have no bank conflicts",
    "bank conflicts": "all lanes of an access to local memory use the same bank",
    "one line per wave": "an access of a wave costs as much as a single line, however many lines it touches",
    "no line conflicts": "the lines that an access touches never map to the same bank",
    "one line per lane": "each lane of a wave accesses a different line",
    "dependent loads": "each load of a work-item waits for its previous load",
    "independent loads": "all loads of a work-item are in flight at once",
    "one pipe": "all instructions share one pipe",
    "separate pipes": "every class of instructions has its own pipe",
    "scalar code": "work-items run one after another, not as lanes of a vector",
    "vector code": "work-items run as lanes of a vector in spite of branches",
    "loaded latency": "the traffic of the kernel itself raises the latency of its loads",
    "unloaded latency": "loads have the latency of an unloaded memory system",
    "no overlap": "memory traffic and instructions do not overlap",
    "isolated dispatches": "each dispatch costs as much as an isolated one",
    "wave by wave": "work-groups start wave by wave, and each wave takes the start time of a whole group",
    "measured clock": "the clock has the measured frequency, not the listed one",
    "timer ticks": "measured times are rounded up to whole ticks of the timer",
}

HYPOTHESES = tuple(
    Hypothesis(name, statement, getattr(variations, name.replace(" ", "_"))) for name, statement in _STATEMENTS.items()
)
"""All hypotheses that are tested; each is named after its function."""
