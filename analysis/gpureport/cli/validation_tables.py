"""What ``gpureport validate`` prints."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from gpureport.cli.summary import short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.units import format_interval, format_ratio, format_value
from gpureport.validation import KINDS, Comparison, Kind, Summary, summarise

Key = Callable[[Comparison], tuple[str, ...]]

_STATISTICS = ("n", "one-sided", "median", "90 %", "pred. / obs.")


def print_aggregates(title: str, first: str, comparisons: Sequence[Comparison], heading: Key, row: Key) -> None:
    """Print a table of errors: a line for each *row* below each *heading*, specification and calibrated beside it.

    Args:
        title: above it.
        first: heading of the first column.
        comparisons: of both kinds.
        heading: names the block that a comparison belongs to.
        row: and the line.
    """
    rows: list[Row] = []
    for block, members in _grouped(comparisons, heading):
        if block:
            rows.append((", ".join(block),))
        for line, own in _grouped(members, row):
            statistics = [_cells([c for c in own if c.curve.kind == kind]) for kind in KINDS]
            rows.append(("  " * bool(block) + " ".join(line), *statistics[0], *statistics[1]))
    columns = (first, *(f"{kind[:4]}. {name}" for kind in KINDS for name in _STATISTICS))
    print_table(title, columns, rows, right=range(1, len(columns)))


def _grouped(comparisons: Iterable[Comparison], key: Key) -> Iterator[tuple[tuple[str, ...], list[Comparison]]]:
    """Yield groups in the order in which they first come."""
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in comparisons:
        groups.setdefault(key(comparison), []).append(comparison)
    yield from groups.items()


def _cells(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    if not comparisons:
        return ("",) * len(_STATISTICS)
    summary = summarise(comparisons)
    absent = f"{summary.not_observed} / {summary.not_predicted}"
    return (
        str(summary.n),
        "" if absent == "0 / 0" else absent,
        percent(summary.median),
        percent(summary.p90),
        format_ratio(summary.ratio),
    )


def percent(error: float | None) -> str:
    """Write an error in percent."""
    return "—" if error is None else f"{100 * error:.1f} %"


def print_features(comparisons: Sequence[Comparison]) -> None:
    """Print every feature on a line of its own."""
    rows: list[Row] = []
    named = [c for c in comparisons if c.what != "times"]
    for (result, sweep, kind), members in groupby(named, lambda c: (c.curve.result, str(c.curve.key), c.curve.kind)):
        rows.append((f"{result}, {sweep}, {kind}",))
        for c in members:
            unit = short_unit(c.unit)
            observed = format_interval(c.observed, c.low, c.high, unit)
            rows.append((f"  {c.label}", format_value(c.predicted, unit), observed, percent(c.error)))
    print_table("Every feature", ("feature", "predicted", "observed (95 % interval)", "error"), rows, right=(1, 2, 3))


def print_worst(comparisons: Sequence[Comparison], kind: Kind, number: int) -> None:
    """Print the sweeps with the largest median error, each in stretches that one ceiling binds."""
    times = [c for c in comparisons if c.what == "times" and c.curve.kind == kind]
    sweeps = [
        (summarise(own), name, own) for name, own in _grouped(times, lambda c: (c.curve.result, str(c.curve.key)))
    ]
    sweeps.sort(key=lambda each: -(each[0].median or 0.0))
    rows: list[Row] = []
    for summary, name, own in sweeps[:number]:
        rows.append((f"{', '.join(name)}: {summary.n} points, median {percent(summary.median)}",))
        for binding, points in groupby(own, lambda c: (c.binding, c.level)):
            rows.append(_stretch(*binding, list(points)))
    columns = ("bound by", "level", "points", "n", "median", "pred. / obs.", "next ceiling")
    print_table(f"The {number} sweeps with the largest errors, {kind}", columns, rows, right=(3, 4, 5))


def _stretch(binding: str, level: str, points: Sequence[Comparison]) -> Row:
    """Return a row of consecutive points that one ceiling binds."""
    first, last = points[0].label, points[-1].label
    summary: Summary = summarise(points)
    span = first if first == last else f"{first} … {last}"
    cells = str(summary.n), percent(summary.median), format_ratio(summary.ratio)
    return f"  {binding}", level, span, *cells, _next(points[len(points) // 2])


def _next(point: Comparison) -> str:
    """Name the second-largest ceiling, and its share of the largest."""
    first, *others = sorted(point.ceilings_s.values(), reverse=True)
    if not others or not first:
        return ""
    name = next(name for name, time in point.ceilings_s.items() if time == others[0] and name != point.binding)
    return f"{name} {100 * others[0] / first:.0f} %"
