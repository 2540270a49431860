"""The parts of chapters: figures and compact tables, each with a link to its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report.figures.charts import roofline_charts
from gpureport.report.figures.essentials import Essentials, essentials, essentials_figure
from gpureport.report.figures.overview import overview_figure, overview_rows
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.figures.samples import deviating_points, sample_figure
from gpureport.report.grouping import grouped
from gpureport.report.pictures import pictures
from gpureport.report.prediction import forecast
from gpureport.report.run import lists, trust, unexpected
from gpureport.report.run.curves import FLAT, CurveRecords, specified
from gpureport.report.run.limits import limits, limits_table
from gpureport.report.run.numbers import SEARCHES, family_anchor
from gpureport.report.text.captions import (
    block_title,
    essentials_caption,
    panel_titles,
    roofline_caption,
    sample_caption,
)
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_name, with_names
from gpureport.units import format_percent, format_ratio


@dataclass(frozen=True)
class Block:
    """Part of a chapter: figures, a table, or both."""

    anchor: str
    title: str
    figures: tuple[Picture, ...] = ()
    table: Table | None = None
    caption: str = ""
    """Of the table."""
    notes: tuple[str, ...] = ()
    numbers: str = ""
    """Anchor of the numbers in the appendix."""


def sweep_block(report: Report, anchor: str, members: Sequence[CurveRecords]) -> Block:
    """Draw sweeps of one kind, with notes."""
    known_skips = {f"{info.family}/{info.variant}": info.skipped for info in report.workloads.values()}
    skipped = [
        (c.key.variant, c.measurement.skipped)
        for c in members
        if c.measurement and c.measurement.skipped != known_skips.get(c.key.workload)
    ]
    known = report.publication.conditions if report.publication else {}
    published = with_names((c.key.variant, known[str(c.key)]) for c in members if str(c.key) in known)
    notes = [f"○ Not measured: {text}" for text in with_names((name, why) for name, why in skipped if why)]
    drawn = [curve for curve in members if not (curve.is_work_group and curve.is_flat)]
    if len(drawn) < len(members):
        shown = {curve.key for curve in drawn}
        names = ", ".join(curve.key.variant for curve in members if curve.key not in shown)
        notes.append(f"Not drawn, because all values are within {format_percent(FLAT - 1)} of each other: {names}.")
    return Block(
        anchor=f"curves-{anchor}",
        title=block_title(family_name(report, members[0].key.family), members),
        figures=pictures(drawn, report.machine.clocks if report.machine else (), panel_titles(report, drawn)),
        notes=(*notes, *([f"As published: {'. '.join(published)}."] if published else [])),
        numbers=anchor,
    )


def as_predicted(members: Sequence[CurveRecords]) -> bool:
    """Whether these are separate cases that all agree with their predictions."""
    pairs = [pair for curve in members for pair in curve.pairs]
    return bool(pairs) and all(p.main.position == "case" and p.main.verdict is Verdict.AGREES for p in pairs)


def expected_blocks(report: Report, kinds: Sequence[Sequence[CurveRecords]]) -> list[Block]:
    """Return the table of separate cases that are as predicted, one row for each kind of sweep."""
    rows = tuple(
        (
            block_title(family_name(report, members[0].key.family), members),
            str(len(ratios)),
            f"{format_ratio(min(ratios))} to {format_ratio(max(ratios))}",
        )
        for members in kinds
        if (ratios := [pair.main.ratio or 0.0 for curve in members for pair in curve.pairs])
    )
    caption = "Separate cases that all agree with their predictions: their number, and the range of the ratio."
    table = Table(("sweep", "values", "observed / predicted"), rows, frozenset({"values"}))
    return _table_block("expected", "Separate cases that are as predicted", table, caption)


def _table_block(anchor: str, title: str, table: Table, caption: str, numbers: str = "numbers") -> list[Block]:
    """Return the block of a table; none if it has no rows."""
    return [Block(anchor, title, table=table, caption=caption, numbers=numbers)] if table.rows else []


def cliff_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the table of cliffs, observed or only predicted."""
    if report.only_predicted:
        table = forecast.cliffs_table(report.predictions)
        caption = "Cliffs, as working sets. Before, after: the plateaus on both sides."
    else:
        table = lists.cliff_table(report, found)
        caption = (
            "Cliffs, as working sets, of each kernel for which one was observed or predicted. The onset is the "
            "observed one. Ratio and verdict compare midpoints. The appendix has the plateaus."
        )
    return _table_block("cliffs", "Cliffs by cache level", table, caption)


