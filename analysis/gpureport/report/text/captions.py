"""Titles and captions of figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from gpureport.records.finding import Finding
from gpureport.records.keys import SweepKey
from gpureport.records.report import Clock, Report
from gpureport.report.curves import CurveRecords, Group, most_distant, seen_word
from gpureport.report.figures.essentials import Essentials
from gpureport.report.figures.roofline import Dot
from gpureport.report.figures.samples import SampledPoint
from gpureport.report.figures.traces import Trace
from gpureport.report.grouping import grouped
from gpureport.report.text.difference import compared, value_text
from gpureport.report.text.words import agreement, family_name, feature_text
from gpureport.text import N90, listed
from gpureport.units import format_frequency, format_percent, format_range, format_ratio, format_value

_FEW = 2  # the most cliffs and tapers with a sentence each


def section_title(members: Sequence[CurveRecords]) -> str:
    """Name sweeps of one kind: the quantity and the axis."""
    first = members[0]
    name = _sweep_name(first).capitalize()
    against = "" if first.axis.quantity == "case" else f" against {first.axis.label}"
    return f"{name}: {_value_name(members)}{against}"


def block_title(family: str, members: Sequence[CurveRecords]) -> str:
    """Name sweeps of one kind, with their family."""
    first = members[0]
    if first.axis.quantity == "case":
        return f"{family}: {_value_name(members)} ({_sweep_name(first)})"
    return f"{family}: {_value_name(members)} against {first.axis.label}"


def panel_titles(report: Report, members: Sequence[CurveRecords]) -> dict[SweepKey, tuple[str, ...]]:
    """Return titles of each sweep, the longest first: the workload's title with its identifier, or only that.

    Of members of one family, its name, which the block's title has, is left out. Several sweeps of a variant have
    their names.
    """
    sweeps = Counter((key.workload, axis.quantity) for key, axis in {(p.key, p.axis) for p in report.predictions})
    families = {curve.key.family for curve in members}
    alike = len(families) == 1
    family = family_name(report, *families) if alike else ""
    found: dict[SweepKey, tuple[str, ...]] = {}
    for curve in members:
        info = report.workloads.get(curve.key.workload)
        several = sweeps[curve.key.workload, curve.axis.quantity] > 1
        identifier = (
            f"{curve.key.variant if alike else curve.key.workload}{f', {_sweep_name(curve)}' if several else ''}"
        )
        title = info.title.removeprefix(family).lstrip(" ,:") if info else ""
        found[curve.key] = (f"{title[:1].upper()}{title[1:]} ({identifier})", identifier) if title else (identifier,)
    return found


def _sweep_name(curve: CurveRecords) -> str:
    return curve.key.sweep.replace("_", " ")


def _value_name(members: Sequence[CurveRecords]) -> str:
    labels = {curve.metric.label for curve in members}
    first = members[0].metric
    return first.label if len(labels) == 1 else "rates" if first.kind == "rate" else "times"


def size_caption(curves: Sequence[CurveRecords]) -> str:
    """Return the caption of a figure of sweeps over sizes."""
    return tally(curves) or _contents(curves)


def _contents(curves: Sequence[CurveRecords]) -> str:
    """List what is drawn: predicted or observed points, and the variants."""
    predicted, observed = any(c.prediction for c in curves), any(c.observation for c in curves)
    drawn = [name for name, there in (("predicted", predicted), (seen_word(curves), observed)) if there]
    return f"{' and '.join(drawn).capitalize()}: {', '.join(curve.key.variant for curve in curves)}."


def tally(curves: Sequence[CurveRecords]) -> str:
    """Count the cliffs and tapers that are as predicted, with the largest deviation; empty if there are none."""
    every = [group for curve in curves for group in curve.groups if group.main.main.feature != "rate"]
    groups = [group for group in every if group.main.specification] or every
    if not groups:
        return ""
    astray = [group for group in groups if not group.main.main.verdict.as_predicted]
    if len(groups) <= _FEW:
        return " ".join(f"{_prefix(groups, group)}{_statement(group)}" for group in groups)
    counted = f"{agreement((group.main.main.verdict for group in groups), 'cliffs and tapers')}."
    if not astray:
        return counted
    largest, first = most_distant(astray, key=lambda group: group.main)
    of_others = " of the others" if largest.main.main.ratio else ""
    return f"{counted} {first}{of_others}: {largest.name}, {_statement(largest)}"


def _prefix(groups: Sequence[Group], group: Group) -> str:
    """Return the variant of a feature, if the figure has several."""
    return f"{group.name}: " if len({each.name for each in groups}) > 1 else ""


def _statement(group: Group) -> str:
    """Name a feature with its value and deviation: ``n90 of 4.24 M work-items, as predicted``."""
    main = group.main.main
    if main.observed is None:
        where = "predicted" if main.level.is_transition else f"predicted at {format_value(main.predicted, main.unit)}"
        return f"{feature_text(main)}, {where} but not observed."
    if main.level.is_transition:
        return f"{feature_text(main)}, {compared(main)}."
    if main.feature == "cliff":
        return f"{main.level} cliff with its midpoint at {value_text(main)}, {compared(main)}."
    return f"n90 of {value_text(main)}, {compared(main)}."


def legend(curves: Sequence[CurveRecords], *, cases: bool) -> tuple[str, ...]:
    """Return the legend of all figures of curves and of separate *cases*: the marks that are drawn."""
    calibrated, measured = any(c.calibrated for c in curves), any(c.observation for c in curves)
    predicted = [point for c in curves if c.prediction for point in c.prediction.points]
    better = (
        " of the calibrated prediction; without one, of the prediction from the specification" if calibrated else ""
    )
    seen = seen_word(curves)
    dots = "published" if seen == "published" else "observed medians with 95 % intervals"
    marks = (
        ("dashed: predicted from the specification", any(c.specification for c in curves)),
        ("solid: calibrated prediction", calibrated),
        (
            f"band: 95 % interval{better}",
            any(p.spread > 1 for p in predicted),
        ),
        (f"dots: {dots}", measured),
        (f"horizontal lines: {seen} plateaus; fitted ones with the best sample", measured),
    )
    lines = [text for text, drawn in marks if drawn]
    if not lines:
        return ()
    colours = f", predicted (blue, hollow) and {seen} (orange, filled)" if measured else ""
    above = "above each curve: bottlenecks, midpoints of cliffs (▼, line from onset to end) and n90 of tapers (▲)"
    lines.append(f"{above}{colours}; thick: 95 % interval")
    lines.append(N90)
    if measured:
        lines.append(
            "below each curve: the same points and lines / the prediction with the band; arrows: beyond the axis"
        )
    if cases:
        ticks = f"hollow circles: predicted{' (ticks: calibrated)' if calibrated else ''}; shaded: 95 % interval"
        values = f"; dots: {dots}; right: {seen} value ({seen} / predicted)" if measured else ""
        lines.append(f"separate cases: {ticks}{values}")
    return tuple(f"{text if text == N90 else f'{text[:1].upper()}{text[1:]}'}." for text in lines)


def case_caption(curves: Sequence[CurveRecords]) -> str:
    """Return the range of observed / predicted over separate cases."""
    mains = [pair.main for curve in curves for pair in curve.pairs if pair.main.position == "case"]
    known = sorted((main for main in mains if main.ratio), key=lambda main: main.ratio or 0.0)
    if not known:
        return _contents(curves)
    agree = agreement((main.verdict for main in mains), "cases")
    return f"{seen_word(curves).capitalize()} / predicted{';'.join(_ratios(known))}. {agree}."


def _ratios(known: Sequence[Finding]) -> Iterator[str]:
    """Yield the range of ratios (ascending), of times and of rates apart."""
    kinds = grouped((main.unit == "s", main) for main in known)
    for of_times, of in kinds.items():
        least, most = (f"{format_ratio(main.ratio)} ({main.level})" for main in (of[0], of[-1]))
        kind = (" times" if of_times else " rates") if len(kinds) > 1 else ""
        yield f"{kind}: {least if len(of) == 1 else f'{least} to {most}'}"


def shape_caption(curves: Sequence[CurveRecords]) -> str:
    """Return the caption of maps of shapes."""
    if not any(curve.observation for curve in curves):
        return "Predicted rate of each shape / rate of the best one; dot: best."
    square = "; square: predicted best" if any(curve.prediction for curve in curves) else ""
    return f"{seen_word(curves).capitalize()} rate of each shape / rate of the best one; dot: best{square}."


def trace_caption(found: Sequence[Trace], clocks: Sequence[Clock] = ()) -> str:
    """Describe traces: extra time of the first dispatches, drift, and changes of clocks."""
    counts = [len(trace.times_s) for trace in found]
    firsts, drifts = [trace.first for trace in found], [trace.drift for trace in found]
    change = format_range(drifts, partial(format_percent, spec="+.1f"))
    ramp = (
        f"The first dispatch took {format_range(firsts, format_ratio)} times the median of its trace. "
        f"Between the first and the last third of a trace, the median changes by {change}."
    )
    legend = "Times are relative to the median, given in each title; line: median; band: minimum to maximum."
    each = f"{format_range(counts)} successive dispatches"
    of = f"{len(found)} traces of {each}, each at another size." if len(found) > 1 else f"{each}."
    parts = (of, ramp, steady_clocks(clocks), legend)
    return " ".join(part for part in parts if part)


def sample_caption(points: Sequence[SampledPoint]) -> str:
    """Describe the samples of deviating points."""
    which = (
        f"{len(points)} curves with a value that is off, each at its point farthest from the prediction."
        if len(points) > 1
        else "A curve with a value that is off, at its point farthest from the prediction."
    )
    legend = "Dots: measured / predicted time; below each name its median. Dashed, band: prediction with 95 % interval."
    return f"{which} {legend}"


def clock_readings(clocks: Iterable[Clock]) -> dict[str, list[float]]:
    """Return the readings of each clock."""
    return grouped((clock.label.partition(" after ")[0], clock.clock_hz) for clock in clocks)


def steady_clocks(clocks: Iterable[Clock]) -> str:
    """Report that all clocks were the same after every workload, if each was read more than once."""
    readings = clock_readings(clock for clock in clocks if not clock.label.startswith("highest "))
    if not readings or any(len(values) < 2 or len(set(values)) > 1 for values in readings.values()):
        return ""
    names = " and ".join(f"{name} ({format_frequency(values[0])})" for name, values in readings.items())
    return f"No clock ramp was observed: {names} had the same value after every workload."


def roofline_note(seen: str) -> str:
    """Explain all rooflines; *seen* is empty if nothing was measured."""
    marks = f"Hollow: predicted; {f'filled: {seen}' if seen else 'nothing was measured'}."
    return (
        f"{marks} Each kernel with counted operations, at its largest size. Operations are those of the class that "
        "takes longest; memory accesses do not count. Dashed: the share of the memory bandwidth that the model expects "
        "kernels to reach."
    )


def roofline_caption(family: str, dots: Sequence[Dot], seen: str) -> str:
    """Compare the rates of a family's variants, *seen* how, with their predictions."""
    shares = {d.name: d.observed_per_s / d.predicted_per_s for d in dots if d.observed_per_s}
    if not shares:
        return f"{family}."
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    ends = dict.fromkeys(f"{format_percent(shares[name])} ({name})" for name in (least, most))
    return f"{family}. {seen.capitalize()} / predicted rate of the marks: {' to '.join(ends)}."


def essentials_caption(drawn: Essentials, report: Report) -> str:
    """Return the caption of the figure of page one."""
    observed, seen = bool(report.observations), "published" if report.publication else "observed"
    parts = []
    if drawn.latency or drawn.bandwidth:
        marks = f"▼: midpoint of the {seen} cliff of a cache, after its onset if there are two numbers"
        marks = marks if observed else "▼: predicted midpoints of cliffs"
        parts.append(
            f"Left: {f'dots: {seen}; ' if observed else ''}dashed: predicted; shaded: predicted transition ranges; "
            f"dotted: capacities; numbers at curves: plateaus; {marks}."
        )
    if drawn.work:
        where = "Right" if parts else "Lines"
        triangles = f"▲: {seen}; hollow: predicted" if observed else "▲: predicted"
        kernels = listed([line.kernel for line in drawn.work])
        peak = f"throughput / smoothed peak of each family's fastest kernel that has an n90 ({kernels})"
        parts.append(f"{where}: {peak}. {N90} ({triangles}).")
    return " ".join(parts)
