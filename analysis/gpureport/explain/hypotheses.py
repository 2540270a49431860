"""Other ways in which a device may work than the model assumes: each a change to what the model is asked.

A hypothesis never feeds a prediction. Where prediction and observation differ, the curve is predicted once more under
each hypothesis, and ``gpureport.explain.trials`` tells which of those curves is the observed one.
"""

from dataclasses import dataclass

from gpureport.explain import variations as vary
from gpureport.explain.case import Case
from gpureport.explain.variations import Vary


@dataclass(frozen=True)
class Hypothesis:
    """One way in which a device may work.

    Attributes:
        name: short, for tables.
        claim: what would then be so, to stand after "that".
        vary: what it makes of a point.
    """

    name: str
    statement: str
    vary: Vary

    def time_s(self, case: Case) -> float:
        """Return the seconds of one dispatch under the hypothesis; without it where it does not apply."""
        return sum(varied.time_s for varied in self.vary(case)) or case.time_s


HYPOTHESES = (
    Hypothesis(
        "measured primitives", "the device differs from its entry as primitives show", vary.measured_microbenchmarks
    ),
    Hypothesis("one partition", "each part of the device uses only its own partition of a cache", vary.one_partition),
    Hypothesis("whole cache", "caches serve their whole capacity before they give out", vary.whole_cache),
    Hypothesis("no carve-out", "local memory takes nothing of the first cache", vary.no_carve_out),
    Hypothesis(
        "shared cores", "each of the processor's threads has half of a core and of its caches", vary.shared_cores
    ),
    Hypothesis("caches keep", "compute units' caches keep their data from one dispatch to the next", vary.kept_by_all),
    Hypothesis("caches forget", "no cache holds anything of the data from before", vary.nothing_kept),
    Hypothesis("caches copy", "each compute unit's cache holds a copy of all data", vary.shared),
    Hypothesis("caches divide", "compute units' caches divide the data among them", vary.divided),
    Hypothesis("one buffer", "only one of the buffers stays in the caches", vary.one_buffer),
    Hypothesis("own buffers", "reads and writes of one buffer take room in the caches twice", vary.own_buffers),
    Hypothesis("both sides", "no partition of a cache lacks what the last dispatch wrote in another", vary.both_sides),
    Hypothesis("to and fro", "what the last dispatch wrote in another partition of a cache crosses", vary.to_and_fro),
    Hypothesis("useful bytes", "only the bytes that are used move", vary.useful_bytes),
    Hypothesis("whole lines", "whole lines move, not sectors", vary.whole_lines),
    Hypothesis("no fill", "lines are written without being filled from memory first", vary.no_fill),
    Hypothesis("fill", "every line is filled from memory before it is written", vary.fill),
    Hypothesis("re-read", "the first cache serves no reuse: neighbours' loads move the data again", vary.reread),
    Hypothesis("read once", "whatever neighbours share moves but once", vary.read_once),
    Hypothesis("hoisted", "the compiler took the work out of the loop, so that it is done once", vary.hoisted),
    Hypothesis("no conflicts", "accesses to local memory meet no bank conflicts", vary.no_conflicts),
    Hypothesis("conflicts", "all lanes of an access to local memory meet in one bank", vary.conflicts),
    Hypothesis("one line", "an access of a wave costs as much as one line, however many it touches", vary.one_line),
    Hypothesis("banks apart", "the lines that an access touches never want the same banks", vary.banks_apart),
    Hypothesis("line a lane", "every lane's access touches a line of its own", vary.line_a_lane),
    Hypothesis("loads in turn", "each load of a work-item waits for the one before", vary.loads_in_turn),
    Hypothesis("loads at once", "all loads of a work-item are under way at once", vary.loads_at_once),
    Hypothesis("one pipe", "all instructions share one pipe", vary.one_pipe),
    Hypothesis("own pipes", "every class of instructions has a pipe of its own", vary.own_pipes),
    Hypothesis("scalar", "work-items run one after another, not as lanes of a vector", vary.scalar),
    Hypothesis("vector", "work-items run as lanes of a vector in spite of branches", vary.vector),
    Hypothesis("loaded latency", "its own traffic makes loads wait longer", vary.loaded),
    Hypothesis("lone latency", "loads wait no longer than a lone one", vary.unloaded),
    Hypothesis("no overlap", "memory traffic and instructions take turns instead of overlapping", vary.in_turn),
    Hypothesis("lone launches", "each dispatch costs as much as one that is waited for", vary.isolated_launches),
    Hypothesis("waves started", "work-groups start wave by wave, each wave in a group's time", vary.waves_started),
    Hypothesis("measured clock", "the clock is the one that was measured, not the listed one", vary.measured_clock),
    Hypothesis("timer ticks", "times are told in whole ticks of the timer", vary.ticks),
)
"""All that are tested."""
