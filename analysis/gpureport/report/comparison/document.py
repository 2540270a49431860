"""HTML and PDF documents of a comparison of machines."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpureport.compare import FEW
from gpureport.compare.records import Comparison, Difference, MachineCurve, WorkloadComparison
from gpureport.compare.summary import (
    SEVERAL,
    What,
    families,
    mean_speed,
    means,
    overall,
    ranked,
    rows_of,
    works,
)
from gpureport.files import remove_files, write_file
from gpureport.glossary import terms
from gpureport.grouping import grouped, in_figures
from gpureport.report import Paper
from gpureport.report.comparison.sentences import FILE, PLACES, sentences, title, work_name
from gpureport.report.comparison.tables import (
    DATA_IN,
    buyers_table,
    by_rank,
    condition_table,
    differences_left,
    differences_table,
    effects_table,
    figures_table,
    landmarks_table,
    limits_table,
    machine_table,
    marked,
    place_of,
    ranked_machines,
    ratios_table,
    standings_tables,
    stretch_table,
    works_table,
)
from gpureport.report.figures.machines import (
    MOST_PANELS,
    MOST_ROWS,
    HeatColumns,
    HeatRow,
    SpeedRow,
    base_of,
    heat_chart,
    machine_chart,
    named_columns,
    printed_rows,
    reach_of,
    speed_chart,
    spread_chart,
    with_values,
)
from gpureport.report.figures.picture import Picture
from gpureport.report.forecast import COPIES
from gpureport.report.render import Content, documents, write_filled
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import workload_table
from gpureport.report.text.words import family_title
from gpureport.spec.uncertainty import SIGMA_MODEL

NAME = "comparison"
"""Stem of the files."""
FILE_NAME = f"{NAME}.json"
_MOST_MACHINES = 42  # the most rows of a figure of machines
_MOST_SPREADS = 6
"""The most machines with the baseline's device whose sweeps are drawn: those with the largest significant effects."""
_FEWEST_SPEEDS = 3  # the fewest kinds of work that are drawn: the table alone shows fewer
_COLOURS = "Blue: above 1; orange: below 1."


