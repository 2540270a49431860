"""The parts of chapters: figures and compact tables, each with a link to its numbers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, seen_word, specified
from gpureport.report.figures.charts import roofline_charts
from gpureport.report.figures.clocks import clock_figure, clock_readings, trace_spans
from gpureport.report.figures.essentials import Essentials, essentials, essentials_figure
from gpureport.report.figures.overview import overview_figure, overview_rows
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.roofline import COLUMNS, roofline_dots, roofline_figure
from gpureport.report.figures.samples import MOST_PANELS, deviating_points, sample_figure
from gpureport.report.grouping import grouped, in_figures
from gpureport.report.prediction import forecast
from gpureport.report.run import lists, trust, unexpected
from gpureport.report.run.kernels import of_user
from gpureport.report.run.limits import limits, limits_table, unexplained_note
from gpureport.report.run.numbers import CLIFFS, SEARCHES
from gpureport.report.run.sweep_blocks import Block, curve_pictures
from gpureport.report.text.captions import (
    block_title,
    essentials_caption,
    roofline_caption,
    roofline_note,
    sample_caption,
)
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_name, seen_in
from gpureport.text import N90
from gpureport.units import format_ratio

_FEW = 2  # the most kernels of the user that page one draws


def as_predicted(members: Sequence[CurveRecords]) -> bool:
    """Whether these are separate cases that all agree with their predictions."""
    pairs = [pair for curve in members for pair in curve.pairs]
    return bool(pairs) and all(p.main.position == "case" and p.main.verdict is Verdict.AGREES for p in pairs)


def expected_blocks(report: Report, kinds: Sequence[Sequence[CurveRecords]]) -> list[Block]:
    """Return a note on separate cases that are as predicted: the range of each kind of sweep."""
    spans = [
        f"{block_title(family_name(report, members[0].key.family), members)}, "
        f"{format_ratio(min(ratios))} to {format_ratio(max(ratios))} ({len(ratios)})"
        for members in kinds
        if (ratios := [pair.main.ratio or 0.0 for curve in members for pair in curve.pairs])
    ]
    note = f"{seen_in(report).capitalize()} / predicted (number of cases): {'; '.join(spans)}."
    return [Block("expected", "Separate cases that are as predicted", notes=(note,))] if spans else []


def _table_block(anchor: str, title: str, table: Table, caption: str, numbers: str = "numbers") -> list[Block]:
    """Return the block of a table; none if it has no rows."""
    return [Block(anchor, title, table=table, caption=caption, numbers=(numbers,))] if table.rows else []


def cliff_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the table of cliffs, observed or only predicted."""
    if report.only_predicted:
        table = forecast.cliffs_table(report.predictions)
        caption = "Cliffs (capacity transitions), as working sets. Before, after: the plateaus on both sides."
    else:
        table = lists.level_table(report, found)
        seen = seen_in(report)
        caption = (
            f"Cliffs (capacity transitions), as working sets: ranges over the kernels for which one was {seen} or "
            "predicted."
        )
    return _table_block("cliffs", "Cliffs by cache level", table, caption, CLIFFS)


