"""The tables at the end of a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import fsum

from gpureport.cli.console import note
from gpureport.cli.tables import Row, print_document_table, print_table
from gpureport.records.curves import DEVICE, MAIN_POSITIONS, CurveFeature
from gpureport.records.finding import Advice, Explanation, Finding
from gpureport.records.report import Report, Timing
from gpureport.report.run.unexpected import fitting, remaining_error
from gpureport.report.text.words import feature_text
from gpureport.text import N90
from gpureport.units import format_bytes, format_interval, format_ratio, format_time, format_value, off_by

_WORKLESS = ("B", "B/s", "s", "Hz")
_MOST = 8  # curves, changes


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a row for each feature (cliffs by midpoint, tapers by n90), compared with its best prediction."""
    calibrated = {f.key for f in findings if f.basis == "calibrated"}
    best = [f for f in findings if f.basis == "calibrated" or f.key not in calibrated]
    shown = [f for f in best if f.position in MAIN_POSITIONS and f.position != "case"]
    kinds = sorted({f.basis for f in shown})
    print_table(
        f"Observations and {' or '.join(kinds)} predictions ({N90})",
        ("feature", "predicted", "observed (95 % interval)", "ratio", "verdict"),
        list(_rows(shown, marked=len(kinds) > 1)),
        right=(1, 2, 3),
    )


def _rows(findings: Sequence[Finding], *, marked: bool) -> Iterator[Row]:
    """Yield the heading of each sweep, *marked* if its predictions are those of the specification, and its features."""
    for key, group in groupby(findings, lambda f: f.key):
        features = list(group)
        basis = ", specification" if marked and features[0].basis == "specification" else ""
        yield (heading(key.workload, key.sweep, features) + basis,)
        for f in features:
            unit = short_unit(f.unit)
            predicted = format_value(f.predicted, unit)
            observed = format_interval(f.observed, f.ci_low, f.ci_high, unit)
            yield f"  {feature_name(f)}", predicted, observed, format_ratio(f.ratio), str(f.verdict)
            if f.best_point is not None:
                yield (f"    extrapolated, without launch cost; best sample: {format_value(f.best_point, unit)}",)


def heading(name: str, sweep: str, features: Sequence[Finding | CurveFeature]) -> str:
    """Return the heading of a sweep with the unit of rates that its rows omit: ``launch/groups, groups (groups/s)``."""
    units = {f.unit: None for f in features if f.feature == "rate" and f.unit != short_unit(f.unit)}
    return f"{name}, {sweep}" + (f" ({', '.join(units)})" if units else "")


def feature_name(feature: Finding | CurveFeature) -> str:
    """Return the name of a feature as in documents, but short names of rates: ``DRAM rate``, ``rate beyond 36 MiB``."""
    level = feature.level
    if feature.position == "peak":
        return "best rate"
    if feature.position != "plateau":
        return feature_text(feature)
    if level.transition_bytes is not None:
        return f"rate {'beyond' if level.beyond else 'up to'} {format_bytes(level.transition_bytes)}"
    return "rate" if level == DEVICE else f"{level} rate"


def short_unit(unit: str) -> str:
    """Omit the unit of work: ``matrices/s`` becomes ``/s``, ``work-items`` an empty text; bytes and seconds stay."""
    work, per, time = unit.rpartition("/") if "/" in unit else (unit, "", "")
    return unit if unit in _WORKLESS or work in _WORKLESS else per + time


def print_unexpected(explanations: Sequence[Explanation]) -> None:
    """Print the curves with the largest errors, each with the hypothesis that fits it best."""
    farthest = sorted(explanations, key=lambda each: -each.base_error)[:_MOST]
    title = f"Unexpected results: {len(farthest)} of {len(explanations)} curves, with the best hypothesis for each"
    rows = [(str(e.key), off_by(e.base_error), fitting(e), remaining_error(e)) for e in farthest]
    print_table(title, ("curve", "error", "hypothesis", "remaining error"), rows, right=(1, 3))


def print_energy(report: Report) -> None:
    """Print power and energy of each load, or why there are none; nothing if they were not part of the run."""
    from gpureport.report.run.whole_device import energy_table

    energy = report.energy
    if energy is None:
        return
    if energy.missing:
        note(f"Power: {energy.missing}")
        return
    title = f"Power of the {energy.scope} while kernels ran ({energy.sensor})"
    print_document_table(title, energy_table(report), ("throttle", "°C", "core clock", "predicted", "of the limit"))


def print_advice(advice: Sequence[Advice]) -> None:
    """Print the changes of kernels with the largest predicted gains."""
    best = sorted(advice, key=lambda each: -each.gain)[:_MOST]
    rows = [(each.workload, each.change, format_ratio(each.gain)) for each in best]
    print_table("Changes that would make kernels faster", ("kernel", "change", "predicted gain"), rows, right=(2,))


def print_timings(report: Report, rendering_s: float | None) -> None:
    """Print the time of each stage, and the longest steps; *rendering_s* is the time for HTML and PDF."""
    from gpureport.report.run.appendix import timings_table

    rendering = (Timing(stage="render", seconds=rendering_s),) if rendering_s is not None else ()
    timings = (*report.timings, *rendering)
    total = format_time(fsum(timing.seconds for timing in timings))
    print_document_table(f"Time by stage: {total}", timings_table(report.model_copy(update={"timings": timings})))
