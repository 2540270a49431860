"""The sentences of a comparison of machines: facts for the macros of ``templates/comparison_sentences.j2``."""

from collections.abc import Sequence
from math import log
from typing import Literal

from gpureport.compare.records import BEYOND, EQUAL, WITHIN, Comparison, Contrast, RatioEstimate
from gpureport.compare.runs import FP64, MATRIX, READ_PER_WATT
from gpureport.compare.summary import APPLIED, SEVERAL, MeanRatio, Work, best_of, mean_speed, overall, ranked, works
from gpureport.findings.whole_device import TRANSFERS
from gpureport.records.ceilings import Kind
from gpureport.report.forecast import accuracies
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.words import family_title
from gpureport.text import listed, shorten

FILE = "comparison_sentences.j2"
_FEW = 6  # the most machines with sentences each
_NAMED = 3  # the most machines that a title names
_MOST_SHOWN = 2  # kinds of work with a sentence each, if only two machines are compared
Verdict = Literal["faster", "slower", "equal", "undecided"]
_VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "equal", "undecided")
PLACES = {BEYOND: "data in memory", WITHIN: "data in caches", "": ""}
"""The place of the data of a kind of work; empty for separate cases."""
_OF = {"memory": "memory", "instructions": "instruction", "launch": "launch", "matrix": "matrix"}
"""By family, the word before labels of values that do not contain it: ``memory latency``."""


def title(comparison: Comparison) -> str:
    """Return the names of the machines, of their devices if all are predicted, or their number."""
    devices = [shorten(machine.device, 40) for machine in comparison.machines]
    names = devices if comparison.only_predicted else comparison.names
    return listed(names) if len(names) <= _NAMED else f"Comparison of {len(names)} machines"


def work_name(work: Work) -> str:
    """Return the name of a kind of work without the place of its data: ``Particles``, ``Memory bandwidth``."""
    if work.family in APPLIED:
        return family_title(work.family, {})
    of = work.title or _OF.get(work.family, "")
    label = work.label if of.lower() in work.label else f"{of} {work.label}"
    return f"{label[0].upper()}{label[1:]}"


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Return the summary: speed by kind of work, efficiency, and significant differences on the same device."""
    baseline, others = comparison.baseline, comparison.others
    shares = sorted(overall(comparison, "efficiency").items(), key=lambda pair: -pair[1])
    read = [each for each in comparison.figures if each.name == READ_PER_WATT]
    units = [name for name in (FP64, MATRIX) if any(each.name == name for each in comparison.figures)]
    wholes = {whole.machine: whole for whole in comparison.overall if whole.significant}
    same = [
        (name, wholes.get(name), [each for each in found if each.significant], len(found))
        for name, found in comparison.by_machine.items()
    ]
    differing = [each for each in same if each[1] or each[2]]
    if len(others) >= _FEW:
        most = sorted(differing, key=lambda each: -len(each[2]))[:_NAMED]
        facts = {"baseline": baseline, "same": most, "differing": len(differing), "machines": len(same)}
        return (
            *paragraphs("same_device", FILE, **facts),
            *paragraphs("many", FILE, baseline=baseline, speeds=list(ranked(comparison).items())),
            *paragraphs("efficiency", FILE, shares=shares),
        )
    contrasted = {found.machine for found in comparison.contrasts}
    alike = comparison.by_machine.keys() - {name for name, *_ in differing} | contrasted
    every, number = works(comparison), _MOST_SHOWN if len(others) == 1 else 1
    speeds = [_speeds(every, name, baseline, number) for name in others if name not in alike]
    return (
        *(sentence for found in comparison.contrasts for sentence in _contrast(baseline, found)),
        *(paragraphs("other_units", FILE, units=units) if comparison.contrasts and units else ()),
        *paragraphs("few", FILE, baseline=baseline, speeds=speeds, efficiencies=shares, read=read, several=SEVERAL),
        *paragraphs("same_device", FILE, baseline=baseline, same=same),
    )


def intervals() -> str:
    """Say what the intervals of ratios of predictions mean."""
    return text("ratios_of_predictions", FILE)


def accuracy(comparison: Comparison) -> str:
    """Say how accurate predictions were on measured devices of the classes of the predicted ones."""
    classes = dict.fromkeys(machine.device_class for machine in comparison.machines if machine.kind == "predicted")
    return text("accuracy", FILE, classes={name: accuracies().get(name) for name in classes})


def _contrast(baseline: str, found: Contrast) -> tuple[str, ...]:
    """Return what changes from the baseline to a predicted machine, and for which kernels."""
    changed = [effect for effect in found.effects if verdict_of(effect.ratio) in ("faster", "slower")]
    return paragraphs(
        "contrast",
        FILE,
        first=baseline,
        other=found.machine,
        changed=changed,
        undecided=[effect for effect in found.effects if effect not in changed],
        name=limit_name,
    )


def limit_name(kind: Kind, kernels: Sequence[str]) -> str:
    """Name what limits *kernels*; transfers of each kind of the host's memory are an effect of their own."""
    return f"transfers ({TRANSFERS[kernels[0]]})" if kind is Kind.LINK and kernels[0] in TRANSFERS else kind.text


def _speeds(every: Sequence[Work], name: str, baseline: str, most: int) -> dict[str, object]:
    """Return facts on a machine's speed by kind of work; ``shown``: the *most* different kinds, with values."""
    found = [(work, mean) for work in every if (mean := mean_speed(work.contests, name))]
    verdicts = [verdict_of(mean.ratio) for _, mean in found]
    different = [pair for pair, verdict in zip(found, verdicts, strict=True) if verdict in ("faster", "slower")]
    kernels = list(dict.fromkeys(kernel for _, mean in found for kernel in mean.kernels))
    ordered = sorted(different or (found if len(kernels) < SEVERAL else []), key=_importance)
    return {
        "name": name,
        "means": [mean for _, mean in found],
        "kernels": kernels,
        "verdicts": {verdict: verdicts.count(verdict) for verdict in _VERDICTS if verdict in verdicts},
        "shown": [
            (
                " with ".join(filter(None, (work_name(work), PLACES[work.place]))),
                work.unit,
                mean,
                verdict_of(mean.ratio),
                [bests[each] for each in (name, baseline)],
                case.variant if case and len(mean.kernels) > 1 else "",
            )
            for work, mean in ordered[:most]
            for bests, case in (best_of(work.contests, (name, baseline)),)
        ],
    }


def _importance(pair: tuple[Work, MeanRatio]) -> tuple[bool, float]:
    """Return the sorting key of a difference: applications and memory first, then the largest."""
    work, mean = pair
    return work.family not in (*APPLIED, "memory"), -abs(log(mean.ratio.value))


def verdict_of(ratio: RatioEstimate) -> Verdict:
    """Return what a ratio says: ``equal`` if it is, and its interval as narrow; else ``undecided`` if that has 1."""
    if abs(ratio.value - 1) <= EQUAL >= (ratio.half_width or 0.0):
        return "equal"
    if ratio.ci_low and ratio.ci_high and ratio.ci_low <= 1 <= ratio.ci_high:
        return "undecided"
    return "slower" if ratio.value < 1 else "faster"