def write_comparison(
    comparison: Comparison, directory: Path, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write *comparison* as JSON, and its documents; all files are named :data:`NAME`.

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made.
    """
    path = directory / FILE_NAME
    remove_files(*documents(directory, NAME))
    write_file(path, f"{comparison.model_dump_json(indent=1)}\n")
    return [path, *write_pages(comparison, directory, NAME, with_pdf=with_pdf, paper=paper)]


def write_pages(
    comparison: Comparison, directory: Path, name: str, *, with_pdf: bool = True, paper: Paper = "a4"
) -> list[Path]:
    """Write HTML and PDF of *comparison*; *name* is the stem of their names."""
    return write_filled("comparison.html.j2", content(comparison), directory, with_pdf=with_pdf, paper=paper, name=name)


def content(comparison: Comparison) -> Content:
    """Collect the contents of a comparison's template."""
    few = len(comparison.machines) <= FEW
    kinds = sorted({machine.kind for machine in comparison.machines})
    spreads = _spread_machines(comparison)
    ranked_names = ranked_machines(comparison)
    return {
        "comparison": comparison,
        "title": title(comparison),
        "sentences": tuple(sentences(comparison)),
        "works": works_table(comparison),
        "limits": limits_table(comparison),
        "contrasts": [
            (found, effects_table(comparison, found), ratios_table(comparison, found), stretch_table(comparison, found))
            for found in comparison.contrasts
        ],
        "intervals": text("ratios_of_predictions", FILE, error=SIGMA_MODEL),
        "copies": COPIES,
        "machines": None if few else machine_table(comparison),
        "conditions": condition_table(comparison),
        "overview": tuple(_speed_rows(comparison) if few else overview(comparison)),
        "maps": () if few else tuple(maps(comparison)),
        "landmarks": landmarks_table(comparison) if few else None,
        "spreads": tuple(_spreads(comparison, spreads)),
        "spreads_left": len(comparison.by_machine) - len(spreads),
        "curves": tuple(_curve_pictures(comparison)),
        "differences": differences_table(comparison),
        "differences_left": differences_left(comparison),
        "figures": buyers_table(comparison),
        "figures_caption": text("figures", FILE, only_predicted=kinds == ["predicted"]),
        "per_watt": figures_table(
            (each for each in comparison.figures if each.is_per_watt and not comparison.contrasts),
            ranked_names,
            "power",
        ),
        "per_watt_caption": text("per_watt", FILE),
        "refused": tuple(contest for contest in comparison.contests if contest.refused),
        "standings": standings_tables(comparison) if few else (),
        "few": few,
        "several": SEVERAL,
        "glossary": terms(),
        "workloads": workload_table(contest.workload for contest in comparison.contests),
        "kinds": kinds,
        "has_efficiency": bool(overall(comparison, "efficiency")),
    }


def _speed_rows(comparison: Comparison) -> Iterator[Picture]:
    others = comparison.others
    rows = [
        SpeedRow(", ".join(filter(None, (work_name(work), PLACES[work.place]))), means)
        for work in works(comparison)
        if any(means := [mean_speed(work.contests, name) for name in others])
    ]
    if len(rows) >= _FEWEST_SPEEDS:
        caption = (
            "Speed of each kind of work. Small dots: single kernels. Large dots: geometric means, with 95 % intervals."
        )
        yield Picture(speed_chart(rows, [comparison.baseline, *others]), caption)


def overview(comparison: Comparison) -> Iterator[Picture]:
    """Draw the speed of each machine by kind of work; the fastest machine first."""
    every = works(comparison)
    if len(every) == 1:
        return
    speeds = {"all": ranked(comparison)}
    for work in every:
        place = DATA_IN[work.place] if work.place else ""
        speeds[", ".join(filter(None, (work_name(work), place)))] = means(work.contests, "speed")
    rows = [
        HeatRow(marked(m), "", {name: of[m.name] for name, of in speeds.items() if m.name in of})
        for m in by_rank(comparison)
    ]
    caption = (
        f"Speed / speed of {comparison.baseline} by kind of work: geometric means over the best points of all kernels. "
        f"All: geometric mean over families. {_COLOURS}"
    )
    columns = with_values(rows, HeatColumns(f"speed / {comparison.baseline}", tuple(speeds)))
    for part in in_figures(rows, _MOST_MACHINES) if columns.names else ():
        yield Picture(heat_chart(part, columns, reach_of(rows)), caption)


def maps(comparison: Comparison) -> Iterator[tuple[What, tuple[Picture, ...]]]:
    """Yield the maps of workloads by machines for each quantity, the best machine first."""
    shares = means(comparison.contests, "efficiency")
    order: dict[What, list[str]] = {
        "speed": [machine.name for machine in by_rank(comparison)],
        "efficiency": sorted(shares, key=lambda name: -shares[name]),
    }
    for what, names in order.items():
        if names:
            yield what, tuple(_maps(comparison, what, tuple(names)))


def _maps(comparison: Comparison, what: What, names: tuple[str, ...]) -> Iterator[Picture]:
    headings = {"speed": f"speed / {comparison.baseline}", "efficiency": "observed / predicted peak"}
    predicted = frozenset(machine.name for machine in comparison.machines if machine.kind == "predicted")
    cautioned = frozenset(machine.name for machine in comparison.machines if machine.cautions)
    columns = HeatColumns(headings[what], names, predicted, cautioned)
    by_family = [list(_map_rows(found, what, comparison.families)) for found in families(comparison).values()]
    parts: list[list[HeatRow]] = [[]]
    for own in by_family:
        if parts[-1] and printed_rows([*parts[-1], *own]) > MOST_ROWS:
            parts.append([])
        parts[-1] += own
    reach = reach_of(row for own in by_family for row in own)
    for rows in parts:
        for part in in_figures(rows, MOST_ROWS):
            yield _map(part, columns, reach)


def _map(part: Sequence[HeatRow], columns: HeatColumns, reach: float) -> Picture:
    named = ", ".join(dict.fromkeys(row.heading for row in part))
    every = named_columns(with_values(part, columns))
    order = f" One machine in {every} is labelled; the first is the best." if every > 1 else ""
    return Picture(heat_chart(part, columns, reach), f"{named}. {_COLOURS}{order}")


def _map_rows(contests: Sequence[WorkloadComparison], what: What, own: Mapping[str, str]) -> Iterator[HeatRow]:
    """Yield a row for each workload and regime; separate cases of a workload share a row, as their mean.

    *own* are the titles of users' kernels.
    """
    for row in rows_of(contests):
        if found := means(row.contests, what):
            yield HeatRow(row.contests[0].variant, place_of(row), found, family_title(row.family, own))


def _curve_pictures(comparison: Comparison) -> Iterator[Picture]:
    """Draw the sweeps of machines by family and kind of size."""
    names = [comparison.baseline, *comparison.others]  # in the order of their colours
    sweeps = grouped((str(curve.key), curve) for curve in comparison.curves).values()
    kinds = grouped(((one[0].key.family, one[0].key.sweep_name, one[0].metric.unit), one) for one in sweeps)
    for (family, sweep, _), members in kinds.items():
        for part in in_figures(members, MOST_PANELS):
            ordered = [sorted(found, key=lambda curve: names.index(curve.machine)) for found in part]
            marks = "".join(_marks([curve for found in ordered for curve in found]))
            marks += f" Below: values / those of {names[0]}." if base_of(ordered[0], names) else ""
            caption = f"{family_title(family, comparison.families)}, {sweep}.{marks}"
            yield Picture(machine_chart(ordered, names), caption)


def _marks(curves: Sequence[MachineCurve]) -> Iterator[str]:
    if len({curve.observed for curve in curves}) > 1:
        yield " Dots: observed. Dashed: predicted."
    if any(point.ci_low for curve in curves if not curve.observed for point in curve.points):
        yield " Bands: 95 % intervals."


def _spread_machines(comparison: Comparison) -> dict[str, list[Difference]]:
    by_machine = comparison.by_machine
    effects = {
        machine: max((d.effect for d in found if d.significant), default=0.0) for machine, found in by_machine.items()
    }
    order = sorted(by_machine, key=lambda machine: -effects[machine])
    shown = order if len(order) <= _MOST_SPREADS else list(filter(effects.get, order))[:_MOST_SPREADS]
    return {machine: by_machine[machine] for machine in shown}


def _spreads(comparison: Comparison, machines: Mapping[str, Sequence[Difference]]) -> Iterator[Picture]:
    for machine, found in machines.items():
        caption = (
            f"Speed of {machine} for each sweep: difference from the speed of {comparison.baseline}, with 95 % "
            "intervals that include run-to-run variation. Above 0: faster. Orange: significant."
        )
        yield Picture(spread_chart(found), caption)
