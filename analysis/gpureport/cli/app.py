"""Commands and their options. Nothing heavy is imported here, so that ``--help`` answers at once."""
# ruff: noqa: ARG001 - the callback of --version does its work

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from gpureport import __version__
from gpureport.cli.options import Request, chosen, path_of
from gpureport.errors import GpuReportError, InputError
from gpureport.memory import LEAST_BYTES, limit_bytes, limit_remark
from gpureport.report import Paper

if TYPE_CHECKING:
    from typer._click.formatting import HelpFormatter

_EXAMPLES = """
gpureport                                # all, to reports/<device>-<date>
gpureport --quick -o out                 # fewer workloads and points
gpureport -d 1 -w memory,particles       # device 1, two families
gpureport --resume out                   # continue an interrupted run
gpureport measure -o node7.json
gpureport measure --runs 4 -o before.json     # before/run-1, …
gpureport render node7.json              # node7.html and node7.pdf
gpureport render reports/published -o documents
gpureport predict "RX 7900 XT"
gpureport predict h200 -w memory --all   # every feature of one family
gpureport predict h200 a40 --pdf         # side by side, as a document
gpureport predict --lscpu node7.txt      # caches and memory of a CPU
gpureport predict h200 "RX 7900 XT" --kernel saxpy.yaml
gpureport kernel saxpy.yaml              # your own kernel: report with prediction
gpureport kernel --new saxpy.cl          # draft saxpy.yaml
gpureport kernel --check saxpy.yaml      # look for faults, with oclgrind
gpureport compare out a40 "RTX 4090"     # a run and two predictions
gpureport compare old=a.json new=b.json -o differences
gpureport compare before after --fail-on-regression 5
gpureport validate                       # the results of the project
gpureport validate out -w memory --all   # every feature of one family
gpureport validate --times --worst 5
gpureport devices                        # the devices of this machine
gpureport devices --known "RTX 40"       # devices of the database
gpureport devices check my_card.yaml
gpureport devices check nvidia/a40
gpureport devices new -o ~/.config/gpureport/devices/my_card.yaml
gpureport devices new --from a40 -o gpureport-devices/my_card.yaml
gpureport devices new --report out/report.json
gpureport fleet init cluster             # writes cluster/fleet.yaml to fill in
gpureport fleet run cluster --store fleet
gpureport fleet node -o measured         # all devices of this machine
gpureport fleet add --store fleet node7=report.json
gpureport fleet add runs                 # runs/NODE/report.json
gpureport fleet list
gpureport fleet query "SELECT node, measured FROM key_figures WHERE name = 'Memory read'"
gpureport fleet export figures.csv
gpureport fleet report -o fleet-report   # site and PDF
gpureport fleet report --fail-on-outlier --junit acceptance.xml
gpureport schema device > device.schema.json
gpureport glossary taper
gpureport glossary LSU                   # a bottleneck
"""


def _examples(command: str) -> str:
    r"""Return the examples of a *command* (a pattern) for the end of its help text; ``\b`` keeps its lines."""
    lines = re.findall(rf"^gpureport {command}.*$", _EXAMPLES, re.MULTILINE)
    return "\n  ".join(("\b\nExamples:", *lines))


app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Predict the cliffs (capacity transitions) and tapers (saturation points) of an OpenCL device from its "
        "specification, measure both, and write a report that compares them. `gpureport glossary` explains the terms."
    ),
)


class _Devices(TyperGroup):
    """The command with the option ``--known [TEXT]``: options of typer have either no value or always one."""

    def parse_args(self, context: typer.Context, arguments: list[str]) -> list[str]:  # type: ignore[override]
        """Make the text after ``--known`` the value of another option."""
        after = arguments.index("--known") + 1 if "--known" in arguments else len(arguments)
        text = arguments[after : after + 1]
        if text and not text[0].startswith("-") and text[0] not in self.commands:
            arguments = [*arguments[:after], f"--containing={text[0]}", *arguments[after + 1 :]]
        return super().parse_args(context, arguments)


