"""The chapters of the document: in each, the answer comes first, then compact tables and figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user
from gpureport.report.figures.chart import Picture
from gpureport.report.figures.runs import working_set_chart, working_sets
from gpureport.report.grouping import grouped
from gpureport.report.run import caches, efficiency, groups, kernels, trust, unexpected, whole_device, work
from gpureport.report.run.numbers import Kinds
from gpureport.report.run.sweeps import Block, Selection, chapter_blocks, curve_pictures, selection
from gpureport.report.text.sentences import text
from gpureport.report.text.words import seen_in

_FEW = 2  # the most kernels of the user that page one draws


@dataclass(frozen=True)
class Chapter:
    """One topic: sentences, then figures and tables."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    blocks: tuple[Block, ...]


def chapters(
    report: Report,
    found: Sequence[CurveRecords],
    kinds: Kinds,
    chosen: Mapping[str, Selection],
    advice: Sequence[FamilyAdvice],
) -> tuple[Chapter, ...]:
    """Draw all chapters that have contents.

    Args:
        report: the source of everything.
        found: its curves.
        kinds: the same curves by kind.
        chosen: the curves that are drawn, of :func:`selections`.
        advice: on work-group shapes.
    """
    drawn = {name: tuple(chapter_blocks(report, name, curves)) for name, curves in chosen.items()}
    own = kernels.answers(report, found)[: kernels.MOST_TOLD]
    limits = efficiency.blocks(report, found, drawn["limits"], kinds.values())
    with_ratios = _working_sets(report, found) is not None
    trusted = (*trust.blocks(report, with_ratios=with_ratios), *drawn["trust"], *trust.clock_blocks(report))
    reliability = f"Reliability of predictions{'' if report.machine is None else ' and measurements'}"
    planned: tuple[tuple[str, str, Iterable[str], Iterable[Block]], ...] = (
        ("own", "Your kernels", own, kernels.blocks(report, found)),
        (
            "caches",
            "Cliffs: usable cache capacity",
            caches.answers(report, found),
            (*caches.blocks(report, found), *drawn["caches"]),
        ),
        (
            "work",
            "Tapers: work needed for full throughput",
            work.answers(report, found),
            (*work.blocks(report, found), *drawn["work"]),
        ),
        (
            "groups",
            "Work-group shapes",
            groups.answers(report, advice),
            (*groups.blocks(report, advice), *drawn["groups"]),
        ),
        ("limits", "Efficiency and bottlenecks", efficiency.answers(report, found), limits),
        (
            "device",
            "The whole device: transfers, power and energy",
            whole_device.answers(report),
            (*whole_device.blocks(report, found), *drawn["device"]),
        ),
        ("unexpected", "Unexpected results", unexpected.answers(report), unexpected.blocks(report, found)),
        ("trust", reliability, trust.answers(report), trusted),
    )
    every = (
        Chapter(name, title, tuple(texts), tuple(block for block in blocks if not block.is_empty))
        for name, title, texts, blocks in planned
    )
    return tuple(chapter for chapter in every if chapter.answers or chapter.blocks)


def selections(kinds: Kinds) -> dict[str, Selection]:
    """Return the curves that each chapter draws, by its anchor."""
    empty = dict.fromkeys(("caches", "work", "groups", "limits", "device", "trust"), Selection())
    found = grouped((_chapter_of(curve), curve) for members in kinds.values() for curve in members)
    return {**empty, **{name: selection(curves) for name, curves in found.items()}}


def _chapter_of(curve: CurveRecords) -> str:
    """Return the anchor of the chapter that shows a curve."""
    if curve.key.sweep == "frames":
        return "trust"
    if curve.key.family == "transfer":
        return "device"
    return {"working_set": "caches", "work_items": "work", "work_group": "groups", "case": "limits"}[
        curve.axis.quantity
    ]


def first_figure(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    """Return the figure of page one: the curves of a few kernels of the user, those of working sets, or all ratios.

    None if there is nothing to draw.
    """
    own = [curve for curve in of_user(report, found) if not curve.is_work_group]
    if 0 < len(own) <= _FEW and (drawn_own := curve_pictures(report, own)):
        return drawn_own[0]
    return _working_sets(report, found) or trust.ratio_picture(report)


def _working_sets(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    drawn = working_sets(found)
    caption = text("working_sets_caption", observed=bool(report.observations), seen=seen_in(report))
    return Picture(working_set_chart(drawn, report.device), caption) if drawn else None
