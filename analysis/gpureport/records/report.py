"""The report document: predictions, measurements and findings of one run, as one versioned JSON file."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

from pydantic import Field, ValidationError

from gpureport.docstrings import Documented
from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file
from gpureport.grouping import grouped
from gpureport.inputs import PACKED, files_below, is_there, read_json
from gpureport.records.columns import GROWING, SHARED, Curve, packed, stored_type, unpacked
from gpureport.records.curves import Observation, Record, SweepKey, WorkloadKey
from gpureport.records.finding import Advice, Explanation, Finding, SourceAccess
from gpureport.records.measurement import Conditions, Energy, Measurement
from gpureport.records.prediction import Prediction
from gpureport.records.quantities import Bytes, Count, Many, Moment, MomentIfKnown, Name, Table, Whole, once
from gpureport.records.tables import ALL, EACH, Rows
from gpureport.spec.host import ProcessorFacts
from gpureport.spec.models import Device, EntryMatch, PresentDevice
from gpureport.text import requirement

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload

SCHEMA_VERSION = 5
"""Of the format of reports. Fields with defaults may be added to it."""
FILE_NAME = "report.json"
"""Of a report in a folder. ``report.json.xz``, its compressed form, is read where there is no ``report.json``."""
_EXPANDED_LEVELS = 5  # containers nested deeper than this are written on one line: a line a column


class Machine(Record):
    """The machine of the run, without names of the host or its users."""

    system: Name
    """Operating system and kernel."""
    cpu: Name
    """CPU model."""
    cores: Count
    """Number of logical processor cores that the process may use."""
    memory_bytes: Bytes
    """Size of the main memory."""
    python: Name
    """Version of Python."""
    packages: Table[Name, Name]
    """Versions of Python packages, by package."""
    opencl: PresentDevice
    """Properties of the device that the OpenCL runtime reports."""
    processor: ProcessorFacts | None = None
    """The processors, and what identifies their type of core."""
    vendor_facts: Table[Name, Name] = Field(default_factory=dict)
    """Properties reported by the vendor's management library, as display text: power limit, temperature, ECC, …"""


class RunSettings(Record):
    """Options of the run."""

    quick: bool = False
    """Whether sweeps had fewer and smaller points."""
    seed: Whole = 0
    """Seed of random data and of the order of points."""
    workloads: Many[Name] = ()
    """Requested families or workloads; empty: all."""
    command: str = ""
    """The command line."""


class WorkloadInfo(WorkloadKey):
    """Description of a workload."""

    title: Name
    """Display name."""
    description: str
    """What the kernel does, in sentences."""
    counting: str = ""
    """How bytes or units of work are counted."""
    skipped: str | None = None
    """Why the whole workload was not run, in a sentence."""
    described: bool = False
    """Whether it is a kernel of the user."""
    digest: str = ""
    """Of the source and description of a user's kernel."""


def described_families(workloads: Iterable[WorkloadInfo]) -> dict[str, str]:
    """Return the titles of the families of users' kernels, by their identifiers."""
    return {info.family: info.title for info in workloads if info.described}


def workload_info(workload: "Workload", skipped: str | None = None) -> WorkloadInfo:
    """Return the description of *workload*, with the reason why it was *skipped*."""
    return WorkloadInfo(
        family=workload.family,
        variant=workload.variant,
        title=workload.title,
        description=workload.description,
        counting=workload.counted,
        described=workload.described,
        digest=workload.digest,
        skipped=skipped,
    )


class PublishedStatement(Record):
    """Statement of a publication, which the report compares with predictions."""

    says: Annotated[str, Field(min_length=1)]
    """The statement in our own words, one or two sentences."""
    where: Annotated[str, Field(min_length=1)]
    """Part of the publication that contains the statement."""
    about: Many[Name] = ()
    """Sweeps (``family/variant/sweep``) or workloads (``family/variant``) that the statement is about; empty: something
    that is not predicted here."""
    compare: Literal["times", "cliff", "taper", "rate"] = "times"
    """Predictions to compare: ``times`` of single points, or features."""
    at: Table[Name, Whole] = Field(default_factory=dict)
    """Parameters of the points whose times are compared, e.g. ``count: 4194304``; empty: all points."""
    remark: str = ""
    """What follows from the published figures themselves, by arithmetic."""


class Publication(Record):
    """A publication with results of a device. Anything that it does not contain is unknown."""

    title: Name
    """Title of the publication, or of its results."""
    citation: str
    """Full citation."""
    url: str
    """Address of the publication."""
    date: Name = ""
    """``2020``, ``2020-09`` or ``2020-09-26``; empty if unknown."""
    notes: Many[str] = ()
    """Omissions and assumptions, in sentences."""
    statements: Many[PublishedStatement] = ()
    """Statements of the publication."""
    conditions: Table[Name, str] = Field(default_factory=dict)
    """Measurement conditions of each sweep, in words, by ``family/variant/sweep``."""
    isolated: bool = False
    """Whether dispatches were isolated, each timed by itself. ``False``: back-to-back dispatches."""
    read_between: bool = False
    """Whether the data that a dispatch reads were read by something else since the previous dispatch."""