def taper_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the table of tapers."""
    table = lists.taper_table(report, found)
    caption = (
        f"Tapers (saturation points) as ranges of n90 over the curves of a family. {N90}. Agree: number within a "
        "factor of 1.2, + number only within the 95 % interval. The chapter on cliffs has the figures of sweeps over "
        "working sets; they mark tapers with ▲."
    )
    return _table_block("tapers", "Tapers by family", table, caption)


def shape_blocks(report: Report, advice: Sequence[FamilyAdvice]) -> list[Block]:
    """Return the table of recommended work-group shapes."""
    caption = (
        "Recommended: the smallest set that has, for every search of a family, a shape within 3 % of the best rate, or "
        "not significantly slower. "
        "In brackets: equally good replacements. Best / worst: rate of the best shape / rate of the worst. Largest "
        "for: the variant with the largest such ratio. Kernels of other families were not searched. No kernel uses a "
        "third dimension."
    )
    table = lists.shape_table(report, advice)
    return _table_block("shapes", "Work-group shapes by family", table, caption, SEARCHES)


def peak_blocks(report: Report) -> list[Block]:
    """Return the tables of a report without measurements: ceilings, and the predicted best of each workload."""
    if not report.only_predicted:
        return []
    ceilings = (
        "Maximum rates of all compute units together. Operations are counted for each lane. The launch cost is the "
        f"time of an empty dispatch. {forecast.COPIES}"
    )
    outlooks = (
        "Best: the highest rate, or the shortest time, of all sizes and cases. Bottleneck: the largest ceiling there. "
        f"Cliffs: midpoints. {N90}. Occupancy: resident waves / maximum and its limit; registers are estimates, "
        "since nothing was compiled."
    )
    limits, best = forecast.ceilings_table(report.device), forecast.outlook_table(report.predictions)
    return [
        Block("ceilings", "Limits of the device", table=limits, caption=ceilings),
        Block("forecast", "Predicted best of each workload", table=best, caption=outlooks),
    ]


def limit_blocks(report: Report, found: Sequence[CurveRecords], cases: Iterable[Block]) -> list[Block]:
    """Return the rooflines of all families, *cases*, and a table of all kernels that have sweeps over sizes."""
    known = limits(found)
    observed, seen = bool(report.observations), seen_in(report)
    caption = (
        f"At the largest size. Efficiency: {seen if observed else 'predicted'} speed / the speed that the "
        "bottleneck allows. Occupancy: resident waves (started and not finished) / maximum, for the work-groups of "
        f"that size, and its limit.{unexplained_note(known)}"
    )
    described = {name: info.title for name, info in report.workloads.items() if info.described}
    families = dict.fromkeys(limit.key.family for limit in known if limit.key.workload not in described)
    drawn = [(family_name(report, name), [curve for curve in found if curve.key.family == name]) for name in families]
    drawn += [("Your kernels", own)] if (own := of_user(report, found)) else []
    figures = tuple(figure for name, curves in drawn for figure in _roofline(report, name, curves, described))
    table = limits_table(known, seen if observed else "")
    notes = (roofline_note(seen if observed else ""),)
    return [
        *([Block("rooflines", "Rooflines", figures, notes=notes, numbers=("numbers",))] if figures else []),
        *cases,
        *_table_block("kernels", "Bottleneck of each kernel", table, caption),
    ]


def _roofline(
    report: Report, name: str, found: Sequence[CurveRecords], names: Mapping[str, str]
) -> tuple[Picture, ...]:
    """Draw one row of panels in each figure: small figures leave no large gaps at the ends of pages."""
    panels = list(grouped((dot.operations, dot) for dot in roofline_dots(found, report.device, names)).values())
    rows = [list(chain.from_iterable(row)) for row in in_figures(panels, COLUMNS)]
    seen = seen_word(found)
    return tuple(
        Picture(
            partial(roofline_figure, dots, report.device),
            roofline_caption(name, dots, seen),
            roofline_charts(dots, report.device),
        )
        for dots in rows
    )


def unexpected_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the tables of explanations and of the largest deviations, and the samples of deviating points."""
    sampled = deviating_points(found)
    figures = tuple(
        Picture(partial(sample_figure, part), sample_caption(sampled) if not number else "More of them, as above.")
        for number, part in enumerate(in_figures(sampled, MOST_PANELS))
    )
    explained, deviations = unexpected.summary(report.explanations), lists.deviations_table(report)
    caption = (
        "The most severe deviation of each kind of feature in each family. First come errors, then values that are off "
        "(largest ratio first), then features that were not observed, predicted, compared or determined. Agree: number "
        "of such features within a factor of 1.2, + number only within the 95 % interval."
    )
    return [
        *_table_block("fitting", "Explanations by hypothesis", explained, unexpected.CAPTION, "hypotheses"),
        *_table_block("deviations", "Largest deviations", deviations, caption),
        *([Block("samples", "Samples of deviating points", figures)] if figures else []),
    ]


def first_figure(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    """Return the figure of page one: the curves of a few kernels of the user, the essential ones, or all ratios.

    None if there is nothing to draw.
    """
    own = [curve for curve in of_user(report, found) if not curve.is_work_group]
    if 0 < len(own) <= _FEW and (drawn_own := curve_pictures(report, own)):
        return drawn_own[0]
    drawn = _essentials(report, found)
    if drawn is None:
        return _ratios(report)
    return Picture(partial(essentials_figure, drawn), essentials_caption(drawn, report))


def _essentials(report: Report, found: Sequence[CurveRecords]) -> Essentials | None:
    return essentials(found, partial(family_name, report), report.device)


def _ratios(report: Report) -> Picture | None:
    """Draw all values as ratios to their predictions."""
    rows = overview_rows(specified(report))
    seen = seen_in(report)
    caption = f"Each mark is one value; to the right of 1, the {seen} value is higher than predicted."
    return Picture(partial(overview_figure, rows, seen), caption) if rows else None


def clock_blocks(report: Report) -> list[Block]:
    """Return the clock during the run, to be read with the traces of frames; nothing without traces or readings."""
    readings, spans = clock_readings(report), trace_spans(report)
    if len(readings) < _FEWEST_CLOCKS or not spans:
        return []
    caption = "Core clock, read while the run measured; grey: while frames were traced."
    return [Block("clocks", "Core clock during the run", (Picture(partial(clock_figure, readings, spans), caption),))]


_FEWEST_CLOCKS = 10


def trust_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return all values as ratios, unless page one has them, and the inputs with the largest effect."""
    ratios = _ratios(report) if _essentials(report, found) else None
    facts = trust.sensitivity_table(report)
    title, caption = "What the predictions depend on", trust.sensitivity_caption(facts)
    return [
        *([Block("overview", "Predicted and observed", (ratios,), numbers=("numbers",))] if ratios else []),
        *_table_block("facts", title, facts, caption, "uncertainties"),
    ]
