"""The tables of a comparison of machines."""

from collections.abc import Sequence

from gpureport.compare.records import Comparison, Condition, Contest, Entrant, RatioEstimate, Standing
from gpureport.compare.standings import BEYOND, REGIMES, WITHIN
from gpureport.compare.summary import families, overall
from gpureport.report.figures.style import shorten
from gpureport.report.grouping import grouped
from gpureport.report.text.tables import UNKNOWN, Table
from gpureport.report.text.words import listed
from gpureport.units import format_half_width, format_percent, format_ratio, format_value

FEW = 4
"""Machines up to which every value has a row."""
_MOST_NAMED = 4  # the most machines with a common condition that are named
_MOST_VALUES = 250  # the most rows of values with separate cases
_MOST_WITHIN = 8  # number of differences within run-to-run variation that are shown
_VERDICTS = {True: "significant", False: "within variation"}
_LEAST_P_VALUE = 1e-6
_NARROW = 14  # characters of a name in a narrow column
_SHORT = {BEYOND: "memory", WITHIN: "caches"}


def short_regime(regime: str) -> str:
    """Return the memory or caches that serve a point, in one word, or the case."""
    return _SHORT.get(regime, regime)


def marked(machine: Entrant) -> str:
    """Return the name of a machine, with a mark if a caution applies to its ratios."""
    return f"△ {machine.name}" if machine.cautions else machine.name


def machine_table(comparison: Comparison) -> Table:
    """List the machines with device, source and date of the values, speed and efficiency."""
    speed, efficiency = overall(comparison, "speed"), overall(comparison, "efficiency")
    rows = (
        (
            marked(m),
            shorten(m.device, 44),
            m.kind,
            m.created_at[:16].replace("T", " ") or UNKNOWN,
            format_ratio(speed.get(m.name)),
            format_percent(efficiency[m.name]) if m.name in efficiency else UNKNOWN,
        )
        for m in comparison.machines
    )
    columns = ("machine", "device", "values", "date", "speed / baseline", "efficiency")
    return Table(columns, tuple(rows), frozenset(columns[4:]))


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
    """List the values by family, one row for each workload, regime and machine; many values without separate cases."""
    every = sum(len(contest.standings) for contest in comparison.contests)
    kept = [c for c in comparison.contests if every <= _MOST_VALUES or c.regime in REGIMES]
    few = comparison.model_copy(update={"contests": tuple(kept)})
    return tuple(_standings_table(family, found) for family, found in families(few).items())


def _standings_table(family: str, contests: Sequence[Contest]) -> Table:
    name = family.replace("_", " ")
    columns = (name, "data in", "machine", "best (95 %)", "/ baseline", "predicted peak", "efficiency", "/ baseline's")
    rows = tuple(_standing_row(contest, standing) for contest in contests for standing in contest.standings)
    return Table(columns, rows, frozenset(columns[3:]))


def _standing_row(contest: Contest, s: Standing) -> tuple[str, ...]:
    unit = contest.metric.value_unit
    return (
        contest.workload.partition("/")[2],
        short_regime(contest.regime),
        shorten(s.machine, 20),
        _value(s, unit),
        ratio_text(s.to_baseline),
        format_value(s.predicted_peak, unit),
        format_ratio(s.efficiency.value if s.efficiency else None),
        format_ratio(s.normalised.value if s.normalised else None),
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
    columns = (family.replace("_", " "), "data in", "baseline", "fastest", "fastest /", "slowest", "slowest /")
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