SWEEPS_ONCE = once("sweep", lambda each: each.key, lambda each: each.key)
PREDICTIONS_ONCE = once("prediction", lambda each: (each.key, each.kind), lambda each: f"{each.key} ({each.kind})")


class Report(Record):
    """One run on one device, or the published results of one device."""

    schema_version: int = SCHEMA_VERSION
    """Version of this format."""
    tool_version: Name
    """Version of gpureport that wrote the report."""
    created_at: Moment
    """Start of the run: ISO 8601 time, UTC."""
    status: Literal["complete", "partial", "failed"] = "complete"
    """``partial``: the run had not ended when the report was written. ``failed``: it ended without any measurement."""
    stopped: str = ""
    """Why the run ended before its last workload; empty if all workloads ran, or after an interruption."""
    resumed_at: Many[Moment] = ()
    """When an interrupted run was resumed: ISO 8601 times, UTC."""
    calibrated_at: MomentIfKnown = ""
    """Start of the earlier run whose measurements of microbenchmarks were used again; empty: of none."""
    device: Device
    """The device as predicted: its database entry, or a draft."""
    match: EntryMatch
    """How the database entry was found."""
    unfinished: Many[str] = ()
    """Workloads (``family/variant``) that an interruption left unfinished. Their completed sweeps are among the
    measurements, but no observation or finding is derived from them."""
    machine: Machine | None
    """The machine of the run; ``None`` for published results and for predictions without a run."""
    publication: Publication | None = None
    """Source of published results, whose points have one sample each; ``None`` for a run."""
    settings: RunSettings = RunSettings()
    """Options of the run."""
    workloads: Table[Name, WorkloadInfo] = Field(default_factory=dict)
    """Workloads of the run, by ``family/variant``."""
    predictions: Annotated[Many[Prediction], PREDICTIONS_ONCE] = ()
    """Predictions from the specification and after calibration, by sweep."""
    measurements: Annotated[Many[Measurement], SWEEPS_ONCE] = ()
    """Raw samples, by sweep."""
    observations: Annotated[Many[Observation], SWEEPS_ONCE] = ()
    """Statistics and features of the samples, by sweep."""
    findings: Rows[Finding] = Rows()
    """Comparisons of predicted and observed features."""
    advice: Many[Advice] = ()
    """Changes of described kernels, the largest gain first, from the same prediction as the explanations."""
    accesses: Rows[SourceAccess] = Rows()
    """Accesses of described kernels by source line, and what they cost."""
    explanations: Many[Explanation] = ()
    """Hypotheses about sweeps that differ from their predictions."""
    energy: Energy | None = None
    """Power and energy of the device; ``None``: not part of the run."""
    conditions: Many[Conditions] = ()
    """State of device and machine while each workload was measured."""

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All records by sweep, in the order of the predictions."""
        found: dict[SweepKey, dict[str, Any]] = {}
        for record in (*self.predictions, *self.measurements, *self.observations):
            part = record.kind if isinstance(record, Prediction) else type(record).__name__.lower()
            found.setdefault(record.key, {name: getattr(record, name) for name in SHARED})[part] = record
        compared = grouped((finding.key, finding) for finding in self.findings)
        tested = {explanation.key: explanation for explanation in self.explanations}
        return tuple(
            Curve(**fields, findings=tuple(compared.get(key, ())), explanation=tested.get(key))
            for key, fields in found.items()
        )

    @property
    def specified(self) -> tuple[Prediction, ...]:
        """Predictions from the specification."""
        return tuple(each for each in self.predictions if each.specified)

    def of_workloads(self, *names: str) -> Self:
        """Return the report with the curves, findings, advice and accesses of these workloads only."""
        fields = (*GROWING, "findings", "explanations", "advice", "accesses")
        every = ((field, each, getattr(each, "key", each)) for field in fields for each in getattr(self, field))
        own = grouped((field, each) for field, each, key in every if key.workload in names)
        return self.model_copy(update={field: tuple(own.get(field, ())) for field in fields})

    @property
    def has_samples(self) -> bool:
        """Whether the report contains measured or published samples."""
        return any(point.samples_s for measurement in self.measurements for point in measurement.points)

    @property
    def incomplete(self) -> dict[SweepKey, float]:
        """Sweeps with points that have no samples for lack of time, with the share of these points."""
        return {m.key: m.missing_share for m in self.measurements if m.missing_share}

    @property
    def failed_variants(self) -> dict[str, str]:
        """Workloads whose kernels did not build or launch, with the reasons."""
        return {m.key.workload: m.skipped or "" for m in self.measurements if m.failed}

    @property
    def of_software(self) -> bool:
        """Whether a program took the place of a device, for which nothing is predicted."""
        return self.machine is not None and self.machine.opencl.is_software

    @property
    def only_predicted(self) -> bool:
        """Whether all contents are predictions from the database entry."""
        return self.machine is None and self.publication is None


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``report.json``, draft 2020-12."""
    return stored_type(Report).model_json_schema(schema_generator=Documented)


