"""``gpureport``, ``gpureport measure`` and ``gpureport kernel``."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from gpureport.cli import shared
from gpureport.cli.app import KernelOptions, MeasureOptions, RunOptions
from gpureport.cli.console import TEMPLATE, ProgressBar, note, note_left_out, print_written
from gpureport.errors import GpuReportError, InputError, InterruptionError
from gpureport.files import remove_files, uninterrupted, write_file
from gpureport.inputs import PACKED, is_there
from gpureport.measure.backends.sensors import free_memory_bytes
from gpureport.measure.kernels import difference
from gpureport.measure.limits import KEY_FIGURES_SWEEP_S, LONGEST_SWEEP_S, SweepSettings, run_limits, sweep_budget_s
from gpureport.measure.measurer import Measurer, checked
from gpureport.measure.presence import choose_working
from gpureport.records import report as document
from gpureport.records.report import FILE_NAME, Report, load_report, report_file, reports_below, save_report
from gpureport.report import documents_of
from gpureport.report.processes import prepare
from gpureport.report.run.conditions import affected, load_sentences
from gpureport.report.text.sentences import paragraphs, text
from gpureport.run.earlier import as_before, changes, keep_measurements, kept_measurements
from gpureport.run.pipeline import Plan, run, wrong_results
from gpureport.spec.models import Device, PresentDevice
from gpureport.text import sentence
from gpureport.workloads import POWER

if TYPE_CHECKING:
    from gpureport.kernel_files import KernelFileWorkload


def measure(options: RunOptions) -> int:
    """Measure, and except for ``gpureport measure`` render the first run; several runs get a folder each."""
    with_documents = not isinstance(options, MeasureOptions)
    if not with_documents and options.output and options.output.suffix == PACKED:
        raise InputError(f"{options.output}: a report is written uncompressed; choose a name without {PACKED}")
    names = shared.chosen(options.workloads, options.only)
    options = replace(options, workloads=names, quick=options.quick or options.only is not None)
    with _measured(options) as (reports, paths, new):
        report, path = reports[0], paths[0]
        _summarise(report)
        written: list[Path] = []
        if with_documents and report.status != "failed":
            from gpureport.cli.rendering import write_documents

            written = write_documents(report, path.parent, no_pdf=options.no_pdf, paper=options.paper, file=path)
    print_written([*new, *written])
    return max(map(_close, reports, paths))


def _paths(options: RunOptions, device: Device) -> list[Path]:
    """Return the files of the runs; raise if ``compare`` would combine other reports in the folder with them."""
    if isinstance(options, MeasureOptions):
        file = options.output
        folder = file.with_suffix("") if file.name else file
    else:
        kernels = [shared.slug(file.stem) for file in options.kernels if options.only_kernels]
        name = "-".join([*kernels, shared.slug(device.name), datetime.now(UTC).date().isoformat()])
        folder = options.output or Path("reports") / name
        file = folder / FILE_NAME
    if options.runs == 1:
        return [file]
    paths = [folder / f"run-{number}" / FILE_NAME for number in range(1, options.runs + 1)]
    others = [path for path in (report_file(folder), *reports_below(folder, deep=False)) if path.exists()]
    if other := next((path for path in others if path not in paths), None):
        raise InputError(f"{folder}: contains {other}, which is not of this command; choose another folder with -o")
    return paths


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield *paths*, each followed by HTML and PDF, and by reports of earlier runs, which go when it is complete."""
    for path in paths:
        yield from (path, *documents_of(path), *_earlier(path))


def _earlier(path: Path) -> tuple[Path, Path]:
    """Return where the report that *path* replaces is while it is incomplete, and the compressed form of *path*."""
    return path.with_name(f"earlier-{path.name}"), Path(f"{path}{PACKED}")


@contextmanager
def _measured(options: RunOptions) -> Iterator[tuple[list[Report], list[Path], list[Path]]]:
    """Return reports, their files, and the newly written files, which stay reserved until the end.

    A complete report is not measured again: only its HTML and PDF may be missing.
    """
    resumed, earlier = options.resume, None
    with ExitStack() as reservation:
        if resumed:
            file = report_file(resumed)
            if not is_there(file):
                what = "there is no such report; give the report.json of an interrupted run, or its folder"
                raise InputError(f"--resume: {resumed}: {what}")
            # before reading: another run may still write it
            reservation.enter_context(shared.writing(_files([file]), force=True))
            earlier = load_report(resumed)
            if earlier.status == "complete":
                note(f"{resumed} is complete; nothing is left to measure.")
                yield [earlier], [file], []
                return
            if file.suffix == PACKED:
                what = f"its run is incomplete, and it is compressed; decompress it first: xz -d {file}"
                raise InputError(f"--resume: {file}: {what}")
        with _planned(options, earlier) as (plan, measurer):
            paths = [report_file(resumed)] if resumed else _paths(options, plan.match.device)
            if not resumed:
                reservation.enter_context(shared.writing(_files(paths), force=options.force))
            reports: list[Report] = []
            for number, path in enumerate(paths, 1):
                if len(paths) > 1:
                    note(f"Run {number} of {len(paths)}")
                if reports:
                    measurer.reopen()
                reports.append(_measure(plan, measurer, path, earlier, options))
                if options.only_kernels:
                    keep_measurements(reports[-1], plan.workloads, [each.name for each in affected(reports[-1])])
                    plan = replace(plan, kept=None)
        yield reports, paths, paths


