"""The table that ends a run."""

from collections.abc import Sequence

from gpureport.cli.console import print_table
from gpureport.records import Finding
from gpureport.units import format_interval, format_ratio, format_value

_KEY_POSITIONS = {"midpoint", "n90", "plateau", "peak"}


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one row a feature (a cliff by its midpoint, a taper by its n90), each held against its best prediction."""
    rows = [
        (
            f"{f.workload}/{f.variant}",
            f.sweep,
            f"{f.feature} {f.level}".strip(),
            format_value(f.predicted, f.unit),
            format_interval(f.observed, f.ci_low, f.ci_high, f.unit),
            format_ratio(f.ratio),
            str(f.verdict),
        )
        for f in best_basis(findings)
        if f.position in _KEY_POSITIONS
    ]
    print_table(
        "Predicted and observed",
        ("workload", "sweep", "feature", "predicted", "observed (95 % interval)", "ratio", "verdict"),
        rows,
        right=(3, 4, 5),
    )


def best_basis(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of calibrated predictions, and those of specifications where there is no calibrated one."""
    calibrated = {(f.workload, f.variant, f.sweep) for f in findings if f.basis == "calibrated"}
    return tuple(f for f in findings if f.basis == "calibrated" or (f.workload, f.variant, f.sweep) not in calibrated)
