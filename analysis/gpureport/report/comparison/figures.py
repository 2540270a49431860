"""The figures of a comparison of machines: their speeds and curves."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from gpureport.compare.records import Comparison, RatioEstimate
from gpureport.compare.summary import MeanRatio, mean_speed, works
from gpureport.grouping import grouped, in_figures
from gpureport.records.curves import Observation
from gpureport.records.prediction import Prediction
from gpureport.report.comparison.sentences import PLACES, verdict_of, work_name
from gpureport.report.figures.chart import MACHINES, Axis, Chart, Mark, Panel, Series, Style, stretch
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.sweeps import MOST_PANELS, UNITS, drawable, interpolation, line_of, one, value_scale
from gpureport.report.text.words import family_title
from gpureport.text import listed

Sweep = Mapping[str, Observation | Prediction]
"""Curves of one sweep, by machine."""
_FEWEST_SPEEDS = 3  # the fewest kinds of work that are drawn: the table alone shows fewer
_MOST_ROWS = {1: 26, 2: 11, 3: 8}  # of a figure of speeds, by number of machines: taller ones leave pages empty
_HEIGHTS_IN = {1: 1.5, 2: 1.3, 3: 1.2}
_MOST_REACH = 25.0  # of ratios, above and below 1
_BEYOND = 1.3  # factor between the ends of values and those of intervals that an axis of speeds also shows


def curve_pictures(comparison: Comparison) -> Iterator[Picture]:
    """Draw the sweeps of machines by family and kind of size.

    Observed curves are dots, predicted ones dashed with bands. Below a curve are the values divided by those of the
    baseline, if it has the sweep; without bands, which are not those of ratios: predictions share uncertainties.
    """
    names = [comparison.baseline, *comparison.others]  # in the order of their colours
    sweeps = [{name: sweep[name] for name in names if name in sweep} for sweep in comparison.curves]
    firsts = (next(iter(sweep.values())) for sweep in sweeps)
    kinds = grouped(((f.key.family, f.key.sweep_name, f.metric.unit), s) for f, s in zip(firsts, sweeps, strict=True))
    for (family, name, _), members in kinds.items():
        for part in in_figures(members, MOST_PANELS["sizes"]):
            marks = "".join(_marks([curve for sweep in part for curve in sweep.values()]))
            marks += "".join(_readers(sweep, {m.name: m.compute_units for m in comparison.machines}) for sweep in part)
            marks += f" Below: values / those of {names[0]}." if names[0] in part[0] else ""
            chart = Chart(
                tuple(_stack(sweep, names, _HEIGHTS_IN[len(part)]) for sweep in part),
                legend=tuple(zip(names, MACHINES, strict=False)),
            )
            yield Picture(chart, f"{family_title(family, comparison.families)}, {name}.{marks}")


def _readers(sweep: Sweep, units: Mapping[str, int]) -> str:
    """Say how many compute units of each machine read, if some of its *units* do not."""
    groups = {name: {p.point.parameters.get("groups", 0) for p in curve.points} for name, curve in sweep.items()}
    counts = {name: found.pop() for name, found in groups.items() if len(found) == 1}
    if len(counts) < len(sweep) or not all(0 < count <= units[name] for name, count in counts.items()):
        return ""
    if all(count == units[name] for name, count in counts.items()):
        return ""
    of = listed([f"{count} on {name}" for name, count in counts.items()])
    return f" Compute units that read in {next(iter(sweep.values())).key.variant}: {of}."


def _marks(curves: Sequence[Observation | Prediction]) -> Iterator[str]:
    predicted = [curve for curve in curves if isinstance(curve, Prediction)]
    if 0 < len(predicted) < len(curves):
        yield " Dots: observed. Dashed: predicted."
    if any(point.spread > 1 for curve in predicted for point in curve.points):
        yield " Bands: 95 % intervals."


def _stack(sweep: Sweep, machines: Sequence[str], height: float) -> tuple[Panel, ...]:
    first, base = next(iter(sweep.values())), sweep.get(machines[0])
    every = [point.point.x for curve in sweep.values() for point in drawable(curve.points)]
    x = Axis(first.axis.label, UNITS.get(first.axis.quantity, ""), "log2", stretch(every, 1.15))
    lines = tuple(_lines(sweep, machines))
    y = Axis(first.metric.label, first.metric.value_unit, value_scale(lines, rate=first.metric.kind == "rate"))
    values = Panel(x, y, lines, first.key.variant, height, joined=base is not None)
    if base is None:
        return (values,)
    ratio = Axis("ratio", scale="ratio", ends=(0.0, _MOST_REACH))
    return values, Panel(x, ratio, tuple(_lines(sweep, machines, base)), "", 0.4)


def _lines(sweep: Sweep, machines: Sequence[str], base: Observation | Prediction | None = None) -> Iterator[Series]:
    known = [(x, y) for x, y, *_ in line_of(base)] if base else []
    low, high = (known[0][0] / 1.01, known[-1][0] * 1.01) if known else (0.0, inf)
    under = interpolation(known) if known else one
    for machine, curve in sweep.items():
        role = MACHINES[machines.index(machine)]
        name = "" if curve is base else f"{machine} / {machines[0]}" if base else machine
        points = [point for point in line_of(curve, under) if low <= point[0] <= high]
        bare = [point[:2] for point in points]
        if points and isinstance(curve, Observation):
            yield Series.of("", role, "line", bare)
            yield Series.of(name, role, "dots", points)
        elif points:
            yield Series.of(name, role, "dashes", bare if base else points)


def speed_pictures(comparison: Comparison) -> Iterator[Picture]:
    """Draw the speed of each kind of work, if there are some."""
    others = comparison.others
    rows = [
        (", ".join(filter(None, (work_name(work), PLACES[work.place]))), means)
        for work in works(comparison)
        if any(means := [mean_speed(work.contests, name) for name in others])
    ]
    if len(rows) >= _FEWEST_SPEEDS:
        parts = list(in_figures(rows, _MOST_ROWS[len(others)]))
        which = "each kind" if len(parts) == 1 else f"{len(parts[0])} of {len(rows)} kinds"
        caption = (
            f"Speed of {which} of work. Small dots: single kernels. Large dots: geometric means, with 95 % intervals; "
            "hollow: undecided, since the interval includes 1."
        )
        ends = _speed_ends([mean for _, means in rows for mean in means if mean])
        for part in parts:
            yield Picture(speed_chart(part, [comparison.baseline, *others], ends), caption)
            caption = "Speed of other kinds of work."


def _speed_ends(means: Sequence[MeanRatio]) -> tuple[float, float]:
    """Return the ends of an axis that shows all ratios, and intervals as far as :data:`_BEYOND` them."""
    ratios = [ratio for mean in means for ratio in (mean.ratio.value, *mean.kernels.values())]
    low, high = stretch([0.95, 1.05, *ratios], 1.05)
    intervals = [end for mean in means for end in (mean.ratio.ci_low, mean.ratio.ci_high) if end]
    return max(low / _BEYOND, min([low, *intervals]) / 1.02), min(high * _BEYOND, 1.02 * max([high, *intervals]))


def _style(ratio: RatioEstimate) -> Style:
    return "rings" if verdict_of(ratio) == "undecided" else "dots"


def speed_chart(
    rows: Sequence[tuple[str, Sequence[MeanRatio | None]]], machines: Sequence[str], ends: tuple[float, float]
) -> Chart:
    """Return a row for each kind of work, from top to bottom, with the mean of each machine but the baseline.

    *machines* are the baseline and the others, as many as :data:`MACHINES`; *ends* those of the axis. Each kernel is a
    small dot. Each mean is a large dot, hollow if it is undecided, with its 95 % interval.
    """
    series, others = [], machines[1:]
    for number, (machine, role) in enumerate(zip(others, MACHINES[1:], strict=False)):
        shift = (number + 0.5) / len(others) * 0.8 - 0.4
        found = [(row + shift, mean) for row, (_, means) in enumerate(rows) if (mean := means[number])]
        if kernels := [(ratio, y, name) for y, mean in found for name, ratio in mean.kernels.items()]:
            x, y, names = zip(*kernels, strict=True)
            series.append(Series(f"{machine}, kernels", role, "small dots", x, y, texts=tuple(map(str, names))))
            for style, ratios in grouped((_style(mean.ratio), (mean.ratio, y)) for y, mean in found).items():
                points = [(r.value, y, r.ci_low or r.value, r.ci_high or r.value) for r, y in ratios]
                series.append(Series.of(machine, role, style, points))
    panel = Panel(
        Axis(f"speed / speed of {machines[0]} (right: faster)", scale="log10", ends=ends),
        Axis(scale="rows", rows=tuple(name for name, _ in rows)),
        tuple(series),
        height_in=len(rows) * (len(others) * 0.11 + 0.04),
        marks=(Mark(1, 1, role="ink"),),
    )
    return Chart(((panel,),), legend=tuple(zip(others, MACHINES[1:], strict=False)))
