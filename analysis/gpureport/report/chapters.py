"""The body of the document: a chapter a question, with its answer first, then a compact table and figures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpureport.advice import FamilyAdvice
from gpureport.records import Verdict
from gpureport.report import answers, forecast, lists, surprises, trust
from gpureport.report.captions import block_title, roofline_caption
from gpureport.report.curves import Curve, specified
from gpureport.report.document import Report
from gpureport.report.figures.overview import overview_figure, overview_rows
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.limits import Limit, limits, limits_table
from gpureport.report.numbers import Kinds, family_anchor
from gpureport.report.pictures import Figure, pictures
from gpureport.report.tables import Table
from gpureport.report.words import advice_sentence, family_name, with_names


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


@dataclass(frozen=True)
class Chapter:
    """One question."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    blocks: tuple[Block, ...] = field(default=())


def chapters(
    report: Report, found: Sequence[Curve], kinds: Kinds, advice: Sequence[FamilyAdvice]
) -> tuple[Chapter, ...]:
    """Plan and draw the chapters that have anything to say, in the order in which a reader asks.

    Args:
        report: what it all comes from.
        found: its curves.
        kinds: the same, those of one kind together.
        advice: what its searches for work-groups came to.
    """
    drawn = _drawn(report, kinds)
    shapes = tuple(advice_sentence(family_name(report, each.family), each) for each in advice)
    planned = (
        Chapter(
            "caches",
            "Where do the caches give out?",
            tuple(answers.caches(report, found)),
            (*_cliffs(report, found), *drawn["caches"]),
        ),
        Chapter(
            "work",
            "How much work fills the device?",
            tuple(answers.work(report, found)),
            (*_tapers(report, found), *drawn["work"]),
        ),
        Chapter("groups", "Which work-group size?", shapes, (*_shapes(report, advice), *drawn["groups"])),
        Chapter(
            "limits",
            "How near its limit does each kernel run, and what binds it?",
            tuple(answers.near_limits(report, found)),
            (*_promises(report), *_limits(report, found), *drawn["limits"]),
        ),
        Chapter(
            "surprises",
            "What surprised, and which explanation fits?",
            tuple(surprises.answers(report)),
            tuple(_surprises(report)),
        ),
        Chapter("trust", "How far to trust this?", tuple(trust.answers(report)), (*_trust(report), *drawn["trust"])),
    )
    return tuple(chapter for chapter in planned if chapter.answers or chapter.blocks)


def _question(curve: Curve) -> str:
    """Return the anchor of the chapter that shows a curve."""
    if curve.key.sweep == "frames":
        return "trust"
    return {"working_set": "caches", "work_items": "work", "work_group": "groups", "case": "limits"}[
        curve.axis.quantity
    ]


def _drawn(report: Report, kinds: Kinds) -> dict[str, list[Block]]:
    """Draw the sweeps of each kind, in the chapter that they answer."""
    blocks: dict[str, list[Block]] = {name: [] for name in ("caches", "work", "groups", "limits", "trust")}
    for anchor, members in kinds.items():
        blocks[_question(members[0])].append(_sweeps(report, anchor, members))
    return blocks


def _sweeps(report: Report, anchor: str, members: Sequence[Curve]) -> Block:
    told = {f"{info.family}/{info.variant}": info.skipped for info in report.workloads.values()}
    skipped = [
        (c.key.variant, c.measurement.skipped)
        for c in members
        if c.measurement and c.measurement.skipped != told.get(f"{c.key.workload}/{c.key.variant}")
    ]
    known = report.publication.conditions if report.publication else {}
    published = with_names((c.key.variant, known[str(c.key)]) for c in members if str(c.key) in known)
    notes = [f"○ Not measured: {text}" for text in with_names((name, why) for name, why in skipped if why)]
    return Block(
        anchor=f"curves-{anchor}",
        title=block_title(family_name(report, members[0].key.workload), members),
        figures=pictures(members, report.machine.clocks if report.machine else ()),
        notes=(*notes, *([f"As published: {'. '.join(published)}."] if published else [])),
        numbers=anchor,
    )


def _cliffs(report: Report, found: Sequence[Curve]) -> list[Block]:
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


def _tapers(report: Report, found: Sequence[Curve]) -> list[Block]:
    table = lists.taper_table(report, found)
    caption = (
        "Work-items that bring kernels to 90 % of their best rate, from the least to the most of each family. "
        "Sweeps over working sets show it too: ▲ in the figures of the chapter before."
    )
    return [Block("tapers", "Family by family", table=table, caption=caption, numbers="numbers")] if table.rows else []


def _shapes(report: Report, advice: Sequence[FamilyAdvice]) -> list[Block]:
    if not advice:
        return []
    caption = (
        "The fewest shapes that serve every search of a family to within 3 % of its best rate, and what the worst "
        "shape costs. Families that are not listed leave no choice: their work-groups belong to what they measure. "
        "No kernel has a third axis, so that no shape has one."
    )
    table = lists.shape_table(report, advice)
    return [Block("shapes", "Family by family", table=table, caption=caption, numbers="searches")]


def _promises(report: Report) -> list[Block]:
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


def _limits(report: Report, found: Sequence[Curve]) -> list[Block]:
    """Return a roofline and a table for each family that has sweeps over sizes."""
    families: dict[str, list[Limit]] = {}
    for limit in limits(found):
        families.setdefault(limit.key.workload, []).append(limit)
    observed = bool(report.observations)
    caption = (
        f"At the largest size. Of limit: {'observed' if observed else 'predicted'} speed / what the limit that binds "
        "would allow alone. Full: the least share of the waves that a compute unit can hold, over the shapes used, "
        "and what limits it."
    )
    return [
        Block(
            f"limits-{number}",
            f"{family_name(report, family)}: roofline and occupancy",
            figures=_roofline(report, [curve for curve in found if curve.key.workload == family]),
            table=limits_table(known, observed=observed),
            caption=caption,
            numbers=family_anchor(family),
        )
        for number, (family, known) in enumerate(families.items(), start=1)
    ]


def _roofline(report: Report, found: Sequence[Curve]) -> tuple[Figure, ...]:
    dots = roofline_dots(found, report.device)
    return (Figure(roofline_figure(dots, report.device), roofline_caption(dots)),) if dots else ()


def _surprises(report: Report) -> list[Block]:
    blocks = []
    if report.explanations:
        blocks.append(
            Block(
                "fitting",
                "What fits",
                table=surprises.summary(report.explanations),
                caption=surprises.CAPTION,
                numbers="hypotheses",
            )
        )
    if any(pair.main.verdict is not Verdict.AGREES for pair in specified(report)):
        caption = (
            "Of each kernel and feature the value farthest from its prediction; the last column says how many of its "
            "values agree."
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


def _trust(report: Report) -> list[Block]:
    blocks = []
    rows = overview_rows(specified(report))
    if rows:
        seen = "published" if report.publication else "observed"
        caption = f"All values: each mark is one; to the right of 1 more was {seen} than predicted, to the left less."
        blocks.append(
            Block("overview", "Predicted and observed", (Figure(overview_figure(rows), caption),), numbers="numbers")
        )
    facts = trust.sensitivity_table(report)
    if facts.rows:
        blocks.append(
            Block(
                "facts",
                "What the predictions hang on",
                table=facts,
                caption=trust.sensitivity_caption(facts),
                numbers="sources",
            )
        )
    return blocks
