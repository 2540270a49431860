"""The tables of a comparison of machines."""

from collections.abc import Sequence

from gpureport.compare import FEW
from gpureport.compare.records import Comparison, Condition, Contest, Entrant, RatioEstimate, Standing
from gpureport.compare.standings import BEYOND, REGIMES, WITHIN
from gpureport.compare.summary import APPLIED, SEVERAL, MeanRatio, families, mean_speed, overall, works
from gpureport.report.comparison.words import work_name
from gpureport.report.figures.style import brief, shorten
from gpureport.report.grouping import grouped
from gpureport.report.text.tables import UNKNOWN, Table
from gpureport.report.text.words import family_title, listed, low_to_high
from gpureport.units import format_half_width, format_percent, format_ratio, format_value

_MOST_NAMED = 4  # the most machines with a common condition that are named
_MOST_VALUES = 125  # the most rows of values with separate cases
_MOST_WITHIN = 8  # number of differences within run-to-run variation that are shown
_VERDICTS = {True: "significant", False: "within variation"}
_LEAST_P_VALUE = 1e-6
_NARROW = 14  # characters of a name in a narrow column
_SHORT = {BEYOND: "memory", WITHIN: "caches", "": "cases"}
_GROUPS = {**dict.fromkeys(APPLIED, "applications"), "memory": "memory"}
"""By family, the heading of its mean speed."""
_MOST_WITH_EFFICIENCY = 3  # machines up to which the values include efficiencies


def short_regime(regime: str) -> str:
    """Return the memory or caches that serve a point, in one word, or the case."""
    return _SHORT.get(regime, regime)


def marked(machine: Entrant) -> str:
    """Return the name of a machine, with a mark if a caution applies to its ratios."""
    return f"△ {machine.name}" if machine.cautions else machine.name


def machine_table(comparison: Comparison) -> Table:
    """List the machines with device, source and date of the values, efficiency, and speeds if the machines are many."""
    efficiency = overall(comparison, "efficiency")
    speeds = _speeds_by_group(comparison) if len(comparison.machines) > FEW else {}
    rows = (
        (
            marked(m),
            shorten(m.device, 44),
            m.kind,
            m.created_at[:10] or UNKNOWN,
            *(format_ratio(found.get(m.name)) for found in speeds.values()),
            format_percent(efficiency[m.name]) if m.name in efficiency else UNKNOWN,
        )
        for m in comparison.machines
    )
    columns = ("machine", "device", "values", "date", *speeds, "efficiency")
    return Table(columns, tuple(rows), frozenset(columns[4:]))


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
        bests = [
            work.best(name, work.machines) or work.best(name, {comparison.baseline} & work.machines) for name in names
        ]
        rows.append(
            (
                work_name(work),
                short_regime(work.regime),
                str(max((len(mean.kernels) for mean in found if mean), default=0)),
                *(brief(format_value(best.value if best else None, work.unit)) for best in bests),
                *(ratio_text(mean.ratio if mean else None) for mean in found),
                *((_range_text(found[0]),) if len(others) == 1 else ()),
            )
        )
    short = [shorten(name, _NARROW) for name in names]
    over = [
        f"{name} / {shorten(comparison.baseline, _NARROW)}" for name in map(short.__getitem__, map(names.index, others))
    ]
    columns = ("work", "data in", "kernels", *(f"best {name}" for name in short), *over)
    columns += ("range",) if len(others) == 1 else ()
    return Table(columns, tuple(rows), frozenset(columns[2:]))


def _range_text(mean: MeanRatio | None) -> str:
    if mean is None or len(mean.kernels) < 2:
        return ""
    return low_to_high(*map(format_ratio, mean.ends))


def _works_of_many(comparison: Comparison) -> Table:
    columns = ("work", "data in", "kernels", "baseline", "fastest", "fastest /", "slowest", "slowest /")
    rows = []
    for work in works(comparison):
        found = {m.name: mean_speed(work.contests, m.name) for m in comparison.machines}
        kernels = len({contest.workload for contest in work.contests})
        known = {name: mean for name, mean in found.items() if mean and len(mean.kernels) >= min(SEVERAL, kernels)}
        if len(known) > 1:
            fastest, slowest = (pick(known, key=lambda name: known[name].ratio.value) for pick in (max, min))
            best = work.best(comparison.baseline)
            rows.append(
                (
                    work_name(work),
                    short_regime(work.regime),
                    str(kernels),
                    brief(format_value(best.value if best else None, work.unit)),
                    *(
                        text
                        for name in (fastest, slowest)
                        for text in (shorten(name, _NARROW), ratio_text(known[name].ratio))
                    ),
                )
            )
    return Table(columns, tuple(rows), frozenset({"kernels", "baseline", "fastest /", "slowest /"}))


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
    """List the values by family, one row for each workload and regime; of many rows those without separate cases."""
    kept = [c for c in comparison.contests if len(comparison.contests) <= _MOST_VALUES or c.regime in REGIMES]
    few = comparison.model_copy(update={"contests": tuple(kept)})
    return tuple(_standings_table(comparison, family, found) for family, found in families(few).items())


