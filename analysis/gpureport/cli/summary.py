"""The tables at the end of a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from gpureport.cli.console import note
from gpureport.cli.tables import Row, print_table
from gpureport.records.energy import Energy
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Advice, Explanation, Finding
from gpureport.report.run.unexpected import fitting, remaining_error
from gpureport.text import N90
from gpureport.units import format_bytes, format_interval, format_ratio, format_value, off_by

_NAMES = {"midpoint": "{level} cliff", "n90": "taper (n90)", "plateau": "{level} rate", "peak": "best rate"}
_WORKLESS = ("B", "B/s", "s", "Hz")
_MOST = 8


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a row for each feature (cliffs by midpoint, tapers by n90), compared with its best prediction."""
    shown = [f for f in best_basis(findings) if f.position in _NAMES]
    kinds = sorted({f.basis for f in shown})
    print_table(
        f"Observations and {' or '.join(kinds)} predictions ({N90})",
        ("feature", "predicted", "observed (95 % interval)", "ratio", "verdict"),
        list(_rows(shown, marked=len(kinds) > 1)),
        right=(1, 2, 3),
    )


def print_unexpected(explanations: Sequence[Explanation]) -> None:
    """Print the curves with the largest errors, each with the hypothesis that fits it best."""
    farthest = sorted(explanations, key=lambda each: -each.base_error)[:_MOST]
    print_table(
        f"Unexpected results: {len(farthest)} of {len(explanations)} curves, with the best hypothesis for each",
        ("curve", "error", "hypothesis", "remaining error"),
        [(str(e.key), off_by(e.base_error), fitting(e), remaining_error(e)) for e in farthest],
        right=(1, 3),
    )


def print_energy(energy: Energy | None) -> None:
    """Print power and energy of each load, or why there are none; nothing if they were not part of the run."""
    if energy is None:
        return
    if energy.missing:
        note(f"Power: {energy.missing}")
        return
    print_table(
        f"Power of the {energy.scope} while kernels ran ({energy.sensor})",
        ("load", "power", "rate", "energy"),
        [
            (
                load.name,
                load.skipped or format_value(load.power_w, "W"),
                format_value(load.rate, f"{load.unit}/s") if load.rate else "",
                format_value(load.energy_per_work_j, f"J/{load.unit}") if load.energy_per_work_j else "",
            )
            for load in energy.loads
        ],
        right=(1, 2, 3),
    )


def print_advice(advice: Sequence[Advice]) -> None:
    """Print the changes of kernels with the largest predicted gains."""
    best = sorted(advice, key=lambda each: -each.gain)[:_MOST]
    rows = [(each.workload, each.change, format_ratio(each.gain)) for each in best]
    print_table("Changes that would make kernels faster", ("kernel", "change", "predicted gain"), rows, right=(2,))


def _rows(findings: Sequence[Finding], *, marked: bool) -> Iterator[Row]:
    """Yield the heading of each sweep, *marked* if its predictions are those of the specification, and its features."""
    for (name, sweep), group in groupby(findings, lambda f: (f.key.workload, f.key.sweep)):
        features = list(group)
        basis = ", specification" if marked and features[0].basis == "specification" else ""
        yield (heading(name, sweep, features) + basis,)
        for f in features:
            unit = short_unit(f.unit)
            predicted = format_value(f.predicted, unit)
            observed = format_interval(f.observed, f.ci_low, f.ci_high, unit)
            yield f"  {feature_name(f)}", predicted, observed, format_ratio(f.ratio), str(f.verdict)
            if f.best_point is not None:
                yield (f"    fitted, without launch cost; best sample: {format_value(f.best_point, unit)}",)


def heading(name: str, sweep: str, features: Sequence[Finding | CurveFeature]) -> str:
    """Return the heading of a sweep with the unit of rates that its rows omit: ``launch/groups, groups (groups/s)``."""
    units = {f.unit: None for f in features if f.feature == "rate" and f.unit != short_unit(f.unit)}
    return f"{name}, {sweep}" + (f" ({', '.join(units)})" if units else "")


def feature_name(feature: Finding | CurveFeature) -> str:
    """Return the name of a feature: ``L2 cliff``, ``taper (n90)``, ``DRAM rate``, ``rate beyond 36 MiB``.

    Transitions that no cache explains are ``unexplained`` if observed; the model knows the cause of predicted ones.
    """
    level = feature.level
    if level.transition_bytes is not None and feature.feature == "rate":
        return f"rate {'beyond' if level.beyond else 'up to'} {format_bytes(level.transition_bytes)}"
    if level.is_unexplained:
        kind = "unexplained" if isinstance(feature, Finding) and feature.observed is not None else "other"
        return f"{kind} transition{'' if feature.position == 'midpoint' else f' ({feature.position})'}"
    if level.name.startswith("level "):
        return f"rate of plateau {level.name.removeprefix('level ')}"
    other = f"{{level}} {feature.feature} ({feature.position})"
    return _NAMES.get(feature.position, other).format(level=level).removeprefix("device ")


def short_unit(unit: str) -> str:
    """Omit the unit of work: ``matrices/s`` becomes ``/s``, ``work-items`` an empty text; bytes and seconds stay."""
    work, per, time = unit.rpartition("/") if "/" in unit else (unit, "", "")
    return unit if unit in _WORKLESS or work in _WORKLESS else per + time


def best_basis(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of calibrated predictions; for sweeps without one those of the specification."""
    calibrated = {f.key for f in findings if f.basis == "calibrated"}
    return tuple(f for f in findings if f.basis == "calibrated" or f.key not in calibrated)