_PYTHON_TYPE = re.compile(r"(?<=[A-Z]) <.*>$")


class _Command(TyperCommand):
    """A command whose help does not show types of Python after the names of arguments, as typer would."""

    def format_options(self, ctx: typer.Context, formatter: "HelpFormatter") -> None:  # type: ignore[override]
        """Write a list of arguments and one of options."""
        for kind in ("argument", "option"):
            parameters = [each for each in self.get_params(ctx) if each.param_type_name == kind]
            records = [record for each in parameters if (record := each.get_help_record(ctx))]
            if records:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl([(_PYTHON_TYPE.sub("", name), text) for name, text in records])


devices_app = typer.Typer(cls=_Devices, rich_markup_mode=None, help="List, check and draft device entries.")
app.add_typer(devices_app, name="devices")


fleet_app = typer.Typer(
    rich_markup_mode=None, help="Store runs of many devices, and compare each device with its peers."
)
app.add_typer(fleet_app, name="fleet")


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"gpureport {__version__}")
        raise typer.Exit


def _path(text: str, metavar: str = "FILE", *names: str) -> object:
    """Return an option with a path; without *names*, that of the parameter."""
    return typer.Option(*names, help=text, metavar=metavar, parser=path_of)


def _output(text: str, metavar: str = "DIR") -> object:
    """Return the option ``--output``."""
    return _path(text, metavar, "--output", "-o")


def _operand(text: str, metavar: str = "FILE") -> object:
    """Return an argument that is a path, or several."""
    return typer.Argument(help=text, metavar=metavar, parser=path_of)


DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        "-d",
        help="auto (the best device), or an index or part of a name from `gpureport devices`.",
        metavar="DEVICE",
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Only the essential workloads, with fewer points and shorter sweeps.")
]
TimingsOption = Annotated[bool, typer.Option("--timings", help="Print how long each stage and workload took.")]
WorkloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        "-w",
        help="Family or family/variant; repeat the option or separate names by commas. Default: all.",
        metavar="NAME",
    ),
]
OnlyOption = Annotated[
    Literal["key-figures"] | None,
    typer.Option(
        "--only", help="key-figures: quickly, only the workloads of the table of key figures, about 20 s on a GPU."
    ),
]
KernelOption = Annotated[
    list[Path] | None,
    _path("YAML description of a kernel of your own; repeat the option for several.", "FILE", "--kernel"),
]
DirectoryOption = Annotated[Path | None, _output("Folder of the report. Default: reports/<device>-<date>.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Overwrite existing files, and remove HTML and PDF of an earlier run.")
]
OverwriteOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
NoPdfOption = Annotated[bool, typer.Option("--no-pdf", help="Write no PDF.")]
PaperOption = Annotated[Paper, typer.Option("--paper", help="Paper size of the PDF.")]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Seed of the random data and of the order of points.", min=0, metavar="N")
]
RunsOption = Annotated[
    int,
    typer.Option(
        help="Number of runs, written to run-1, run-2, … in the output folder. `gpureport compare` combines the runs "
        "of such a folder. HTML and PDF show the first run.",
        min=1,
        metavar="N",
    ),
]
FileRunsOption = Annotated[
    int,
    typer.Option(
        "--runs",
        help="Number of runs. Several runs are written to run-1, run-2, … in a folder with the name of FILE, without "
        ".json. `gpureport compare` combines the runs of such a folder.",
        min=1,
        metavar="N",
    ),
]
ResumeOption = Annotated[
    Path | None,
    _path(
        "Continue the interrupted run of this report.json (or its folder) with its settings. Finished sweeps are "
        "not measured again.",
        "REPORT",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]
DevicesDirOption = Annotated[
    list[Path] | None,
    _path(
        "Another folder of device entries; repeatable. Its entries replace those with the same id in "
        "./gpureport-devices, in ~/.config/gpureport/devices and in the built-in database.",
        "DIR",
        "--devices",
    ),
]
StoreOption = Annotated[Path | None, _path("Folder of the store. Default: $GPUREPORT_STORE.", "DIR", "--store")]
VersionOption = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
]


