"""Page one: whether the device is normal, its key figures, decisions, and how far to trust the predictions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gpureport.findings.key_figures import ComparedValue, KeyFigure, Quantity, key_figures, with_others
from gpureport.findings.whole_device import most_counted
from gpureport.observe.disturbance import running_clocks
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, specified
from gpureport.report.run import kernels, trust
from gpureport.report.run.caches import usable_cache, working_set
from gpureport.report.run.conditions import load_sentences, other_load
from gpureport.report.run.efficiency import bottleneck
from gpureport.report.run.groups import work_group_size
from gpureport.report.run.published import matching_statements
from gpureport.report.run.work import amount_of_work
from gpureport.report.text.sentences import paragraphs, text
from gpureport.spec.models import Device
from gpureport.units import UNKNOWN, format_interval, format_range, interval_parts
from gpureport.workloads.matrix import FORMATS, UNITS

_OWN = 2  # the most kernels of the user with sentences
_CLEARLY = 1.03
"""Smallest ratio of specifications that counts as higher."""
_ABOVE = 1.02
"""An efficiency above this is explained."""
_POCL_NAME = re.compile(r"cpu-([a-z][a-z0-9-]*)-(?=[A-Z])")
"""``cpu-``, the instruction set, and the name of the processor."""


@dataclass(frozen=True)
class PageOne:
    """The contents of page one."""

    compiled_for: str
    """The instruction set in the runtime's name of a CPU, if readers may mistake it for the type of core."""
    remarks: tuple[str, ...]
    """Differences from the database entry."""
    headline: str
    figures: tuple[KeyFigure, ...]
    """All of them; page one shows the main ones."""
    rates: tuple[str, ...]
    """What the rates mean."""
    others: int
    """The number of kept reports of the model."""
    decisions: tuple[tuple[str, str, str], ...]
    """Each with its subject, its sentences, and the anchor of the chapter with the details, if any."""
    load: str
    """Other load during the measurements."""
    trust: str
    note: str
    """On the columns of the table."""

    @property
    def main_figures(self) -> tuple[KeyFigure, ...]:
        """The figures that page one shows."""
        return tuple(figure for figure in self.figures if figure.main)

    @property
    def has_more_figures(self) -> bool:
        """Whether the chapter of all key figures shows more than page one."""
        return len(self.main_figures) < len(self.figures)


def page_one(
    report: Report,
    found: Sequence[CurveRecords],
    others: Sequence[Sequence[ComparedValue]],
    database: Sequence[Device] = (),
) -> PageOne:
    """Return the contents of page one.

    Args:
        report: of the device.
        found: its curves.
        others: the findings of kept reports of the same model.
        database: devices to compare specifications with.
    """
    entry = next((device for device in database if device.id == report.match.entry), None)
    figures = with_others(key_figures(report, most_counted(report), entry), others)
    shown = figures if any(figure.origin for figure in figures) else ()
    if assumed := _assumes_bandwidth(report):  # then efficiencies have no meaning
        shown = tuple(replace(figure, limit=False) for figure in shown)
    return PageOne(
        compiled_for=_compiled_for(report),
        # the only remark on a CPU with typical values is on its last cache, which the decisions describe once measured
        remarks=() if report.device.is_typical and usable_cache(report) else tuple(report.match.notes),
        headline=headline(report, figures, len(others), found),
        figures=shown,
        rates=_rate_sentences(report.device),
        others=len(others),
        decisions=decisions(report, found, figures, database),
        load=other_load(report),
        trust=trust.page_one_text(report),
        note=_note(report, shown, len(others), assumed=assumed) if shown else "",
    )


def _compiled_for(report: Report) -> str:
    processor = report.machine.processor if report.machine else None
    found = _POCL_NAME.match(report.machine.opencl.name) if report.machine and processor else None
    core = re.sub("[^a-z0-9]", "", report.device.architecture.name.lower())
    return found[1] if found and re.sub("[^a-z0-9]", "", found[1]) not in core else ""


def _note(report: Report, figures: Sequence[KeyFigure], others: int, *, assumed: bool) -> str:
    """Explain the columns of the table."""
    return text(
        "key_figures",
        report=report,
        assumed=assumed,
        above=any(figure.efficiency and figure.efficiency > _ABOVE for figure in figures),
        joined=any(figure.nearer for figure in figures),
        others=others,
        off=Verdict.OFF.mark,
    )


def _assumes_bandwidth(report: Report) -> bool:
    origin = report.device.provenance.get("memory.bandwidth")
    return bool(origin and origin.kind == "assumed")


def _rate_sentences(device: Device) -> tuple[str, ...]:
    """Return what is counted in the rates, and why listed peaks may be higher."""
    architecture = device.architecture
    unit = next((unit for unit in UNITS if unit.serves(architecture)), None)
    paths = {name: name if name == "dual_issue" else f"rates.{name}" for name in _EXPLAINED}
    order = [name for name in ("dual_issue", *architecture.rates_per_cycle) if name in _EXPLAINED]
    notes = {_EXPLAINED[name]: origin.note for name in order if (origin := device.provenance.get(paths[name]))}
    return paragraphs(
        "rates",
        unit=unit if unit and any(form.name in architecture.rates_per_cycle for form in FORMATS) else None,
        notes={name: note for name, note in notes.items() if note},
    )


_EXPLAINED = {"dual_issue": "Dual issue", "matrix_fp16": "Matrix fp16", "add": "Additions"}
"""Values of the architecture whose notes explain the difference to listed peaks."""


