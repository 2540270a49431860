"""Commands and their options. Nothing heavy is imported here, so that ``--help`` answers at once."""
# ruff: noqa: ARG001 - the callback of --version does its work

from pathlib import Path
from typing import Annotated

import typer

from gpureport import __version__
from gpureport.cli.options import Request
from gpureport.errors import GpuReportError, InputError
from gpureport.memory import LEAST_BYTES, limit_bytes, limit_remark
from gpureport.report import Paper

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Predict where a device's caches give out and how much work fills it, measure both with OpenCL, and write a "
        "report that sets one against the other."
    ),
)
devices_app = typer.Typer(rich_markup_mode=None, help="List, check and draft device entries.")
app.add_typer(devices_app, name="devices")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"gpureport {__version__}")
        raise typer.Exit


DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        "-d",
        help="auto, or an index or part of a name from `gpureport devices`.",
        metavar="DEVICE",
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="The essential workloads only, fewer points and shorter sweeps.")
]
TimingsOption = Annotated[bool, typer.Option("--timings", help="Say at the end where the time went.")]
WorkloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        "-w",
        help="Family or family/variant; repeat or separate by commas. Default: all.",
        metavar="NAME",
    ),
]
DirectoryOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder of the report. Default: reports/<device>-<date>.", metavar="DIR"),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files that are already there, and remove documents of an earlier run."),
]
NoPdfOption = Annotated[bool, typer.Option("--no-pdf", help="Write no PDF.")]
PaperOption = Annotated[Paper, typer.Option("--paper", help="Pages of the PDF.")]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Seed of the random data and the order of points.", min=0, metavar="N")
]
RunsOption = Annotated[
    int,
    typer.Option(
        "--runs",
        help="Measure so many times, into run-1, run-2, … of the output folder, which `gpureport compare` takes as one "
        "machine. Documents are of the first.",
        min=1,
        metavar="N",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        help="Continue the interrupted run of this report, or folder, with its settings; what it finished is not "
        "measured again.",
        metavar="REPORT",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
DevicesDirOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--devices",
        help="Another folder of device entries, before ./gpureport-devices, ~/.config/gpureport/devices and what is "
        "shipped; repeatable.",
        metavar="DIR",
    ),
]
VersionOption = Annotated[
    bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)
]


