"""From a comparison of machines to HTML and PDF."""

from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from gpureport.compare.records import Comparison, Contest, Ratio, Standing
from gpureport.compare.standings import REGIMES
from gpureport.report.figures.heat import MOST_ROWS, HeatRow, heat_figure
from gpureport.report.figures.landmarks import landmark_figure, landmark_panels
from gpureport.report.figures.style import shorten
from gpureport.report.pictures import Figure
from gpureport.report.render import Content, write_file, write_filled
from gpureport.report.tables import UNKNOWN, Table
from gpureport.units import format_interval, format_ratio, format_value

NAME = "comparison"
"""Stem of the files."""
FILE_NAME = f"{NAME}.json"
_FAR = 0.05
"""Geometric means within so much of 1 are called equal."""
_MOST_DIFFERENCES, _MOST_VALUES = 40, 250
"""Rows of the tables; what is beyond is in comparison.json."""


def write_comparison(comparison: Comparison, directory: Path, *, pdf: bool) -> list[Path]:
    """Write *comparison* as JSON, and its documents; all are called :data:`NAME`.

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or WeasyPrint cannot make the PDF.
    """
    path = directory / FILE_NAME
    write_file(path, f"{comparison.model_dump_json(indent=1)}\n".encode())
    return [path, *write_filled("comparison.html.j2", _content(comparison), directory, pdf=pdf, name=NAME)]