def headline(report: Report, figures: Sequence[KeyFigure], others: int, found: Sequence[CurveRecords] = ()) -> str:
    """Say whether the device is normal, as far as intervals and kept reports show it.

    It is not called normal if a draft entry, missing or wrong results, or other load forbid it. Only published records
    need the curves that were *found*.
    """
    errors = [pair.main.key.workload for pair in specified(report) if pair.main.verdict is Verdict.ERROR]
    wrong = {m.key.workload for m in report.measurements if m.verification and not m.verification.passed}
    doubtful = report.match.draft or report.publication or report.status == "partial" or load_sentences(report)
    clocks = running_clocks([reading for conditions in report.conditions for reading in conditions.readings])
    compared = [figure for figure in figures if figure.measured and figure.predicted]
    ranked = [figure for figure in figures if figure.measured and figure.others]
    return text(
        "headline",
        report=report,
        statements=matching_statements(report.publication, found) if report.publication else (0, 0),
        compared=compared,
        outside=[figure for figure in compared if figure.unpredicted],
        strong=sum(figure.is_strong_test for figure in compared),
        normal=not (doubtful or errors),
        others=others,
        ranked=ranked,
        unusual=[figure for figure in ranked if figure.unusual],
        clock_hz=median(clocks) if clocks else report.device.clock_hz,
        wrong=sum(workload in wrong for workload in errors),
        faster=sum(workload not in wrong for workload in errors),
        Quantity=Quantity,
        expected=lambda figure: _pair([each.predicted.value for each in figure.levels if each.predicted], figure.unit),
        others_text=others_text,
    )


def specification_text(figure: KeyFigure) -> str:
    """Write the specified value; of two levels, the range of both."""
    listed = [each.specification for each in figure.levels if each.specification]
    return f"{'≤ ' if figure.at_most else ''}{_pair(listed, figure.unit)}" if listed else UNKNOWN


def predicted_text(figure: KeyFigure) -> str:
    """Write the prediction with its interval; of two levels, the range of both."""
    values = [each.predicted for each in figure.levels if each.predicted]
    if not figure.predicted:
        return UNKNOWN if figure.origin or figure.measured else "exact"
    first, last = values[0], values[-1]
    if first is last:
        return format_interval(last.value, last.low, last.high, figure.unit, "estimate")
    _, interval = interval_parts(last.value, first.ends[0], last.ends[1], figure.unit, "estimate")
    return f"{_pair([first.value, last.value], figure.unit)} {interval}".rstrip()


def measured_text(figure: KeyFigure) -> str:
    """Write the measured value with its interval, after a sign if it is off."""
    seen = figure.measured
    value = format_interval(seen.value, seen.low, seen.high, figure.unit, "estimate") if seen else UNKNOWN
    return f"{Verdict.OFF.mark} {value}" if figure.is_off else value


def others_text(figure: KeyFigure) -> str:
    """Write the range of other devices' values."""
    return _pair(figure.others, figure.unit) if figure.others else UNKNOWN


def _pair(values: Iterable[float], unit: str) -> str:
    values = sorted(values)
    return format_range(values, unit)


def decisions(
    report: Report, found: Sequence[CurveRecords], figures: Sequence[KeyFigure], database: Sequence[Device] = ()
) -> tuple[tuple[str, str, str], ...]:
    """Return the answers that the report's values support; predictions without any observation are labelled.

    The devices of the *database* are candidates for :func:`another_device`. Kernels of the user take the place of this
    answer and of the bottleneck of all kernels.
    """
    own = kernels.answers(report, found)
    bandwidth = report.device.memory.bandwidth_bytes_per_s
    answers = (
        ("Your kernel" if len(own) == 1 else "Your kernels", first_kernels(own), "own"),
        ("Working set", working_set(report, found), "caches"),
        ("Work-group size", work_group_size(report), "groups"),
        ("Amount of work", amount_of_work(report, found), "work"),
        ("Bottleneck", "" if own else bottleneck(report, found, figures, device_bandwidth=bandwidth), "limits"),
        ("Another device", "" if own else another_device(report, database), ""),
    )
    return tuple(answer for answer in answers if answer[1])


def first_kernels(own: Sequence[str]) -> str:
    """Return the sentences of up to two kernels, or of the first of many: page one has no room for more."""
    return text("first_kernels", own=own[: 1 if len(own) > _OWN else _OWN], more=len(own) - 1 if len(own) > _OWN else 0)


def another_device(report: Report, database: Sequence[Device] = ()) -> str:
    """Count the devices of the *database* with higher specifications, and name the commands that compare kernels.

    The values of a drafted entry are no specification, and entries of CPUs describe typical machines.
    """
    device = report.device
    others = [each for each in database if each.is_cpu == device.is_cpu and each.id != device.id]
    if report.match.draft or device.is_cpu:
        others = []
    return text(
        "another_device",
        report=report,
        others=len(others),
        better=[
            (
                "memory bandwidth",
                _higher(
                    device.memory.bandwidth_bytes_per_s,
                    [(each.memory.bandwidth_bytes_per_s, each.name) for each in others],
                ),
            ),
            (
                "fp32 rate",
                _higher(device.rate_per_s("fp32"), [(each.rate_per_s("fp32"), each.name) for each in others]),
            ),
        ],
    )


def _higher(own: float, values: Sequence[tuple[float, str]]) -> tuple[int, float, str]:
    """Return how many *values* are clearly higher than one's *own*, and the highest as a ratio, with its name."""
    highest, name = max(values, default=(0.0, ""))
    return sum(value > _CLEARLY * own for value, _ in values), highest / own if own else 0.0, name