def working_device(text: str, again: PresentDevice | None = None) -> Measurer:
    """Open the device of ``--device``, as :func:`choose_working` does, and print remarks; the caller closes it."""
    measurer = choose_working(text, again)
    for remark in measurer.remarks:
        note(f"Note: {sentence(remark)}")
    return measurer


@contextmanager
def _planned(options: RunOptions, earlier: Report | None) -> Iterator[tuple[Plan, Measurer]]:
    """Return the plan of a run, and its open device; raise if *earlier* cannot be continued."""
    again = None
    if earlier:
        settings = earlier.settings
        if own := [name for name, info in earlier.workloads.items() if info.described]:
            what = f"measured {', '.join(own)}, and runs of your own kernels cannot be continued"
            raise InputError(
                f"--resume: {report_file(options.resume or Path())} {what}; measure again without --resume"
            )
        options = replace(options, quick=settings.quick, workloads=settings.workloads, seed=settings.seed)
        again = earlier.machine.opencl if earlier.machine else None
    kernels = shared.described(options.kernels, options if isinstance(options, KernelOptions) else None)
    names = shared.separated(options.workloads)
    to_measure = names
    if options.only_kernels:
        from gpureport.kernel_files import calibrating

        to_measure = calibrating(kernels)
    workloads = shared.selected(to_measure, quick=options.quick and not earlier, kernels=kernels)
    if earlier:
        workloads = tuple(each for each in workloads if each.name in earlier.workloads)
    database = shared.open_database(options.entries)
    loading = Thread(target=_import, args=("scipy.optimize",), daemon=True)  # takes a second
    loading.start()
    database.read()  # while drivers load
    with working_device(options.device, again) as measurer:
        loading.join()
        present = as_before(measurer.device, again)
        limits = run_limits(measurer.device, free_memory_bytes(measurer.device), quick=options.quick)
        match = database.match(present)
        shared.note_override(database, match.entry)
        requested = document.RunSettings(
            quick=options.quick, seed=options.seed, workloads=names, command=command_line(options)
        )
        plan = Plan(
            match=match,
            workloads=workloads,
            settings=SweepSettings(
                limits,
                budget_s=KEY_FIGURES_SWEEP_S[present.kind] if options.only else LONGEST_SWEEP_S,
                seed=options.seed,
            ),
            requested=requested,
            kept=kept_measurements(present, match.device, requested, workloads)
            if options.only_kernels and not options.recalibrate
            else None,
            with_power=not options.only_kernels and (POWER in names if names else not options.quick),
        )
        if earlier and (differences := "; ".join(changes(earlier, present, match.device, plan.requested))):
            file = report_file(options.resume or Path())
            raise InputError(
                f"--resume: {file} cannot be continued, because {differences}; measure again without --resume"
            )
        if kernels:
            with ProgressBar("checking results") as bar:
                fitting, problems = checked(measurer, kernels, match.device, limits, bar.advance)
            note_left_out(problems)
            others = (each for each in plan.workloads if each not in kernels)
            plan = replace(plan, workloads=(*others, *fitting))
        yield plan, measurer


def command_line(options: RunOptions) -> str:
    """Return the equivalent command line, without paths: these are meaningful on this machine only."""
    given = [
        *(("--device", options.device) if options.device != "auto" else ()),
        *(("--quick",) if options.quick else ()),
        *(("--seed", str(options.seed)) if options.seed else ()),
        *(("--only", options.only) if options.only else ()),
        *(part for name in shared.separated(options.workloads) for part in ("--workload", name) if not options.only),
        *(part for file in options.kernels for part in ("--kernel", file.name) if not options.only_kernels),
    ]
    kernels = ["kernel", *(file.name for file in options.kernels)] if options.only_kernels else []
    if isinstance(options, KernelOptions):
        kernels += shared.options_of_sources(options)
    return shlex.join(["gpureport", *kernels, *given])