def _typed(context: typer.Context) -> list[str]:
    """Return the options of the command line, by their long names."""
    sources = {p.opts[0]: context.get_parameter_source(p.name or "") for p in context.command.params}
    return [option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _leave_to_subcommand(context: typer.Context) -> int:
    """Return 0; raise if options precede the subcommand, which would not receive them."""
    if early := _typed(context):
        name = f"{context.command_path} {context.invoked_subcommand}"
        raise InputError(
            f"{', '.join(early)}: has no effect before {context.invoked_subcommand!r}; "
            f"write options after the command ({name} --help lists its options)"
        )
    return 0


def _refuse_beside_resume(context: typer.Context) -> None:
    """Raise if ``--resume`` is combined with options that the interrupted run has fixed."""
    typed = _typed(context)
    fixed = [
        f"--{name}" for name in ("quick", "workload", "only", "seed", "runs", "output", "force") if f"--{name}" in typed
    ]
    if "--resume" in typed and fixed:
        raise InputError(
            f"{', '.join(fixed)}: cannot be combined with --resume, which keeps the settings of the run; omit it"
        )


def _check_surroundings() -> None:
    """Refuse to start where every command would fail with an unclear error."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InputError("the working directory no longer exists; change to another folder") from None
    if limit_bytes() < LEAST_BYTES:
        raise GpuReportError(f"gpureport needs {LEAST_BYTES / 2**20:.0f} MiB of memory{limit_remark()}")


@app.callback(invoke_without_command=True, epilog=_examples("[ -]"))
def everything(
    context: typer.Context,
    device: DeviceOption = "auto",
    quick: QuickOption = False,
    workload: WorkloadOption = None,
    only: OnlyOption = None,
    kernel: KernelOption = None,
    output: DirectoryOption = None,
    force: ForceOption = False,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    seed: SeedOption = 0,
    timings: TimingsOption = False,
    runs: RunsOption = 1,
    resume: ResumeOption = None,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict, measure and compare; write report.json, report.html, report.pdf and report-appendix.pdf.

    Exit codes: 0 report written (it lists skipped variants with reasons); 1 failure, or wrong results of a kernel (the
    report names it); 2 wrong option or input; 130 interrupted.
    """
    _check_surroundings()
    if context.invoked_subcommand is not None:
        return _leave_to_subcommand(context)
    from gpureport.cli.measuring import report_everything

    _refuse_beside_resume(context)
    entries, kernels = tuple(devices or ()), tuple(kernel or ())
    names, quick = chosen(workload, only), quick or only is not None
    request = Request(device, quick, names, seed, entries, timings, resume, kernels, only=only)
    return report_everything(request, output, force, no_pdf, paper, runs)


@app.command(cls=_Command, epilog=_examples("measure"))
def measure(
    context: typer.Context,
    output: Annotated[Path, _output("Report file to write.", "FILE")] = Path("report.json"),
    device: DeviceOption = "auto",
    quick: QuickOption = False,
    workload: WorkloadOption = None,
    only: OnlyOption = None,
    kernel: KernelOption = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
    timings: TimingsOption = False,
    runs: FileRunsOption = 1,
    resume: ResumeOption = None,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict and measure; write report.json only. `gpureport render` makes HTML and PDF of it."""
    from gpureport.cli.measuring import measure_only

    _refuse_beside_resume(context)
    entries, kernels = tuple(devices or ()), tuple(kernel or ())
    names, quick = chosen(workload, only), quick or only is not None
    request = Request(device, quick, names, seed, entries, timings, resume, kernels, only=only)
    return measure_only(request, output, force, runs)


@app.command(cls=_Command, epilog=_examples("render"))
def render(
    reports: Annotated[
        list[Path], _operand("report.json files, published records (YAML), or folders that contain them.", "REPORT")
    ],
    output: Annotated[
        Path | None,
        _output(
            "Folder to write to. With several inputs, each report goes to a subfolder named after its input. "
            "Default: the folder of the report; for a record, a new folder next to it with the record's name."
        ),
    ] = None,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Write HTML and PDF of reports or published records.

    The documents are named after the report: m1.html, m1.pdf and m1-appendix.pdf for m1.json.
    """
    from gpureport.cli.rendering import render_report

    return render_report(reports, output, no_pdf, force, devices or (), paper)


@app.command(cls=_Command, epilog=_examples("predict"))
def predict(
    device: Annotated[
        list[str] | None,
        typer.Argument(
            help="Devices of the database, by name or id (see `gpureport devices --known`). With several, each is "
            "compared with the first.",
            metavar="DEVICE",
        ),
    ] = None,
    lscpu: Annotated[
        Path | None,
        typer.Option(
            "--lscpu",
            help="Predict the caches and memory of a CPU from a file with the output of `lscpu` or `lscpu -J`, without "
            "DEVICE.",
            metavar="FILE",
        ),
    ] = None,
    workload: WorkloadOption = None,
    kernel: KernelOption = None,
    quick: QuickOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every feature of every sweep, and the occupancy of each work-group.")
    ] = False,
    as_json: JsonOption = False,
    pdf: Annotated[
        bool,
        typer.Option(
            "--pdf",
            help="Also write documents. One device: report.html, report.pdf and report-appendix.pdf. Several devices: "
            "report.html and report.pdf, which compare them side by side.",
        ),
    ] = False,
    output: Annotated[Path | None, _output("Folder of --pdf. Default: reports/<device>-predicted-<date>.")] = None,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict from the database only; needs no OpenCL device.

    One device: ceilings of the hardware and cliffs of its caches; best rate, bottleneck, cliffs, taper and occupancy of
    each workload. Several devices: the ratio of speeds to the first, and the sizes at which that ratio changes.
    """
    from gpureport.cli.predicting import PredictionRequest, predict_devices

    request = PredictionRequest(
        devices=tuple(device or ()),
        lscpu=lscpu,
        workloads=tuple(workload or ()),
        quick=quick,
        as_json=as_json,
        everything=everything,
        pdf=pdf,
        output=output,
        force=force,
        entries=tuple(devices or ()),
        paper=paper,
        kernels=tuple(kernel or ()),
    )
    return predict_devices(request)


@app.command(cls=_Command, epilog=_examples("kernel"))
def kernel(
    files: Annotated[list[Path] | None, _operand("YAML descriptions of kernels (see the README).")] = None,
    new: Annotated[
        Path | None,
        _path(
            "Draft the description of a kernel from its OpenCL C file, NAME.cl, and write it to NAME.yaml.", "SOURCE"
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only look for accesses outside buffers, data races and divergent barriers, with oclgrind at a small "
            "size.",
        ),
    ] = False,
    output: DirectoryOption = None,
    device: DeviceOption = "auto",
    quick: QuickOption = False,
    force: ForceOption = False,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    seed: SeedOption = 0,
    timings: TimingsOption = False,
    runs: RunsOption = 1,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict, verify and measure kernels of your own, with the microbenchmarks that calibrate their predictions.

    A kernel is code that runs on the device. Measure only kernels that you trust.
    """
    if new or check:
        from gpureport.cli.kernels import check_kernels, draft_kernel

        if bool(new) == bool(files) or (new and check):
            raise InputError("kernel: give a description, or only --new SOURCE")
        return draft_kernel(new, force) if new else check_kernels(files or [])
    if not files:
        raise InputError("kernel: give the description of a kernel; `gpureport kernel --new SOURCE` drafts one")
    from gpureport.cli.measuring import report_everything

    request = Request(device, quick, (), seed, tuple(devices or ()), timings, None, tuple(files), only_kernels=True)
    return report_everything(request, output, force, no_pdf, paper, runs)


@app.command(cls=_Command, epilog=_examples("compare"))
def compare(
    machines: Annotated[
        list[str],
        typer.Argument(
            help="Reports (files or folders), published records (YAML files or folders of them), or devices of the "
            "database, which are predicted. Separate several runs of one machine by commas, or give a folder that "
            "contains their folders. NAME=MACHINE sets the displayed name.",
            metavar="MACHINE",
        ),
    ],
    output: Annotated[Path | None, _output("Folder for JSON, HTML and PDF. Default: only print.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Machine that all speeds are relative to. Default: the first.", metavar="NAME")
    ] = None,
    fail_on_regression: Annotated[
        float | None,
        typer.Option(
            help="Exit with code 3 if a machine with the same device as the baseline is significantly slower, by more "
            "than PERCENT.",
            min=0,
            max=100,
            metavar="PERCENT",
        ),
    ] = None,
    minimum_effect: Annotated[
        float,
        typer.Option(
            help="Smallest difference between machines with the same device that can be significant.",
            min=0,
            max=100,
            metavar="PERCENT",
        ),
    ] = 3.0,
    workload: WorkloadOption = None,
    kernel: KernelOption = None,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Compare machines: measured, published or predicted."""
    from gpureport.cli.comparing import ComparisonRequest, compare_machines

    request = ComparisonRequest(
        machines=tuple(machines),
        output=output,
        baseline=baseline,
        fail_on_regression=fail_on_regression,
        minimum_effect=minimum_effect,
        workloads=tuple(workload or ()),
        no_pdf=no_pdf,
        paper=paper,
        force=force,
        entries=tuple(devices or ()),
        kernels=tuple(kernel or ()),
    )
    return compare_machines(request)


@app.command(cls=_Command, epilog=_examples("validate"))
def validate(
    paths: Annotated[
        list[Path] | None,
        _operand(
            "report.json files, published records (YAML), or folders of them. Default: the project's own results.",
            "PATH",
        ),
    ] = None,
    workload: WorkloadOption = None,
    kernel: KernelOption = None,
    times: Annotated[
        bool, typer.Option("--times", help="Compare only times, not cliffs, tapers and plateaus; several times faster.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Also list every feature.")] = False,
    worst: Annotated[
        int, typer.Option(help="List the N sweeps with the largest errors, with their bottlenecks.", min=0, metavar="N")
    ] = 0,
    first_day: Annotated[
        bool,
        typer.Option(
            "--first-day", help="Also predict GPUs without the values measured on their architecture, and compare both."
        ),
    ] = False,
    json_file: Annotated[
        Path | None, _path("Write the predicted and observed values of all points and features.", "FILE", "--json")
    ] = None,
    force: OverwriteOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if a target is missed or a file is left out.")
    ] = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Check the current model and database against stored results."""
    from gpureport.cli.validating import ValidationRequest, validate_results

    request = ValidationRequest(
        paths=tuple(paths or ()),
        workloads=tuple(workload or ()),
        kernels=tuple(kernel or ()),
        times_only=times,
        every_feature=every,
        worst=worst,
        json_file=json_file,
        force=force,
        strict=strict,
        first_day=first_day,
        entries=tuple(devices or ()),
    )
    return validate_results(request)


@devices_app.callback(invoke_without_command=True, epilog=_examples("devices [ -]"))
def devices_present(
    context: typer.Context,
    known: Annotated[
        bool,
        typer.Option(
            "--known",
            help="List the database instead of this machine's devices. With TEXT, only devices whose name or id "
            "contains it.",
        ),
    ] = False,
    containing: Annotated[str, typer.Option("--containing", hidden=True)] = "",
    as_json: JsonOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """List the OpenCL devices of this machine with their database entries."""
    if context.invoked_subcommand is not None:
        return _leave_to_subcommand(context)
    from gpureport.cli.devices import list_known, list_present

    return list_known(as_json, devices or [], containing) if known else list_present(as_json, devices or [])


@devices_app.command("check", cls=_Command, epilog=_examples("devices check"))
def devices_check(
    files: Annotated[
        list[Path] | None, _operand("Files or devices of the database to check, or folders. Default: all.")
    ] = None,
    as_json: JsonOption = False,
    version: VersionOption = False,
) -> int:
    """Check device and architecture files. Exit code 2 if any file has an error."""
    from gpureport.cli.devices import check_files

    return check_files(files or [], as_json)


@devices_app.command("new", cls=_Command, epilog=_examples("devices new"))
def devices_new(
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            "-d",
            help="Index or part of a name from `gpureport devices`. Default: the best device.",
            metavar="DEVICE",
        ),
    ] = None,
    relative: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Start from a similar device of the database. With --device, queried and measured values replace "
            "those of the similar device.",
            metavar="NAME",
        ),
    ] = None,
    blank: Annotated[bool, typer.Option("--empty", help="Write an empty entry to fill in; needs no device.")] = False,
    report: Annotated[
        Path | None,
        _path("Start from the report of a run, with all values that it measured; needs no device.", "REPORT"),
    ] = None,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="Only query the device; do not measure its caches and bandwidths.")
    ] = False,
    output: Annotated[Path | None, _output("File to write. Default: standard output.", "FILE")] = None,
    force: OverwriteOption = False,
    seed: SeedOption = 0,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Draft a new database entry.

    Its values come from queries and measurements of a device, or from a similar device. Each value is written with its
    source.
    """
    from gpureport.cli.drafting import DraftRequest, draft_entry

    request = DraftRequest(device, relative, blank, not no_measure, seed, report, tuple(devices or ()))
    return draft_entry(request, output, force)


@fleet_app.callback(invoke_without_command=True)
def fleet_commands(context: typer.Context) -> int:
    """Store runs of many devices, and compare each device with its peers."""
    if context.invoked_subcommand is None:
        raise InputError("fleet: no command is given; gpureport fleet --help lists the commands")
    return 0


@fleet_app.command("init", cls=_Command, epilog=_examples("fleet init"))
def fleet_init(
    folder: Annotated[Path, _operand("Folder to write fleet.yaml to.", "DIR")],
    force: OverwriteOption = False,
    version: VersionOption = False,
) -> int:
    """Write fleet.yaml, which describes the nodes and the scheduler, to fill in."""
    from gpureport.cli.fleet_runs import write_site

    return write_site(folder, force)


@fleet_app.command("run", cls=_Command, epilog=_examples("fleet run"))
def fleet_run(
    site: Annotated[Path, _operand("fleet.yaml, or its folder.", "SITE")] = Path(),
    node: Annotated[
        list[str] | None, typer.Option(help="Only this node; repeatable. Default: all.", metavar="NAME")
    ] = None,
    store: StoreOption = None,
    output: Annotated[
        Path | None, _output("New folder of reports, logs and job scripts. Default: runs/TIME beside fleet.yaml.")
    ] = None,
    version: VersionOption = False,
) -> int:
    """Measure the devices of all nodes with ReFrame, one job for each node, and add the runs to the store.

    Exit code 1 if a node failed.
    """
    from gpureport.cli.fleet_runs import run_fleet

    return run_fleet(site, node or [], store, output)


@fleet_app.command("node", cls=_Command, epilog=_examples("fleet node"))
def fleet_node(
    output: Annotated[Path, _output("Folder for DEVICE/report.json.")],
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            "-d",
            help="Index or part of a name; repeatable. Default: all GPUs and accelerators, else the CPU.",
            metavar="DEVICE",
        ),
    ] = None,
    quick: QuickOption = False,
    workload: WorkloadOption = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Measure all devices at the same time; changes launch costs.")
    ] = False,
    version: VersionOption = False,
) -> int:
    """Measure the devices of this machine, each in a process of its own. Incomplete reports there are continued."""
    from gpureport.cli.fleet_runs import measure_node

    return measure_node(output, device or [], workload or [], quick=quick, parallel=parallel)


@fleet_app.command("add", cls=_Command, epilog=_examples("fleet add"))
def fleet_add(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Reports, or folders of them. NODE=PATH names the node. Default: the name of the report's folder.",
            metavar="PATH",
        ),
    ],
    store: StoreOption = None,
    node: Annotated[str | None, typer.Option(help="Name of the node of all these runs.", metavar="NAME")] = None,
    version: VersionOption = False,
) -> int:
    """Add runs to the store. A run that is already there changes nothing. Exit code 1 if a report was left out."""
    from gpureport.cli.fleet import add_runs

    return add_runs(paths, store, node)


@fleet_app.command("list", cls=_Command, epilog=_examples("fleet list"))
def fleet_list(store: StoreOption = None, version: VersionOption = False) -> int:
    """List the devices and the dates of their runs."""
    from gpureport.cli.fleet import list_nodes

    return list_nodes(store)


@fleet_app.command("query", cls=_Command, epilog=_examples("fleet query"))
def fleet_query(
    sql: Annotated[
        str,
        typer.Argument(
            help="SELECT statement of DuckDB; the tables are runs, key_figures, features and points.", metavar="SQL"
        ),
    ],
    store: StoreOption = None,
    version: VersionOption = False,
) -> int:
    """Print the rows of a query. It can read the store only, and change nothing."""
    from gpureport.cli.fleet import query_runs

    return query_runs(sql, store)


@fleet_app.command("export", cls=_Command, epilog=_examples("fleet export"))
def fleet_export(
    file: Annotated[Path, _operand("File to write: .csv, .parquet or .json.")],
    table: Annotated[str, typer.Option(help="runs, key_figures, features or points.", metavar="TABLE")] = "key_figures",
    store: StoreOption = None,
    force: OverwriteOption = False,
    version: VersionOption = False,
) -> int:
    """Write a table of the store."""
    from gpureport.cli.fleet import export_runs

    return export_runs(file, store, table, force)


@fleet_app.command("report", cls=_Command, epilog=_examples("fleet report"))
def fleet_report(
    output: Annotated[Path | None, _output("Folder of the site and the PDF. Default: only print.")] = None,
    store: StoreOption = None,
    fail_on_outlier: Annotated[
        bool, typer.Option("--fail-on-outlier", help="Exit with code 3 if a device is significantly slower.")
    ] = False,
    minimum_effect: Annotated[
        float, typer.Option(help="Smallest difference that can be significant.", min=0, max=100, metavar="PERCENT")
    ] = 2.0,
    prometheus: Annotated[
        Path | None, _path("Write gauges for the textfile collector of Prometheus; overwrites.")
    ] = None,
    junit: Annotated[Path | None, _path("Write JUnit XML: one test for each device.")] = None,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    version: VersionOption = False,
) -> int:
    """Find slow devices: which, since when, and why.

    Each device is compared with its peers, the devices of the same model. With fewer than three, it is compared with
    its prediction.
    """
    from gpureport.cli.fleet import FleetRequest, report_fleet

    request = FleetRequest(
        store=store,
        output=output,
        fail_on_outlier=fail_on_outlier,
        prometheus=prometheus,
        junit=junit,
        minimum_effect=minimum_effect,
        no_pdf=no_pdf,
        paper=paper,
        force=force,
    )
    return report_fleet(request)


@app.command(cls=_Command, epilog=_examples("schema"))
def schema(
    name: Annotated[
        Literal["device", "architecture", "kernel", "report"],
        typer.Argument(help="Kind of file: device, architecture, kernel or report.", metavar="NAME"),
    ],
    version: VersionOption = False,
) -> int:
    """Print the JSON Schema of a kind of file, for editors and other programs."""
    from gpureport.cli.schemas import print_schema

    return print_schema(name)


@app.command(cls=_Command, epilog=_examples("glossary"))
def glossary(
    term: Annotated[
        str | None, typer.Argument(help="Term or synonym to explain. Default: all.", metavar="TERM")
    ] = None,
    version: VersionOption = False,
) -> int:
    """Explain the terms of reports, tables and messages."""
    from gpureport.cli.explaining import print_glossary

    return print_glossary(term)
