"""Charts that compare machines: their curves, speeds, and heat maps of ratios."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from statistics import median

from gpureport.compare.records import Difference, MachineCurve
from gpureport.compare.summary import MeanRatio
from gpureport.report.figures.chart import MACHINES, Axis, Cells, Chart, Mark, Panel, Role, Series, stretch
from gpureport.report.figures.sweeps import MOST_SIZES, UNITS, interpolation, one, value_scale
from gpureport.units import format_number, format_ratio

MOST_PANELS = MOST_SIZES
MOST_ROWS = 26
"""Rows of one heat map, with the headings of families: two such figures fill a page."""

_ROW_IN = 0.15
_MOST_REACH = 25.0  # of ratios, above and below 1
_LEAST_RANGE, _ROOM, _MOST_RANGE = 2.0, 1.2, 50.0
"""Of the scale of differences: its least range in percent; its range / the largest difference; its largest range."""
_BEYOND = 1.3  # factor between the ends of values and those of intervals that an axis of speeds also shows
_ROUNDED = 0.1  # largest relative rounding error of a printed ratio
_MOST_NAMED = 44  # columns of a heat map
_REACHES = (1.05, 1.25, 1.5, 2.0, 4.0, 8.0)
"""Ratios with the darkest colour of a heat map."""


def machine_chart(sweeps: Sequence[Sequence[MachineCurve]], machines: Sequence[str]) -> Chart:
    """Return *sweeps*, at most :data:`MOST_PANELS`; *machines* are the names in the order of their colours.

    Observed curves are dots, predicted ones dashed with bands. Below a curve are the values divided by those of the
    first machine, if it has the sweep; without bands, which are not those of ratios: predictions share uncertainties.
    """
    height = {1: 1.5, 2: 1.3, 3: 1.2}[len(sweeps)]
    columns = tuple(_machine_stack(curves, machines, height) for curves in sweeps)
    return Chart(columns, legend=tuple(zip(machines, MACHINES, strict=False)))


def base_of(curves: Sequence[MachineCurve], machines: Sequence[str]) -> MachineCurve | None:
    """Return the curve that all are divided by: that of the first of *machines*, if there is another one."""
    return next((curve for curve in curves if curve.machine == machines[0] and len(curves) > 1), None)


def _machine_stack(curves: Sequence[MachineCurve], machines: Sequence[str], height: float) -> tuple[Panel, ...]:
    first, base = curves[0], base_of(curves, machines)
    every = [point.x for curve in curves for point in curve.points]
    x = Axis(first.axis.label, UNITS.get(first.axis.quantity, ""), "log2", stretch(every, 1.15))
    lines = tuple(line for curve in curves for line in _machine_lines(curve, machines))
    y = Axis(first.metric.label, first.metric.value_unit, value_scale(lines, rate=first.metric.kind == "rate"))
    values = Panel(x, y, lines, (first.key.variant,), height, joined=base is not None)
    if base is None:
        return (values,)
    ratios = tuple(line for curve in curves for line in _machine_lines(curve, machines, base))
    return values, Panel(x, Axis("ratio", scale="ratio", ends=(0.0, _MOST_REACH)), ratios, (), 0.4)


def _machine_lines(curve: MachineCurve, machines: Sequence[str], base: MachineCurve | None = None) -> Iterator[Series]:
    known = [(point.x, point.value) for point in base.points] if base else []
    ends = (known[0][0] / 1.01, known[-1][0] * 1.01) if known else (0.0, float("inf"))
    under = interpolation(known) if known else one
    points = [(point, under(point.x)) for point in curve.points if ends[0] <= point.x <= ends[1]]
    if not points:
        return
    name = "" if curve is base else f"{curve.machine} / {base.machine}" if base else curve.machine
    role = MACHINES[machines.index(curve.machine)]
    line = [(p.x, p.value / by) for p, by in points]
    with_ends = [
        (x, y, (p.ci_low or p.value) / by, (p.ci_high or p.value) / by)
        for (x, y), (p, by) in zip(line, points, strict=True)
    ]
    if curve.observed:
        yield Series.of("", role, "line", line)
        yield Series.of(name, role, "dots", with_ends)
    else:
        yield Series.of(name, role, "dashes", line if base else with_ends)


@dataclass(frozen=True)
class SpeedRow:
    """One kind of work: its name, and the mean of each machine except the baseline."""

    name: str
    means: Sequence[MeanRatio | None]


def speed_chart(rows: Sequence[SpeedRow], machines: Sequence[str]) -> Chart:
    """Return *rows* from top to bottom; *machines* are the baseline and the others, as many as :data:`MACHINES`.

    Each kernel is a small dot. Each mean is a large dot, with its 95 % interval.
    """
    series, others = [], machines[1:]
    for number, (machine, role) in enumerate(zip(others, MACHINES[1:], strict=False)):
        shift = (number + 0.5) / len(others) * 0.8 - 0.4
        found = [(row + shift, mean) for row, each in enumerate(rows) if (mean := each.means[number])]
        kernels = [(ratio, y, name) for y, mean in found for name, ratio in mean.kernels.items()]
        if kernels:
            x, y, names = zip(*kernels, strict=True)
            series.append(Series(f"{machine}, kernels", role, "small dots", x, y, texts=tuple(map(str, names))))
            ratios = [
                (m.ratio.value, y, m.ratio.ci_low or m.ratio.value, m.ratio.ci_high or m.ratio.value) for y, m in found
            ]
            series.append(Series.of(machine, role, "dots", ratios))
    low, high = stretch([0.95, 1.05, *(x for each in series for x in each.x)], 1.05)
    intervals = [end for each in series for end in (*each.low, *each.high) if end]
    ends = (max(low / _BEYOND, min([low, *intervals])), min(high * _BEYOND, max([high, *intervals])))
    panel = Panel(
        Axis(f"speed / speed of {machines[0]} (right: faster)", scale="log10", ends=ends),
        Axis(scale="rows", rows=tuple(row.name for row in rows)),
        tuple(series),
        height_in=len(rows) * (len(others) * 0.11 + 0.04),
        marks=(Mark(1, 1, role="ink"),),
    )
    return Chart(((panel,),), legend=tuple(zip(others, MACHINES[1:], strict=False)))


def spread_chart(differences: Sequence[Difference]) -> Chart:
    """Return one machine's speeds relative to the baseline: one dot per sweep with its 95 % interval, slowest first."""
    ordered = sorted(differences, key=lambda difference: difference.speed.value)
    speeds = [(s.value, s.ci_low or s.value, s.ci_high or s.value) for s in (each.speed for each in ordered)]
    percent = [[100 * (speed - 1) for speed in each] for each in speeds]
    usual = _ROOM * max(median(max(map(abs, each)) for each in percent), *(abs(each[0]) for each in percent))
    reach = min(max(_LEAST_RANGE, usual), _MOST_RANGE)
    series = []
    kinds: tuple[tuple[str, Role], ...] = (("not significant", "muted"), ("significant", "observed"))
    for significant, (name, role) in enumerate(kinds):
        if found := [x for x, each in enumerate(ordered) if each.significant == bool(significant)]:
            texts = tuple(ordered[x].sweep for x in found)
            series.append(Series.of(name, role, "dots", [(float(x), *percent[x]) for x in found], texts=texts))
    panel = Panel(
        Axis(f"{len(ordered)} sweeps, slowest first", scale="linear", ends=(-0.5, len(ordered) - 0.5)),
        Axis("difference", "%", ends=(-reach, reach)),
        tuple(series),
        (ordered[0].machine,),
        1.75,
        (Mark(0, 0, upright=False),),
    )
    return Chart(((panel,),))