def _standings_table(comparison: Comparison, family: str, contests: Sequence[Contest]) -> Table:
    names = [machine.name for machine in comparison.machines]
    others = [name for name in names if name != comparison.baseline]
    short = {name: shorten(name, _NARROW) for name in names}
    measured = [name for name in names if any(s.efficiency for c in contests for s in c.standings if s.machine == name)]
    shown = measured if len(names) <= _MOST_WITH_EFFICIENCY else []
    columns = (
        family_title(family),
        "data in",
        *short.values(),
        *(f"{short[name]} / {short[comparison.baseline]}" for name in others),
        *(f"eff. {short[name]}" for name in shown),
    )
    rows = tuple(_standing_row(contest, names, others, shown) for contest in contests)
    return Table(columns, rows, frozenset(columns[2:]))


def _standing_row(
    contest: Contest, names: Sequence[str], others: Sequence[str], measured: Sequence[str]
) -> tuple[str, ...]:
    found = {s.machine: s for s in contest.standings}
    efficiencies = (found[name].efficiency if name in found else None for name in measured)
    return (
        contest.workload.partition("/")[2],
        short_regime(contest.regime),
        *(_value(found[name], contest.metric.value_unit) if name in found else UNKNOWN for name in names),
        *(ratio_text(found[name].to_baseline if name in found else None) for name in others),
        *(format_ratio(efficiency.value if efficiency else None) for efficiency in efficiencies),
    )


def _value(s: Standing, unit: str) -> str:
    return f"{format_value(s.value, unit)}{format_half_width(s.ci_low, s.ci_high)}"


def ratio_text(ratio: RatioEstimate | None) -> str:
    """Write a ratio, with its interval if there is one."""
    return UNKNOWN if ratio is None else f"{format_ratio(ratio.value)}{format_half_width(ratio.ci_low, ratio.ci_high)}"


def leaders_tables(comparison: Comparison) -> tuple[Table, ...]:
    """List the fastest and the slowest machine for each workload of the baseline, one table for each family."""
    tables = (_leaders_table(family, found, comparison.baseline) for family, found in families(comparison).items())
    return tuple(table for table in tables if table.rows)


def _leaders_table(family: str, contests: Sequence[Contest], baseline: str) -> Table:
    numeric = ("baseline", "fastest /", "slowest /")
    columns = (family_title(family), "data in", "baseline", "fastest", "fastest /", "slowest", "slowest /")
    having = [c for c in contests if c.regime in REGIMES and any(s.to_baseline for s in c.standings)]
    return Table(columns, tuple(_leaders_row(contest, baseline) for contest in having), frozenset(numeric))


def _leaders_row(contest: Contest, baseline: str) -> tuple[str, ...]:
    ratios = {s.machine: s.to_baseline.value for s in contest.standings if s.to_baseline}
    base = next(s.value for s in contest.standings if s.machine == baseline)
    fastest, slowest = (pick(ratios, key=lambda name: ratios[name]) for pick in (max, min))
    return (
        contest.workload.partition("/")[2],
        short_regime(contest.regime),
        format_value(base, contest.metric.value_unit),
        shorten(fastest, _NARROW),
        format_ratio(ratios[fastest]),
        shorten(slowest, _NARROW),
        format_ratio(ratios[slowest]),
    )


def differences_table(comparison: Comparison) -> Table:
    """List the overall differences of machines with the same device, then significant sweeps and a few others."""
    found = sorted(comparison.differences, key=lambda d: (not d.significant, d.p_value))
    shown = [*comparison.overall, *found[: sum(d.significant for d in found) + _MOST_WITHIN]]
    columns = ("machine", "sweep", "points", "speed / baseline", "p-value", "verdict")
    least = f"< {_LEAST_P_VALUE:.0g}"
    chances = [f"{d.p_value:.1g}" if d.p_value >= _LEAST_P_VALUE else least for d in shown]
    rows = (
        (d.machine, d.sweep, str(d.points), ratio_text(d.speed), p_value, _VERDICTS[d.significant])
        for d, p_value in zip(shown, chances, strict=True)
    )
    return Table(columns, tuple(rows), frozenset({"points", "speed / baseline", "p-value"}))
