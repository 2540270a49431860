"""Captions: what to see in each figure."""

from collections.abc import Callable, Iterable, Sequence

from gpureport.records.report import Clock, Report
from gpureport.report.figures.roofline import Dot
from gpureport.report.figures.traces import Trace
from gpureport.report.run.curves import Curve, Group
from gpureport.report.run.difference import compared, value_text
from gpureport.report.text.words import agreement, feature_text
from gpureport.units import format_frequency, format_percent, format_ratio, format_value

_FEW = 2  # cliffs and tapers that are told one by one


def section_title(members: Sequence[Curve]) -> str:
    """Name sweeps of one kind: what was measured against what."""
    first = members[0]
    name = _sweep_name(first).capitalize()
    against = "" if first.axis.quantity == "case" else f" against {first.axis.label}"
    return f"{name}: {_value_name(members)}{against}"


def block_title(family: str, members: Sequence[Curve]) -> str:
    """Name sweeps of one kind where there is no telling which family they are of."""
    first = members[0]
    if first.axis.quantity == "case":
        return f"{family}: {_value_name(members)} ({_sweep_name(first)})"
    return f"{family}: {_value_name(members)} against {first.axis.label}"


def _sweep_name(curve: Curve) -> str:
    return curve.key.sweep.replace("_", " ")


def _value_name(members: Sequence[Curve]) -> str:
    labels = {curve.metric.label for curve in members}
    first = members[0].metric
    return first.label if len(labels) == 1 else "rates" if first.kind == "rate" else "times"


def size_caption(curves: Sequence[Curve]) -> str:
    """Say what to see in the figure of sweeps over sizes."""
    return tally(curves) or f"{_seen(curves)} of {', '.join(curve.key.variant for curve in curves)}."


def _seen(curves: Sequence[Curve]) -> str:
    """Say which of the two is drawn."""
    observed, predicted = any(c.observation for c in curves), any(c.prediction for c in curves)
    return " and ".join(
        name for name, there in (("predicted", predicted), ("observed", observed)) if there
    ).capitalize()


def tally(curves: Sequence[Curve]) -> str:
    """Say how many cliffs and tapers are where they were predicted, and which is farthest off; nothing if none."""
    every = [group for curve in curves for group in curve.groups if group.main.main.feature != "rate"]
    groups = [group for group in every if group.main.specification] or every
    if not groups:
        return ""
    astray = [group for group in groups if not group.main.main.verdict.as_predicted]
    worst = min(groups, key=lambda group: group.main.urgency)
    if len(groups) <= _FEW:
        return " ".join(_statement(group) for group in groups)
    counted = f"Of the cliffs and tapers {agreement(group.main.main.verdict for group in groups)}."
    return f"{counted} Farthest off, {worst.name}: {_statement(worst)}" if astray else counted


def _statement(group: Group) -> str:
    main = group.main.main
    if main.observed is None:
        where = "" if main.level.is_unexplained else f" at {format_value(main.predicted, main.unit)}"
        return f"Predicted but not observed: {feature_text(main)}{where}."
    value = value_text(main)
    if main.level.is_unexplained:
        return f"A {main.level}, {compared(main, 'before', 'after')}."
    if main.feature == "cliff":
        return f"{main.level} gives out at {value}, {compared(main, 'before', 'after')}."
    return f"It takes {value} for 90 % of the plateau, {compared(main, 'less than', 'more than')}."


def legend(curves: Sequence[Curve], *, bars: bool) -> tuple[str, ...]:
    """Say once, for all figures of curves and of *bars*, which mark is which, of those that are drawn."""
    lines = [
        text
        for text, drawn in (
            ("dashed: predicted from the specification", any(curve.specification for curve in curves)),
            ("solid: calibrated", any(curve.calibrated for curve in curves)),
            ("band: 95 % interval of the better prediction", any(_has_band(curve) for curve in curves)),
            (f"dots: {_observed(curves)}", any(curve.observation for curve in curves)),
        )
        if drawn
    ]
    if not lines:
        return ()
    if bars:
        ticks = "blue ticks: predicted, dotted ones calibrated; shaded: 95 % interval of the prediction"
        lines.append(f"bars: {_observed(curves)}; {ticks}" if any(curve.observation for curve in curves) else ticks)
    above = "above each curve: what binds it, where caches give out (▼) and where the device is full (▲)"
    colours = ", predicted in blue, observed in orange" if any(curve.observation for curve in curves) else ""
    return tuple(f"{text[:1].upper()}{text[1:]}." for text in (*lines, above + colours))


