"""Charts that compare machines: their curves and speeds."""

from collections.abc import Iterator, Sequence

from gpureport.compare.records import MachineCurve
from gpureport.compare.summary import MeanRatio
from gpureport.report.figures.chart import MACHINES, Axis, Chart, Mark, Panel, Series, stretch
from gpureport.report.figures.sweeps import UNITS, interpolation, one, value_scale

_MOST_REACH = 25.0  # of ratios, above and below 1
_BEYOND = 1.3  # factor between the ends of values and those of intervals that an axis of speeds also shows


def machine_chart(sweeps: Sequence[Sequence[MachineCurve]], machines: Sequence[str]) -> Chart:
    """Return *sweeps*, at most three; *machines* are the names in the order of their colours.

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
    values = Panel(x, y, lines, first.key.variant, height, joined=base is not None)
    if base is None:
        return (values,)
    ratios = tuple(line for curve in curves for line in _machine_lines(curve, machines, base))
    return values, Panel(x, Axis("ratio", scale="ratio", ends=(0.0, _MOST_REACH)), ratios, "", 0.4)


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


def speed_chart(rows: Sequence[tuple[str, Sequence[MeanRatio | None]]], machines: Sequence[str]) -> Chart:
    """Return a row for each kind of work, from top to bottom, with the mean of each machine but the baseline.

    *machines* are the baseline and the others, as many as :data:`MACHINES`. Each kernel is a small dot. Each mean is a
    large dot, with its 95 % interval.
    """
    series, others = [], machines[1:]
    for number, (machine, role) in enumerate(zip(others, MACHINES[1:], strict=False)):
        shift = (number + 0.5) / len(others) * 0.8 - 0.4
        found = [(row + shift, mean) for row, (_, means) in enumerate(rows) if (mean := means[number])]
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
        Axis(scale="rows", rows=tuple(name for name, _ in rows)),
        tuple(series),
        height_in=len(rows) * (len(others) * 0.11 + 0.04),
        marks=(Mark(1, 1, role="ink"),),
    )
    return Chart(((panel,),), legend=tuple(zip(others, MACHINES[1:], strict=False)))
