"""The tables of ``gpureport validate``."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import inf

from gpureport.cli.console import print_text
from gpureport.cli.summary import short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.report.grouping import grouped
from gpureport.units import UNKNOWN, format_interval, format_percent, format_ratio
from gpureport.validate.residuals import Residual
from gpureport.validate.targets import KINDS, Summary, TargetResult, summarise

Key = Callable[[Residual], str]

_RATIO = "predicted /\xa0observed"
_STATISTICS = ("n", "unmatched", "median", "MAPE", "90 %", _RATIO, "inside")


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
    """Print tables of errors.

    Args:
        title: of the tables.
        first: heading of the first column.
        residuals: all errors.
        heading: returns the block of a residual.
        row: returns its row within the block.
        origin: whether to add a column with the origin of the constants.
    """
    columns = (first, *(("constants",) if origin else ()), *_STATISTICS)
    for kind in KINDS:
        rows: list[Row] = []
        of_kind = (c for c in residuals if c.curve.kind == kind)
        for block, members in grouped((heading(c), c) for c in of_kind).items():
            rows.append((block,))
            for line, own in grouped((row(c), c) for c in members).items():
                rows.append((f"  {line}", *((constants(own),) if origin else ()), *_cells(own)))
        right = range(len(columns) - len(_STATISTICS), len(columns))
        print_table(f"{title}, {kind} predictions", columns, rows, right=right)


def constants(residuals: Iterable[Residual]) -> str:
    """Return what the constants of the predictions were fitted to; several answers are joined by a comma."""
    return ", ".join(sorted({residual.curve.independence or "" for residual in residuals}))


def _cells(residuals: Sequence[Residual]) -> tuple[str, ...]:
    summary = summarise(residuals)
    return (
        str(summary.n),
        unmatched(summary),
        percent(summary.median),
        percent(summary.mean),
        percent(summary.p90),
        format_ratio(summary.ratio),
        "" if summary.inside is None else format_percent(summary.inside),
    )


def unmatched(summary: Summary) -> str:
    """Write the numbers of features that were not observed and not predicted; empty if all have a counterpart."""
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def feature_row(residual: Residual) -> str:
    """Return what is compared; for cliffs with their level."""
    if not residual.what.endswith("cliffs"):
        return residual.what
    return f"{residual.what}, {residual.level if residual.predicted else 'other'}"


def percent(error: float | None) -> str:
    """Write an error in percent."""
    return UNKNOWN if error is None else format_percent(error, ".1f")


_NONE = (None, None)


def print_features(residuals: Sequence[Residual]) -> None:
    """Print a line for every feature."""
    rows: list[Row] = []
    features = [c for c in residuals if c.what != "times"]
    for title, members in grouped((f"{c.curve}, {c.curve.kind} prediction", c) for c in features).items():
        rows.append((title,))
        for c in members:
            unit = short_unit(c.unit)
            predicted, observed = (
                format_interval(value, low, high, unit)
                for value, (low, high) in ((c.predicted, c.expected or _NONE), (c.observed, c.interval or _NONE))
            )
            kind = f" ({c.what.partition(' ')[0]})" if c.what.endswith("cliffs") else ""
            rows.append((f"  {c.label.removeprefix('device ')}{kind}", predicted, observed, percent(c.error)))
    columns = ("feature", "predicted (95 % interval)", "observed (95 % interval)", "error")
    print_table("Every feature", columns, rows, right=(1, 2, 3))


def print_worst(residuals: Sequence[Residual], number: int) -> None:
    """Print the sweeps with the largest median errors by kind of prediction, split where the bottleneck changes."""
    for kind in KINDS:
        times = [(str(c.curve), c) for c in residuals if c.what == "times" and c.curve.kind == kind]
        sweeps = [(summarise(own), name, own) for name, own in grouped(times).items()]
        sweeps.sort(key=lambda each: -(each[0].median or 0.0))
        rows: list[Row] = []
        for summary, name, own in sweeps[:number]:
            rows.append((f"{name}: {summary.n} points, median {percent(summary.median)}",))
            for bottleneck, points in groupby(own, lambda c: (c.bottleneck, c.level)):
                rows.append(_stretch(*bottleneck, list(points)))
        columns = ("bottleneck", "level", "points", "n", "median", _RATIO, "next ceiling")
        print_table(f"Sweeps with the largest errors, {kind} predictions", columns, rows, right=(3, 4, 5))


def _stretch(bottleneck: str, level: str, points: Sequence[Residual]) -> Row:
    """Return the row of consecutive points with one bottleneck."""
    first, last = points[0].label, points[-1].label
    summary = summarise(points)
    span = first if first == last else f"{first} … {last}"
    cells = str(summary.n), percent(summary.median), format_ratio(summary.ratio)
    return f"  {bottleneck}", level, span, *cells, _next(points[len(points) // 2])


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
        rows: list[Row] = []
        for data, members in grouped((result.target.data, result) for result in own).items():
            rows.append((data,))
            for each in members:
                compared = f"  {each.target.what}, {each.target.statistic}"
                rows.append((compared, str(each.summary.n), unmatched(each.summary), *result_cells(each)))
        columns = ("compared", "n", "unmatched", "error", "limit", "result")
        print_table(f"Accuracy targets, {kind} predictions", columns, rows, right=(1, 2, 3, 4))
    if by_kind:
        print_text("An unmatched feature counts as an infinite error. An error in brackets is that of the others.")


def result_cells(result: TargetResult) -> tuple[str, str, str]:
    """Write error, limit, and whether the target is reached."""
    target, reached = result.target, result.reached
    limit = f"≤ {format_percent(target.limit(result.kind) or 0.0)}"
    word = {None: "", True: "pass", False: "MISS"}[result.passed]
    if reached is None:
        return "no data", limit, word
    return f"({percent(result.of_matched)})" if reached == inf else percent(reached), limit, word
