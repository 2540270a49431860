"""Commands with their arguments and options, each declared once. Nothing heavy is imported, so ``--help`` is fast."""

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from inspect import Parameter, Signature, get_annotations, getdoc
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_origin

import typer
from typer.core import TyperCommand

from gpureport import __version__
from gpureport.data import data_dir
from gpureport.errors import LEAST_BYTES, GpuReportError, InputError, limit_remark
from gpureport.report import Paper
from gpureport.system import limit_bytes

if TYPE_CHECKING:
    from typer._click.formatting import HelpFormatter

Options = TypeVar("Options")


class _Command(TyperCommand):
    """A command whose help does not show types of Python after the names of arguments, as typer would."""

    def format_options(self, ctx: typer.Context, formatter: "HelpFormatter") -> None:  # type: ignore[override]
        """Write a list of arguments and one of options."""
        for each in (each for each in self.params if each.param_type_name == "argument"):
            each.display_type_rich = lambda **_: None  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)


def _group(name: str, text: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=text,
        add_completion=False,
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


app = _group(
    "",
    "Predict the cliffs (capacity transitions) and tapers (saturation points) of an OpenCL device from its "
    "specification, measure both, and write a report that compares them. `gpureport glossary` explains the terms.",
)
devices_app = _group("devices", "List, check and draft device entries.")
fleet_app = _group("fleet", "Store runs of many devices, and compare each device with its peers.")
app.add_typer(devices_app)
app.add_typer(fleet_app)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def command(group: typer.Typer, name: str, action: str) -> Callable[[type[Options]], type[Options]]:
    """Make a class a command of *group*, or without a *name* what *group* does without a subcommand.

    The class becomes a dataclass. Its fields of an ``Annotated`` type are the arguments and options of the command, and
    the docstrings of fields, or else of their types, are the help. The *action* is a function ``module.function`` of
    this package, which gets an instance and returns the exit code; its module is imported when the command runs, while
    drivers load if it needs them.
    """

    def register(cls: type[Options]) -> type[Options]:
        options = dataclass(frozen=True, kw_only=True)(cls)
        names = list(dict.fromkeys(name for base in cls.__mro__ for name in get_annotations(base)))  # own ones first
        shown = [each for each in fields(options) if get_origin(each.type) is Annotated]  # type: ignore[arg-type]
        shown.sort(key=lambda each: names.index(each.name))

        def run(context: typer.Context, **given: Any) -> int:  # noqa: ANN401 - values of options
            try:
                Path.cwd()
            except FileNotFoundError:
                raise InputError("the working directory no longer exists; change to another folder") from None
            if limit_bytes() < LEAST_BYTES:
                raise GpuReportError(f"gpureport needs {LEAST_BYTES / 2**20:.0f} MiB of memory{limit_remark()}")
            if (command := context.invoked_subcommand) is not None:
                if early := _typed(context):
                    raise InputError(
                        f"{', '.join(early)}: has no effect before {command!r}; write options after the command "
                        f"({context.command_path} {command} --help lists its options)"
                    )
                return 0
            if context.args:
                raise InputError(f"too many arguments: {' '.join(context.args)}")
            _refuse_without_effect(_typed(context), context.command.name or "")
            request = options(**{each.name: given[each.name] for each in shown if given[each.name] is not None})
            with _drivers(request):
                return int(resolve_name(f"gpureport.cli.{action}")(request))

        run.__doc__ = getdoc(cls)
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context),
                *(_parameter(each, cls) for each in shown),
                Parameter("version", Parameter.KEYWORD_ONLY, default=False, annotation=_Version),
            ]
        )
        examples = _examples().get(" ".join(filter(None, ("gpureport", group.info.name, name))))
        if name:
            group.command(name, cls=_Command, epilog=examples, context_settings={"allow_extra_args": True})(run)
        else:
            group.callback(invoke_without_command=True, epilog=examples)(run)
        return options

    return register


def _drivers(request: object) -> AbstractContextManager[object]:
    measures = isinstance(request, RunOptions) and not request.check
    lists = isinstance(request, DevicesOptions) and not (request.known or request.containing)
    return resolve_name("gpureport.measure.child.drivers")() if measures or lists else nullcontext()


def _parameter(each: Field[Any], owner: type) -> Parameter:
    """Return the parameter of a field for typer: sequences are lists, empty ones ``None``; a flag has one name."""
    kind, option = get_args(each.type)
    option = copy(option)
    texts = (_texts().get(f"{cls.__name__}.{each.name}") for cls in owner.__mro__)
    option.help = next(filter(None, texts), None)
    if kind is bool and option.default is ...:
        option.default = f"--{each.name.replace('_', '-')}"
    if get_origin(kind) is Sequence:
        kind = list.__class_getitem__(get_args(kind))
    default = Parameter.empty if each.default is MISSING else None if each.default == () else each.default
    return Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


