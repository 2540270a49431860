"""HTML and PDF documents of a comparison of machines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpureport.compare import FEW
from gpureport.compare.records import Comparison, MachineCurve
from gpureport.compare.summary import (
    SEVERAL,
    mean_speed,
    overall,
    works,
)
from gpureport.files import remove_files, write_file
from gpureport.glossary import terms
from gpureport.grouping import grouped, in_figures
from gpureport.report import Paper
from gpureport.report.comparison.sentences import FILE, PLACES, sentences, title, work_name
from gpureport.report.comparison.tables import (
    buyers_table,
    condition_table,
    differences_left,
    differences_table,
    effects_table,
    figures_table,
    kernels_table,
    landmarks_table,
    limits_table,
    machine_table,
    ranked_machines,
    standings_tables,
    works_table,
)
from gpureport.report.figures.machines import (
    base_of,
    machine_chart,
    speed_chart,
)
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.sweeps import MOST_PANELS
from gpureport.report.forecast import COPIES
from gpureport.report.render import Content, documents, write_filled
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import workload_table
from gpureport.report.text.words import family_title
from gpureport.spec.uncertainty import SIGMA_MODEL

NAME = "comparison"
"""Stem of the files."""
FILE_NAME = f"{NAME}.json"
_FEWEST_SPEEDS = 3  # the fewest kinds of work that are drawn: the table alone shows fewer


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
    ranked_names = ranked_machines(comparison)
    return {
        "comparison": comparison,
        "title": title(comparison),
        "sentences": tuple(sentences(comparison)),
        "works": works_table(comparison) if few else None,
        "limits": limits_table(comparison),
        "contrasts": [(found, effects_table(comparison, found)) for found in comparison.contrasts],
        "intervals": text("ratios_of_predictions", FILE, error=SIGMA_MODEL),
        "copies": COPIES,
        "machines": None if few else machine_table(comparison),
        "conditions": condition_table(comparison),
        "overview": tuple(_speed_rows(comparison)) if few else (),
        "speeds": None if few else kernels_table(comparison, "speed"),
        "efficiencies": None if few else kernels_table(comparison, "efficiency"),
        "landmarks": landmarks_table(comparison) if few else None,
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
        (", ".join(filter(None, (work_name(work), PLACES[work.place]))), means)
        for work in works(comparison)
        if any(means := [mean_speed(work.contests, name) for name in others])
    ]
    if len(rows) >= _FEWEST_SPEEDS:
        caption = (
            "Speed of each kind of work. Small dots: single kernels. Large dots: geometric means, with 95 % intervals."
        )
        yield Picture(speed_chart(rows, [comparison.baseline, *others]), caption)


def _curve_pictures(comparison: Comparison) -> Iterator[Picture]:
    """Draw the sweeps of machines by family and kind of size."""
    names = [comparison.baseline, *comparison.others]  # in the order of their colours
    sweeps = grouped((str(curve.key), curve) for curve in comparison.curves).values()
    kinds = grouped(((one[0].key.family, one[0].key.sweep_name, one[0].metric.unit), one) for one in sweeps)
    for (family, sweep, _), members in kinds.items():
        for part in in_figures(members, MOST_PANELS["sizes"]):
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
