"""The tables of ``gpureport validate``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import TypeVar

from gpureport.cli.console import print_text
from gpureport.cli.summary import short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.records.curves import BASES
from gpureport.report.grouping import grouped
from gpureport.units import UNKNOWN, format_interval, format_percent, format_ratio
from gpureport.validate.residuals import Residual, What
from gpureport.validate.targets import Summary, TargetResult, summarise

T = TypeVar("T")
Key = Callable[[Residual], str]

_RATIO = "predicted /\xa0observed"
_STATISTICS = ("n", "unmatched", "median", "MAPE", "90 %", _RATIO, "inside")
_NONE: tuple[None, None] = (None, None)
_CLIFFS: Mapping[What, str] = {"latency cliffs": "latency", "bandwidth cliffs": "bandwidth"}
"""Quantities whose position is compared, not their value."""


def print_legend(*, origin: bool = False) -> None:
    """Explain the columns of :func:`print_aggregates`, with *origin* also that of constants."""
    print_text(
        "n: number of values. unmatched: features predicted but not observed (or of another plateau) + observed but "
        "not predicted. median, MAPE, 90 %: median, mean and 90th percentile of the error. predicted / observed: the "
        "median of this ratio. inside: share of observed values within the 95 % interval of the prediction."
    )
    if origin:
        print_text(
            "constants: whether the database and the model contain constants that were fitted to such a device (seen), "
            "only to other devices of its architecture (unseen device), or to neither (unseen architecture)."
        )
    print_text("")


def print_aggregates(
    title: str, first: str, residuals: Sequence[Residual], heading: Key, row: Key, *, origin: bool = False
) -> None:
    """Print tables of errors by *heading* and *row*, the *first* column; *origin* adds that of the constants."""
    columns = (first, *(("constants",) if origin else ()), *_STATISTICS)
    right = range(len(columns) - len(_STATISTICS), len(columns))

    def lines(members: Sequence[Residual]) -> Iterator[Row]:
        for name, own in grouped((row(c), c) for c in members).items():
            yield f"  {name}", *((constants(own),) if origin else ()), *_cells(summarise(own))

    for kind in BASES:
        of_kind = [c for c in residuals if c.curve.kind == kind]
        print_table(f"{title}, {kind} predictions", columns, _blocks(of_kind, heading, lines), right)


def _blocks(values: Iterable[T], heading: Callable[[T], str], lines: Callable[[list[T]], Iterable[Row]]) -> list[Row]:
    """Return the rows of *values* with the same heading below it."""
    blocks = grouped((heading(value), value) for value in values)
    return [row for name, members in blocks.items() for row in ((name,), *lines(members))]


def constants(residuals: Iterable[Residual]) -> str:
    """Return what the constants of the predictions were fitted to; several answers are joined by a comma."""
    return ", ".join(sorted({residual.curve.independence or "" for residual in residuals}))


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        str(summary.n),
        unmatched(summary),
        *map(percent, (summary.median, summary.mean, summary.p90)),
        format_ratio(summary.ratio),
        "" if summary.inside is None else format_percent(summary.inside),
    )


def unmatched(summary: Summary) -> str:
    """Write the numbers of features that were not observed and not predicted; empty if all have a counterpart."""
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def feature_row(residual: Residual) -> str:
    """Return what is compared; for cliffs with their level."""
    level = f", {residual.level if residual.predicted else 'other'}" if residual.what in _CLIFFS else ""
    return f"{residual.what}{level}"


def percent(error: float | None) -> str:
    """Write an error in percent."""
    return UNKNOWN if error is None else format_percent(error, ".1f")


def print_features(residuals: Sequence[Residual]) -> None:
    """Print a line for every feature."""
    features = [c for c in residuals if c.what != "times"]
    rows = _blocks(features, lambda c: f"{c.curve}, {c.curve.kind} prediction", lambda own: map(_feature, own))
    columns = ("feature", "predicted (95 % interval)", "observed (95 % interval)", "error")
    print_table("Every feature", columns, rows, right=(1, 2, 3))


def _feature(residual: Residual) -> Row:
    unit = short_unit(residual.unit)
    kind = f" ({_CLIFFS[residual.what]})" if residual.what in _CLIFFS else ""
    values = ((residual.predicted, residual.expected), (residual.observed, residual.interval))
    cells = (format_interval(value, low, high, unit) for value, ends in values for low, high in (ends or _NONE,))
    return f"  {residual.label}{kind}", *cells, percent(residual.error)


def print_worst(residuals: Sequence[Residual], number: int) -> None:
    """Print the sweeps with the largest median errors by kind of prediction, split where the bottleneck changes."""
    columns = ("bottleneck", "level", "points", "n", "median", _RATIO, "next ceiling")
    for kind in BASES:
        times = grouped((str(c.curve), c) for c in residuals if c.what == "times" and c.curve.kind == kind)
        sweeps = [(summarise(own), name, own) for name, own in times.items()]
        rows: list[Row] = []
        for summary, name, own in sorted(sweeps, key=lambda each: -(each[0].median or 0.0))[:number]:
            rows.append((f"{name}: {summary.n} points, median {percent(summary.median)}",))
            rows += [_stretch(list(points)) for _, points in groupby(own, lambda c: (c.bottleneck, c.level))]
        print_table(f"Sweeps with the largest errors, {kind} predictions", columns, rows, right=(3, 4, 5))


def _stretch(points: Sequence[Residual]) -> Row:
    """Return the row of consecutive points with one bottleneck."""
    first, last, summary = points[0], points[-1], summarise(points)
    span = first.label if first.label == last.label else f"{first.label} … {last.label}"
    cells = str(summary.n), percent(summary.median), format_ratio(summary.ratio)
    return f"  {first.bottleneck}", first.level, span, *cells, _next(points[len(points) // 2])


def _next(point: Residual) -> str:
    """Return the second-largest ceiling, and its ratio to the largest."""
    first, *others = sorted(point.ceilings_s.values(), reverse=True)
    if not others or not first:
        return ""
    name = next(name for name, time in point.ceilings_s.items() if time == others[0] and name != point.bottleneck)
    return f"{name} {format_percent(others[0] / first)}"


def print_targets(results: Iterable[TargetResult]) -> None:
    """Print the errors beside their limits."""
    by_kind = grouped((result.kind, result) for result in results)
    for kind, own in by_kind.items():
        rows = _blocks(own, lambda result: result.target.data, lambda members: map(_target, members))
        columns = ("compared", "n", "unmatched", "error", "limit", "result")
        print_table(f"Accuracy targets, {kind} predictions", columns, rows, right=(1, 2, 3, 4))
    if by_kind:
        print_text("An unmatched feature counts as an infinite error. An error in brackets is that of the others.")


def _target(result: TargetResult) -> Row:
    target, summary = result.target, result.summary
    return f"  {target.what}, {target.statistic}", str(summary.n), unmatched(summary), *result_cells(result)


def result_cells(result: TargetResult) -> tuple[str, str, str]:
    """Write error, limit, and whether the target is reached."""
    limit = f"≤ {format_percent(result.target.limit(result.kind) or 0.0)}"
    word = {None: "", True: "pass", False: "MISS"}[result.passed]
    error = "no data" if result.reached is None else percent(result.reached)
    return f"({percent(result.of_matched)})" if result.reached == inf else error, limit, word
