"""The appendix of all numbers: a part a family, in it a section a kind of sweep, in that a row a feature."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpureport.records.measurement import Verification
from gpureport.records.report import Report, WorkloadInfo
from gpureport.report.pictures import kind_of
from gpureport.report.prediction.forecast import feature_table
from gpureport.report.run.curves import Curve, Group
from gpureport.report.text.captions import section_title
from gpureport.report.text.tables import Table, occupancy_table
from gpureport.report.text.words import explanations, family_name, with_names

SEARCHES = "searches"
"""Anchor of the last part of all numbers: which work-group shapes the searches found best."""

Kinds = Mapping[str, tuple[Curve, ...]]
"""Sweeps of one kind, by the anchor of their section."""


@dataclass(frozen=True)
class Variant:
    """One variant of a family, in words, and whether its results were right."""

    info: WorkloadInfo
    verification: Verification | None
    description: tuple[str, ...] = ()
    """Sentences that are said of no other variant of the family."""

    @property
    def wrong(self) -> str | None:
        """What was wrong with its results, if anything was."""
        check = self.verification
        return check.message if check and not check.passed else None


@dataclass(frozen=True)
class Section:
    """All sweeps of one kind in a family: predicted against observed, and what to know of them."""

    anchor: str
    title: str
    groups: tuple[Group, ...]
    explanations: tuple[str, ...]
    warnings: tuple[str, ...]
    features: Table | None = None
    """What is predicted, where that is all there is."""

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
    """What is said of several variants, after their names."""
    sections: tuple[Section, ...]
    occupancy: Table
    notes: tuple[str, ...]


def by_kind(found: Iterable[Curve]) -> Kinds:
    """Put sweeps of one kind together: of one family, name, axis and unit, that one kind of figure shows."""
    kinds: dict[tuple[str, ...], list[Curve]] = {}
    for curve in found:
        axis, key = curve.axis, curve.key
        kind = (key.family, axis.quantity, axis.label, key.sweep, curve.value_unit, kind_of(curve))
        kinds.setdefault(kind, []).append(curve)
    return {f"numbers-{number}": tuple(members) for number, members in enumerate(kinds.values(), start=1)}


def families(report: Report, found: Sequence[Curve], kinds: Kinds) -> tuple[Family, ...]:
    """Return the numbers of every family that the report has, in its order."""
    names = dict.fromkeys([*(info.family for info in report.workloads.values()), *(c.key.family for c in found)])
    return tuple(_family(report, name, found, kinds) for name in names)


def family_anchor(family: str) -> str:
    """Return the anchor of a family's part."""
    return f"family-{re.sub(r'[^a-z0-9]+', '-', family.lower())}"


def places(appendices: Mapping[str, str], told: Sequence[Family]) -> dict[str, str]:
    """Return where each anchor of the appendices is: ``B`` or, of a family and its sections, ``B.4``."""
    letters = {anchor: title.partition(".")[0] for anchor, title in appendices.items()}
    numbered = ((f"{letters['numbers']}.{number}", family) for number, family in enumerate(told, start=1))
    within = {
        anchor: place
        for place, family in numbered
        for anchor in (family.anchor, *(section.anchor for section in family.sections))
    }
    return {**letters, **within, SEARCHES: f"{letters['numbers']}.{len(told) + 1}"}


def wrong_variants(report: Report, found: Sequence[Curve]) -> tuple[Variant, ...]:
    """Return the variants whose results were wrong."""
    names = dict.fromkeys((curve.key.family, curve.key.variant) for curve in found)
    variants = (_variant(report, family, name, found) for family, name in names)
    return tuple(variant for variant in variants if variant.wrong)


def _family(report: Report, family: str, every: Sequence[Curve], kinds: Kinds) -> Family:
    found = [curve for curve in every if curve.key.family == family]
    infos = [info for info in report.workloads.values() if info.family == family]
    names = dict.fromkeys([*(info.variant for info in infos), *(curve.key.variant for curve in found)])
    variants, shared = _told_once([_variant(report, family, name, found) for name in names])
    predictions = [p for curve in found for p in (curve.specification, curve.calibrated) if p]
    return Family(
        anchor=family_anchor(family),
        title=family_name(report, family),
        variants=variants,
        shared=shared,
        sections=tuple(
            _section(anchor, members, report) for anchor, members in kinds.items() if members[0].key.family == family
        ),
        occupancy=occupancy_table(found),
        notes=with_names((p.key.variant, note) for p in predictions for note in p.notes),
    )


def _variant(report: Report, family: str, name: str, found: Iterable[Curve]) -> Variant:
    """Return what the report says of a variant, or just its names."""
    known = report.workloads.get(f"{family}/{name}")
    own = [curve for curve in found if (curve.key.family, curve.key.variant) == (family, name)]
    checks = [curve.measurement.verification for curve in own if curve.measurement]
    return Variant(
        info=known or WorkloadInfo(family=family, variant=name, title=f"{family}/{name}", description=""),
        verification=next((check for check in checks if check), None),
    )


def _told_once(variants: Sequence[Variant]) -> tuple[tuple[Variant, ...], tuple[str, ...]]:
    """Take the sentences that several descriptions share out of them, and return these after all names."""
    told = [(variant, _sentences(variant.info)) for variant in variants]
    counts = Counter(sentence for _, sentences in told for sentence in dict.fromkeys(sentences))
    own = tuple(
        Variant(variant.info, variant.verification, tuple(s for s in sentences if counts[s] == 1))
        for variant, sentences in told
    )
    said = ((variant.info.variant, s) for variant, sentences in told for s in sentences if counts[s] > 1)
    return own, with_names(said)


def _sentences(info: WorkloadInfo) -> list[str]:
    """Return the sentences of a description, and how work is counted if that is not among them."""
    counted = "" if info.counting in info.description else f" Counted: {info.counting}"
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", f"{info.description}{counted}".strip())


def _section(anchor: str, members: Sequence[Curve], report: Report) -> Section:
    groups = tuple(group for curve in members for group in curve.groups)
    warnings = ((c.key.variant, warning) for c in members if c.observation for warning in c.observation.warnings)
    predictions = [c.specification for c in members if c.specification]
    return Section(
        anchor=anchor,
        title=section_title(members),
        groups=groups,
        explanations=explanations(groups),
        warnings=with_names(warnings),
        features=feature_table(predictions) if report.only_predicted else None,
    )
