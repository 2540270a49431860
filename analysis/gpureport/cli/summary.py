"""The tables that end a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from gpureport.cli.tables import Row, print_table
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Explanation, Finding
from gpureport.report.run.unexpected import fitting, remaining_error
from gpureport.text import off_by
from gpureport.units import format_interval, format_ratio, format_value

_NAMES = {"midpoint": "{level} cliff", "n90": "taper (n90)", "plateau": "{level} rate", "peak": "best rate"}
_WORKLESS = ("B", "B/s", "s", "Hz")
_MOST = 8
TITLE_NOTE = "n90: work-items for 90 % of the plateau"


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one row a feature (a cliff by its midpoint, a taper by its n90), each held against its best prediction."""
    print_table(
        f"Predicted and observed ({TITLE_NOTE})",
        ("feature", "predicted", "observed (95 % interval)", "ratio", "verdict"),
        list(_rows(findings)),
        right=(1, 2, 3),
    )


def print_unexpected(explanations: Sequence[Explanation]) -> None:
    """Print a row for each of the curves that are farthest from their predictions: which hypothesis fits."""
    if not explanations:
        return
    farthest = sorted(explanations, key=lambda each: -each.base_error)[:_MOST]
    print_table(
        f"What surprised: {len(farthest)} of {len(explanations)} curves, and the hypotheses that fit them",
        ("curve", "off", "what fits", "then off"),
        [(str(e.key), off_by(e.base_error), fitting(e), remaining_error(e)) for e in farthest],
        right=(1, 3),
    )


def _rows(findings: Sequence[Finding]) -> Iterator[Row]:
    shown = [f for f in best_basis(findings) if f.position in _NAMES]
    for (name, sweep), group in groupby(shown, lambda f: (f.key.workload, f.key.sweep)):
        of_sweep = list(group)
        yield (heading(name, sweep, of_sweep),)
        for f in of_sweep:
            unit = short_unit(f.unit)
            predicted = format_value(f.predicted, unit)
            observed = format_interval(f.observed, f.ci_low, f.ci_high, unit)
            yield f"  {feature_name(f)}", predicted, observed, format_ratio(f.ratio), str(f.verdict)
            if f.best_point is not None:
                best = format_value(f.best_point, unit)
                yield "    fitted, without launch cost; best sample:", "", best, "", ""


def heading(name: str, sweep: str, features: Sequence[Finding | CurveFeature]) -> str:
    """Name a sweep, and the unit of its rates where the rows below leave it out: ``launch/groups, groups (groups/s)``.

    Args:
        name: of the workload.
        sweep: of its sweeps.
        features: those of the rows below.
    """
    units = {f.unit: None for f in features if f.feature == "rate" and f.unit != short_unit(f.unit)}
    return f"{name}, {sweep}" + (f" ({', '.join(units)})" if units else "")


def feature_name(feature: Finding | CurveFeature) -> str:
    """Name a feature by its key position: ``L2 cliff``, ``taper (n90)``, ``DRAM rate``."""
    if feature.level.is_unexplained:
        return str(feature.level) if feature.position == "midpoint" else f"{feature.feature} at the {feature.level}"
    other = f"{{level}} {feature.feature} ({feature.position})"
    return _NAMES.get(feature.position, other).format(level=feature.level).removeprefix("device ")


def short_unit(unit: str) -> str:
    """Leave out what is counted: ``matrices/s`` is ``/s``, ``work-items`` nothing; bytes and seconds stay."""
    work, per, time = unit.partition("/")
    return unit if unit in _WORKLESS or work in _WORKLESS else per + time


def best_basis(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of calibrated predictions, and those of specifications where there is no calibrated one."""
    calibrated = {f.key for f in findings if f.basis == "calibrated"}
    return tuple(f for f in findings if f.basis == "calibrated" or f.key not in calibrated)
