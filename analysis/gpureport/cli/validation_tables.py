"""What ``gpureport validate`` prints."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from math import inf

from gpureport.cli.summary import short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.predict import Kind
from gpureport.units import format_interval, format_ratio
from gpureport.validate.residuals import Residual
from gpureport.validate.targets import KINDS, Summary, Verdict, summarise

Key = Callable[[Residual], str]

_STATISTICS = ("n", "single", "median", "90 %", "p / o", "inside")
LEGEND = (
    "median, 90 %: error, in the middle and at the ninth decile; single: predicted but not observed (or of another "
    "plateau) + observed but not predicted; p / o: median of predicted / observed; inside: observed in the 95 % "
    "interval of the prediction; each from the specification, then calibrated"
)


def print_aggregates(title: str, first: str, residuals: Sequence[Residual], heading: Key, row: Key) -> None:
    """Print a table of errors: a line for each *row* below each *heading*, specification and calibrated beside it.

    Args:
        title: above it.
        first: heading of the first column.
        residuals: of both kinds.
        heading: names the block that a residual belongs to.
        row: and the line.
    """
    rows: list[Row] = []
    for block, members in _grouped(residuals, heading):
        rows.append((block,))
        for line, own in _grouped(members, row):
            specified, calibrated = (_cells([c for c in own if c.curve.kind == kind]) for kind in KINDS)
            rows.append((f"  {line}", *specified, *calibrated))
    columns = (first, *_STATISTICS, *_STATISTICS)
    print_table(title, columns, rows, right=range(1, len(columns)))


def _grouped(residuals: Iterable[Residual], key: Key) -> Iterator[tuple[str, list[Residual]]]:
    """Yield groups in the order in which they first come."""
    groups: dict[str, list[Residual]] = {}
    for residual in residuals:
        groups.setdefault(key(residual), []).append(residual)
    yield from groups.items()


def _cells(residuals: Sequence[Residual]) -> tuple[str, ...]:
    if not residuals:
        return ("",) * len(_STATISTICS)
    summary = summarise(residuals)
    return (
        str(summary.n),
        _single(summary),
        percent(summary.median),
        percent(summary.p90),
        format_ratio(summary.ratio),
        "" if summary.inside is None else f"{100 * summary.inside:.0f} %",
    )


def _single(summary: Summary) -> str:
    """Write how many features only one side has."""
    both = summary.not_observed, summary.not_predicted
    return "{} + {}".format(*both) if any(both) else ""


def feature_row(residual: Residual) -> str:
    """Name what is compared; cliffs by their level."""
    if not residual.what.endswith("cliffs"):
        return residual.what
    return f"{residual.what}, {residual.level if residual.predicted else 'other'}"


def percent(error: float | None) -> str:
    """Write an error in percent."""
    return "—" if error is None else f"{100 * error:.1f} %"


_NONE = (None, None)


def print_features(residuals: Sequence[Residual]) -> None:
    """Print every feature on a line of its own."""
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
            rows.append((f"  {c.what}: {c.label}", predicted, observed, percent(c.error)))
    print_table(
        "Every feature",
        ("feature", "predicted (95 % interval)", "observed (95 % interval)", "error"),
        rows,
        right=(1, 2, 3),
    )


def print_worst(residuals: Sequence[Residual], kind: Kind, number: int) -> None:
    """Print the sweeps with the largest median error, each in stretches that one ceiling binds."""
    times = [c for c in residuals if c.what == "times" and c.curve.kind == kind]
    sweeps = [(summarise(own), name, own) for name, own in _grouped(times, lambda c: str(c.curve))]
    sweeps.sort(key=lambda each: -(each[0].median or 0.0))
    rows: list[Row] = []
    for summary, name, own in sweeps[:number]:
        rows.append((f"{name}: {summary.n} points, median {percent(summary.median)}",))
        for bottleneck, points in groupby(own, lambda c: (c.bottleneck, c.level)):
            rows.append(_stretch(*bottleneck, list(points)))
    columns = ("bound by", "level", "points", "n", "median", "pred. / obs.", "next ceiling")
    if rows:
        print_table(f"The {number} sweeps with the largest errors, {kind}", columns, rows, right=(3, 4, 5))


def _stretch(bottleneck: str, level: str, points: Sequence[Residual]) -> Row:
    """Return a row of consecutive points that one ceiling binds."""
    first, last = points[0].label, points[-1].label
    summary: Summary = summarise(points)
    span = first if first == last else f"{first} … {last}"
    cells = str(summary.n), percent(summary.median), format_ratio(summary.ratio)
    return f"  {bottleneck}", level, span, *cells, _next(points[len(points) // 2])


def _next(point: Residual) -> str:
    """Name the second-largest ceiling, and its share of the largest."""
    first, *others = sorted(point.ceilings_s.values(), reverse=True)
    if not others or not first:
        return ""
    name = next(name for name, time in point.ceilings_s.items() if time == others[0] and name != point.bottleneck)
    return f"{name} {100 * others[0] / first:.0f} %"


TARGET_COLUMNS = ("data", "what", "statistic", "n", "single", *(("reached", "required", "verdict") * len(KINDS)))


def print_targets(judged: Sequence[Sequence[Verdict]]) -> None:
    """Print what is required beside what was reached."""
    title = (
        "Required accuracies, of predictions from the specification, then of calibrated ones (a single feature counts "
        "as an error without limit; in brackets what the others reach)"
    )
    print_table(title, TARGET_COLUMNS, [target_row(verdicts) for verdicts in judged], right=(3, 4, 5, 6, 8, 9))


def target_row(verdicts: Sequence[Verdict]) -> Row:
    """Return the cells of a target, see :data:`TARGET_COLUMNS`."""
    target, summary = verdicts[0].target, verdicts[0].summary
    blank = ("",) * 3 * (len(KINDS) - len(verdicts))
    reached = (cell for verdict in verdicts for cell in _judged(verdict))
    return target.data, target.what, target.statistic, str(summary.n), _single(summary), *reached, *blank


def _judged(verdict: Verdict) -> tuple[str, str, str]:
    """Write what was reached, what is required, and whether that is enough."""
    target, reached = verdict.target, verdict.reached
    limit = f"≤ {100 * (target.limit(verdict.kind) or 0.0):.0f} %"
    word = {None: "", True: "pass", False: "MISS"}[verdict.passed]
    if reached is None:
        return "no data", limit, word
    return f"({percent(verdict.of_both)})" if reached == inf else percent(reached), limit, word