def _leave_to_subcommand(context: typer.Context) -> int:
    """Return 0, unless options stand before the subcommand, which would not hear of them.

    Raises:
        InputError: they do.
    """
    sources = {p.opts[0]: context.get_parameter_source(p.name or "") for p in context.command.params}
    early = [option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if early:
        name = f"{context.command_path} {context.invoked_subcommand}"
        raise InputError(
            f"{', '.join(early)}: means nothing before {context.invoked_subcommand!r}; "
            f"write options after the command ({name} --help lists those it has)"
        )
    return 0


def _refuse_beside_resume(context: typer.Context) -> None:
    """Raise if ``--resume`` stands beside options that the interrupted run has settled.

    Raises:
        InputError: it does.
    """
    settled = ("quick", "workload", "seed", "runs", "output", "force")
    given = {name: context.get_parameter_source(name) for name in ("resume", *settled)}
    typed = [name for name, source in given.items() if source is not None and source.name == "COMMANDLINE"]
    if "resume" in typed and len(typed) > 1:
        options = ", ".join(f"--{name}" for name in typed if name != "resume")
        raise InputError(f"{options}: cannot be used with --resume, which continues the run as it was; leave it out")


def _check_surroundings() -> None:
    """Refuse to work where every command would fail, with a cause that is hard to see then.

    Raises:
        GpuReportError: the working directory no longer exists, or memory is limited too far.
    """
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InputError("the working directory no longer exists; change to another folder") from None
    if limit_bytes() < LEAST_BYTES:
        raise GpuReportError(f"gpureport needs {LEAST_BYTES / 2**20:.0f} MiB of memory{limit_remark()}")


@app.callback(invoke_without_command=True)
def everything(
    context: typer.Context,
    device: DeviceOption = "auto",
    quick: QuickOption = False,
    workload: WorkloadOption = None,
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
    """Predict, measure, compare, and write report.json, report.html and report.pdf.

    Exit codes: 0 the report is written (skipped variants are in it, with reasons); 1 failure, or a kernel gave wrong
    results (the report says so); 2 usage or input.
    """
    _check_surroundings()
    if context.invoked_subcommand is not None:
        return _leave_to_subcommand(context)
    from gpureport.cli.measuring import report_everything

    _refuse_beside_resume(context)
    request = Request(device, quick, tuple(workload or ()), seed, tuple(devices or ()), timings, resume)
    return report_everything(request, output, force, no_pdf, paper, runs)


@app.command()
def measure(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="The report to write.", metavar="FILE")] = Path(
        "report.json"
    ),
    device: DeviceOption = "auto",
    quick: QuickOption = False,
    workload: WorkloadOption = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
    timings: TimingsOption = False,
    runs: RunsOption = 1,
    resume: ResumeOption = None,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict and measure; write report.json only (no Pango needed). `gpureport render` makes the document."""
    from gpureport.cli.measuring import measure_only

    _refuse_beside_resume(context)
    request = Request(device, quick, tuple(workload or ()), seed, tuple(devices or ()), timings, resume)
    return measure_only(request, output, force, runs)


@app.command()
def render(
    reports: Annotated[
        list[Path],
        typer.Argument(
            help="Each a report.json, a published record (YAML), or a folder that holds one or records.",
            metavar="REPORT...",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder to write to; with several inputs, each report goes to a subfolder named after its input. "
            "Default: where the report is; of a record, a folder beside it with its name.",
            metavar="DIR",
        ),
    ] = None,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Write HTML and PDF of a report.json, made here or elsewhere, or of what others published.

    The documents are named after the report: m1.json gives m1.html and m1.pdf.
    """
    from gpureport.cli.rendering import render_report

    return render_report(reports, output, no_pdf, force, devices or (), paper)


@app.command()
def predict(
    device: Annotated[
        list[str],
        typer.Argument(
            help="Devices of the database, by name or id (`gpureport devices --known`); of several each is set beside "
            "the first.",
        ),
    ],
    workload: WorkloadOption = None,
    quick: QuickOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every feature of every sweep, and every work-group's occupancy.")
    ] = False,
    as_json: JsonOption = False,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Write report.html and report.pdf too: of one device, or side by side.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder of --pdf. Default: reports/<device>-predicted-<date>.", metavar="DIR"
        ),
    ] = None,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Predict from the database entry alone; needs no OpenCL.

    With one device: its ceilings, where caches give out, and of each workload the best rate, what binds it, cliffs,
    taper and occupancy. With several: how many times as fast each is as the first, and where that changes.
    """
    from gpureport.cli.predicting import Asked, predict_devices

    asked = Asked(
        devices=tuple(device),
        workloads=tuple(workload or ()),
        quick=quick,
        as_json=as_json,
        everything=everything,
        pdf=pdf,
        output=output,
        force=force,
        entries=tuple(devices or ()),
        paper=paper,
    )
    return predict_devices(asked)


@app.command()
def compare(
    machines: Annotated[
        list[str],
        typer.Argument(
            help="Reports (files or folders), published records (YAML, or folders of them), or devices of the "
            "database, which are predicted. Several runs of one machine: separated by commas, or a folder of their "
            "folders. NAME= before one names it.",
            metavar="MACHINE...",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for JSON, HTML and PDF. Default: print only.", metavar="DIR"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="The machine that ratios refer to. Default: the first.", metavar="NAME"),
    ] = None,
    fail_on_regression: Annotated[
        float | None,
        typer.Option(
            "--fail-on-regression",
            help="Exit code 3 if a machine with the baseline's device is significantly slower, by more than this.",
            min=0,
            max=100,
            metavar="PERCENT",
        ),
    ] = None,
    minimum_effect: Annotated[
        float,
        typer.Option(
            "--minimum-effect",
            help="Differences between machines with one device are called significant from this size on.",
            min=0,
            max=100,
            metavar="PERCENT",
        ),
    ] = 3.0,
    workload: WorkloadOption = None,
    no_pdf: NoPdfOption = False,
    paper: PaperOption = "a4",
    force: ForceOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Set machines beside each other: measured, published, or only predicted."""
    from gpureport.cli.comparing import Asked, compare_machines

    asked = Asked(
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
    )
    return compare_machines(asked)


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Results: report.json files, published ones (YAML), or folders. Default: those of the project.",
            metavar="PATH",
        ),
    ] = None,
    workload: WorkloadOption = None,
    times: Annotated[
        bool, typer.Option("--times", help="Times only: no cliffs, tapers and plateaus; several times faster.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List every feature as well.")] = False,
    worst: Annotated[
        int,
        typer.Option(
            "--worst", help="List the N sweeps with the largest errors, and what binds them.", min=0, metavar="N"
        ),
    ] = 0,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write every point and feature, predicted and observed, as JSON.", metavar="FILE"),
    ] = None,
    force: ForceOption = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if a target is missed.")] = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Hold the model and the database as they are now against results that are kept, measured or published."""
    from gpureport.cli.validating import Validation, validate_results

    asked = Validation(
        paths=tuple(paths or ()),
        workloads=tuple(workload or ()),
        times_only=times,
        every_feature=every,
        worst=worst,
        json_file=json_file,
        force=force,
        strict=strict,
        entries=tuple(devices or ()),
    )
    return validate_results(asked)


@devices_app.callback(invoke_without_command=True)
def devices_present(
    context: typer.Context,
    known: Annotated[bool, typer.Option("--known", help="List the database instead of what is present.")] = False,
    as_json: JsonOption = False,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """List the OpenCL devices present, and the database entry that each matches."""
    if context.invoked_subcommand is not None:
        return _leave_to_subcommand(context)
    from gpureport.cli.devices import list_known, list_present

    return list_known(as_json, devices or []) if known else list_present(as_json, devices or [])


@devices_app.command("check")
def devices_check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Entries to check, or folders of them. Default: all there are.")
    ] = None,
    as_json: JsonOption = False,
    version: VersionOption = False,
) -> int:
    """Check device and architecture files; exit code 2 if one is wrong."""
    from gpureport.cli.devices import check_files

    return check_files(files or [], as_json)


@devices_app.command("new")
def devices_new(
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            "-d",
            help="An index or part of a name from `gpureport devices`. Default: the best that is present.",
            metavar="DEVICE",
        ),
    ] = None,
    relative: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Start from a device of the database; with --device for one that is present, else for one elsewhere.",
            metavar="NAME",
        ),
    ] = None,
    blank: Annotated[bool, typer.Option("--empty", help="An entry to be filled in; needs no device.")] = False,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="Ask the device only; measure no caches and bandwidths on it.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Default: standard output.", metavar="FILE"),
    ] = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
    devices: DevicesDirOption = None,
    version: VersionOption = False,
) -> int:
    """Draft an entry: ask and measure a device that is present, start from a relative, or from nothing.

    Each value says where it comes from.
    """
    from gpureport.cli.drafting import Wanted, draft_entry

    wanted = Wanted(device, relative, blank, not no_measure, seed, tuple(devices or ()))
    return draft_entry(wanted, output, force)
