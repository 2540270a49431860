"""The table of the benchmark: rates, shares of the copy rate, and targets. Pure functions."""

from collections.abc import Iterator, Sequence

from benchmark_timing import Outcome
from gpureport.cli.tables import Row as Cells
from gpureport.spec.models import Device
from gpureport.units import format_time, format_value

NEAR = 0.98
"""Required share of a published rate."""
MODEL_TOLERANCE = 0.05
"""Largest relative difference from the traffic model."""
COLUMNS = ("kernel", "size", "time of a dispatch", "rate", "of its copy", "of the best copy", "target", "reached")


def table(outcomes: Sequence[Outcome], device: Device) -> Iterator[Cells]:
    """Yield the rows of the table."""
    best = best_copy(outcomes)
    for outcome in outcomes:
        timed, copy = outcome.timed, outcome.copy
        if timed is None:
            yield (outcome.row.label, "", "", "", "", "", "", "not timed")
            continue
        needed, met = verdict(outcome, outcomes, device)
        yield (
            outcome.row.label,
            timed.point.key.label,
            f"{format_time(timed.time_s)} ± {timed.spread:.1%}",
            format_value(timed.rate, outcome.row.unit),
            f"{timed.rate / copy.rate:.1%}" if copy else "",
            f"{timed.rate / best:.1%}" if copy and best else "",
            needed,
            {True: "yes", False: "NO", None: ""}[met],
        )


def best_copy(outcomes: Sequence[Outcome]) -> float:
    """Return the best copy rate of the run, in bytes/s; 0 without a copy."""
    return max((outcome.copy.rate for outcome in outcomes if outcome.copy), default=0.0)


def verdict(outcome: Outcome, outcomes: Sequence[Outcome], device: Device) -> tuple[str, bool | None]:
    """Return the target of a row, and whether it is reached; ``None`` without a target."""
    row, timed, copy = outcome.row, outcome.timed, outcome.copy
    if timed is None:
        return "", None
    if row.best_of and timed.rate < max(o.timed.rate for o in outcomes if o.timed and o.row.best_of == row.best_of):
        return f"(the best of {row.best_of})", None
    if copy and device.kind in row.shares:
        share = row.shares[device.kind]
        return f"≥ {share:.0%} of the best copy", timed.rate >= share * best_copy(outcomes)
    if copy and outcome.model:
        met = abs(timed.rate / copy.rate / outcome.model - 1) <= MODEL_TOLERANCE
        return f"{outcome.model:.1%} ± {MODEL_TOLERANCE:.0%} of its copy (model)", met
    if device.id in row.published:
        published = row.published[device.id]
        return f"≥ {NEAR:.0%} of {format_value(published, row.unit)}", timed.rate >= NEAR * published
    return "", None