@cache
def _texts() -> Mapping[str, str]:
    """Return the docstrings of types and, by ``class.field``, of fields; a field without one has that of its type."""
    body, found = ast.parse(Path(__file__).read_text(encoding="utf-8")).body, dict[str, str]()
    for line, after in pairwise(body):
        if isinstance(line, ast.Assign):
            found[ast.unparse(line.targets[0])] = _text(after)
    for each in (each for each in body if isinstance(each, ast.ClassDef)):
        for line, after in pairwise((*each.body, each)):
            if isinstance(line, ast.AnnAssign):
                of_type = found.get(ast.unparse(line.annotation), "")
                found[f"{each.name}.{ast.unparse(line.target)}"] = _text(after) or of_type
    return found


def _text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""


@cache
def _examples() -> Mapping[str, str]:
    """Return the examples in ``templates/examples.txt``, by command, as ends of help texts."""
    blocks = (data_dir("templates") / "examples.txt").read_text(encoding="utf-8").strip().split("\n\n")
    lines = (block.split("\n") for block in blocks)
    return {name.rstrip(":"): "\n  ".join(("\b\nExamples:", *examples)) for name, *examples in lines}


def _typed(context: typer.Context) -> list[str]:
    sources = {p.opts[0]: context.get_parameter_source(p.name or "") for p in context.command.params}
    return [option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


_WRITES = {"predict": "--pdf", "compare": "--output", "report": "--output"}
"""The option without which a command only prints, by command."""


def _refuse_without_effect(typed: Sequence[str], command: str) -> None:
    settings = "--quick --workload --only --kernel --seed --runs --output --force"
    fixed = [name for name in settings.split() if name in typed]
    if "--resume" in typed and fixed:
        raise InputError(
            f"{', '.join(fixed)}: cannot be combined with --resume, which keeps the settings of the run; omit it"
        )
    needed = _WRITES.get(command, "")
    if unused := [name for name in ("--output", "--paper", "--no-pdf", "--force") if name in typed]:
        if needed and needed not in typed:
            names = ", ".join(unused)
            raise InputError(f"{names}: has no effect without {needed}; add {needed}, or omit {names}")
        if {"--paper", "--no-pdf"} <= {*typed}:
            raise InputError("--paper: has no effect with --no-pdf; omit one of them")


def _path_of(text: str | Path) -> Path:
    """Return the path that an option or argument gives; raise if it is empty: that would be the working folder."""
    if not text:
        raise ValueError("the path is empty; perhaps a variable of the shell is not set")
    return Path(text)


def _path(metavar: str, *names: str) -> object:
    return typer.Option(*names, metavar=metavar, parser=_path_of)


def _operand(metavar: str) -> object:
    return typer.Argument(metavar=metavar, parser=_path_of)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"gpureport {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
]
_Flag = Annotated[bool, typer.Option()]
_Name = Annotated[str | None, typer.Option(metavar="NAME")]
_OutputFolder = Annotated[Path | None, _path("DIR", "--output", "-o")]
_OutputFile = Annotated[Path | None, _path("FILE", "--output", "-o")]
_Runs = Annotated[int, typer.Option(metavar="N", min=1, max=1000)]
_Percent = Annotated[float, typer.Option(metavar="PERCENT", min=0, max=100)]
_Device = Annotated[str, typer.Option("--device", "-d", metavar="DEVICE")]
_Quick = Annotated[bool, typer.Option()]
"""Only the essential workloads, with fewer points and shorter sweeps."""
_Workloads = Annotated[Sequence[str], typer.Option("--workload", "-w", metavar="NAME")]
"""Family or family/variant; repeat the option or separate names by commas. Default: all."""
_Kernels = Annotated[Sequence[Path], _path("FILE", "--kernel")]
"""OpenCL C file (FILE.cl:KERNEL if it has several) or YAML description of your own; repeatable."""
_Sizes = Annotated[Sequence[str], typer.Option("--size", metavar="NAME=VALUE")]
"""Integer argument of a kernel without description: a number or an expression of other sizes; for one size also auto, a
range (2^10..2^26) or a list (1000,4000). Repeatable."""
_Global = Annotated[str, typer.Option("--global", metavar="SIZES")]
"""Global size of this kernel: work-items in each dimension, such as n or width,height."""
_Local = Annotated[Sequence[str], typer.Option("--local", metavar="SIZES")]
"""Work-group size, such as 256 or 16,16; repeat the option to try several."""
_Data = Annotated[Sequence[str], typer.Option("--data", metavar="NAME=VALUES")]
"""Initial contents of a buffer, such as 'columns=random(0,n)'; repeatable."""
_Macros = Annotated[Sequence[str], typer.Option("--define", "-D", metavar="NAME[=VALUE]")]
"""Preprocessor macro of the build; repeatable."""
_Folders = Annotated[Sequence[Path], _path("DIR", "--include", "-I")]
"""Folder of files that a kernel includes; repeatable."""
_Force = Annotated[bool, typer.Option()]
"""Overwrite existing files, and remove HTML and PDF of an earlier run."""
_Overwrite = Annotated[bool, typer.Option()]
"""Overwrite an existing file."""
_NoPdf = Annotated[bool, typer.Option()]
"""Write no PDF."""
_Paper = Annotated[Paper, typer.Option()]
"""Paper size of the PDF."""
_Seed = Annotated[int, typer.Option(min=0, max=2**63, metavar="N")]
"""Seed of random data and the order of points."""
_Json = Annotated[bool, typer.Option("--json")]
"""Print only JSON on standard output."""
_Entries = Annotated[Sequence[Path], _path("DIR", "--devices")]
"""Another folder of device entries; repeatable. Its entries replace those with the same id in ./gpureport-devices, in
~/.config/gpureport/devices and in the built-in database."""
_Store = Annotated[Path | None, _path("DIR")]
"""Folder of the store. Default: $GPUREPORT_STORE."""


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """How documents are written."""

    no_pdf: _NoPdf = False
    paper: _Paper = "a4"
    force: _Force = False


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What the sources of kernels do not determine."""

    name: str = ""
    sizes: _Sizes = ()
    global_size: _Global = ""
    work_groups: _Local = ()
    data: _Data = ()
    macros: _Macros = ()
    folders: _Folders = ()


@command(app, "", "measuring.measure")
class RunOptions(DocumentOptions):
    """Predict, measure and compare; write report.json, report.html and report.pdf.

    Exit codes: 0 report written (it lists skipped variants with reasons); 1 failure, or wrong results of a kernel (the
    report names it); 2 wrong option or input; 130 interrupted.
    """

    device: _Device = "auto"
    """auto (the best device), or an index or part of a name from `gpureport devices`."""
    quick: _Quick = False
    workloads: _Workloads = ()
    only: Annotated[Literal["key-figures"] | None, typer.Option()] = None
    """key-figures: quickly, only the workloads of the table of key figures, about 20 s on a GPU."""
    kernels: _Kernels = ()
    only_kernels: bool = False  # and the microbenchmarks that calibrate them
    recalibrate: bool = False
    check: bool = False
    output: _OutputFolder = None
    """Folder of the report. Default: reports/<device>-<date>."""
    seed: _Seed = 0
    runs: _Runs = 1
    """Number of runs, written to run-1, run-2, … in the output folder. `gpureport compare` combines the runs of such a
    folder. HTML and PDF show the first run."""
    resume: Annotated[Path | None, _path("REPORT")] = None
    """Continue the interrupted run of this report.json (or its folder) with its settings. Finished sweeps are not
    measured again."""
    entries: _Entries = ()


@command(app, "measure", "measuring.measure")
class MeasureOptions(RunOptions):
    """Predict and measure; write report.json only. `gpureport render` makes HTML and PDF of it."""

    output: Annotated[Path, _path("FILE", "--output", "-o")] = Path("report.json")
    """Report file to write."""
    no_pdf: bool = True
    paper: Paper = "a4"
    runs: _Runs = 1
    """Number of runs. Several runs are written to run-1, run-2, … in a folder with the name of FILE, without .json.
    `gpureport compare` combines the runs of such a folder."""


@command(app, "render", "rendering.render_reports")
class RenderOptions(DocumentOptions):
    """Write HTML and PDF of reports or published records.

    The documents are named after the report: m1.html and m1.pdf for m1.json.
    """

    reports: Annotated[Sequence[Path], _operand("REPORT")]
    """report.json files, published records (YAML), or folders that contain them."""
    output: _OutputFolder = None
    """Folder to write to. With several inputs, each report goes to a subfolder named after its input. Default: the
    folder of the report; for a record, a new folder next to it with the record's name."""
    entries: _Entries = ()


