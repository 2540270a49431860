"""The body of the document: a chapter a question, with its answer first, then a compact table and figures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
from gpureport.report.run.curves import Curve
from gpureport.report.run.numbers import Kinds
from gpureport.report.text.words import advice_sentence, family_name


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
            (*cliff_blocks(report, found), *drawn["caches"]),
        ),
        Chapter(
            "work",
            "How much work fills the device?",
            tuple(answers.work(report, found)),
            (*taper_blocks(report, found), *drawn["work"]),
        ),
        Chapter("groups", "Which work-group size?", shapes, (*shape_blocks(report, advice), *drawn["groups"])),
        Chapter(
            "limits",
            "How near its limit does each kernel run, and what binds it?",
            tuple(answers.near_limits(report, found)),
            (*peak_blocks(report), *limit_blocks(report, found), *drawn["limits"]),
        ),
        Chapter(
            "unexpected",
            "What surprised, and which explanation fits?",
            tuple(unexpected.answers(report)),
            tuple(unexpected_blocks(report)),
        ),
        Chapter(
            "trust",
            "How far to trust this?",
            tuple(trust.answers(report)),
            (*trust_blocks(report, found), *drawn["trust"]),
        ),
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
    """Draw the sweeps of each kind, in the chapter that they answer; separate cases only if any is a surprise."""
    blocks: dict[str, list[Block]] = {name: [] for name in ("caches", "work", "groups", "limits", "trust")}
    expected = []
    for anchor, members in kinds.items():
        if as_predicted(members):
            expected.append(members)
        else:
            blocks[_question(members[0])].append(sweep_block(report, anchor, members))
    return {**blocks, "limits": [*blocks["limits"], *expected_blocks(report, expected)]}