def taper_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the table of tapers."""
    table = lists.taper_table(report, found)
    caption = (
        "n90: work-items for 90 % of the first plateau of the fitted curve, as a range over the kernels of a family. "
        "Predictions are for the measured sizes. Sweeps over working sets show tapers too, marked ▲ in the figures of "
        "the chapter on cliffs. Tapers of different plateaus are not compared."
    )
    return _table_block("tapers", "Tapers by family", table, caption)


def shape_blocks(report: Report, advice: Sequence[FamilyAdvice]) -> list[Block]:
    """Return the table of recommended work-group shapes."""
    caption = (
        "Recommended: the smallest set of shapes that contains, for every search of a family, one within 3 % of the "
        "best rate. “Any of” lists equally good shapes. Largest for: the variant with the largest best / worst. "
        "Families that are not listed need fixed work-groups. No kernel uses a third dimension."
    )
    table = lists.shape_table(report, advice)
    return _table_block("shapes", "Work-group shapes by family", table, caption, SEARCHES)


def peak_blocks(report: Report) -> list[Block]:
    """Return the tables of a report without measurements: ceilings, and the predicted best of each workload."""
    if not report.only_predicted:
        return []
    ceilings = (
        "Maximum rates of all compute units together. Operations are counted for each lane. The launch cost is the "
        "time of an empty dispatch."
    )
    outlooks = (
        "Best: the highest rate, or the shortest time, of all sizes and cases. Bottleneck: the largest ceiling there. "
        "Cliffs: midpoints. n90: work-items for 90 % of the plateau. Occupancy: resident waves / maximum and its "
        "limit, with registers as estimated before compiling."
    )
    limits, best = forecast.ceilings_table(report.device), forecast.outlook_table(report.predictions)
    return [
        Block("ceilings", "Limits of the device", table=limits, caption=ceilings),
        Block("forecast", "Predicted best of each workload", table=best, caption=outlooks),
    ]


def limit_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return a roofline and a table for each family that has sweeps over sizes."""
    families = grouped((limit.key.family, limit) for limit in limits(found))
    observed = bool(report.observations)
    caption = (
        f"At the largest size. Efficiency: {'observed' if observed else 'predicted'} speed / the speed that the "
        "bottleneck allows. Occupancy: resident waves / maximum, for the work-groups of that size, and its limit."
    )
    return [
        Block(
            f"limits-{number}",
            f"{family_name(report, family)}: roofline and occupancy",
            figures=_roofline(report, [curve for curve in found if curve.key.family == family]),
            table=limits_table(known, observed=observed),
            caption=caption if number == 1 else "At the largest size; columns as in the first table of this chapter.",
            numbers=family_anchor(family),
        )
        for number, (family, known) in enumerate(families.items(), start=1)
    ]


def _roofline(report: Report, found: Sequence[CurveRecords]) -> tuple[Picture, ...]:
    dots = roofline_dots(found, report.device)
    if not dots:
        return ()
    charts = roofline_charts(dots, report.device)
    return (Picture(partial(roofline_figure, dots, report.device), roofline_caption(dots), charts),)


def unexpected_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the tables of explanations and of the largest deviations, and the samples of deviating points."""
    sampled = deviating_points(found)
    figures = (Picture(partial(sample_figure, sampled), sample_caption(sampled)),) if sampled else ()
    explained, deviations = unexpected.summary(report.explanations), lists.deviations_table(report)
    caption = (
        "The most important feature of each kind and family: errors, then values that are off (largest deviation "
        "first), then those not observed, not predicted or not compared. Agree: number of features of that kind "
        "and family within a factor of 1.2, + number that are only within the 95 % interval."
    )
    return [
        *_table_block("fitting", "Explanations by hypothesis", explained, unexpected.CAPTION, "hypotheses"),
        *_table_block("deviations", "Largest deviations", deviations, caption),
        *([Block("samples", "Samples of deviating points", figures)] if figures else []),
    ]


def first_figure(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    """Return the figure of page one: the essential curves, or else all ratios; none if there is nothing to draw."""
    drawn = _essentials(report, found)
    if drawn is None:
        return _ratios(report)
    return Picture(partial(essentials_figure, drawn), essentials_caption(drawn, report))


def _essentials(report: Report, found: Sequence[CurveRecords]) -> Essentials | None:
    return essentials(found, partial(family_name, report), report.device)


def _ratios(report: Report) -> Picture | None:
    """Draw all values as ratios to their predictions."""
    rows = overview_rows(specified(report))
    seen = "published" if report.publication else "observed"
    caption = f"Each mark is one value; to the right of 1, the {seen} value is higher than predicted."
    return Picture(partial(overview_figure, rows), caption) if rows else None


def trust_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return all values as ratios, unless page one has them, and the inputs with the largest effect."""
    ratios = _ratios(report) if _essentials(report, found) else None
    facts = trust.sensitivity_table(report)
    title, caption = "What the predictions depend on", trust.sensitivity_caption(facts)
    return [
        *([Block("overview", "Predicted and observed", (ratios,), numbers="numbers")] if ratios else []),
        *_table_block("facts", title, facts, caption, "uncertainties"),
    ]
