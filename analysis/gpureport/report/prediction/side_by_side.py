"""What changes from one predicted device to another, and for which kernels: facts, tables, and the document."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log, log1p
from pathlib import Path
from statistics import median_low

from gpureport import __version__
from gpureport.compare.runs import figures, machine_curve
from gpureport.glossary import terms
from gpureport.grouping import grouped
from gpureport.predict.ceilings import Ceiling, as_counted, ceilings
from gpureport.predict.contrast import INTERVAL, SAME, Contrast, PredictedRatio, RatioPoint, capacity_difference
from gpureport.predict.outlook import best_point, is_shown, outlooks
from gpureport.records.ceilings import KIND_TEXTS, Kind, ceiling_label, ceiling_words, kind_of
from gpureport.records.prediction import Prediction
from gpureport.report import Paper
from gpureport.report.comparison.document import curve_pictures
from gpureport.report.comparison.sentences import EQUAL, FILE
from gpureport.report.comparison.tables import figures_table
from gpureport.report.prediction.forecast import COPIES, ceiling_name, cliffs_and_n90, facts_of, joined, value_of
from gpureport.report.render import readable_time, write_filled
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table, side_by_side, workload_table
from gpureport.spec.models import Device
from gpureport.text import N90, shorten
from gpureport.units import RATIO, format_interval, format_range, format_ratio, format_value

_EQUAL = log1p(EQUAL)
_KINDS = ("bandwidth", "latency", "rate", "launch", "transfer", "per watt")
_MOST_CHANGES, _MOST_KERNELS = 3, 2


@dataclass(frozen=True)
class DevicePredictions:
    """A device with its predictions and its letter in tables, compared with the first one."""

    letter: str
    device: Device
    predictions: Sequence[Prediction]
    families: Mapping[str, str] = field(default_factory=dict)
    """Titles of the families of users' kernels, by identifier."""
    contrasts: Sequence[Contrast] = ()
    left: Sequence[str] = ()
    """Sweeps that are not compared: each device measures another part of its compute units."""


@dataclass(frozen=True)
class Effect:
    """The predicted speed ratio of kernels at the sizes where one bottleneck limits them on the first device.

    Attributes:
        bottleneck: on the first device, or its :class:`~gpureport.records.ceilings.Kind`.
        other_bottleneck: on the other device, the most frequent bottleneck or kind.
        kernels: their names, ``family/variant``.
        ratio: that of the median kernel, each at its median size.
        ends: lowest and highest ratio of a kernel.
        unchanged: number of kernels that are equally fast on both devices.
    """

    bottleneck: str
    other_bottleneck: str
    kernels: tuple[str, ...]
    ratio: PredictedRatio
    ends: tuple[float, float]
    unchanged: int


def effects(contrasts: Sequence[Contrast], kind_of: Callable[[str], str] = str) -> tuple[Effect, ...]:
    """Return the effect for each bottleneck of the first device, that with the most kernels first.

    *kind_of* returns the name under which a bottleneck counts; by default each counts separately.
    """
    by_kind = grouped((kind_of(p.first_bottleneck), (c.key.workload, p)) for c in contrasts for p in c.points)
    found = [_effect(kind, members, kind_of) for kind, members in by_kind.items()]
    return tuple(sorted(found, key=lambda effect: -len(effect.kernels)))


def _effect(kind: str, members: Iterable[tuple[str, RatioPoint]], kind_of: Callable[[str], str]) -> Effect:
    by_kernel = grouped(members)
    ratios = [_median([point.ratio for point in points]) for points in by_kernel.values()]
    others = Counter(kind_of(point.other_bottleneck) for points in by_kernel.values() for point in points)
    values = [ratio.value for ratio in ratios]
    return Effect(
        bottleneck=kind,
        other_bottleneck=others.most_common(1)[0][0],
        kernels=tuple(by_kernel),
        ratio=_median(ratios),
        ends=(min(values), max(values)),
        unchanged=sum(abs(log(value)) <= _EQUAL for value in values),
    )


def _median(ratios: Sequence[PredictedRatio]) -> PredictedRatio:
    middle = median_low(ratio.value for ratio in ratios)
    return next(ratio for ratio in ratios if ratio.value == middle)


