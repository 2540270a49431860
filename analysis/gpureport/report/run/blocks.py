"""The parts of chapters: figures and compact tables, each of one thing, with where its numbers are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report.figures.essentials import Part, essentials, essentials_figure
from gpureport.report.figures.overview import overview_figure, overview_rows
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.pictures import Figure, pictures
from gpureport.report.prediction import forecast
from gpureport.report.run import lists, trust, unexpected
from gpureport.report.run.curves import FLAT, Curve, specified
from gpureport.report.run.limits import Limit, limits, limits_table
from gpureport.report.run.numbers import SEARCHES, family_anchor
from gpureport.report.text.captions import block_title, essentials_caption, roofline_caption
from gpureport.report.text.tables import Table
from gpureport.report.text.words import family_name, observed_head, with_names
from gpureport.units import format_percent, format_ratio


@dataclass(frozen=True)
class Block:
    """Part of a chapter: figures, or a table, or both, of one thing."""

    anchor: str
    title: str
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    caption: str = ""
    """Of the table."""
    notes: tuple[str, ...] = ()
    numbers: str = ""
    """Anchor of what in the appendix has the numbers."""


def sweep_block(report: Report, anchor: str, members: Sequence[Curve]) -> Block:
    """Draw sweeps of one kind, with what to know of them beforehand."""
    told = {f"{info.family}/{info.variant}": info.skipped for info in report.workloads.values()}
    skipped = [
        (c.key.variant, c.measurement.skipped)
        for c in members
        if c.measurement and c.measurement.skipped != told.get(c.key.workload)
    ]
    known = report.publication.conditions if report.publication else {}
    published = with_names((c.key.variant, known[str(c.key)]) for c in members if str(c.key) in known)
    notes = [f"○ Not measured: {text}" for text in with_names((name, why) for name, why in skipped if why)]
    drawn = [curve for curve in members if not (curve.is_work_group and curve.is_flat)]
    if len(drawn) < len(members):
        shown = {curve.key for curve in drawn}
        names = ", ".join(curve.key.variant for curve in members if curve.key not in shown)
        notes.append(f"Not drawn, as all values are within {format_percent(FLAT - 1)} of one another: {names}.")
    return Block(
        anchor=f"curves-{anchor}",
        title=block_title(family_name(report, members[0].key.family), members),
        figures=pictures(drawn, report.machine.clocks if report.machine else ()),
        notes=(*notes, *([f"As published: {'. '.join(published)}."] if published else [])),
        numbers=anchor,
    )


def as_predicted(members: Sequence[Curve]) -> bool:
    """Whether these are separate cases, all of which agree with their predictions."""
    pairs = [pair for curve in members for pair in curve.pairs]
    return bool(pairs) and all(p.main.position == "case" and p.main.verdict is Verdict.AGREES for p in pairs)


def expected_blocks(report: Report, kinds: Sequence[Sequence[Curve]]) -> list[Block]:
    """Return the table of separate cases that are as predicted, a row a kind of sweep."""
    rows = tuple(
        (
            block_title(family_name(report, members[0].key.family), members),
            str(len(ratios)),
            f"{format_ratio(min(ratios))} to {format_ratio(max(ratios))}",
        )
        for members in kinds
        if (ratios := [pair.main.ratio or 0.0 for curve in members for pair in curve.pairs])
    )
    caption = "Separate cases that all agree with their predictions: how many, and the least and the greatest ratio."
    table = Table(("sweep", "values", "observed / predicted"), rows, frozenset({"values"}))
    if not rows:
        return []
    return [Block("expected", "As predicted, case by case", table=table, caption=caption, numbers="numbers")]


def cliff_blocks(report: Report, found: Sequence[Curve]) -> list[Block]:
    """Return the table of where caches give out, observed or only predicted."""
    if report.only_predicted:
        table = forecast.cliffs_table(report.predictions)
        caption = "Where caches give out, as a working set; before and after: the plateaus on both sides."
    else:
        table = lists.cliff_table(report, found)
        caption = (
            "The working set at which a cache has half given out, for each kernel whose sweep shows it or should. "
            "Departures, arrivals and plateaus are in the appendix."
        )
    return [Block("cliffs", "Cache by cache", table=table, caption=caption, numbers="numbers")] if table.rows else []


def taper_blocks(report: Report, found: Sequence[Curve]) -> list[Block]:
    """Return the table of how much work fills the device."""
    table = lists.taper_table(report, found)
    caption = (
        "Work-items that bring kernels to 90 % of the plateau that they reach first, from the least to the most of "
        "each family; predicted ones at the sizes that were measured. Sweeps over working sets show it too: ▲ in the "
        "figures of the chapter before. Tapers of different levels are not compared."
    )
    return [Block("tapers", "Family by family", table=table, caption=caption, numbers="numbers")] if table.rows else []


def shape_blocks(report: Report, advice: Sequence[FamilyAdvice]) -> list[Block]:
    """Return the table of which work-group shapes serve each family."""
    if not advice:
        return []
    caption = (
        "The fewest shapes that serve every search of a family to within 3 % of its best rate, each with all that do "
        "as well, and what the worst shape costs. Families that are not listed leave no choice: their work-groups "
        "belong to what they measure. "
        "No kernel has a third axis, so that no shape has one."
    )
    table = lists.shape_table(report, advice)
    return [Block("shapes", "Family by family", table=table, caption=caption, numbers=SEARCHES)]


def peak_blocks(report: Report) -> list[Block]:
    """Return what a prediction alone has to say: ceilings, and what each workload is to reach."""
    if not report.only_predicted:
        return []
    ceilings = (
        "What the device can do at most, all compute units together. Operations are those of single lanes. A dispatch "
        "takes as long as stated even if it does nothing."
    )
    outlooks = (
        "Best: the highest rate, or the shortest time, of all sizes and cases. Bound by: the largest of the ceilings "
        "there. n90: work-items for 90 % of the plateau. Occupancy: share of the waves that a compute unit can hold, "
        "with registers as estimated before compiling, and what limits it."
    )
    return [
        Block("ceilings", "What the device can do", table=forecast.ceilings_table(report.device), caption=ceilings),
        Block(
            "forecast",
            "What each workload is predicted to reach",
            table=forecast.outlook_table(report.predictions),
            caption=outlooks,
        ),
    ]


def limit_blocks(report: Report, found: Sequence[Curve]) -> list[Block]:
    """Return a roofline and a table for each family that has sweeps over sizes."""
    families: dict[str, list[Limit]] = {}
    for limit in limits(found):
        families.setdefault(limit.key.family, []).append(limit)
    observed = bool(report.observations)
    caption = (
        f"At the largest size. Of limit: {'observed' if observed else 'predicted'} speed / what the limit that binds "
        "would allow alone. Full: the share of the waves that a compute unit can hold, with the work-groups of that "
        "size, and what limits it."
    )
    return [
        Block(
            f"limits-{number}",
            f"{family_name(report, family)}: roofline and occupancy",
            figures=_roofline(report, [curve for curve in found if curve.key.family == family]),
            table=limits_table(known, observed=observed),
            caption=caption if number == 1 else "At the largest size; columns as above.",
            numbers=family_anchor(family),
        )
        for number, (family, known) in enumerate(families.items(), start=1)
    ]


def _roofline(report: Report, found: Sequence[Curve]) -> tuple[Figure, ...]:
    dots = roofline_dots(found, report.device)
    return (Figure(roofline_figure(dots, report.device), roofline_caption(dots)),) if dots else ()


def unexpected_blocks(report: Report) -> list[Block]:
    """Return the tables of what fits, and of what is farthest off."""
    blocks = []
    if report.explanations:
        blocks.append(
            Block(
                "fitting",
                "What fits",
                table=unexpected.summary(report.explanations),
                caption=unexpected.CAPTION,
                numbers="hypotheses",
            )
        )
    if any(not pair.main.verdict.as_predicted for pair in specified(report)):
        caption = (
            "Of each kind of feature and family, the one that stands first: errors, then what is off (the farthest "
            "first), then what was not observed, not predicted or not compared. Agree: how many of all these features "
            "lie within a factor of 1.2, + how many only within the interval."
        )
        blocks.append(
            Block(
                "farthest",
                "What is farthest off",
                table=lists.farthest_table(report),
                caption=caption,
                numbers="numbers",
            )
        )
    return blocks


def first_figure(report: Report, found: Sequence[Curve]) -> Figure | None:
    """Return the figure of page one: what matters most, or else every value; none if there is nothing to draw."""
    parts = _essentials(report, found)
    if not parts:
        return _ratios(report)
    return Figure(essentials_figure(parts, observed_head(report)), essentials_caption(report))


def _essentials(report: Report, found: Sequence[Curve]) -> tuple[Part, ...]:
    return essentials(found, limits(found), partial(family_name, report), report.device)


def _ratios(report: Report) -> Figure | None:
    """Draw every value as a ratio to its prediction."""
    rows = overview_rows(specified(report))
    seen = "published" if report.publication else "observed"
    caption = f"All values: each mark is one; to the right of 1 more was {seen} than predicted, to the left less."
    return Figure(overview_figure(rows), caption) if rows else None


def trust_blocks(report: Report, found: Sequence[Curve]) -> list[Block]:
    """Return all values as ratios, unless page one has them, and what the predictions hang on."""
    blocks = []
    ratios = _ratios(report) if _essentials(report, found) else None
    if ratios:
        blocks.append(Block("overview", "Predicted and observed", (ratios,), numbers="numbers"))
    facts = trust.sensitivity_table(report)
    if facts.rows:
        blocks.append(
            Block(
                "facts",
                "What the predictions hang on",
                table=facts,
                caption=trust.sensitivity_caption(facts),
                numbers="uncertainties",
            )
        )
    return blocks
