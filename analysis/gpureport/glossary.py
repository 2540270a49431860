"""The terms of reports, tables and messages, each with its standard names and one definition."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Term:
    """A term of the product.

    Attributes:
        name: as documents use it.
        standard: names of the field or of vendors, separated by commas; empty if *name* is the only one.
        definition: one or two sentences.
    """

    name: str
    standard: str
    definition: str

    @property
    def names(self) -> tuple[str, ...]:
        """The term and its synonyms."""
        return (self.name, *filter(None, self.standard.split(", ")))

    def __str__(self) -> str:
        """``cliff (capacity transition)``."""
        return f"{self.name} ({self.standard})" if self.standard else self.name


TERMS = (
    Term("agrees", "", "Verdict: the observed and the predicted value differ by at most a factor of 1.2."),
    Term(
        "arithmetic intensity",
        "operational intensity",
        "Arithmetic operations per byte of memory traffic. The bytes are those of a dispatch that starts with empty "
        "caches.",
    ),
    Term(
        "back-to-back dispatches",
        "batch",
        "Dispatches that are queued without waiting for each other and timed together. The time of one is the total "
        "divided by their number.",
    ),
    Term(
        "bottleneck",
        "limited by, limiting factor",
        "The ceiling with the longest time at a point: it limits the speed there.",
    ),
    Term(
        "calibrated prediction",
        "",
        "A prediction in which values measured by the microbenchmarks of the same run replace values of the device's "
        "entry. A workload never calibrates its own prediction.",
    ),
    Term("capacity", "cache size", "The number of bytes that a cache can contain."),
    Term(
        "ceiling",
        "roof, upper bound",
        "The highest rate that one resource of the device allows. For a kernel it is given as the time that a dispatch "
        "would take if nothing else limited it.",
    ),
    Term(
        "cliff",
        "capacity transition",
        "The working set at which a cache level stops serving the accesses: bandwidth falls, or latency rises, by at "
        "least 10 % between two plateaus. It has an onset, a midpoint and an end.",
    ),
    Term(
        "compute unit",
        "SM, streaming multiprocessor, core, Xe core",
        "The part of a device that executes work-groups and has its own registers and local memory.",
    ),
    Term(
        "cyclic sweep",
        "cyclic access pattern",
        "Repeated passes over a working set in the same order. It is the worst case of LRU replacement: the line that "
        "is needed next was used longest ago.",
    ),
    Term(
        "disturbed sample",
        "",
        "A sample taken while other load used the device, its clock was more than 5 % below the usual value, or heat "
        "or the power supply throttled it. It is discarded and taken again.",
    ),
    Term("efficiency", "fraction of peak", "A measured rate divided by its limit: the predicted peak or a ceiling."),
    Term("end", "end of a cliff", "The working set at which a curve has come within 5 % of the lower plateau."),
    Term("family", "", "Workloads that solve the same problem in different ways, such as game_of_life."),
    Term(
        "footprint",
        "",
        "The size of a working set: all cache lines of all buffers that are touched between two uses of the same data.",
    ),
    Term(
        "interval",
        "95 % interval, confidence interval",
        "A range that contains the true value in 95 of 100 cases. For predictions it follows from the uncertainty of "
        "the entry's values, for observations from the noise of the samples.",
    ),
    Term("isolated dispatch", "single dispatch", "A dispatch that is timed by itself, with the full launch cost."),
    Term(
        "knee",
        "half-performance length, n1/2",
        "Flat time x peak rate, in work-items (Hockney). The flat time is that of small dispatches, which does not "
        "depend on the amount of work; the peak rate is that of the plateau.",
    ),
    Term("line", "cache line", "The block of bytes that a cache stores under one address."),
    Term(
        "loaded latency factor",
        "",
        "Latency of a load while many others are streaming, divided by the unloaded latency.",
    ),
    Term(
        "microbenchmark",
        "",
        "A workload that measures one property of the device, such as latency or copy bandwidth. Only microbenchmarks "
        "calibrate predictions.",
    ),
    Term(
        "midpoint",
        "midpoint of a cliff",
        "The working set at which a curve is halfway between two plateaus on a logarithmic axis.",
    ),
    Term("n90", "work for 90 % of peak", "The number of work-items needed for 90 % of the plateau's throughput."),
    Term(
        "not compared",
        "",
        "Verdict: predicted and observed belong to different plateaus, so their ratio has no meaning.",
    ),
    Term("not observed", "", "Verdict: a predicted feature does not appear in the samples."),
    Term("not predicted", "", "Verdict: the samples show a feature that matches no predicted one."),
    Term("occupancy", "", "Resident waves of a compute unit, divided by the largest number that it supports."),
    Term(
        "off",
        "",
        "Verdict: observed and predicted differ by more than a factor of 1.2. Their 95 % intervals do not overlap, or "
        "the factor is above 2.",
    ),
    Term(
        "onset",
        "onset of a cliff",
        "The working set at which bandwidth has fallen to 95 % of the upper plateau, or latency has risen as much. "
        "Tune to the onset, not to the midpoint.",
    ),
    Term(
        "partition",
        "cache slice",
        "A part of a device-wide cache. The near partition of a compute unit answers faster than the far ones.",
    ),
    Term("peak", "best rate", "The best point of a sweep over work-group shapes."),
    Term(
        "ping-pong",
        "double buffering",
        "Two buffers that swap roles: each dispatch reads what the previous one wrote, and writes what it read.",
    ),
    Term("plateau", "", "A range of sizes over which the rate stays nearly constant (to about 2 % on real devices)."),
    Term("predicted peak", "", "The rate that the specification prediction expects at the same point."),
    Term(
        "resident",
        "",
        "Of data: contained in a cache. Of work-groups and waves: started on a compute unit and not finished.",
    ),
    Term(
        "roofline",
        "roofline model",
        "The highest possible rate against arithmetic intensity: the smaller of the instruction rate and intensity x "
        "bandwidth (Williams et al., 2009).",
    ),
    Term("sector", "cache sector", "The smallest part of a line that moves on a miss."),
    Term(
        "smooth maximum",
        "p-norm",
        "(a^p + b^p)^(1/p): a maximum with a rounded transition. The model joins throughput ceilings with p = 4 and, "
        "where work-groups share a compute unit, latency with p = 3.",
    ),
    Term(
        "specification prediction",
        "",
        "A prediction from the device's database entry only, complete before the first dispatch.",
    ),
    Term(
        "sweep",
        "parameter sweep",
        "The points of one curve: one workload at many sizes, work-group shapes or cases.",
    ),
    Term(
        "taper",
        "saturation point",
        "The amount of parallel work beyond which throughput no longer grows. It is given as knee and n90.",
    ),
    Term(
        "transition range",
        "",
        "The working sets from onset to end of a cliff. Device entries give them as multiples of the capacity.",
    ),
    Term(
        "unexplained transition",
        "",
        "A cliff that is matched with no level of the device's entry. Observed and predicted cliffs are matched up to "
        "a factor of 4.",
    ),
    Term(
        "unloaded latency",
        "idle latency, pointer-chase latency",
        "The time of one dependent load while nothing else runs on the device.",
    ),
    Term("variant", "", "One implementation of a family, such as packed64: 64 cells a word."),
    Term(
        "verdict",
        "",
        "The result of a comparison of prediction and observation: agrees, within interval, off, not observed, not "
        "predicted, not compared, or error (wrong results, or a rate above its own ceiling).",
    ),
    Term(
        "wave",
        "wavefront, warp, sub-group",
        "The work-items that execute an instruction together. Its size depends on the architecture, such as 32 or 64.",
    ),
    Term(
        "within interval",
        "",
        "Verdict: observed and predicted differ by more than a factor of 1.2 and at most 2, but their 95 % intervals "
        "overlap.",
    ),
    Term(
        "work-group",
        "thread block, workgroup, CTA",
        "Work-items that run on one compute unit and share its local memory and barriers.",
    ),
    Term("work-item", "thread", "One execution of a kernel function."),
    Term("working set", "", "The bytes that a kernel uses again and again, see footprint."),
    Term("workload", "", "One variant of a family, written family/variant: game_of_life/packed64."),
)
"""In alphabetical order."""


def find_term(text: str, terms: Iterable[Term] = TERMS) -> Term | None:
    """Return the term with this name or synonym, in upper or lower case."""
    key = _folded(text)
    return next((term for term in terms if key in map(_folded, term.names)), None)


def near_names(text: str) -> list[str]:
    """Return up to three names that are spelled like *text* or contain it."""
    names = {_folded(name): name for term in TERMS for name in term.names}
    key = _folded(text)
    containing = [folded for folded in names if key and key in folded]
    return [names[folded] for folded in dict.fromkeys([*containing, *get_close_matches(key, names)])][:3]


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").split())