def _observed(curves: Sequence[Curve]) -> str:
    """Say what observed points are: published ones have no intervals."""
    points = [point for curve in curves if curve.observation for point in curve.observation.points]
    certain = all(point.ci_low == point.value == point.ci_high for point in points)
    return "as published" if certain else "observed medians with 95 % intervals"


def _has_band(curve: Curve) -> bool:
    return curve.prediction is not None and any(point.spread > 1 for point in curve.prediction.points)


def case_caption(curves: Sequence[Curve]) -> str:
    """Say how far the cases lie from their predictions, the least and the greatest first."""
    mains = [pair.main for curve in curves for pair in curve.pairs if pair.main.position == "case"]
    known = sorted((main for main in mains if main.ratio), key=lambda main: main.ratio or 0.0)
    if not known:
        return f"{_seen(curves)} of {', '.join(curve.key.variant for curve in curves)}."
    least, most = (f"{format_ratio(main.ratio)} ({main.level})" for main in (known[0], known[-1]))
    told = least if len(known) == 1 else f"{least} to {most}"
    return f"{_observed_word(curves)} / predicted: {told}; {agreement(main.verdict for main in mains)}."


def _observed_word(curves: Sequence[Curve]) -> str:
    return "Published" if _observed(curves) == "as published" else "Observed"


def shape_caption(curves: Sequence[Curve]) -> str:
    """Say what the maps show."""
    if not any(curve.observation for curve in curves):
        return "Predicted rate of each shape as a share of the best, the darker the better; dot: best."
    square = "; square: best as predicted" if any(curve.prediction for curve in curves) else ""
    return f"Rate of each shape as a share of the best, the darker the better; dot: best{square}."


def trace_caption(found: Sequence[Trace], clocks: Sequence[Clock] = ()) -> str:
    """Say how much longer the first dispatches took, how the traces drift, and whether a clock was seen to change."""
    counts = [len(trace.times_s) for trace in found]
    firsts, drifts = [trace.first for trace in found], [trace.drift for trace in found]
    ramp = (
        f"The first took {_from_to(firsts, format_ratio)} times the median of its trace; "
        f"from the first third of a trace to the last the median changes by {_from_to(drifts, _percent)}."
    )
    legend = "Relative to the median of the trace, which its title gives; line: median; band: least to greatest."
    each = f"{_from_to(counts, str)} successive dispatches"
    of = f"{len(found)} traces of {each}, each of a size of its own." if len(found) > 1 else f"{each}."
    parts = (of, ramp, steady_clocks(clocks), legend)
    return " ".join(part for part in parts if part)


def _from_to(values: Sequence[float], text: Callable[[float], str]) -> str:
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def _percent(share: float) -> str:
    """Write a change with its sign, to a tenth of a per cent."""
    percent = round(share * 100, 1)
    return f"{percent:+.1f} %" if percent else "0 %"


def steady_clocks(clocks: Iterable[Clock]) -> str:
    """Say which clocks were the same after every workload, if all were and each was asked more than once."""
    asked: dict[str, list[float]] = {}
    for clock in clocks:
        name = clock.label.partition(" after ")[0]
        if not name.startswith("highest "):
            asked.setdefault(name, []).append(clock.clock_hz)
    if not asked or any(len(values) < 2 or len(set(values)) > 1 for values in asked.values()):
        return ""
    told = " and ".join(f"{name} ({format_frequency(values[0])})" for name, values in asked.items())
    return f"No clock ramp was seen: {told} never changed, asked after every workload."


def roofline_caption(dots: Sequence[Dot]) -> str:
    """Say how near its predicted rate the variants run."""
    shares = {d.name: d.observed_per_s / d.predicted_per_s for d in dots if d.observed_per_s}
    text = "At the largest size; only the class of operations that takes longest counts, memory accesses do not."
    if not shares:
        return f"Hollow: predicted; nothing was observed. {text}"
    legend = f"Hollow: predicted; filled: observed. {text}"
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    if least == most:
        return f"{least} reaches {format_percent(shares[least])} of its predicted rate. {legend}"
    ends = f"From {format_percent(shares[least])} ({least}) to {format_percent(shares[most])} ({most})"
    return f"{ends} of the predicted rate. {legend}"


def essentials_caption(report: Report) -> str:
    """Say what the figure of page one shows, and when something is as predicted."""
    mark = "each mark is a value of one curve, its line the 95 % interval"
    limit = "Beyond 100 % the limit is higher than the model assumes, or the kernel needs less of it."
    if not report.observations:
        return f"What the specification promises: {mark} of the prediction."
    if report.publication:
        return f"What matters most: {mark} of the prediction. {limit}"
    meet = "At the right: how many agree within a factor of 1.2, + how many lie only within the interval."
    return f"What matters most: {mark}. {meet} {limit}"