def limit_effects(first: DevicePredictions, other: DevicePredictions) -> tuple[Effect, ...]:
    """Return the effect for each kind of limit on the first device, the most important one first.

    Memory is the first. Launch cost and transfers are the last: they limit small sizes, or no kernel.
    """

    def weight(effect: Effect) -> tuple[bool, bool, float]:
        size = abs(log(effect.ratio.value)) * len(effect.kernels)
        return effect.bottleneck != Kind.MEMORY, effect.bottleneck in (Kind.LAUNCH, Kind.LINK), -size

    caches = {cache.name for side in (first, other) for cache in side.device.caches}
    return tuple(sorted(effects(other.contrasts, lambda bottleneck: kind_of(bottleneck, caches)), key=weight))


def conclusion(first: DevicePredictions, other: DevicePredictions, found: Sequence[Effect]) -> str:
    """Write what changes and for which kernels, in one sentence.

    *found* are the :func:`limit_effects` of both.
    """
    equal = [effect for effect in found if effect.unchanged > len(effect.kernels) / 2]
    return text(
        "conclusion",
        FILE,
        first=first.device.name,
        other=other.device.name,
        changed=_most_important([effect for effect in found if effect not in equal]),
        equal=equal,
        all_equal=all(effect.unchanged == len(effect.kernels) for effect in equal),
        kinds=KIND_TEXTS,
    )


def _most_important(changed: Sequence[Effect]) -> Sequence[Effect]:
    """Return the first of *changed*; large gains and large losses are both among them if they occur."""
    chosen = changed[:_MOST_CHANGES]
    signs = {effect.ratio.value > 1 for effect in chosen}
    large = [effect for effect in changed[_MOST_CHANGES:] if abs(log(effect.ratio.value)) > SAME]
    opposite = [effect for effect in large if (effect.ratio.value > 1) not in signs]
    return [*chosen[:-1], opposite[0]] if opposite else chosen


def effects_table(first: DevicePredictions, other: DevicePredictions, found: Iterable[Effect]) -> Table:
    """List effects: of bottlenecks, or of kinds of limits."""
    a, b = first.letter, other.letter
    return Table.of(
        {
            f"limited on {a} by": KIND_TEXTS.get(e.bottleneck) or ceiling_words(e.bottleneck),
            f"on {b} by": KIND_TEXTS.get(e.other_bottleneck) or ceiling_words(e.other_bottleneck),
            "kernels": str(len(e.kernels)),
            f"{b} / {a}": with_factor(e.ratio),
            "range": format_range(e.ends, format_ratio) if len(e.kernels) > 1 else "",
            "for example": _kernel_names(e.kernels),
        }
        for e in found
    )


def _kernel_names(kernels: Sequence[str]) -> str:
    more = f" and {len(kernels) - _MOST_KERNELS} more" if len(kernels) > _MOST_KERNELS else ""
    return f"{', '.join(kernels[:_MOST_KERNELS])}{more}"


def key_table(sides: Sequence[DevicePredictions]) -> Table:
    """List what buyers compare, a row for each device."""
    found = (each for side in sides for each in figures(side.device, side.letter) if not each.is_per_watt)
    return figures_table(found, [side.letter for side in sides])


def ceilings_table(sides: Sequence[DevicePredictions]) -> Table:
    """List the ceilings of all devices, with the speeds relative to the first device: shorter times are faster."""
    found = [{(c.kind, c.name): as_counted(c) for c in ceilings(side.device)} for side in sides]
    first, *others = found
    rows = []
    for key in sorted(dict.fromkeys(key for each in found for key in each), key=lambda key: _KINDS.index(key[0])):
        ratios = (_speed(each.get(key), first.get(key)) for each in others)
        rows.append((ceiling_name(*key), *(value_of(each.get(key)) for each in found), *map(format_ratio, ratios)))
    return side_by_side(("ceiling",), [side.letter for side in sides], joined(rows))


def _speed(other: Ceiling | None, first: Ceiling | None) -> float | None:
    if other is None or first is None:
        return None
    return first.value / other.value if first.unit == "s" else other.value / first.value


def features_table(sides: Sequence[DevicePredictions]) -> Table:
    """List cliffs and tapers of each workload on each device."""
    found = [{each.workload: each for each in outlooks(side.predictions)} for side in sides]
    rows = []
    for name in dict.fromkeys(name for each in found for name in each):
        cliffs, n90s = zip(*(cliffs_and_n90(each[name]) if name in each else ("", "") for each in found), strict=True)
        if any((*cliffs, *n90s)):
            rows.append((name, *cliffs, *n90s))
    letters = [side.letter for side in sides]
    columns = ("workload", *(f"cliffs {letter}" for letter in letters), *(f"n90 {letter}" for letter in letters))
    return Table(columns, tuple(rows))


