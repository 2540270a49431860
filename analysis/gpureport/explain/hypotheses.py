"""Hypotheses: how a device may work differently from the model. Each is a change of the model's input.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted again under each
hypothesis; ``gpureport.explain.trials`` compares these curves with the observed one.
"""

from dataclasses import dataclass

from gpureport.explain import variations as vary
from gpureport.explain.point_model import PointModel
from gpureport.explain.variations import Vary


@dataclass(frozen=True)
class Hypothesis:
    """One way in which a device may work.

    Attributes:
        name: short, for tables.
        statement: a clause, to follow "that".
        vary: returns the changed input of a point.
    """

    name: str
    statement: str
    vary: Vary

    def time_s(self, point: PointModel) -> float:
        """Return the seconds of one dispatch under the hypothesis; the model's where it does not apply."""
        return sum(varied.time_s for varied in self.vary(point)) or point.time_s


HYPOTHESES = (
    Hypothesis(
        "measured microbenchmarks",
        "the device has the values that the microbenchmarks measured, not those of its entry",
        vary.measured_microbenchmarks,
    ),
    Hypothesis("one partition", "each part of the device uses only its own partition of a cache", vary.one_partition),
    Hypothesis("full capacity", "caches serve working sets up to their full capacity", vary.full_capacity),
    Hypothesis("no carve-out", "local memory takes no capacity from the first cache", vary.no_carve_out),
    Hypothesis("shared cores", "each thread of the processor gets half of a core and of its caches", vary.shared_cores),
    Hypothesis(
        "warm caches", "caches of compute units keep their data from one dispatch to the next", vary.warm_caches
    ),
    Hypothesis("cold caches", "caches contain no data from earlier accesses", vary.cold_caches),
    Hypothesis("replicated data", "each compute unit's cache contains a copy of all data", vary.replicated_data),
    Hypothesis("distributed data", "the data are distributed over the compute units' caches", vary.distributed_data),
    Hypothesis("one buffer", "only one of the buffers stays in the caches", vary.one_buffer),
    Hypothesis(
        "separate footprints", "reads and writes of one buffer occupy cache capacity twice", vary.separate_footprints
    ),
    Hypothesis(
        "no crossing",
        "data that the last dispatch wrote are in all partitions of a cache",
        vary.no_crossing,
    ),
    Hypothesis(
        "partition crossing",
        "data that the last dispatch wrote in one partition of a cache are read from another",
        vary.partition_crossing,
    ),
    Hypothesis("useful bytes", "only the bytes that the kernel uses are moved", vary.useful_bytes),
    Hypothesis("whole lines", "whole cache lines are moved, not sectors", vary.whole_lines),
    Hypothesis("no fill", "lines are written without being filled from memory first", vary.no_fill),
    Hypothesis("fill", "every line is filled from memory before it is written", vary.fill),
    Hypothesis(
        "no reuse",
        "the first cache serves no reuse: loads of neighbouring work-items move the data again",
        vary.no_reuse,
    ),
    Hypothesis("full reuse", "data that neighbouring work-items share are moved only once", vary.full_reuse),
    Hypothesis("hoisted", "the compiler moved the work out of the loop, so that it is done once", vary.hoisted),
    Hypothesis("no bank conflicts", "accesses to local memory have no bank conflicts", vary.no_bank_conflicts),
    Hypothesis("bank conflicts", "all lanes of an access to local memory use the same bank", vary.bank_conflicts),
    Hypothesis(
        "one line per wave",
        "an access of a wave costs as much as one line, however many it touches",
        vary.one_line_per_wave,
    ),
    Hypothesis(
        "no line conflicts", "the lines that an access touches never map to the same bank", vary.no_line_conflicts
    ),
    Hypothesis("one line per lane", "every lane's access touches a line of its own", vary.one_line_per_lane),
    Hypothesis("dependent loads", "each load of a work-item waits for the one before", vary.dependent_loads),
    Hypothesis("independent loads", "all loads of a work-item are in flight at once", vary.independent_loads),
    Hypothesis("one pipe", "all instructions share one pipe", vary.one_pipe),
    Hypothesis("separate pipes", "every class of instructions has its own pipe", vary.separate_pipes),
    Hypothesis("scalar code", "work-items run one after another, not as lanes of a vector", vary.scalar_code),
    Hypothesis("vector code", "work-items run as lanes of a vector in spite of branches", vary.vector_code),
    Hypothesis("loaded latency", "the kernel's own traffic makes its loads wait longer", vary.loaded_latency),
    Hypothesis("unloaded latency", "loads have the latency of an unloaded memory system", vary.unloaded_latency),
    Hypothesis("no overlap", "memory traffic and instructions do not overlap", vary.no_overlap),
    Hypothesis("isolated dispatches", "each dispatch costs as much as an isolated one", vary.isolated_dispatches),
    Hypothesis(
        "waves started", "work-groups start wave by wave, and each wave takes the time of a group", vary.waves_started
    ),
    Hypothesis("measured clock", "the clock has the measured frequency, not the listed one", vary.measured_clock),
    Hypothesis("timer ticks", "measured times are rounded up to whole ticks of the timer", vary.timer_ticks),
)
"""All hypotheses that are tested."""
