"""Terms that the documents use, each with its standard name and definition."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One term; *standard* is its standard name or synonyms, and may be empty."""

    name: str
    standard: str
    definition: str


TERMS: tuple[Term, ...] = (
    Term(
        "cliff",
        "capacity transition",
        "The working set at which a cache level stops serving the accesses, seen as a drop in bandwidth or a rise in "
        "latency. Onset: 95 % of the upper plateau. Midpoint: halfway between the plateaus on a logarithmic axis. End: "
        "within 5 % of the lower plateau.",
    ),
    Term(
        "taper",
        "saturation point",
        "The amount of parallel work beyond which throughput no longer grows. n90: work-items for 90 % of the plateau. "
        "Knee: flat time times peak rate (half-performance length).",
    ),
    Term("plateau", "", "A range of sizes over which throughput or latency is nearly constant."),
)