def ratio_table(first: DevicePredictions, other: DevicePredictions) -> Table:
    """List the speed ratio of each sweep, with both bottlenecks."""
    sweeps = [[p for p in side.predictions if is_shown(p)] for side in (first, other)]
    bests = [{p.key: _best(p) for p in shown} for shown in sweeps]
    names = [contrast.key.workload for contrast in other.contrasts]
    rows = (
        (
            f"{name}, {contrast.key.sweep}" if names.count(name) > 1 else name,
            *(best[contrast.key] for best in bests),
            with_factor(contrast.best),
            ceiling_label(contrast.first_bottleneck),
            ceiling_label(contrast.other_bottleneck),
        )
        for contrast, name in zip(other.contrasts, names, strict=True)
    )
    letters = (first.letter, other.letter)
    after = tuple(f"bottleneck {letter}" for letter in letters)
    return side_by_side(("workload",), letters, rows, what="best ", after=after)


def _best(prediction: Prediction) -> str:
    best, unit = best_point(prediction), prediction.metric.value_unit
    return format_interval(best.value, best.value / best.spread, best.value * best.spread, unit, "predicted")


def with_factor(ratio: PredictedRatio) -> str:
    """Write a ratio with its interval: ``0.52 (factor 1.7)``."""
    return format_interval(ratio.value, ratio.ci_low, ratio.ci_high, RATIO, "factor")


def stretch_table(first: DevicePredictions, other: DevicePredictions) -> Table:
    """List the ranges of each sweep with a nearly constant ratio, with the bottlenecks of both devices."""
    a, b = first.letter, other.letter
    return Table.of(
        {
            "workload": contrast.key.workload if not number else "",
            "working set or work-items": " to ".join(
                format_value(end, contrast.axis.unit) for end in (stretch.start, stretch.end)
            ),
            f"{b} / {a}": with_factor(stretch.ratio),
            f"bottleneck {a}": ceiling_label(stretch.first_bottleneck),
            f"bottleneck {b}": ceiling_label(stretch.other_bottleneck),
        }
        for contrast in other.contrasts
        if len(contrast.stretches) > 1
        for number, stretch in enumerate(contrast.stretches)
    )


def write_devices(sides: Sequence[DevicePredictions], directory: Path, paper: Paper = "a4") -> list[Path]:
    """Write the document of a few devices to *directory*, the first of which the others are compared with.

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made; the files before it are there.
    """
    first, *others = sides
    names = [shorten(side.device.name, 40) for side in sides]
    content: dict[str, object] = {
        "title": " and ".join(names),
        "created": readable_time(datetime.now(UTC).isoformat(timespec="seconds")),
        "version": __version__,
        "sides": [(side, facts_of(side.device)) for side in sides],
        "key_figures": key_table(sides),
        "figures_caption": text("figures", FILE),
        "ceilings": ceilings_table(sides),
        "features": features_table(sides),
        "chapters": [_chapter(first, other) for other in others],
        "interval": INTERVAL,
        "copies": COPIES,
        "n90": N90,
        "glossary": terms(),
        "workloads": workload_table(contrast.key.workload for other in others for contrast in other.contrasts),
    }
    return write_filled("side_by_side.html.j2", content, directory, paper=paper)


def _chapter(first: DevicePredictions, other: DevicePredictions) -> dict[str, object]:
    sizes = [contrast for contrast in other.contrasts if contrast.axis.quantity != "case"]
    different = [contrast for contrast in sizes if any(abs(log(p.ratio.value)) > _EQUAL for p in contrast.points)]
    found, drawn = limit_effects(first, other), {contrast.key for contrast in different}
    sides = {f"{side.letter}: {side.device.name}": side for side in (first, other)}
    curves = (machine_curve(p, label) for label, side in sides.items() for p in side.predictions if p.key in drawn)
    return {
        "anchor": f"against-{other.letter}",
        "title": " compared with ".join(f"{shorten(s.device.name, 40)} ({s.letter})" for s in (other, first)),
        "conclusion": conclusion(first, other, found),
        "capacity": capacity_difference((first.device, other.device)),
        "impact": effects_table(first, other, found),
        "ratios": ratio_table(first, other),
        "stretches": stretch_table(first, other),
        "figures": tuple(curve_pictures(curves, list(sides), first.families)),
        "equal": dict.fromkeys(contrast.key.workload for contrast in sizes if contrast not in different),
        "left": other.left,
    }