@command(app, "predict", "predicting.predict_devices")
class PredictOptions(SourceOptions, DocumentOptions):
    """Predict from the database only; needs no OpenCL device.

    One device: its main figures, and what to tune for; --pdf writes all predictions. Several devices: the ratio of
    speeds to the first and, for up to four, by what limits the kernels.
    """

    devices: Annotated[Sequence[str], typer.Argument(metavar="DEVICE")] = ()
    """Devices of the database, by name or id (see `gpureport devices --known`). With several, each is compared with the
    first."""
    lscpu: Annotated[Path | None, _path("FILE")] = None
    """A file with the output of `LC_ALL=C lscpu`: its processor is the first device."""
    workloads: _Workloads = ()
    kernels: _Kernels = ()
    quick: _Quick = False
    as_json: _Json = False
    pdf: _Flag = False
    """Also write documents. One device: report.html and report.pdf. Several devices: a
    comparison, as by `gpureport compare`."""
    output: _OutputFolder = None
    """Folder of --pdf. Default: reports/<device>-predicted-<date>."""
    no_pdf: bool = False
    entries: _Entries = ()


@command(app, "kernel", "measuring.use_kernels")
class KernelOptions(SourceOptions, RunOptions):
    """Predict, verify and measure kernels of your own, with the microbenchmarks that calibrate their predictions.

    A kernel is code that runs on the device. Measure only kernels that you trust.
    """

    workloads: Sequence[str] = ()
    only: Literal["key-figures"] | None = None
    kernels: Annotated[Sequence[Path], _operand("FILE")] = ()
    """OpenCL C files, or YAML descriptions of kernels (see docs/kernels.md)."""
    name: Annotated[str, typer.Option("--kernel", metavar="NAME")] = ""
    """Kernel of an OpenCL C file that contains several."""
    only_kernels: bool = True
    resume: None = None
    recalibrate: _Flag = False
    """Measure again the microbenchmarks that calibrate predictions. Default: use those of an earlier run on the same
    device with the same driver, if there is one."""
    check: _Flag = False
    """Do not measure. Look for accesses out of bounds, reads of uninitialised memory, data races and divergent
    barriers."""


