"""The tables of a comparison of machines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpureport.compare import FEW
from gpureport.compare.records import (
    Comparison,
    Condition,
    Difference,
    Machine,
    MachineResult,
    RatioEstimate,
    WorkloadComparison,
)
from gpureport.compare.results import BEYOND, REGIMES, WITHIN
from gpureport.compare.summary import (
    APPLIED,
    SEVERAL,
    MeanRatio,
    best_of,
    families,
    mean_speed,
    means,
    overall,
    ranked,
    works,
)
from gpureport.report.comparison.words import work_name
from gpureport.report.grouping import grouped
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_title
from gpureport.text import listed, shorten
from gpureport.units import (
    RATIO,
    UNKNOWN,
    abbreviated,
    format_interval,
    format_percent,
    format_range,
    format_ratio,
    format_value,
)

_MOST_NAMED = 4  # the most machines with a common condition that are named
_MOST_VALUES = 125  # the most rows of values with separate cases
_MOST_SIGNIFICANT = 20  # the most rows of significant differences
_MOST_WITHIN = 8  # number of differences within run-to-run variation that are shown
_VERDICTS = {True: "significant", False: "within variation"}
_LEAST_P_VALUE = 1e-6
_NARROW = 14  # characters of a name in a narrow column
_NAME = 24  # characters of a name in other columns
_SHORT = {BEYOND: "memory", WITHIN: "caches", "": "cases"}
_GROUPS = {**dict.fromkeys(APPLIED, "apps"), "memory": "memory"}
"""By family, the heading of its mean speed."""
_MOST_WITH_EFFICIENCY = 3  # machines up to which the values include efficiencies


def short_regime(regime: str) -> str:
    """Return the memory or caches that serve a point, in one word, or the case."""
    return _SHORT.get(regime, regime)


def marked(machine: Machine) -> str:
    """Return the name of a machine, with a mark if a caution applies to its ratios."""
    return f"△ {machine.name}" if machine.cautions else machine.name


def machine_table(comparison: Comparison) -> Table:
    """List the machines with their speeds and efficiency, device and source of the values, the fastest first."""
    efficiency = overall(comparison, "efficiency")
    speeds = {"overall": ranked(comparison), **_speeds_by_group(comparison)}
    rows = (
        (
            marked(m),
            *(format_ratio(found.get(m.name)) for found in speeds.values()),
            format_percent(efficiency[m.name]) if m.name in efficiency else UNKNOWN,
            shorten(m.device, 44),
            m.kind,
        )
        for m in by_rank(comparison)
    )
    columns = ("machine", *speeds, "eff.", "device", "values")
    return Table(columns, tuple(rows), frozenset({*speeds, "eff."}))


def by_rank(comparison: Comparison) -> tuple[Machine, ...]:
    """Return the machines, the fastest first; those that are not ranked are last."""
    speeds, others = ranked(comparison), overall(comparison, "speed")
    return tuple(sorted(comparison.machines, key=lambda m: (m.name not in speeds, -others.get(m.name, 0.0))))


def _speeds_by_group(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Return the machines' speeds relative to the baseline, in applications and in other families."""
    by_group = grouped((_GROUPS.get(c.workload.partition("/")[0], "other"), c) for c in comparison.contests)
    order = [group for group in dict.fromkeys([*_GROUPS.values(), "other"]) if group in by_group]
    return {
        group: overall(comparison.model_copy(update={"contests": tuple(by_group[group])}), "speed") for group in order
    }


def works_table(comparison: Comparison) -> Table:
    """Compare the machines by kind of work: best values, and mean speeds relative to the baseline."""
    return _works_of_few(comparison) if len(comparison.machines) <= FEW else _works_of_many(comparison)


def _works_of_few(comparison: Comparison) -> Table:
    names = [machine.name for machine in comparison.machines]
    others = [name for name in names if name != comparison.baseline]
    rows = []
    for work in works(comparison):
        found = [mean_speed(work.contests, name) for name in others]
        base = {comparison.baseline} & work.machines
        bests = [best_of(work.contests, each, work.machines) or best_of(work.contests, each, base) for each in names]
        rows.append(
            (
                work_name(work),
                short_regime(work.regime),
                str(max((len(mean.kernels) for mean in found if mean), default=0)),
                *(format_value(best.value if best else None, abbreviated(work.unit)) for best in bests),
                *(_with_half_width(mean.ratio if mean else None) for mean in found),
                *((_range(found[0]),) if len(others) == 1 else ()),
            )
        )
    short = [shorten(name, _NARROW) for name in names]
    over = [
        f"{name} / {shorten(comparison.baseline, _NARROW)}" for name in map(short.__getitem__, map(names.index, others))
    ]
    columns = ("work", "data in", "kernels", *(f"best {name}" for name in short), *over)
    columns += ("range",) if len(others) == 1 else ()
    return Table(columns, tuple(rows), frozenset(columns[2:]))