def _measure(plan: Plan, measurer: Measurer, path: Path, earlier: Report | None, options: RunOptions) -> Report:
    note(f"Device: {plan.match.device.name} ({measurer.device.platform}). {sentence(plan.match.how)}")
    for remark in plan.match.notes:
        note(f"Note: {sentence(remark)}")
    if plan.kept:
        from gpureport.report.render import readable_time

        at = readable_time(plan.kept.created_at)
        note(f"Note: Microbenchmarks of a run of {at} calibrate the predictions; --recalibrate measures them again.")
    note(_announcement(plan, measurer, path, options) if earlier is None else f"Continuing the run of {path}.")
    saved, written, (aside, _) = "", document.Texts(), _earlier(path)

    def save(report: Report) -> None:
        nonlocal saved
        with uninterrupted():
            if not saved:
                if path.exists() and not (earlier or aside.exists()):
                    write_file(aside, path.read_bytes())
                remove_files(*documents_of(path))
            save_report(report, path, written)
            remove_files(*(_earlier(path) if report.status == "complete" else ()))
            before, saved = saved, report.status
        if not before:
            loading = Thread(target=_load, args=(options, measurer.device), daemon=True)
            loading.start()
            if measurer.device.on_host:  # its cores are the device
                loading.join()

    try:
        with ProgressBar("predicting", lines=True) as bar:
            return run(plan, measurer, save, bar.advance, earlier)
    except KeyboardInterrupt:
        state = f"{path} is {saved}" if saved else "nothing was written"
        if saved == "partial":
            entries = [part for folder in options.entries for part in ("--devices", str(folder))]
            how = "" if options.kernels else f"; {shlex.join([*entries, '--resume', str(path)])} continues the run"
            state = f"{path} is marked partial and contains the finished sweeps{how}"
            state += f"; {aside} is the earlier report" if aside.exists() else ""
        raise InterruptionError(f"interrupted; {state}") from None


def _load(options: RunOptions, device: PresentDevice) -> None:
    """Load what evaluates and shows measurements, which takes seconds: on a GPU while it is measured."""
    if not (device.on_host or isinstance(options, MeasureOptions)):
        prepare(pdf=not options.no_pdf)
    _import("gpureport.cli.predicting")


def _import(name: str) -> None:
    with suppress(Exception):  # who needs it imports it again, and reports the error
        import_module(name)


def _announcement(plan: Plan, measurer: Measurer, path: Path, options: RunOptions) -> str:
    device, limits = plan.match.device, plan.settings.limits
    there = [each for each in plan.workloads if not each.missing(measurer.device)]
    counts = list(filter(None, (len(each.sweeps(device, limits)) for each in there)))
    workloads, sweeps = len(counts or plan.workloads), sum(counts)
    longest_s = sweep_budget_s(device.kind, quick=limits.quick, spent_s=0.0, sweeps_left=sweeps)
    seconds = sweeps * (KEY_FIGURES_SWEEP_S[device.kind] if options.only else longest_s)
    predicted = not measurer.device.is_software
    what = text("announcement", TEMPLATE, workloads=workloads, sweeps=sweeps, seconds=seconds, predicted=predicted)
    return f"{what} Measurements are saved in {path}."


def _summarise(report: Report) -> None:
    from gpureport.cli.predicting import print_advice, print_page_one

    if report.status != "failed":
        print_page_one(report)
    print_advice(report)
    wrong = wrong_results(report)
    for name, info in report.workloads.items():
        if info.skipped and name not in wrong:
            note(f"Skipped {name}: {sentence(info.skipped)}")
    if load := load_sentences(report):
        note(f"Disturbed measurements: {load}")


def _close(report: Report, path: Path) -> int:
    """Report missing and wrong results, and return the exit code; raise if nothing was measured."""
    for problem in paragraphs("failures", report=report):
        note(f"gpureport: {problem}")
    wrong = wrong_results(report)
    for name in wrong:
        note(f"gpureport: {name} gave wrong results and was not timed; the report shows them.")
    if report.status == "failed":
        skipped = next((f"{name}: {info.skipped}" for name, info in report.workloads.items() if info.skipped), "")
        raise GpuReportError(
            f"nothing was measured on {report.device.name}, and no HTML or PDF was written. All "
            f"{len(report.workloads)} workloads were skipped; {path} lists the reasons. {sentence(skipped)}".rstrip()
        )
    if report.stopped:
        raise GpuReportError(f"the device was lost and the run stopped: {report.stopped}; {path} is marked partial")
    own = [name for name in report.failed_variants if report.workloads[name].described]
    return 1 if wrong or own else 0


def use_kernels(options: KernelOptions) -> int:
    """Look for faults, or measure and render."""
    if not options.kernels:
        raise InputError("kernel: give the source of a kernel (OpenCL C), or its description")
    if not options.check:
        return measure(options)
    kernels = shared.described(options.kernels, options)
    for kernel in kernels:
        _check_kernel(kernel)
    names = ", ".join(kernel.title for kernel in kernels)
    note(f"No faulty access, data race or divergent barrier was found at the smallest size of {names}.")
    steps = [step for kernel in kernels for step in kernel.formulas.steps]
    if any(sum(bool(each.elements) for each in step.fields.arguments) < len(step.buffers) for step in steps):
        note("Accesses beyond the end of a buffer are found only if a description gives its `elements`.")
    return 0


def _check_kernel(kernel: "KernelFileWorkload") -> None:
    from gpureport.trace.faults import check

    parameters = kernel.verification()[0]
    job = kernel.verification_job(parameters, np.random.default_rng(0))
    results = check(kernel, parameters, job)
    if not results:
        note(f"Note: {kernel.title}: only a part of the work-groups was executed, because all would take too long.")
        return
    for name, expected in kernel.expected(parameters, job, kernel.verification_dispatches).items():
        if wrong := difference(results[name].view(expected.dtype), expected, kernel.tolerance):
            raise InputError(f"{kernel.place or kernel.title}: {name}: {wrong}")
