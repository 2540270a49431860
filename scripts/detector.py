"""Accuracy of the detection of cliffs and tapers in synthetic sweeps with known features.

Run as ``python scripts/detector.py [CURVES]``.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from detector_curves import KINDS, Kind, Sweep, sweep
from gpureport.cli.console import print_text
from gpureport.observe import observe
from gpureport.records.curves import CurveFeature

LITTLE_NOISE = 0.03


@dataclass(frozen=True)
class Outcome:
    """The features found in a sweep, by position and level."""

    sweep: Sweep
    found: dict[tuple[str, str], CurveFeature]
    seconds: float

    @property
    def levels(self) -> int:
        """Number of plateaus according to the cliffs found."""
        return 1 + sum(position == "midpoint" for position, _ in self.found)

    def errors(self, position: str) -> list[float]:
        """Return |found / true - 1| for each true *position*; infinite if the number of levels is wrong."""
        complete = self.levels == self.sweep.levels
        pairs = [(self.found.get(key), true) for key, true in self.sweep.truth.items() if key[0] == position]
        return [abs(f.value / true - 1.0) if f and complete else np.inf for f, true in pairs]

    def covered(self, position: str) -> list[bool]:
        """Return for each *position* found whether its interval contains the true value."""
        if self.levels != self.sweep.levels:
            return []
        pairs = [(self.found.get(key), true) for key, true in self.sweep.truth.items() if key[0] == position]
        return [f.ci_low <= true <= f.ci_high for f, true in pairs if f and f.ci_low and f.ci_high]


def outcome(kind: Kind, seed: int) -> Outcome:
    """Observe one sweep."""
    made = sweep(kind, seed)
    begin = time.process_time()
    observation = observe(made.measurement)
    seconds = time.process_time() - begin
    features = observation.features if observation else ()
    return Outcome(made, {(f.position, str(f.level)): f for f in features}, seconds)


@dataclass(frozen=True)
class Row:
    """One line of the table; shares refer to *cases*."""

    what: str
    value: float
    target: str
    cases: int


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the statistics of the detector, with targets."""
    cliffs, flat, taper, slow = ([o for o in outcomes if o.sweep.kind == kind] for kind in KINDS)
    table = [
        _share("level count right", [o.levels == o.sweep.levels for o in cliffs], ">= 97 %"),
        *(_share(f"  of {n} levels", [o.levels == n for o in cliffs if o.sweep.levels == n], "") for n in (1, 2, 3, 4)),
        _share("false cliffs, flat", [o.levels > 1 for o in flat], "<= 1 %"),
        _share("false cliffs, tapers", [o.levels > 1 for o in [*taper, *slow]], "<= 1 %"),
    ]
    for position in ("onset", "midpoint", "end"):
        table += _position(cliffs, position)
    for name, group in (("taper", taper), ("slow taper", slow)):
        for position in ("n90", "knee"):
            table += _position(group, position, f"{name} ")
    milliseconds = [1e3 * o.seconds for o in outcomes]
    table.append(Row("time of observe(), ms, median", float(np.median(milliseconds)), "< 50", len(outcomes)))
    table.append(Row("time of observe(), ms, 99 %", float(np.quantile(milliseconds, 0.99)), "", len(outcomes)))
    return table


def _position(outcomes: Sequence[Outcome], position: str, name: str = "") -> list[Row]:
    quiet = [o for o in outcomes if o.sweep.noise <= LITTLE_NOISE]
    errors = [error for o in quiet for error in o.errors(position)]
    return [
        _share(f"{name}{position} within 5 %, noise <= 3 %", [e <= 0.05 for e in errors], ">= 95 %"),
        Row(
            f"{name}{position} error, median, noise <= 3 %",
            100 * float(np.median(errors or [np.inf])),
            "",
            len(errors),
        ),
        _share(f"{name}{position} 95 % interval covers", [c for o in outcomes for c in o.covered(position)], "92-98 %"),
    ]


def _share(what: str, hits: Sequence[bool], target: str) -> Row:
    return Row(what, 100 * float(np.mean(hits)) if hits else float("nan"), target, len(hits))


def main(
    curves: Annotated[int, typer.Argument(help="Number of sweeps with cliffs; other kinds get half as many.")] = 2000,
) -> None:
    """Print the table."""
    numbers = {kind: curves if kind == "cliffs" else curves // 2 for kind in KINDS}
    outcomes = [outcome(kind, seed) for kind, number in numbers.items() for seed in range(number)]
    for row in rows(outcomes):
        print_text(f"{row.what:46} {row.value:8.1f}  {row.target:8} {row.cases:6}")


if __name__ == "__main__":
    typer.run(main)