def _range(mean: MeanRatio | None) -> str:
    if mean is None or len(mean.kernels) < 2:
        return ""
    return format_range(mean.ends, format_ratio)


def _works_of_many(comparison: Comparison) -> Table:
    rows = []
    for work in works(comparison):
        found = {m.name: mean_speed(work.contests, m.name) for m in comparison.machines}
        kernels = len({contest.workload for contest in work.contests})
        known = {name: mean for name, mean in found.items() if mean and len(mean.kernels) >= min(SEVERAL, kernels)}
        if len(known) > 1:
            bests = {name: best.value for name in known if (best := best_of(work.contests, name))}
            ratios = {name: mean.ratio.value for name, mean in known.items()}
            rows.append((work_name(work), short_regime(work.regime), *_ends(ratios, bests, work.unit)))
    return Table(("work", "data in", *_END_COLUMNS), tuple(rows), _END_NUMBERS)


_END_COLUMNS = (
    "fastest machine",
    "fastest",
    "fastest ratio",
    "slowest machine",
    "slowest",
    "slowest ratio",
)
_END_NUMBERS = frozenset({"fastest", "fastest ratio", "slowest", "slowest ratio"})


def _ends(ratios: Mapping[str, float], values: Mapping[str, float], unit: str) -> Iterator[str]:
    """Yield name, value and ratio of the fastest and of the slowest machine."""
    for pick in (max, min):
        name = pick(ratios, key=lambda each: ratios[each])
        yield shorten(name, _NAME)
        yield format_value(values.get(name), abbreviated(unit))
        yield format_ratio(ratios[name])


def condition_table(comparison: Comparison) -> Table:
    """List other differences between the machines: cautions first, machines with equal conditions together."""
    rows = (
        (
            f"{'△ ' if condition.severity == 'caution' else ''}{condition.what}",
            sharing(condition),
            condition.effect,
        )
        for condition in comparison.conditions
    )
    return Table(("condition", "machines", "effect"), tuple(rows))


def sharing(condition: Condition) -> str:
    """List the values of a condition with the machines that share each, or with their number."""
    machines = grouped((value, shorten(name)) for name, value in condition.values.items())
    return "; ".join(
        f"{shorten(value, 80)}: {listed(names) if len(names) <= _MOST_NAMED else f'{len(names)} machines'}"
        for value, names in machines.items()
    )


def standings_tables(comparison: Comparison) -> tuple[Table, ...]:
    """List the values by family, one row for each workload and regime; of many rows separate cases share one."""
    return tuple(_standings_table(comparison, family, found) for family, found in families(comparison).items())


def _standings_table(comparison: Comparison, family: str, contests: Sequence[WorkloadComparison]) -> Table:
    names = [machine.name for machine in comparison.machines]
    others = [name for name in names if name != comparison.baseline]
    short = {name: shorten(name, _NARROW) for name in names}
    measured = [name for name in names if any(s.efficiency for c in contests for s in c.standings if s.machine == name)]
    shown = measured if len(names) <= _MOST_WITH_EFFICIENCY else []
    columns = (
        family_title(family, comparison.families),
        "data in",
        *short.values(),
        *(f"{short[name]} / {short[comparison.baseline]}" for name in others),
        *(f"eff. {short[name]}" for name in shown),
    )
    joined = len(comparison.contests) > _MOST_VALUES
    by_row = grouped(((c.workload, "" if joined and c.regime not in REGIMES else c.regime), c) for c in contests)
    rows = tuple(_standing_row(found, names, others, shown) for found in by_row.values())
    return Table(columns, rows, frozenset(columns[2:]))


def _standing_row(
    contests: Sequence[WorkloadComparison], names: Sequence[str], others: Sequence[str], measured: Sequence[str]
) -> tuple[str, ...]:
    """Return the row of one contest, or of several cases of a workload: best values, and means of ratios."""
    first, bests = contests[0], [best_of(contests, name) for name in names]
    ratios = [mean_speed(contests, name) for name in others]
    efficiencies = means(contests, "efficiency")
    return (
        first.workload.partition("/")[2],
        f"{len(contests)} cases" if len(contests) > 1 else short_regime(first.regime),
        *(_with_half_width(best, first.metric.value_unit) for best in bests),
        *(_with_half_width(mean.ratio if mean else None) for mean in ratios),
        *(format_ratio(efficiencies.get(name)) for name in measured),
    )


def _with_half_width(found: MachineResult | RatioEstimate | None, unit: str = RATIO) -> str:
    return format_interval(found.value, found.ci_low, found.ci_high, unit, "half-width") if found else UNKNOWN


