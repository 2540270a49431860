"""What changes from one device to another, and for which kernels: the conclusion of a comparison, and its reasons."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log, log1p
from statistics import median_low

from gpureport.predict.contrast import SAME, Contrast, PredictedRatio, RatioPoint
from gpureport.predict.outlook import best_point
from gpureport.records.ceilings import KIND_TEXTS, Kind, ceiling_text, kind_of
from gpureport.report.grouping import grouped
from gpureport.report.prediction.side_by_side import DeviceComparison, DevicePredictions, over, with_factor
from gpureport.report.text.tables import Table
from gpureport.text import listed
from gpureport.units import format_range, format_ratio, format_value

EQUAL = log1p(0.05)
"""Largest logarithm of a ratio that counts as equal."""
_MOST_CHANGES, _MOST_KERNELS = 3, 2


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

    @property
    def is_equal(self) -> bool:
        """Whether all kernels are equally fast on both devices."""
        return self.unchanged == len(self.kernels)

    @property
    def is_mostly_equal(self) -> bool:
        """Whether most kernels are equally fast on both devices."""
        return self.unchanged > len(self.kernels) / 2


def effects(contrasts: Sequence[Contrast], kind_of: Callable[[str], str] = str) -> tuple[Effect, ...]:
    """Return the effect for each bottleneck of the first device, that with the most kernels first.

    *kind_of* returns the name under which a bottleneck counts; by default each counts separately.
    """
    points = [(kind_of(p.first_bottleneck), c.key.workload, p) for c in contrasts for p in c.points]
    by_kind = grouped((kind, (workload, point)) for kind, workload, point in points)
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
        unchanged=sum(abs(log(value)) <= EQUAL for value in values),
    )


def _median(ratios: Sequence[PredictedRatio]) -> PredictedRatio:
    middle = median_low(ratio.value for ratio in ratios)
    return next(ratio for ratio in ratios if ratio.value == middle)


def limit_effects(first: DevicePredictions, other: DeviceComparison) -> tuple[Effect, ...]:
    """Return the effect for each kind of limit on the first device, the most important one first.

    Memory is the first. Launch cost and transfers are the last: they limit small sizes, or no kernel.
    """
    caches = {cache.name for side in (first, other.predicted) for cache in side.device.caches}
    return tuple(sorted(effects(other.contrasts, lambda bottleneck: kind_of(bottleneck, caches)), key=_weight))


def conclusion(first: DevicePredictions, other: DeviceComparison, found: Sequence[Effect]) -> str:
    """Write what changes and for which kernels, in one sentence.

    *found* are the :func:`limit_effects` of both.
    """
    if not found:
        return f"{other.predicted.device.name} and {first.device.name} have no workload in common."
    equal = [effect for effect in found if effect.is_mostly_equal]
    changed = _most_important([effect for effect in found if effect not in equal])
    if not changed:
        most = "all" if all(effect.is_equal for effect in found) else "most"
        return (
            f"{other.predicted.device.name} and {first.device.name} are predicted to be equally fast for {most} "
            "kernels (within 5 %)."
        )
    parts = [
        f"{_times(effect.ratio.value)} {'' if number else f'as fast as {first.device.name} '}{_kernels_of(effect)}"
        for number, effect in enumerate(changed)
    ]
    rest = f"; {_equally_fast(equal, gain=all(effect.ratio.value > 1 for effect in changed))}" if equal else ""
    return f"{other.predicted.device.name} is predicted to be {listed(parts)}{rest}."


def _equally_fast(equal: Sequence[Effect], *, gain: bool) -> str:
    most = "" if all(effect.is_equal for effect in equal) else "most "
    names = listed([KIND_TEXTS[effect.bottleneck] for effect in equal], "or")
    return f"{most}kernels limited by {names} {'gain nothing' if gain else 'are equally fast'}"


def _most_important(changed: Sequence[Effect]) -> Sequence[Effect]:
    """Return the first of *changed*; large gains and large losses are both among them if they occur."""
    chosen = changed[:_MOST_CHANGES]
    signs = {effect.ratio.value > 1 for effect in chosen}
    large = [effect for effect in changed[_MOST_CHANGES:] if abs(log(effect.ratio.value)) > SAME]
    opposite = [effect for effect in large if (effect.ratio.value > 1) not in signs]
    return [*chosen[:-1], opposite[0]] if opposite else chosen


def _weight(effect: Effect) -> tuple[bool, bool, float]:
    """Return the sorting key of an effect."""
    size = abs(log(effect.ratio.value)) * len(effect.kernels)
    return effect.bottleneck != Kind.MEMORY, effect.bottleneck in (Kind.LAUNCH, Kind.LINK), -size


def _times(ratio: float) -> str:
    """Write a ratio with two digits: predictions have no more."""
    return f"{float(f'{ratio:.2g}'):g} times"


def _kernels_of(effect: Effect) -> str:
    streaming = effect.bottleneck == Kind.MEMORY
    return f"for kernels {'that stream from memory' if streaming else f'limited by {KIND_TEXTS[effect.bottleneck]}'}"


def impact_table(first: DevicePredictions, other: DeviceComparison, found: Iterable[Effect]) -> Table:
    """List the :func:`limit_effects`, which were *found*, each with the values of a typical kernel."""
    a, b = first.letter, other.predicted.letter
    rows = tuple(
        (
            KIND_TEXTS[effect.bottleneck],
            str(len(effect.kernels)),
            with_factor(effect.ratio),
            _range(effect),
            *_example(effect, first, other),
        )
        for effect in found
    )
    columns = (f"limited on {a} by", "kernels", over(b, a), "range", "example", f"best {a}", f"best {b}")
    return Table(columns, rows, frozenset({"kernels", over(b, a), "range", f"best {a}", f"best {b}"}))


def _range(effect: Effect) -> str:
    """Write the lowest and the highest ratio of a kernel; empty for one kernel."""
    return format_range(effect.ends, format_ratio) if len(effect.kernels) > 1 else ""


def _example(effect: Effect, first: DevicePredictions, other: DeviceComparison) -> tuple[str, str, str]:
    """Return name and best values of the kernel whose ratio of best values is nearest to the effect's."""
    caches = {cache.name for side in (first, other.predicted) for cache in side.device.caches}
    at_best = [c for c in other.contrasts if kind_of(c.first_bottleneck, caches) == effect.bottleneck]
    near = [c for c in at_best if abs(log(c.best.value / effect.ratio.value)) < SAME]
    if not near:
        return "", "", ""
    chosen = min(near, key=lambda contrast: abs(log(contrast.best.value / effect.ratio.value)))
    found = [{p.key: p for p in side.predictions} for side in (first, other.predicted)]
    values = [format_value(best_point(each[chosen.key]).value, chosen.metric.value_unit) for each in found]
    return chosen.key.workload, values[0], values[1]


def effects_table(first: DevicePredictions, other: DeviceComparison) -> Table:
    """List the speed ratio by bottleneck of the first device."""
    a, b = first.letter, other.predicted.letter
    rows = tuple(
        (
            ceiling_text(effect.bottleneck),
            ceiling_text(effect.other_bottleneck),
            str(len(effect.kernels)),
            with_factor(effect.ratio),
            _range(effect),
            _kernel_names(effect.kernels),
        )
        for effect in effects(other.contrasts)
    )
    columns = (f"limited on {a} by", f"on {b} by", "kernels", over(b, a), "range", "for example")
    return Table(columns, rows, frozenset({"kernels", over(b, a), "range"}))


def _kernel_names(kernels: Sequence[str]) -> str:
    more = f" and {len(kernels) - _MOST_KERNELS} more" if len(kernels) > _MOST_KERNELS else ""
    return f"{', '.join(kernels[:_MOST_KERNELS])}{more}"
