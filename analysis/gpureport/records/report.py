"""The report document: everything that one run predicted, measured and found, as one versioned JSON file."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from pydantic import Field, ValidationError

from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file
from gpureport.inputs import is_there, read_json
from gpureport.records.finding import AGREEMENT, CodeEvidence, Explanation, Finding, Verdict
from gpureport.records.keys import Record, SweepKey
from gpureport.records.measurement import Conditions, Measurement
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction
from gpureport.records.quantities import Amount, Count, Id, Many, Moment, Name, Positive, Table, Whole, once
from gpureport.records.version_1 import upgraded
from gpureport.spec.models import Device, PresentDevice
from gpureport.text import requirement

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload

SCHEMA_VERSION = 2
# History of the format. A reader takes every version up to its own; fields with defaults may be added to one.
#   1 (2026-11): the first.
#   2 (2026-11): standard terms as names (records/renamed.py), keys of findings, levels as records.

FILE_NAME = "report.json"
_GROWING = ("predictions", "measurements", "observations", "findings", "explanations", "evidence")
_MOST_NAMES = 6
_EXPANDED_LEVELS = 4  # containers nested deeper than this are written on one line: a line a point


class EntryMatch(Record):
    """How the device that was present was found in the database."""

    entry: Id | None
    """Id of the database entry, e.g. ``nvidia/h200_sxm``; ``None`` if none matches."""
    how: str
    """In a sentence."""
    draft: bool = False
    """Whether the device was drafted from its queries and its architecture's family."""
    notes: Many[str] = ()
    """Where what the device reports and what the entry says disagree."""


class Clock(Record):
    """A clock frequency that was known during the run."""

    label: Name
    """Which, and when: ``SM clock while measuring``."""
    clock_hz: Positive


class Machine(Record):
    """Where the run took place; nothing that names the host or its users."""

    system: Name
    """Operating system and kernel."""
    cpu: Name
    """CPU model."""
    cores: Count
    memory_bytes: Amount
    python: Name
    packages: Table[Name, Name]
    """Versions by package."""
    opencl: PresentDevice
    clocks: Many[Clock] = ()
    vendor_facts: Table[Name, Name] = Field(default_factory=dict)
    """What the vendor's management library tells, ready to print: power limit, temperature, ECC, …"""


class RunSettings(Record):
    """What the run was asked to do."""

    quick: bool = False
    seed: Whole = 0
    workloads: Many[Name] = ()
    """Families or variants asked for; empty: all."""
    command: str = ""


class Timing(Record):
    """Where a run's time went."""

    stage: Name
    """``predict``, ``calibrate`` (build kernels, predict again), ``verify``, ``measure``, ``evidence``, ``observe``,
    ``explain``, ``save``."""
    workload: Name = ""
    """``family/variant``; empty for what is done for all at once."""
    seconds: Amount


class WorkloadInfo(Record):
    """What a variant is, in words."""

    family: Name
    variant: Name
    title: Name
    description: str
    counting: str = ""
    """How bytes or units of work are counted."""
    skipped: str | None = None
    """Why the whole variant was not run, in a sentence."""
    restarted: str = ""
    """How the driver's process ended before a new process continued the variant; empty: one process measured all."""


def workload_info(workload: "Workload", skipped: str | None = None, restarted: str = "") -> WorkloadInfo:
    """Return what *workload* is, in words, why it was *skipped*, and why its process was *restarted*, if it was."""
    text, _, counting = workload.description.rpartition("ounted: ")
    return WorkloadInfo(
        family=workload.family,
        variant=workload.variant,
        title=workload.title,
        description=workload.description,
        counting=counting if text else "",
        skipped=skipped,
        restarted=restarted,
    )


class PublishedStatement(Record):
    """What a publication says, beside which the report sets what is predicted."""

    says: str
    """In words of our own, a sentence or two."""
    where: str
    """Part of the publication that says it."""
    about: Many[Name] = ()
    """Sweeps (``family/variant/sweep``) or variants (``family/variant``) that it is about; none: what is not predicted
    here."""
    compare: Literal["times", "spread", "cliff", "taper", "rate"] = "times"
    """What of them is set beside it: times of single points, how far those of one size lie apart, or features."""
    at: Table[Name, Whole] = Field(default_factory=dict)
    """Parameters of the points whose times are compared, e.g. ``count: 4194304``; none: all points."""
    remark: str = ""
    """What follows from the published figures themselves, by arithmetic."""