def leaders_tables(comparison: Comparison) -> tuple[Table, ...]:
    """List the fastest and the slowest machine for each workload of the baseline, one table for each family."""
    tables = (_leaders_table(family, found, comparison) for family, found in families(comparison).items())
    return tuple(table for table in tables if table.rows)


def _leaders_table(family: str, contests: Sequence[WorkloadComparison], comparison: Comparison) -> Table:
    having = (c for c in contests if any(s.to_baseline for s in c.standings))
    by_row = grouped(((c.workload, c.regime if c.regime in REGIMES else ""), c) for c in having)
    rows = tuple(_leaders_row(found, comparison) for found in by_row.values())
    return Table((family_title(family, comparison.families), "data in", *_END_COLUMNS), rows, _END_NUMBERS)


def _leaders_row(contests: Sequence[WorkloadComparison], comparison: Comparison) -> tuple[str, ...]:
    """Return the row of one contest, or of the separate cases of a workload: means of ratios, and best values."""
    first = contests[0]
    found = {m.name: mean_speed(contests, m.name) for m in comparison.machines}
    ratios = {name: mean.ratio.value for name, mean in found.items() if mean}
    values = {name: best.value for name in found if (best := best_of(contests, name))}
    place = short_regime(first.regime) if first.regime in REGIMES else f"{len(contests)} cases"
    return first.workload.partition("/")[2], place, *_ends(ratios, values, first.metric.value_unit)


def differences_table(comparison: Comparison) -> Table:
    """List the differences of machines with the same device: overall, then sweeps, the largest significant ones first.

    Of many machines only significant differences are listed. :func:`differences_left` counts those that are not.
    """
    columns = ("machine", "sweep", "points", "speed / baseline", "p-value", "verdict")
    least = f"< {_LEAST_P_VALUE:.0g}"
    rows = (
        (
            d.machine,
            d.sweep,
            str(d.points),
            _with_half_width(d.speed),
            f"{d.p_value:.1g}" if d.p_value >= _LEAST_P_VALUE else least,
            _VERDICTS[d.significant],
        )
        for d in _shown_differences(comparison)
    )
    return Table(columns, tuple(rows), frozenset({"points", "speed / baseline", "p-value"}))


def differences_left(comparison: Comparison) -> tuple[int, int]:
    """Return how many differences :func:`differences_table` leaves out: significant ones, and others."""
    every, shown = (*comparison.overall, *comparison.differences), _shown_differences(comparison)
    significant = sum(d.significant for d in every) - sum(d.significant for d in shown)
    return significant, len(every) - len(shown) - significant


def _shown_differences(comparison: Comparison) -> list[Difference]:
    few = len(comparison.machines) <= FEW
    order = sorted(comparison.differences, key=lambda d: -d.effect)
    significant = [d for d in order if d.significant][:_MOST_SIGNIFICANT]
    within = [d for d in order if not d.significant][:_MOST_WITHIN] if few else []
    wholes = [whole for whole in comparison.overall if few or whole.significant]
    return [*sorted(wholes, key=lambda d: -d.effect)[:_MOST_SIGNIFICANT], *significant, *within]


def outliers_table(comparison: Comparison) -> Table:
    """List the machines with significant differences from the baseline on the same device, the largest number first."""
    wholes = {whole.machine: whole for whole in comparison.overall}
    by_machine = grouped((d.machine, d) for d in comparison.differences if d.significant)
    counts = Counter(difference.machine for difference in comparison.differences)
    rows = []
    for name, found in sorted(by_machine.items(), key=lambda pair: -len(pair[1]))[:_MOST_SIGNIFICANT]:
        most = max(found, key=lambda d: d.effect)
        whole = _with_half_width(wholes[name].speed) if name in wholes else UNKNOWN
        rows.append((name, whole, f"{len(found)} of {counts[name]}", most.sweep, _with_half_width(most.speed)))
    columns = ("machine", "all sweeps", "significant", "largest difference", "speed / baseline")
    return Table(columns, tuple(rows), frozenset({"all sweeps", "significant", "speed / baseline"}))


def deviating_sweeps_table(comparison: Comparison) -> Table:
    """List the sweeps in which machines differ significantly from the baseline, those of most machines first."""
    by_sweep = grouped((d.sweep, d) for d in comparison.differences if d.significant)
    rows = []
    for sweep, found in sorted(by_sweep.items(), key=lambda pair: -len(pair[1]))[:_MOST_SIGNIFICANT]:
        order = sorted(found, key=lambda difference: difference.speed.value)
        ends = (text for d in (order[0], order[-1]) for text in (_with_half_width(d.speed), shorten(d.machine, _NAME)))
        rows.append((sweep, str(len(found)), *ends))
    columns = ("sweep", "machines", "slowest", "slowest machine", "fastest", "fastest machine")
    return Table(columns, tuple(rows), frozenset({"machines", "slowest", "fastest"}))
