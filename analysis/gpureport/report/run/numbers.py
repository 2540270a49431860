"""The appendix of all numbers: by family, kind of sweep and feature."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from gpureport.explain.hypotheses import statement
from gpureport.records.measurement import Verification
from gpureport.records.report import Report, WorkloadInfo
from gpureport.report.curves import CurveRecords, Group
from gpureport.report.grouping import grouped
from gpureport.report.prediction.forecast import feature_table
from gpureport.report.run.sweeps import CLIFFS, SEARCHES, Block, family_anchor, kind_of, other_curves
from gpureport.report.text.captions import section_title
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table, occupancy_table
from gpureport.report.text.words import family_name, feature_text, with_names

Kinds = Mapping[str, tuple[CurveRecords, ...]]
"""Sweeps of one kind, by the anchor of their section."""


@dataclass(frozen=True)
class Variant:
    """One variant of a family, with its verification."""

    info: WorkloadInfo
    verification: Verification | None
    description: tuple[str, ...]
    """Sentences that apply to no other variant of the family."""

    @property
    def wrong(self) -> str | None:
        """The error in its results, if there is one."""
        check = self.verification
        return check.message if check and not check.passed else None


@dataclass(frozen=True)
class Section:
    """All sweeps of one kind in a family: predicted and observed values, with explanations and cautions."""

    anchor: str
    title: str
    groups: tuple[Group, ...]
    explanations: tuple[str, ...]
    warnings: tuple[str, ...]
    curves: Block
    """Figures of the sweeps that no chapter shows."""
    features: Table | None = None
    """Predicted features, in reports without measurements."""

    @property
    def calibrated(self) -> bool:
        """Whether any of its values has a calibrated prediction."""
        return any(group.main.calibrated for group in self.groups)


@dataclass(frozen=True)
class Family:
    """Everything about one family."""

    anchor: str
    title: str
    variants: tuple[Variant, ...]
    shared: tuple[str, ...]
    """Sentences that apply to several variants, after their names."""
    sections: tuple[Section, ...]
    occupancy: Table
    notes: tuple[str, ...]


def by_kind(found: Iterable[CurveRecords]) -> Kinds:
    """Group sweeps by kind: same family, name, axis, unit and kind of figure."""
    kinds = grouped(
        ((c.key.family, c.axis.quantity, c.axis.label, c.key.sweep, c.value_unit, kind_of(c)), c) for c in found
    )
    return {f"numbers-{number}": tuple(members) for number, members in enumerate(kinds.values(), start=1)}


def families(
    report: Report, found: Sequence[CurveRecords], kinds: Kinds, shown: Sequence[CurveRecords] = ()
) -> tuple[Family, ...]:
    """Return the numbers of every family in the report's order, with the figures of all sweeps but those *shown*."""
    names = dict.fromkeys([*(info.family for info in report.workloads.values()), *(c.key.family for c in found)])
    return tuple(_family(report, name, found, kinds, shown) for name in names)


def places(appendices: Mapping[str, str], parts: Sequence[Family]) -> dict[str, str]:
    """Return the place of each anchor of the appendices: ``B``, or ``B.4`` for a family and its sections."""
    letters = dict(zip(appendices, ascii_uppercase, strict=False))
    numbered = ((f"{letters['numbers']}.{number}", family) for number, family in enumerate(parts, start=1))
    within = {
        anchor: place
        for place, family in numbered
        for anchor in (family.anchor, *(section.anchor for section in family.sections))
    }
    last = (f"{letters['numbers']}.{len(parts) + number}" for number in (1, 2))
    return {**letters, **within, **dict(zip((CLIFFS, SEARCHES), last, strict=True))}


def _family(
    report: Report, family: str, every: Sequence[CurveRecords], kinds: Kinds, shown: Sequence[CurveRecords]
) -> Family:
    found = [curve for curve in every if curve.key.family == family]
    variants, shared = _variants(report, family, found)
    predictions = [p for curve in found for p in (curve.specification, curve.calibrated) if p]
    return Family(
        anchor=family_anchor(family),
        title=family_name(report, family),
        variants=variants,
        shared=shared,
        sections=tuple(
            _section(anchor, members, report, shown)
            for anchor, members in kinds.items()
            if members[0].key.family == family
        ),
        occupancy=occupancy_table(found),
        notes=with_names((p.key.variant, note) for p in predictions for note in p.notes),
    )


def _variants(
    report: Report, family: str, found: Sequence[CurveRecords]
) -> tuple[tuple[Variant, ...], tuple[str, ...]]:
    """Return the variants, and the sentences that several descriptions share, each after the variants' names."""
    infos = {info.variant: info for info in report.workloads.values() if info.family == family}
    for name in dict.fromkeys(curve.key.variant for curve in found if curve.key.variant not in infos):
        infos[name] = WorkloadInfo(family=family, variant=name, title=f"{family}/{name}", description="")
    measured = (curve.measurement for curve in reversed(found) if curve.measurement)
    checks = {measurement.key.variant: measurement.verification for measurement in measured if measurement.verification}
    described = {name: _sentences(info) for name, info in infos.items()}
    counts = Counter(sentence for sentences in described.values() for sentence in dict.fromkeys(sentences))
    variants = (
        Variant(info, checks.get(name), tuple(each for each in described[name] if counts[each] == 1))
        for name, info in infos.items()
    )
    shared = ((name, each) for name, sentences in described.items() for each in sentences if counts[each] > 1)
    return tuple(variants), with_names(shared)


def _sentences(info: WorkloadInfo) -> list[str]:
    """Return the sentences of a description, with one on the counted work if it lacks that."""
    counted = "" if info.counting in info.description else f" Counted: {info.counting}"
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", f"{info.description}{counted}".strip())


def _explanations(groups: Iterable[Group]) -> tuple[str, ...]:
    """Return the explanations of values that are not as predicted, each after the variants and values it explains.

    Results of hypothesis tests apply to whole curves: they come last, once a curve.
    """
    off = [group for group in groups if not group.main.main.verdict.as_predicted]
    own = ((f"{g.name}, {feature_text(g.main.main)}", g.main.main.explanation) for g in off)
    tested = ((g.name, text("tested", found=g.tested, statement=statement)) for g in off if g.tested)
    return with_names((name, words) for name, words in (*own, *tested) if words)


def _section(anchor: str, members: Sequence[CurveRecords], report: Report, shown: Sequence[CurveRecords]) -> Section:
    groups = tuple(group for curve in members for group in curve.groups)
    warnings = ((c.key.variant, warning) for c in members if c.observation for warning in c.observation.warnings)
    predictions = [c.specification for c in members if c.specification]
    return Section(
        anchor=anchor,
        title=section_title(members),
        groups=groups,
        curves=other_curves(report, anchor, members, shown),
        explanations=_explanations(groups),
        warnings=with_names(warnings),
        features=feature_table(predictions) if report.only_predicted else None,
    )
