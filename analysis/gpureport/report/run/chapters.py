"""The chapters of the document: in each, the answer comes first, then a compact table and figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.report import Report
from gpureport.report.run import answers, trust, unexpected
from gpureport.report.run.blocks import (
    Block,
    as_predicted,
    cliff_blocks,
    expected_blocks,
    limit_blocks,
    peak_blocks,
    shape_blocks,
    sweep_block,
    taper_blocks,
    trust_blocks,
    unexpected_blocks,
)
from gpureport.report.run.curves import CurveRecords
from gpureport.report.run.numbers import Kinds
from gpureport.report.text.words import advice_sentence, family_name


@dataclass(frozen=True)
class TopicChapter:
    """One topic."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    blocks: tuple[Block, ...]


def chapters(
    report: Report, found: Sequence[CurveRecords], kinds: Kinds, advice: Sequence[FamilyAdvice]
) -> tuple[TopicChapter, ...]:
    """Draw all chapters that have contents.

    Args:
        report: the source of everything.
        found: its curves.
        kinds: the same curves by kind.
        advice: on work-group shapes.
    """
    drawn = _drawn(report, kinds)
    shapes = [advice_sentence(family_name(report, each.family), each) for each in advice]
    caches, work = answers.caches(report, found), answers.work(report, found)
    limits = (*peak_blocks(report), *limit_blocks(report, found), *drawn["limits"])
    trusted = (*trust_blocks(report, found), *drawn["trust"])
    planned: tuple[tuple[str, str, Iterable[str], Iterable[Block]], ...] = (
        ("caches", "Cliffs: usable cache capacity", caches, (*cliff_blocks(report, found), *drawn["caches"])),
        ("work", "Tapers: work needed for full throughput", work, (*taper_blocks(report, found), *drawn["work"])),
        ("groups", "Work-group shapes", shapes, (*shape_blocks(report, advice), *drawn["groups"])),
        ("limits", "Efficiency and bottlenecks", answers.near_limits(report, found), limits),
        ("unexpected", "Unexpected results", unexpected.answers(report), unexpected_blocks(report, found)),
        ("trust", "Reliability of predictions and measurements", trust.answers(report), trusted),
    )
    every = (TopicChapter(name, title, tuple(texts), tuple(blocks)) for name, title, texts, blocks in planned)
    return tuple(chapter for chapter in every if chapter.answers or chapter.blocks)


def _chapter_of(curve: CurveRecords) -> str:
    """Return the anchor of the chapter that shows a curve."""
    if curve.key.sweep == "frames":
        return "trust"
    return {"working_set": "caches", "work_items": "work", "work_group": "groups", "case": "limits"}[
        curve.axis.quantity
    ]


def _drawn(report: Report, kinds: Kinds) -> dict[str, list[Block]]:
    """Draw the sweeps of each kind, by chapter; separate cases only if one of them is not as predicted."""
    blocks: dict[str, list[Block]] = {name: [] for name in ("caches", "work", "groups", "limits", "trust")}
    expected = []
    for anchor, members in kinds.items():
        if as_predicted(members):
            expected.append(members)
        else:
            blocks[_chapter_of(members[0])].append(sweep_block(report, anchor, members))
    return {**blocks, "limits": [*blocks["limits"], *expected_blocks(report, expected)]}
