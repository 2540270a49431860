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


_STATEMENTS: dict[Vary, str] = {
    vary.measured_microbenchmarks: "the device has the values that the microbenchmarks measured, not its entry's",
    vary.one_partition: "each part of the device uses only its own partition of a cache",
    vary.full_capacity: "caches serve working sets up to their full capacity",
    vary.no_carve_out: "local memory takes no capacity from the first cache",
    vary.shared_cores: "each thread of the processor gets half of a core and of its caches",
    vary.warm_caches: "caches of compute units keep their data from one dispatch to the next",
    vary.cold_caches: "caches contain no data from earlier accesses",
    vary.replicated_data: "each compute unit's cache contains a copy of all data",
    vary.distributed_data: "the data are distributed over the compute units' caches",
    vary.one_buffer: "only one of the buffers stays in the caches",
    vary.separate_footprints: "reads and writes of one buffer occupy cache capacity twice",
    vary.no_crossing: "data that the last dispatch wrote are in all partitions of a cache",
    vary.partition_crossing: "data that the last dispatch wrote in another partition of a cache cross to the reader's",
    vary.useful_bytes: "only the bytes that the kernel uses are moved",
    vary.whole_lines: "whole cache lines are moved, not sectors",
    vary.no_fill: "lines are written without being filled from memory first",
    vary.fill: "every line is filled from memory before it is written",
    vary.no_reuse: "the first cache serves no reuse: loads of neighbouring work-items move the data again",
    vary.full_reuse: "data that neighbouring work-items share are moved only once",
    vary.hoisted: "the compiler moved the work out of the loop, so that it is done once",
    vary.no_bank_conflicts: "accesses to local memory have no bank conflicts",
    vary.bank_conflicts: "all lanes of an access to local memory use the same bank",
    vary.one_line_per_wave: "an access of a wave costs as much as one line, however many it touches",
    vary.no_line_conflicts: "the lines that an access touches never map to the same bank",
    vary.one_line_per_lane: "every lane's access touches a line of its own",
    vary.dependent_loads: "each load of a work-item waits for the one before",
    vary.independent_loads: "all loads of a work-item are in flight at once",
    vary.one_pipe: "all instructions share one pipe",
    vary.separate_pipes: "every class of instructions has its own pipe",
    vary.scalar_code: "work-items run one after another, not as lanes of a vector",
    vary.vector_code: "work-items run as lanes of a vector in spite of branches",
    vary.loaded_latency: "the kernel's own traffic makes its loads wait longer",
    vary.unloaded_latency: "loads have the latency of an unloaded memory system",
    vary.no_overlap: "memory traffic and instructions do not overlap",
    vary.isolated_dispatches: "each dispatch costs as much as an isolated one",
    vary.wave_by_wave: "work-groups start wave by wave, and each wave takes the time of a group",
    vary.measured_clock: "the clock has the measured frequency, not the listed one",
    vary.timer_ticks: "measured times are rounded up to whole ticks of the timer",
}

HYPOTHESES = tuple(Hypothesis(vary.__name__.replace("_", " "), text, vary) for vary, text in _STATEMENTS.items())
"""All hypotheses that are tested."""
