"""The tables of ``gpureport validate``."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import inf

from gpureport.cli.summary import short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.predict import Kind
from gpureport.units import format_interval, format_ratio
from gpureport.validate.residuals import Residual
from gpureport.validate.targets import KINDS, Summary, TargetResult, summarise

Key = Callable[[Residual], str]

_STATISTICS = ("n", "unmatched", "median", "90 %", "p / o", "inside")
LEGEND = (
    "median, 90 %: median and 90th percentile of the error. unmatched: features predicted but not observed (or of "
    "another plateau) + observed but not predicted. p / o: median of predicted / observed. inside: share of observed "
    "values within the 95 % interval of the prediction. (cal.): calibrated predictions; other columns: specification "
    "predictions."
)


def print_aggregates(title: str, first: str, residuals: Sequence[Residual], heading: Key, row: Key) -> None:
    """Print a table of errors; *heading* returns the block of a residual, *row* its row within the block."""
    rows: list[Row] = []
    for block, members in _grouped(residuals, heading):
        rows.append((block,))
        for line, own in _grouped(members, row):
            specified, calibrated = (_cells([c for c in own if c.curve.kind == kind]) for kind in KINDS)
            rows.append((f"  {line}", *specified, *calibrated))
    columns = (first, *_STATISTICS, *map(_calibrated, _STATISTICS))
    print_table(title, columns, rows, right=range(1, len(columns)))


def _grouped(residuals: Iterable[Residual], key: Key) -> Iterable[tuple[str, list[Residual]]]:
    """Return groups in the order of their first members."""
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(key(residual), []).append(residual)
    return groups.items()


def _calibrated(name: str) -> str:
    return f"{name} (cal.)"


def _cells(residuals: Sequence[Residual]) -> tuple[str, ...]:
    if not residuals:
        return ("",) * len(_STATISTICS)
    summary = summarise(residuals)
    return (
        str(summary.n),
        _unmatched(summary),
        percent(summary.median),
        percent(summary.p90),
        format_ratio(summary.ratio),
        "" if summary.inside is None else f"{100 * summary.inside:.0f} %",
    )


def _unmatched(summary: Summary) -> str:
    observed, predicted = summary.not_observed, summary.not_predicted
    return f"{observed} + {predicted}" if observed or predicted else ""


def feature_row(residual: Residual) -> str:
    """Return what is compared; for cliffs with their level."""
    if not residual.what.endswith("cliffs"):
        return residual.what
    return f"{residual.what}, {residual.level if residual.predicted else 'other'}"


def percent(error: float | None) -> str:
    """Write an error in percent."""
    return "—" if error is None else f"{100 * error:.1f} %"


_NONE = (None, None)


def print_features(residuals: Sequence[Residual]) -> None:
    """Print a line for every feature."""
    rows: list[Row] = []
    features = [c for c in residuals if c.what != "times"]
    for title, members in _grouped(features, lambda c: f"{c.curve}, {c.curve.kind}"):
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


def print_worst(residuals: Sequence[Residual], kind: Kind, number: int) -> None:
    """Print the sweeps with the largest median errors, split where the bottleneck changes."""
    times = [c for c in residuals if c.what == "times" and c.curve.kind == kind]
    sweeps = [(summarise(own), name, own) for name, own in _grouped(times, lambda c: str(c.curve))]
    sweeps.sort(key=lambda each: -(each[0].median or 0.0))
    rows: list[Row] = []
    for summary, name, own in sweeps[:number]:
        rows.append((f"{name}: {summary.n} points, median {percent(summary.median)}",))
        for bottleneck, points in groupby(own, lambda c: (c.bottleneck, c.level)):
            rows.append(_stretch(*bottleneck, list(points)))
    columns = ("bottleneck", "level", "points", "n", "median", "p / o", "next ceiling")
    print_table(f"Sweeps with the largest errors, {kind} prediction", columns, rows, right=(3, 4, 5))


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
    return f"{name} {100 * others[0] / first:.0f} %"


_RESULT = ("error", "limit", "result")
TARGET_COLUMNS = ("data", "what", "statistic", "n", "unmatched", *_RESULT, *map(_calibrated, _RESULT))


def print_targets(judged: Sequence[Sequence[TargetResult]]) -> None:
    """Print the errors beside their limits."""
    title = (
        "Accuracy targets of specification and of calibrated predictions (cal.). An unmatched feature counts as an "
        "infinite error; the error in brackets is that of the matched ones."
    )
    print_table(title, TARGET_COLUMNS, [target_row(results) for results in judged], right=(3, 4, 5, 6, 8, 9))


def target_row(results: Sequence[TargetResult]) -> Row:
    """Return the cells of a target, see :data:`TARGET_COLUMNS`."""
    target, summary = results[0].target, results[0].summary
    blank = ("",) * 3 * (len(KINDS) - len(results))
    reached = (cell for result in results for cell in _result_cells(result))
    return target.data, target.what, target.statistic, str(summary.n), _unmatched(summary), *reached, *blank


def _result_cells(result: TargetResult) -> tuple[str, str, str]:
    """Write error, limit, and whether the target is reached."""
    target, reached = result.target, result.reached
    limit = f"≤ {100 * (target.limit(result.kind) or 0.0):.0f} %"
    word = {None: "", True: "pass", False: "MISS"}[result.passed]
    if reached is None:
        return "no data", limit, word
    return f"({percent(result.of_matched)})" if reached == inf else percent(reached), limit, word