@dataclass(frozen=True)
class HeatColumns:
    """The columns of a map, and the meaning of its ratios.

    Names of machines that are only *predicted* have the colour of predictions. Names of *cautioned* ones start with △.
    """

    title: str
    names: tuple[str, ...]
    predicted: frozenset[str] = frozenset()
    cautioned: frozenset[str] = frozenset()


@dataclass(frozen=True)
class HeatRow:
    """One row: its name, a detail that distinguishes rows of that name, and the ratios by column.

    Rows with the same *heading* stand below it.
    """

    name: str
    detail: str
    ratios: Mapping[str, float]
    heading: str = ""


def named_columns(columns: HeatColumns) -> int:
    """Return n if every n-th column has its name printed, because all names would overlap."""
    return ceil(len(columns.names) / _MOST_NAMED)


def reach_of(rows: Iterable[HeatRow]) -> float:
    """Return the ratio that gets the darkest colour, for all figures of *rows*: few ratios lie beyond it."""
    ratios = sorted(max(r, 1 / r) for row in rows for r in row.ratios.values())
    usual = ratios[int(0.95 * (len(ratios) - 1))] if ratios else 1.0
    return next((reach for reach in _REACHES if reach >= usual), max(_REACHES))


def with_values(rows: Sequence[HeatRow], columns: HeatColumns) -> HeatColumns:
    """Return the *columns* of a map without those that no row has."""
    return replace(columns, names=tuple(name for name in columns.names if any(name in row.ratios for row in rows)))


def heat_chart(rows: Sequence[HeatRow], columns: HeatColumns, reach: float) -> Chart:
    """Return a map of *rows* by those *columns* that have values; *reach*: ratio of the darkest colour."""
    shown, lines = with_values(rows, columns), list(_lines(rows))
    every = named_columns(shown)
    names = tuple(", ".join(filter(None, (row.name, row.detail))) for _, row in lines)
    roles: tuple[Role, ...] = tuple("muted" if is_heading else "ink" for is_heading, _ in lines)
    marked = (f"△ {name}" if name in shown.cautioned else name for name in shown.names)
    heads = tuple("" if place % every else name for place, name in enumerate(marked))
    head_roles: tuple[Role, ...] = tuple("predicted" if name in shown.predicted else "ink" for name in shown.names)
    ratios = [[row.ratios.get(name) for name in shown.names] for _, row in lines]
    cells = Cells(tuple(map(tuple, ratios)), reach, tuple(tuple(map(_ratio_variants, row)) for row in ratios))
    x, y = Axis(scale="rows", rows=heads, roles=head_roles), Axis(scale="rows", rows=names, roles=roles)
    height = len(lines) * (_ROW_IN if len(lines) <= MOST_ROWS else 0.13)
    return Chart(((Panel(x, y, (), (shown.title,), height, cells=cells),),))


def _lines(rows: Sequence[HeatRow]) -> Iterator[tuple[bool, HeatRow]]:
    """Yield each row; before rows with a heading one that has only this, and is marked."""
    for heading, group in groupby(rows, key=lambda row: row.heading):
        if heading:
            yield True, HeatRow(heading, "", {})
        for row in group:
            yield False, row


def printed_rows(rows: Sequence[HeatRow]) -> int:
    """Return the number of rows, including headings."""
    return len(list(_lines(rows)))


def _ratio_variants(ratio: float | None) -> str:
    """Write a ratio, with shorter variants that are not rounded too far after line breaks."""
    if ratio is None:
        return ""
    two = format_number(ratio, ".2f")
    shorter = ((two, 2), (two[1:], 2) if ratio < 1 else (format_number(ratio, ".1f"), 1))
    return "\n".join(
        (format_ratio(ratio), *(t for t, digits in shorter if abs(round(ratio, digits) / ratio - 1) < _ROUNDED))
    )