class Publication(Record):
    """What others published of a device; what it does not say is not known."""

    title: Name
    citation: str
    url: str
    date: Name = ""
    """``2020``, ``2020-09`` or ``2020-09-26``; empty if it has none."""
    notes: Many[str] = ()
    """What was left out, and what is assumed, in sentences."""
    statements: Many[PublishedStatement] = ()
    conditions: Table[Name, str] = Field(default_factory=dict)
    """Under which each sweep was measured, in words, by ``family/variant/sweep``."""
    isolated: bool = False
    """Whether each dispatch was timed by itself, not many in a row."""
    read_between: bool = False
    """Whether something else read, between two dispatches, what the next one reads."""


SWEEPS_ONCE = once("sweep", lambda each: each.key, lambda each: each.key)
PREDICTIONS_ONCE = once("prediction", lambda each: (each.key, each.kind), lambda each: f"{each.key} ({each.kind})")


class Report(Record):
    """One run on one device, or what others published of one."""

    schema_version: int = SCHEMA_VERSION
    tool_version: Name
    created_at: Moment
    """ISO 8601 time, UTC."""
    status: Literal["complete", "partial", "failed"] = "complete"
    """``partial``: the run had not ended when this was written. ``failed``: it ended, and nothing was measured."""
    stopped: str = ""
    """Why the run ended before its last workload; empty if it did not, or if it was interrupted."""
    resumed_at: Many[Moment] = ()
    """When the run was continued after it had been interrupted, ISO 8601 times, UTC."""
    device: Device
    match: EntryMatch
    unfinished: Many[str] = ()
    """Variants (``family/variant``) during which the run was interrupted: of these, the sweeps that had ended are among
    the measurements, and nothing is derived from them."""
    machine: Machine | None
    """``None``: nothing ran; others published what is in here, or it is predicted only."""
    publication: Publication | None = None
    """Where the results come from, if not from a run: each point's only sample is then what was published of it."""
    settings: RunSettings = RunSettings()
    workloads: Table[Name, WorkloadInfo] = Field(default_factory=dict)
    """By ``family/variant``."""
    predictions: Annotated[Many[Prediction], PREDICTIONS_ONCE] = ()
    measurements: Annotated[Many[Measurement], SWEEPS_ONCE] = ()
    observations: Annotated[Many[Observation], SWEEPS_ONCE] = ()
    findings: Many[Finding] = ()
    timings: Many[Timing] = ()
    evidence: Many[CodeEvidence] = ()
    explanations: Many[Explanation] = ()
    """Of sweeps that are not as predicted: the hypotheses that were tested."""
    conditions: Many[Conditions] = ()
    """State of device and machine while each workload was measured."""

    @property
    def has_samples(self) -> bool:
        """Whether anything was measured, or published."""
        return any(point.samples_s for measurement in self.measurements for point in measurement.points)

    @property
    def incomplete(self) -> dict[SweepKey, float]:
        """The sweeps of which points have no samples because the time was too short, with their share of the points."""
        return {m.key: m.missing_share for m in self.measurements if m.missing_share}

    def gaps(self) -> str:
        """Say in a sentence which sweeps are incomplete; nothing if none is."""
        told = [f"{key} ({100 * share:.0f} % of its points)" for key, share in self.incomplete.items()]
        if not told:
            return ""
        return (
            f"points without samples, for lack of time, in {_some(told)}; no verdict or advice is based on these sweeps"
        )

    @property
    def failed_variants(self) -> dict[str, str]:
        """The variants whose kernels did not build or could not be launched, with the reason of each."""
        return {m.key.workload: m.skipped or "" for m in self.measurements if m.failed}

    def failures(self) -> str:
        """Say in a sentence which variants are missing because their kernels failed; nothing if none did."""
        failed = self.failed_variants
        if not failed:
            return ""
        first = next(iter(failed.values()))
        count = f"{len(failed)} of {len(self.workloads)} workloads"
        return (
            f"{count} could not be measured, because their kernels failed: {_some(list(failed))} (the first: {first})"
        )

    def restarts(self) -> str:
        """Say in a sentence during which variants the driver's process ended and nothing is missing; or nothing."""
        failed = self.failed_variants
        ended = {name: info.restarted for name, info in self.workloads.items() if info.restarted and name not in failed}
        if not ended:
            return ""
        return (
            f"the driver's process ended unexpectedly during {_some(list(ended))}, and a new process measured the "
            f"remaining sweeps (the first: {next(iter(ended.values()))})"
        )

    @property
    def only_predicted(self) -> bool:
        """Whether nothing was measured, by anybody: all of it follows from the database entry."""
        return self.machine is None and self.publication is None