Texts = dict[SweepKey, tuple[Curve, str]]
"""Curves, and their text in a file."""


def save_report(report: Report, path: Path, known: Texts | None = None) -> None:
    """Write *report* to *path* completely, or not at all; *known* as for :func:`report_text`.

    Raises:
        GpuReportError: the file cannot be written, or a value is not finite.
    """
    try:
        content = report_text(report, known)
    except ValueError as error:
        raise GpuReportError(f"{path}: not written, because a value of the report is not finite") from error
    write_file(path, content)


def report_text(report: Report, known: Texts | None = None) -> str:
    """Return *report* as JSON: one line for each column of a curve, keys in the order of the model.

    A growing report is written repeatedly: *known* has the text of each curve, which is used again while it has the
    same records.

    Raises:
        ValueError: a value is not finite.
    """
    known = {} if known is None else known
    for curve in report.curves:
        if curve.key not in known or list(map(id, known[curve.key][0].records)) != list(map(id, curve.records)):
            known[curve.key] = curve, "".join(_json_lines(packed(curve), 2))
    # What is no curve has no defaults, except those of the whole report and of its device.
    whole = report.model_dump(mode="json", include={"schema_version", "status", "device"})
    others = report.model_dump(mode="json", exclude={*GROWING, *whole}, exclude_defaults=True)
    rest = "".join(_json_lines(whole | others, 0))
    curves = ",\n  ".join(known[curve.key][1] for curve in report.curves)
    return rest.removesuffix("\n}") + f',\n "curves": [\n  {curves}\n ]\n}}\n'


def report_file(path: Path) -> Path:
    """Return the report of a folder, which may be missing, or *path* itself if it is no folder."""
    if not path.is_dir():
        return path
    packed = path / f"{FILE_NAME}{PACKED}"
    return packed if is_there(packed) and not is_there(path / FILE_NAME) else path / FILE_NAME


def reports_below(folder: Path, *, deep: bool = True) -> list[Path]:
    """Return the reports of the subfolders of *folder*; *deep*: its own and all below it, which must be readable."""
    names = f"{FILE_NAME}{PACKED}", FILE_NAME
    found = files_below(folder, *names) if deep else [file for name in names for file in folder.glob(f"*/{name}")]
    return sorted({file.parent: file for name in names for file in found if file.name == name}.values())


def report_stem(path: Path) -> str:
    """Return the name of a file without its suffix, and without ``.json.xz``."""
    return Path(path.stem).stem if path.suffix == PACKED else path.stem


def load_report(path: Path) -> Report:
    """Read a report file, or that of a folder (:func:`report_file`).

    Raises:
        InputError: missing, not JSON, not a report, of another version of the format, or with a wrong field.
    """
    if path.is_dir():
        folders = [file.parent for file in reports_below(path, deep=False)]
        path = report_file(path)
        if folders and not is_there(path):
            some = " or ".join(map(str, folders[:2]))
            raise InputError(f"{path.parent}: contains no {FILE_NAME}; give one of its folders that do, such as {some}")
    if not is_there(path):
        raise InputError(f"{path}: no such file; give a {FILE_NAME}, a published record (YAML), or a folder of these")
    data = read_json(path)
    if not isinstance(data, dict) or "schema_version" not in data:
        raise InputError(f"{path}: not a gpureport report (it has no schema_version)")
    if "machines" in data:
        raise InputError(f"{path}: is a comparison, not a report; give the reports that it compares")
    version = data["schema_version"]
    if type(version) is not int or version != SCHEMA_VERSION:
        what = f"its schema_version is {version!r}, and this gpureport reads {SCHEMA_VERSION}"
        raise InputError(f"{path}: {what}; read it with the gpureport that wrote it")
    try:
        found = dict(stored_type(Report).model_validate(data))
        return Report.model_construct(**unpacked(found.pop("curves")), **found)
    except ValidationError as error:
        _refuse(path, error)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _refuse(path: Path, error: ValidationError) -> NoReturn:
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    steps = [part for part in first["loc"] if part not in (EACH, ALL)]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in steps).lstrip(".")
    more = f" (and {len(problems) - 1} more like it)" if len(problems) > 1 else ""
    raise InputError(f"{path}: {field}: {requirement(first['msg'])}{more}") from None


def _json_lines(value: object, level: int) -> Iterator[str]:
    """Yield parts of the JSON of *value*: one line per item down to a fixed level, compact below; a line per column."""
    plain = isinstance(value, list) and not isinstance(value[-1] if value else None, dict)
    if level >= _EXPANDED_LEVELS or plain or not value or not isinstance(value, dict | list):
        yield json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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