@command(app, "compare", "predicting.compare_machines")
class CompareOptions(DocumentOptions):
    """Compare machines: measured, published or predicted."""

    machines: Annotated[Sequence[str], typer.Argument(metavar="MACHINE")]
    """Reports (files or folders), published records (YAML files or folders of them), or devices of the database, which
    are predicted. Separate several runs of one machine by commas, or give a folder that contains their folders.
    NAME=MACHINE sets the displayed name."""
    output: _OutputFolder = None
    """Folder for JSON, HTML and PDF. Default: only print."""
    baseline: _Name = None
    """Machine that all speeds are relative to. Default: the first."""
    fail_on_regression: Annotated[float | None, typer.Option(metavar="PERCENT", min=0, max=100)] = None
    """Exit with code 3 if a machine with the same device as the baseline is significantly slower, by more than
    PERCENT."""
    minimum_effect: _Percent = 3.0
    """Smallest difference between machines with the same device that can be significant."""
    workloads: _Workloads = ()
    kernels: _Kernels = ()
    entries: _Entries = ()


@command(app, "validate", "validating.validate_results")
class ValidateOptions:
    """Check the current model and database against stored results."""

    paths: Annotated[Sequence[Path], _operand("PATH")] = ()
    """report.json files, published records (YAML), or folders of them and of published tables. Default: the
    project's results, not runs of your own."""
    workloads: _Workloads = ()
    kernels: _Kernels = ()
    times: _Flag = False
    """Compare only times, not cliffs, tapers and plateaus; several times faster."""
    json_file: Annotated[Path | None, _path("FILE", "--json")] = None
    """Write the predicted and observed values of all points and features."""
    seal: Annotated[Path | None, _path("FILE", "--seal")] = None
    """Only predict the rows of PATH/scoreboard/*.csv, also those without a time, and write the predictions with the
    hashes of model and database. Prints the hash of the file, for publication."""
    sealed: Annotated[Sequence[Path], _path("FILE", "--sealed")] = ()
    """Files of --seal: of rows that had no time then, compare these predictions with the times, in place of today's.
    Files in PATH/sealed are included."""
    force: _Overwrite = False
    strict: _Flag = False
    """Exit code 1 if a target is missed or a file is left out."""
    entries: _Entries = ()


