"""The chapters of the document: in each, the answer comes first, then a compact table and figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords
from gpureport.report.grouping import grouped
from gpureport.report.run import answers, trust, unexpected, whole_device
from gpureport.report.run import kernels as own_kernels
from gpureport.report.run.blocks import (
    as_predicted,
    cliff_blocks,
    clock_blocks,
    expected_blocks,
    limit_blocks,
    peak_blocks,
    shape_blocks,
    taper_blocks,
    trust_blocks,
    unexpected_blocks,
)
from gpureport.report.run.cache_blocks import cache_blocks
from gpureport.report.run.decisions import work_group_size
from gpureport.report.run.numbers import Kinds
from gpureport.report.run.residency_blocks import residency_blocks
from gpureport.report.run.selection import Selection, selection
from gpureport.report.run.sweep_blocks import Block, chapter_blocks
from gpureport.report.text.words import advice_sentence, family_name


@dataclass(frozen=True)
class TopicChapter:
    """One topic."""

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
) -> tuple[TopicChapter, ...]:
    """Draw all chapters that have contents.

    Args:
        report: the source of everything.
        found: its curves.
        kinds: the same curves by kind.
        chosen: the curves that are drawn, of :func:`selections`.
        advice: on work-group shapes.
    """
    drawn = {name: chapter_blocks(report, name, curves) for name, curves in chosen.items()}
    expected = expected_blocks(report, [members for members in kinds.values() if as_predicted(members)])
    size = work_group_size(report)
    shapes = [*([size] if size else []), *(advice_sentence(family_name(report, a.family), a) for a in advice)]
    own = own_kernels.answers(report, found)[: own_kernels.MOST_TOLD]
    caches, work = answers.caches(report, found), answers.work(report, found)
    limits = (*peak_blocks(report), *limit_blocks(report, found, drawn["limits"]), *expected)
    trusted = (*trust_blocks(report, found), *drawn["trust"], *clock_blocks(report))
    reliability = f"Reliability of predictions{'' if report.machine is None else ' and measurements'}"
    planned: tuple[tuple[str, str, Iterable[str], Iterable[Block]], ...] = (
        ("own", "Your kernels", own, own_kernels.kernel_blocks(report, found)),
        (
            "caches",
            "Cliffs: usable cache capacity",
            caches,
            (*cliff_blocks(report, found), *cache_blocks(report), *drawn["caches"]),
        ),
        ("work", "Tapers: work needed for full throughput", work, (*taper_blocks(report, found), *drawn["work"])),
        (
            "groups",
            "Work-group shapes",
            shapes,
            (*shape_blocks(report, advice), *residency_blocks(report), *drawn["groups"]),
        ),
        ("limits", "Efficiency and bottlenecks", answers.near_limits(report, found), limits),
        (
            "device",
            "The whole device: transfers, power and energy",
            whole_device.answers(report),
            (*whole_device.blocks(report, found), *drawn["device"]),
        ),
        ("unexpected", "Unexpected results", unexpected.answers(report), unexpected_blocks(report, found)),
        ("trust", reliability, trust.answers(report), trusted),
    )
    every = (TopicChapter(name, title, tuple(texts), tuple(blocks)) for name, title, texts, blocks in planned)
    return tuple(chapter for chapter in every if chapter.answers or chapter.blocks)


def _chapter_of(curve: CurveRecords) -> str:
    """Return the anchor of the chapter that shows a curve."""
    if curve.key.sweep == "frames":
        return "trust"
    if curve.key.family == "transfer":
        return "device"
    return {"working_set": "caches", "work_items": "work", "work_group": "groups", "case": "limits"}[
        curve.axis.quantity
    ]


def selections(kinds: Kinds) -> dict[str, Selection]:
    """Return the curves that each chapter draws, by its anchor."""
    empty = dict.fromkeys(("caches", "work", "groups", "limits", "device", "trust"), Selection())
    found = grouped((_chapter_of(curve), curve) for members in kinds.values() for curve in members)
    return {**empty, **{name: selection(curves) for name, curves in found.items()}}