def _some(names: Sequence[str]) -> str:
    """List the first of *names*, and say how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


class Saver:
    """Writes the report of a run again and again while it grows, and of what was written before makes no text anew."""

    def __init__(self, path: Path) -> None:
        """Write to *path*."""
        self._path = path
        self._texts: dict[int, tuple[Record, str]] = {}

    def __call__(self, report: Report) -> None:
        """Write *report*, as :func:`save_report` does."""
        save_report(report, self._path, self._text)

    def _text(self, record: Record) -> str:
        """Return the record's JSON; records, which never change, are kept with it, so that none takes another's id."""
        found = self._texts.get(id(record))
        if found is None:
            found = self._texts[id(record)] = record, record.model_dump_json()
        return found[1]


def save_report(report: Report, path: Path, text_of: Callable[[Record], str] = Record.model_dump_json) -> None:
    """Write *report* to *path*: all of it, or nothing.

    The file is diffable: one line for each point of a sweep, keys in the order of the model. That of a run that has not
    ended, which is written again and again, is a single line, which takes less time.

    Args:
        report: the report.
        path: the file.
        text_of: makes JSON of one of the records that are added while a run goes on.

    Raises:
        GpuReportError: the file cannot be written, or a value is not finite.
    """
    try:
        text = _partial_text(report, text_of) if report.status == "partial" else _lines(report)
    except ValueError as error:
        raise GpuReportError(f"{path}: not written, because a value of the report is not finite") from error
    write_file(path, text + "\n")


def _partial_text(report: Report, text_of: Callable[[Record], str]) -> str:
    growing = {name: ",".join(map(text_of, getattr(report, name))) for name in _GROWING}
    fields = (f'"{name}":[{texts}]' for name, texts in growing.items())
    return ",".join((report.model_dump_json(exclude=set(_GROWING)).removesuffix("}"), *fields)) + "}"


def _lines(report: Report) -> str:
    return "".join(_json_lines(report.model_dump(mode="json"), 0))


def load_report(path: Path) -> Report:
    """Read a report file, or the ``report.json`` of a folder.

    Raises:
        InputError: missing, not JSON, not a report, of a newer schema, or with a wrong field.
    """
    if path.is_dir():
        path = path / FILE_NAME
    if not is_there(path):
        raise InputError(f"{path}: no such file; give a {FILE_NAME}, a published record (YAML), or a folder of these")
    data = read_json(path)
    if not isinstance(data, dict) or "schema_version" not in data:
        raise InputError(f"{path}: not a gpureport report (it has no schema_version)")
    if "machines" in data:
        raise InputError(f"{path}: is a comparison, not a report; give the reports that it compares")
    _check_version(path, data["schema_version"])
    try:
        report = Report.model_validate(upgraded(data) if data["schema_version"] == 1 else data)
    except ValidationError as error:
        _refuse(path, error)
    return report.model_copy(update={"findings": tuple(map(_graded, report.findings))})


def _graded(finding: Finding) -> Finding:
    """Tell two grades of agreement apart that the first reports called by one name: near, and just within intervals."""
    near = finding.ratio is None or 1 / AGREEMENT <= finding.ratio <= AGREEMENT
    if finding.verdict is not Verdict.AGREES or near:
        return finding
    return finding.model_copy(update={"verdict": Verdict.WITHIN})


def _check_version(path: Path, version: object) -> None:
    if type(version) is not int or version < 1:
        raise InputError(f"{path}: schema_version is {version!r}, not a number from 1 to {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path}: made by a newer gpureport (schema {version}, this one reads up to {SCHEMA_VERSION}): "
            "update gpureport"
        )


def _refuse(path: Path, error: ValidationError) -> NoReturn:
    """Turn pydantic's list of errors into one sentence about the first."""
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    what = "is missing" if first["type"] == "missing" else f"is wrong: it {requirement(first['msg'])}"
    more = f" (and {len(problems) - 1} more like it)" if len(problems) > 1 else ""
    raise InputError(f"{path}: {field} {what}{more}") from None


def _json_lines(value: object, level: int) -> Iterator[str]:
    """Yield the pieces of *value* as JSON, expanded down to a fixed level and compact below it."""
    if level >= _EXPANDED_LEVELS or not value or not isinstance(value, dict | list):
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    entries = value.items() if isinstance(value, dict) else ((None, entry) for entry in value)
    yield opening
    for number, (key, entry) in enumerate(entries):
        yield ("," if number else "") + "\n" + " " * (level + 1)
        if key is not None:
            yield json.dumps(key, ensure_ascii=False) + ": "
        yield from _json_lines(entry, level + 1)
    yield "\n" + " " * level + closing
