"""The tables of a comparison of machines."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest

from gpureport import units
from gpureport.compare import records
from gpureport.compare.summary import What, Work, best_of, families, mean_speed, means, overall, ranked, rows_of, works
from gpureport.grouping import grouped
from gpureport.predict.ceilings import Ceiling
from gpureport.records.curves import DRAM
from gpureport.report.comparison.sentences import limit_name, verdict_of, work_name
from gpureport.report.forecast import ceiling_name, joined, value_of
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_title
from gpureport.text import listed, shorten

_MOST_NAMED = 4  # the most machines with a common condition that are named
_MOST_VALUES = 125  # the most rows of values with separate cases
_MOST_SIGNIFICANT = 20  # the most rows of significant differences
_MOST_WITHIN = 8  # number of differences within run-to-run variation that are shown
_VERDICTS = {True: "significant", False: "within variation"}
_LEAST_P_VALUE = 1e-6
_NARROW, _WIDE = 14, 20  # characters of a name in a narrow column; the same if there are only two machines
DATA_IN = {records.BEYOND: "memory", records.WITHIN: "caches", "": units.UNKNOWN}
"""By place, the memory or caches that contain the data of a kind of work; cases and repeated work have none."""
_KINDS = ("", "bandwidth", "latency", "rate", "launch", "transfer", "per watt")  # of limits, in their order
_MOST_KERNELS = 2  # that stand for those with one bottleneck
_MOST_WITH_EFFICIENCY = 3  # machines up to which the values include efficiencies


def place_of(row: Work) -> str:
    """Return the place of the data of a kernel, its case, or the number of its cases."""
    if row.place:
        return DATA_IN[row.place]
    return f"{len(row.contests)} cases" if len(row.contests) > 1 else row.contests[0].regime


def marked(machine: records.Machine, baseline: str = "") -> str:
    """Return the name of a machine, with marks if a caution applies to its ratios, and if it is the *baseline*."""
    name = f"△ {machine.name}" if machine.cautions else machine.name
    return f"{name} (baseline)" if machine.name == baseline else name


def short_names(names: Sequence[str], most: int) -> dict[str, str]:
    """Return names of at most *most* characters; names that would then be equal stay as they are."""
    cut = {name: shorten(name, most) for name in names}
    counts = Counter(cut.values())
    return {name: text if counts[text] == 1 else name for name, text in cut.items()}


def buyers_table(comparison: records.Comparison) -> Table:
    """List what buyers compare of all machines."""
    return _figures_table(comparison, [each for each in comparison.figures if not each.is_per_watt])


def per_watt_table(comparison: records.Comparison) -> Table:
    """List performance per watt, with the kinds of power."""
    return _figures_table(comparison, [each for each in comparison.figures if each.is_per_watt], "power")


def _figures_table(comparison: records.Comparison, figures: Iterable[records.MachineFigure], basis: str = "") -> Table:
    """Return a row for each machine with any figures; predicted ones are marked where others are measured."""
    by_machine = grouped((each.machine, each) for each in figures)
    columns = list(dict.fromkeys(each.name for found in by_machine.values() for each in found))
    order = comparison.machines if comparison.is_of_few else by_rank(comparison)
    rows = []
    for name in (machine.name for machine in order if machine.name in by_machine):
        found = {each.name: each for each in by_machine[name]}
        is_measured = not comparison.only_predicted
        bases = (", ".join(dict.fromkeys(each.basis for each in found.values())),) if basis else ()
        rows.append((name, *(_figure(found.get(column), is_measured=is_measured) for column in columns), *bases))
    return Table(("machine", *columns, *filter(None, [basis])), tuple(rows))


def _figure(figure: records.MachineFigure | None, *, is_measured: bool) -> str:
    if figure is None:
        return units.UNKNOWN
    whole = str.maketrans(" ", "\N{NO-BREAK SPACE}")  # cells wrap between values and before intervals only
    text = units.format_interval(figure.value, figure.ci_low, figure.ci_high, figure.unit).translate(whole)
    text = re.sub("\N{NO-BREAK SPACE}(?=[±(])", " ", text)
    basis = " predicted" if is_measured and figure.basis == "predicted" else ""
    peak = f"{units.format_value(figure.listed, figure.unit)} listed".translate(whole)
    return f"{text}{basis}{f' / {peak}' if figure.has_higher_peak else ''}"


def machine_table(comparison: records.Comparison) -> Table:
    """List the machines with their speeds overall and by kind of work, and their efficiency, the fastest first."""
    kinds = grouped((work_name(work), contest) for work in works(comparison) for contest in work.contests)
    speeds = {"overall": ranked(comparison)} | {name: means(found, "speed") for name, found in kinds.items()}
    shares = overall(comparison, "efficiency")
    rows = []
    for m in by_rank(comparison):
        share = (units.format_percent(shares[m.name]) if m.name in shares else units.UNKNOWN,) if shares else ()
        ratios = {name: found[m.name] for name, found in speeds.items() if m.name in found}
        rows.append(((f"{marked(m, comparison.baseline)}: {shorten(m.device, 44)}", *share), ratios))
    return Table.of_ratios(("machine", *(("eff.",) if shares else ())), speeds, rows)


def kernels_table(comparison: records.Comparison, what: What) -> Table:
    """List the ratios of all machines by kernel, the fastest first; cases of a kernel are their mean."""
    names = {machine.name: marked(machine) for machine in by_rank(comparison)}
    rows = []
    for row in (row for contests in families(comparison).values() for row in rows_of(contests)):
        if found := means(row.contests, what):
            texts = family_title(row.family, comparison.families), row.contests[0].variant, place_of(row)
            rows.append((texts, {names[name]: ratio for name, ratio in found.items()}))
    return Table.of_ratios(("family", "kernel", "place or case"), names.values(), rows)


def by_rank(comparison: records.Comparison) -> tuple[records.Machine, ...]:
    """Return the machines, the fastest first; those that are not ranked are last."""
    speeds, others = ranked(comparison), overall(comparison, "speed")
    return tuple(sorted(comparison.machines, key=lambda m: (m.name not in speeds, -others.get(m.name, 0.0))))


def works_table(comparison: records.Comparison) -> Table:
    """Compare a few machines by kind of work: best values, and mean speeds relative to the baseline."""
    rows = []
    for work in works(comparison):
        found = [mean_speed(work.contests, name) for name in comparison.others]
        counts = [str(len(mean.kernels)) for mean in found if mean]
        kernels = " / ".join(counts if len({*counts}) > 1 else counts[:1]) or "0"
        kernels += f" in {len(work.contests)} cases" if {*counts} == {"1"} and len(work.contests) > 1 else ""
        bests, case = best_of(work.contests, comparison.names)
        found_at = (bests.get(name) for name in comparison.names)
        values = (units.format_value(best.value if best else None, units.abbreviated(work.unit)) for best in found_at)
        ratios = (_ratio(mean.ratio if mean else None, work.contests) for mean in found)
        spans = (
            units.format_range(mean.ends, units.RATIO) if mean and len(work.contests) > 1 else "" for mean in found
        )
        row = work_name(work), _case_of(work, case), kernels, *values, *ratios
        rows.append((*row, *(spans if len(found) == 1 else ())))
    after = ("range",) if len(comparison.others) == 1 else ()
    return _of_few(comparison, ("work", "data in, or case", "kernels"), rows, after, what="best ")


def _case_of(work: Work, case: records.WorkloadComparison | None) -> str:
    """Return the place of the data or, of a row with several cases, that of its values; and the kernel, if several."""
    if case is None or len(work.contests) == 1:
        return DATA_IN[work.place]
    kernel = case.variant if len({contest.workload for contest in work.contests}) > 1 else ""
    return ": ".join(filter(None, (DATA_IN[work.place] if work.place else case.regime, kernel)))


def _of_few(
    comparison: records.Comparison,
    heads: Sequence[str],
    rows: Iterable[tuple[str, ...]],
    after: Sequence[str],
    what: str | None = None,
) -> Table:
    """Return a table: columns *heads*, each machine's value (headed by its name), ratios, columns *after*.

    With *what* before the name, machines that are only predicted are marked where others are measured.
    """
    short, mixed = _short(comparison), what is not None and not comparison.only_predicted
    marked = {machine.name for machine in comparison.machines if mixed and machine.kind == "predicted"}
    values = (f"{what or ''}{'predicted ' if name in marked else ''}{text}" for name, text in short.items())
    ratios = (f"{short[name]} / {short[comparison.baseline]}" for name in comparison.others)
    return Table((*heads, *values, *ratios, *after), tuple(rows))


def _short(comparison: records.Comparison) -> dict[str, str]:
    return short_names(comparison.names, _WIDE if len(comparison.names) == 2 else _NARROW)


def effects_table(comparison: records.Comparison, found: records.Contrast) -> Table:
    """List the speed ratio of kernels by what limits them on the baseline."""
    short = _short(comparison)
    a, b = short[comparison.baseline], short[found.machine]
    return Table.of(
        {
            f"limited on {a} by": limit_name(e.bottleneck, e.kernels),
            f"on {b} by": limit_name(e.other_bottleneck, e.kernels),
            "kernels": str(len(e.kernels)),
            f"{b} / {a}": _ratio(e.ratio),
            "range": units.format_range(e.ends, units.RATIO) if e.ends[0] < e.ends[1] else "",
            "for example": _kernel_names(e.kernels),
        }
        for e in found.effects
    )


def _kernel_names(kernels: Sequence[str]) -> str:
    more = f" and {len(kernels) - _MOST_KERNELS} more" if len(kernels) > _MOST_KERNELS else ""
    return f"{', '.join(kernels[:_MOST_KERNELS])}{more}"


def limits_table(comparison: records.Comparison) -> Table:
    """List compute units, clocks, capacities and limits of the machines, and their ratios: of times, the inverse."""
    found = {m.name: dict(_limits(m, comparison.limits[m.name])) for m in comparison.machines if comparison.limits}
    base = found.get(comparison.baseline, {})
    rows = []
    keys = dict.fromkeys(key for own in found.values() for key in own)
    for key in sorted(keys, key=lambda key: _KINDS.index(key[0])):
        texts = (own[key][0] if key in own else units.UNKNOWN for own in found.values())
        others = (found[name].get(key) for name in comparison.others)
        ratios = (units.format_ratio(other[1] / base[key][1] if other and key in base else None) for other in others)
        rows.append((key[1], *texts, *ratios))
    return _of_few(comparison, ("limit",), joined(rows), ())


def _limits(machine: records.Machine, limits: Sequence[Ceiling]) -> Iterator[tuple[tuple[str, str], tuple[str, float]]]:
    """Yield the text and the size or speed of each limit, by kind and name."""
    yield ("", "compute units"), (str(machine.compute_units), machine.compute_units)
    yield ("", "clock"), (units.format_frequency(machine.clock_hz), machine.clock_hz)
    for each in limits:
        if each.capacity_bytes and each.name != DRAM.name:
            name = f"capacity of {each.name}{' per unit' if each.each else ''}"
            yield ("", name), (units.format_bytes(each.capacity_bytes), each.capacity_bytes)
        speed = 1 / each.value if each.unit == "s" else each.value
        yield (each.kind, ceiling_name(each.kind, each.name)), (value_of(each), speed)


def condition_table(comparison: records.Comparison) -> Table:
    """List other differences between the machines: cautions first, machines with equal conditions together."""
    return Table.of(
        {
            "condition": f"{'△ ' if condition.severity == 'caution' else ''}{condition.what}",
            "machines": sharing(condition),
            "effect": condition.effect,
        }
        for condition in comparison.conditions
    )


def sharing(condition: records.Condition) -> str:
    """List the values of a condition with the machines that share each, or with their number."""
    machines = grouped((value, shorten(name, 28)) for name, value in condition.values.items())
    return "; ".join(
        f"{shorten(value, 80)}: {listed(names) if len(names) <= _MOST_NAMED else f'{len(names)} machines'}"
        for value, names in machines.items()
    )


def standings_tables(comparison: records.Comparison) -> Iterator[Table]:
    """List the values by family, one row for each workload and regime; of many rows separate cases share one."""
    joined = len(comparison.contests) > _MOST_VALUES
    for family, contests in families(comparison).items():
        efficient = means(contests, "efficiency") if len(comparison.names) <= _MOST_WITH_EFFICIENCY else {}
        measured = [name for name in comparison.names if name in efficient]
        heads = (family_title(family, comparison.families), "place or case")
        after = [f"eff. {_short(comparison)[name]}" for name in measured]
        rows = (_standing_row(comparison, row, measured) for row in rows_of(contests, joined=joined))
        yield _of_few(comparison, heads, rows, after, what="")


def _standing_row(comparison: records.Comparison, row: Work, measured: Sequence[str]) -> tuple[str, ...]:
    ratios = [mean_speed(row.contests, name) for name in comparison.others]
    efficiencies = means(row.contests, "efficiency")
    bests, case = best_of(row.contests, comparison.names)
    return (
        row.contests[0].variant,
        f"{place_of(row)}, best: {case.regime}" if case and len(row.contests) > 1 else place_of(row),
        *(_with_interval(bests.get(name), units.abbreviated(row.unit)) for name in comparison.names),
        *(_ratio(mean.ratio if mean else None, row.contests) for mean in ratios),
        *(units.format_ratio(efficiencies.get(name)) for name in measured),
    )


def _with_interval(found: records.MachineResult | records.RatioEstimate | None, unit: str = units.RATIO) -> str:
    return units.format_interval(found.value, found.ci_low, found.ci_high, unit) if found else units.UNKNOWN


def _ratio(found: records.RatioEstimate | None, means: Sequence[records.WorkloadComparison] = ()) -> str:
    """Write a ratio, perhaps that of the *means* of several cases, with its interval, but only this if 1 is in it."""
    if found and found.ci_low and found.ci_high and verdict_of(found) == "undecided":
        ends = found.ci_low, found.ci_high  # an end that passes 1 by little has more digits
        low, high = (
            units.format_value(end, units.RATIO, 2 + (abs(end - 1) < 0.05) + (abs(end - 1) < 0.005)) for end in ends
        )
        return f"{'mean ' if len(means) > 1 else ''}undecided ({low} to {high})"
    return _with_interval(found)


def landmarks_table(comparison: records.Comparison) -> Table:
    """List the cliffs (midpoints) and tapers (n90) of sweeps in which at least two machines have any."""
    short = _short(comparison)
    sweeps = grouped((mark.key, mark) for mark in comparison.landmarks)
    counts = Counter(key.workload for key in sweeps)
    seen = {machine.name for machine in comparison.machines if machine.kind != "predicted"}
    rows = []
    for key, marks in sweeps.items():
        features = grouped((_landmark_name(mark), mark) for mark in marks)
        own = str(key) if counts[key.workload] > 1 else key.workload
        for name, found in features.items() if len({mark.machine for mark in marks}) > 1 else ():
            ordered = sorted(found, key=lambda mark: mark.observed or mark.predicted or 0.0)
            texts = grouped((m.machine, _landmark(m, seen)) for m in ordered)
            for each in zip_longest(*(texts.get(machine, ()) for machine in comparison.names)):
                cells = {
                    short[machine]: text or units.UNKNOWN for machine, text in zip(comparison.names, each, strict=True)
                }
                rows.append({"workload": own, "feature": name} | cells)
    return Table.of(rows)


def _landmark_name(mark: records.Landmark) -> str:
    return "n90" if mark.feature == "taper" else "other transition" if mark.level.is_transition else str(mark.level)


def _landmark(mark: records.Landmark, measured: Collection[str]) -> str:
    unit = units.abbreviated(mark.unit)
    if mark.observed is None and mark.machine in measured:
        predicted = f" (predicted: {units.format_value(mark.predicted, unit)})" if mark.predicted is not None else ""
        return f"not observed{predicted}"
    text = units.format_interval(mark.observed or mark.predicted, mark.ci_low, mark.ci_high, unit)
    return f"{text} predicted" if measured and not mark.observed else text


def differences_table(comparison: records.Comparison) -> Table:
    """List the differences of machines with the same device: overall, then sweeps, the largest significant ones first.

    Of many machines only significant differences are listed. :func:`differences_left` counts those that are not.
    """
    least = f"< {units.format_number(_LEAST_P_VALUE, '.0g')}"
    return Table.of(
        {
            "machine": d.machine,
            "sweep": d.sweep,
            "points": str(d.points),
            "speed / baseline": _with_interval(d.speed),
            "p-value": units.format_number(d.p_value, ".1g") if d.p_value >= _LEAST_P_VALUE else least,
            "verdict": _VERDICTS[d.significant],
        }
        for d in _shown_differences(comparison)
    )


def differences_left(comparison: records.Comparison) -> tuple[int, int]:
    """Return how many differences :func:`differences_table` leaves out: significant ones, and others."""
    every, shown = (*comparison.overall, *comparison.differences), _shown_differences(comparison)
    significant = sum(d.significant for d in every) - sum(d.significant for d in shown)
    return significant, len(every) - len(shown) - significant


def _shown_differences(comparison: records.Comparison) -> list[records.Difference]:
    few = comparison.is_of_few
    order = sorted(comparison.differences, key=lambda d: -d.effect)
    significant = [d for d in order if d.significant][:_MOST_SIGNIFICANT]
    within = [d for d in order if not d.significant][:_MOST_WITHIN] if few else []
    wholes = [whole for whole in comparison.overall if few or whole.significant]
    return [*sorted(wholes, key=lambda d: -d.effect)[:_MOST_SIGNIFICANT], *significant, *within]