def _content(comparison: Comparison) -> Content:
    return {
        "comparison": comparison,
        "sentences": tuple(sentences(comparison)),
        "machines": machine_table(comparison),
        "conditions": comparison.conditions,
        "speed": tuple(_heat(comparison, "speed")),
        "attained": tuple(_heat(comparison, "attained")),
        "landmarks": tuple(_landmarks(comparison)),
        "standings": standings_table(comparison),
        "values": sum(len(contest.standings) for contest in comparison.contests),
        "differences": differences_table(comparison),
    }


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield what the comparison says, a sentence a machine: how fast beside the baseline, and beside its promise."""
    for machine in comparison.machines:
        if machine.name != comparison.baseline:
            yield _speed_sentence(comparison, machine.name)
    for machine in comparison.machines:
        shares = [s.attained.value for s in _standings(comparison, machine.name) if s.attained]
        if shares:
            mean = f"{geometric_mean(shares):.0%}"
            yield f"{machine.name} reaches {mean} of what its specification promises (geometric mean, {len(shares)})."
    real = [d for d in comparison.differences if d.real]
    if comparison.differences:
        tested = len(comparison.differences)
        yield f"On the same device {len(real)} of {tested} sweeps differ for real; the others differ as runs do."


def _speed_sentence(comparison: Comparison, name: str) -> str:
    """Say how fast a machine is at each family; at primitives only where there is nothing else."""
    ratios: dict[str, list[float]] = {}
    for contest in comparison.contests:
        for s in contest.standings:
            if s.machine == name and s.to_baseline:
                ratios.setdefault(contest.workload.partition("/")[0], []).append(s.to_baseline.value)
    shown = {family: found for family, found in ratios.items() if family in _APPLIED} or ratios
    if not shown:
        return f"{name} and {comparison.baseline} have no workload in common."
    parts = [f"{family.replace('_', ' ')} {_times(geometric_mean(found))}" for family, found in shown.items()]
    return f"{name}, beside {comparison.baseline}: {', '.join(parts)} (geometric means over variants)."


def _times(ratio: float) -> str:
    return "as fast" if abs(ratio - 1) < _FAR else f"{format_ratio(ratio)} times as fast"


_APPLIED = ("game_of_life", "particles", "bit_transpose")
"""Families that somebody wants to run; the others explain these."""


def _standings(comparison: Comparison, machine: str) -> Iterator[Standing]:
    return (s for contest in comparison.contests for s in contest.standings if s.machine == machine)


def machine_table(comparison: Comparison) -> Table:
    """List the machines: what they are, where their figures come from and when."""
    rows = (
        (m.name, shorten(m.device, 48), m.entry or "no entry", m.kind, m.created_at[:10]) for m in comparison.machines
    )
    return Table(("machine", "device", "entry", "figures are", "made"), tuple(rows))


def _heat(comparison: Comparison, what: str) -> Iterator[Figure]:
    """Draw the maps of speed against the baseline, or of what each machine attains of its promise."""
    rows = list(_heat_rows(comparison, what))
    names = [machine.name for machine in comparison.machines if any(machine.name in row.cells for row in rows)]
    for start in range(0, len(rows), MOST_ROWS):
        said = (
            f"Speed / that of {comparison.baseline}, at each machine's best point"
            if what == "speed"
            else "Observed speed / speed that the specification promises, at the same points"
        )
        again = ", continued" if start else ""
        caption = f"{said}{again}. Cases of one workload: geometric mean. Blue is more than 1, orange less."
        yield Figure(heat_figure(rows[start : start + MOST_ROWS], names), caption)


def _heat_rows(comparison: Comparison, what: str) -> Iterator[HeatRow]:
    """Yield a row for each workload and regime; separate cases of one workload share a row, by their mean."""
    by_row: dict[tuple[str, str], list[Contest]] = {}
    for contest in comparison.contests:
        by_row.setdefault((contest.workload, contest.regime if contest.regime in REGIMES else ""), []).append(contest)
    for (workload, regime), found in by_row.items():
        ratios: dict[str, list[float]] = {}
        for s in (s for contest in found for s in contest.standings):
            ratio = s.to_baseline if what == "speed" else s.attained
            if ratio is not None:
                ratios.setdefault(s.machine, []).append(ratio.value)
        if ratios:
            cases = f"{len(found)} cases" if len(found) > 1 else found[0].regime
            yield HeatRow(workload, regime or cases, {name: geometric_mean(of) for name, of in ratios.items()})


def _landmarks(comparison: Comparison) -> Iterator[Figure]:
    names = [machine.name for machine in comparison.machines]
    for panels in landmark_panels(comparison.landmarks):
        caption = "What several machines have. Hollow: predicted; filled: observed, with its 95 % interval."
        yield Figure(landmark_figure(panels, names), caption)


def standings_table(comparison: Comparison) -> Table:
    """List the values: a row for each workload, regime and machine; of separate cases only where they are few."""
    columns = ("workload", "where", "machine", "best (95 %)", "/ baseline", "promised", "attained", "/ its share")
    every = [(contest, s) for contest in comparison.contests for s in contest.standings]
    few = every if len(every) <= _MOST_VALUES else [pair for pair in every if pair[0].regime in REGIMES]
    rows = tuple(_standing_row(contest, s) for contest, s in few[:_MOST_VALUES])
    return Table(columns, rows, frozenset(columns[3:]))


def _standing_row(contest: Contest, s: Standing) -> tuple[str, ...]:
    unit = f"{contest.metric.unit}/s" if contest.metric.kind == "rate" else "s"
    return (
        contest.workload,
        contest.regime,
        s.machine,
        format_interval(s.value, s.ci_low, s.ci_high, unit),
        ratio_text(s.to_baseline),
        format_value(s.promised, unit),
        ratio_text(s.attained),
        ratio_text(s.normalised),
    )


def ratio_text(ratio: Ratio | None) -> str:
    """Write a ratio, with its interval where it has one."""
    if ratio is None:
        return UNKNOWN
    if ratio.ci_low is None or ratio.ci_high is None:
        return format_ratio(ratio.value)
    half = 100 * ((ratio.ci_high / ratio.ci_low) ** 0.5 - 1)
    return f"{format_ratio(ratio.value)} ± {half:.2g} %"


def differences_table(comparison: Comparison) -> Table:
    """List the sweeps of one device that differ for real first, then those that differ most."""
    found = sorted(comparison.differences, key=lambda d: (not d.real, d.p_value))[:_MOST_DIFFERENCES]
    columns = ("machine", "sweep", "points", "speed / baseline", "chance", "verdict")
    rows = (
        (d.machine, d.sweep, str(d.points), ratio_text(d.speed), f"{d.p_value:.1g}", "real" if d.real else "noise")
        for d in found
    )
    return Table(columns, tuple(rows), frozenset({"points", "speed / baseline", "chance"}))