@command(devices_app, "", "devices.list_devices")
class DevicesOptions:
    """List the OpenCL devices of this machine with their database entries."""

    known: _Flag = False
    """List the database instead of this machine's devices."""
    containing: Annotated[str, typer.Option(metavar="TEXT")] = ""
    """The same, but only devices whose name or id contains TEXT."""
    as_json: _Json = False
    entries: _Entries = ()


@command(devices_app, "check", "devices.check_files")
class CheckOptions:
    """Check device and architecture files. Exit code 2 if any file has an error."""

    files: Annotated[Sequence[Path], _operand("FILE")] = ()
    """Files or devices of the database to check, or folders. Default: all."""


@command(devices_app, "new", "devices.draft_entry")
class DraftOptions:
    """Draft a new database entry.

    Its values come from queries of a device, from the report of a run, or from a similar device. Each value is written
    with its source.
    """

    device: Annotated[str | None, typer.Option("--device", "-d", metavar="DEVICE")] = None
    """Index or part of a name from `gpureport devices`. Default: the best device."""
    relative: Annotated[str | None, typer.Option("--from", metavar="NAME")] = None
    """Start from a similar device of the database. With --device or --report, the values of that device replace those
    of the similar device."""
    report: Annotated[Path | None, _path("REPORT")] = None
    """Start from the report of a run, with all values that it measured; needs no device."""
    output: _OutputFile = None
    """File to write. Default: standard output."""
    force: _Overwrite = False
    entries: _Entries = ()


@command(fleet_app, "node", "fleet.measure_node")
class FleetNodeOptions:
    """Measure the devices of this machine, each in a process of its own, and add the runs to the store.

    The node is named after the host. Exit code 1 if a device was not measured.
    """

    output: _OutputFolder = None
    """Folder for DEVICE/report.json; incomplete reports are continued. Default: reports/NODE/TIME in the store."""
    store: _Store = None
    devices: Annotated[Sequence[str], typer.Option("--device", "-d", metavar="DEVICE")] = ()
    """Index or part of a name; repeatable. Default: all GPUs and accelerators, else the CPU."""
    quick: _Quick = False
    workloads: _Workloads = ()
    parallel: _Flag = False
    """Measure all devices at the same time; changes launch costs."""


@command(fleet_app, "add", "fleet.add_runs")
class FleetAddOptions:
    """Add runs to the store. A run that is already there changes nothing. Exit code 1 if a report was left out."""

    paths: Annotated[Sequence[str], typer.Argument(metavar="PATH")]
    """Reports, or folders of them. NODE=PATH names the node. Default: the name of the report's folder."""
    store: _Store = None
    node: _Name = None
    """Name of the node of all these runs."""


@command(fleet_app, "list", "fleet.list_nodes")
class FleetListOptions:
    """List the devices and the dates of their runs."""

    store: _Store = None


@command(fleet_app, "query", "fleet.query_runs")
class FleetQueryOptions:
    """Print the rows of a query. It can read the store only, and change nothing."""

    sql: Annotated[str, typer.Argument(metavar="SQL")]
    """SELECT statement of DuckDB; the tables are runs, key_figures and points. Write ``--`` before one
    that begins with a comment."""
    store: _Store = None


@command(fleet_app, "export", "fleet.export_runs")
class FleetExportOptions:
    """Write a table of the store."""

    file: Annotated[Path, _operand("FILE")]
    """File to write: .csv, .parquet or .json."""
    table: Annotated[str, typer.Option(metavar="TABLE")] = "key_figures"
    """runs, key_figures or points."""
    store: _Store = None
    force: _Overwrite = False


@command(fleet_app, "report", "fleet.report_fleet")
class FleetReportOptions(DocumentOptions):
    """Find slow devices: which, since when, and why.

    Each device of a model with at least three is compared with its peers, and each model with its prediction.
    """

    output: _OutputFolder = None
    """Folder of the page and the PDF. Default: only print."""
    store: _Store = None
    fail_on_outlier: _Flag = False
    """Exit with code 3 if a device is significantly slower than its peers (at least three devices of one model)."""
    minimum_effect: _Percent = 2.0
    """Smallest difference that can be significant."""


@command(app, "schema", "reference.print_schema")
class SchemaOptions:
    """Print the JSON Schema of a kind of file, for editors and other programs."""

    name: Annotated[Literal["device", "architecture", "kernel", "report"], typer.Argument(metavar="NAME")]
    """Kind of file: device, architecture, kernel or report."""


@command(app, "glossary", "reference.print_glossary")
class GlossaryOptions:
    """Explain the terms of reports, tables and messages."""

    term: Annotated[str | None, typer.Argument(metavar="TERM")] = None
    """Term or synonym to explain. Default: all."""
