"""``gpureport`` and ``gpureport measure``."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gpureport import __version__
from gpureport.cli.console import note
from gpureport.cli.database import note_doubts, note_override, open_database
from gpureport.cli.options import Request, described, selected, separated, slug, writing
from gpureport.cli.progress import ProgressBar
from gpureport.cli.rendering import print_written, write_documents
from gpureport.cli.summary import print_advice, print_energy, print_findings, print_unexpected
from gpureport.cli.timing import print_timings
from gpureport.errors import GpuReportError, InputError, InterruptionError
from gpureport.files import is_stream, remove_files
from gpureport.inputs import PACKED, is_there
from gpureport.measure.checking import refuse_faulty
from gpureport.measure.limits import KEY_FIGURES_SWEEP_S, LONGEST_SWEEP_S, SweepSettings, longest_point_s, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import choose_working
from gpureport.records import report as document
from gpureport.records.report import FILE_NAME, Report, Saver, load_report, report_file, report_stem, reports_below
from gpureport.report import Paper
from gpureport.report.curves import curves
from gpureport.report.render import documents_of
from gpureport.report.run.compiled import mismatches
from gpureport.report.run.conditions import load_sentences
from gpureport.report.run.kernels import answers
from gpureport.run.pipeline import Plan, run, wrong_results
from gpureport.run.resuming import changes
from gpureport.spec.models import PresentDevice
from gpureport.text import sentence
from gpureport.workloads import POWER
from gpureport.workloads.model import Workload

_SWEEP_S = {"cpu": (6.5, 4.0), "gpu": (0.8, 0.6), "accelerator": (0.8, 0.6)}
"""Usual duration of a sweep of a full and of a quick run, seconds, without documents: in ``reports/``, on an H100."""
_LONG_S = 100


def report_everything(
    request: Request, output: Path | None, force: bool, no_pdf: bool, paper: Paper = "a4", runs: int = 1
) -> int:
    """Measure and render into one folder; several runs get a subfolder each, and the first is rendered."""

    def locate(plan: Plan) -> list[Path]:
        kernels = [slug(file.stem) for file in request.kernels if request.only_kernels]
        name = "-".join([*kernels, slug(plan.match.device.name), datetime.now(UTC).date().isoformat()])
        folder = output or Path("reports") / name
        return _paths(folder, runs) if runs > 1 else [folder / FILE_NAME]

    with _measured(request, locate, force=force) as (reports, paths, new):
        report = reports[0]
        _summarise(report, paths[0])
        began = time.monotonic()
        failed = report.status == "failed"
        folder, name = paths[0].parent, report_stem(paths[0])
        written = [] if failed else write_documents(report, folder, no_pdf=no_pdf, paper=paper, name=name)
    if request.timings:
        print_timings(report.timings, time.monotonic() - began)
    print_written([*new, *written])
    return max(map(_close, reports, paths))


def measure_only(request: Request, output: Path, force: bool, runs: int = 1) -> int:
    """Measure into one file; several runs go to subfolders of a folder with its name."""
    if output.suffix == PACKED:
        raise InputError(f"{output}: a report is written uncompressed; choose a name without {PACKED}")

    def locate(_: Plan) -> list[Path]:
        return _paths(output.with_suffix(""), runs) if runs > 1 else [output]

    with _measured(request, locate, force=force) as measured:
        reports, paths, new = measured
    _summarise(reports[0], paths[0])
    if request.timings:
        print_timings(reports[0].timings)
    print_written(new)
    return max(map(_close, reports, paths))


def _paths(folder: Path, runs: int) -> list[Path]:
    """Return the files of several runs; raise if ``compare`` would combine other reports in the folder with them."""
    paths = [folder / f"run-{number}" / FILE_NAME for number in range(1, runs + 1)]
    others = [path for path in (report_file(folder), *reports_below(folder, deep=False)) if path.exists()]
    other = next((path for path in others if path not in paths), None)
    if other:
        raise InputError(f"{folder}: contains {other}, which is not of this command; choose another folder with -o")
    return paths


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield *paths*, each followed by its compressed form, HTML and PDF, which go if an earlier run left them."""
    for path in paths:
        yield path
        if not is_stream(path):
            yield from (_packed(path), *documents_of(path))


def _packed(path: Path) -> Path:
    return Path(f"{path}{PACKED}")


@contextmanager
def _measured(
    request: Request, locate: Callable[[Plan], list[Path]], *, force: bool
) -> Iterator[tuple[list[Report], list[Path], list[Path]]]:
    """Return reports, their files, and the newly written files, which stay reserved until the end.

    A complete report is not measured again: only its HTML and PDF may be missing.
    """
    with ExitStack() as reservation:
        if request.resume:  # before reading: another run may still write it
            if not is_there(report_file(request.resume)):
                what = "there is no such report; give the report.json of an interrupted run, or its folder"
                raise InputError(f"--resume: {request.resume}: {what}")
            reservation.enter_context(writing(_files([report_file(request.resume)]), force=True, option="--resume"))
        earlier = _earlier(request.resume)
        if earlier and earlier.report.status == "complete":
            reports, paths, new = [earlier.report], [earlier.path], list[Path]()
        else:
            with _planned(request, earlier) as (plan, measurer):
                paths = [earlier.path] if earlier else locate(plan)
                if not earlier:
                    reservation.enter_context(writing(_files(paths), force=force))
                reports, new = _measure_all(plan, measurer, paths, earlier), paths
        yield reports, paths, new


@dataclass(frozen=True)
class _Earlier:
    """An interrupted run and its file."""

    path: Path
    report: Report

    def planned(self, workloads: Sequence[Workload]) -> tuple[Workload, ...]:
        """Return those of *workloads* that the run was to measure; raise if it was to measure others, too."""
        names = {workload.name for workload in workloads}
        if missing := [name for name in self.report.workloads if name not in names]:
            what = f"contains {', '.join(missing)}; add --kernel with the description of this kernel"
            raise InputError(f"--resume: {self.path} {what}")
        return tuple(workload for workload in workloads if workload.name in self.report.workloads)

    def refuse_changes(self, plan: Plan, device: PresentDevice) -> None:
        """Raise if program, device, entry or settings differ from those of the interrupted run."""
        if differences := "; ".join(changes(self.report, __version__, device, plan.match.device, plan.requested)):
            raise InputError(
                f"--resume: {self.path} cannot be continued, because {differences}; measure again without --resume"
            )


def _earlier(path: Path | None) -> _Earlier | None:
    """Return the run to continue."""
    if path is None:
        return None
    report = load_report(path)
    file = report_file(path)
    if report.status == "complete":
        note(f"{path} is complete; nothing is left to measure.")
    elif file.suffix == PACKED:
        raise InputError(
            f"--resume: {file}: its run is incomplete, and it is compressed; decompress it first: xz -d {file}"
        )
    return _Earlier(file, report)


def _measure_all(
    plan: Plan, measurer: Measurer, paths: Sequence[Path], earlier: _Earlier | None = None
) -> list[Report]:
    """Measure once for each of *paths*, and reopen the device before each run."""
    reports: list[Report] = []
    for number, path in enumerate(paths, 1):
        if len(paths) > 1:
            note(f"Run {number} of {len(paths)}")
        if reports:
            measurer.reopen()
        reports.append(_measure(plan, measurer, path, earlier.report if earlier else None))
    return reports


def working_device(text: str, again: PresentDevice | None = None) -> Measurer:
    """Open the device of ``--device``, as :func:`choose_working` does, and print remarks; the caller closes it."""
    choice = choose_working(text, again)
    for remark in choice.remarks:
        note(f"Note: {sentence(remark)}")
    return choice.measurer


@contextmanager
def _planned(request: Request, earlier: _Earlier | None) -> Iterator[tuple[Plan, Measurer]]:
    """Return the plan of a run, and its open device; raise if *earlier* cannot be continued."""
    again = None
    if earlier:
        settings, machine = earlier.report.settings, earlier.report.machine
        request = replace(request, quick=settings.quick, workloads=settings.workloads, seed=settings.seed)
        again = machine.opencl if machine else None
    kernels = described(request.kernels)
    names = request.workloads
    if request.only_kernels:
        from gpureport.kernel_files import calibrating

        names = calibrating(kernels)
    workloads = (*selected(names, quick=request.quick and not earlier), *kernels)
    if earlier:
        workloads = earlier.planned(workloads)
    database = open_database(request.entries)
    with working_device(request.device, again) as measurer:
        present = measurer.device
        if request.only or not request.workloads:
            workloads = tuple(each for each in workloads if present.peers or not each.needs_peer)
        limits = run_limits(present, free_memory_bytes(present), quick=request.quick)
        match = database.match(present)
        note_override(database, match.entry_id)
        note_doubts(database, [match.device])
        plan = Plan(
            match=match,
            workloads=workloads,
            settings=SweepSettings(
                limits,
                budget_s=KEY_FIGURES_SWEEP_S[present.kind] if request.only else LONGEST_SWEEP_S,
                seed=request.seed,
                longest_point_s=longest_point_s(quick=request.quick),
            ),
            requested=document.RunSettings(
                quick=request.quick, seed=request.seed, workloads=separated(request.workloads), command=request.command
            ),
            with_power=not request.only_kernels
            and (POWER in separated(request.workloads) if request.workloads else not request.quick),
        )
        if earlier:
            earlier.refuse_changes(plan, present)
        if kernels:
            with ProgressBar("checking results") as bar:
                refuse_faulty(measurer, kernels, match.device, limits, bar)
        yield plan, measurer


def _measure(plan: Plan, measurer: Measurer, path: Path, earlier: Report | None) -> Report:
    note(f"Device: {plan.match.device.name} ({measurer.device.platform}). {sentence(plan.match.how)}")
    for remark in plan.match.notes:
        note(f"Note: {sentence(remark)}")
    note(_announcement(plan, path) if earlier is None else f"Continuing the run of {path}.")
    saver, saved = Saver(path), False

    def save(report: Report) -> None:
        nonlocal saved
        if is_stream(path) and report.status == "partial" and not report.stopped:
            return  # a stream cannot be overwritten by the next, more complete report
        if not saved and not is_stream(path):
            remove_files(*documents_of(path))
        saver(report)
        if not (saved or earlier or is_stream(path)):
            remove_files(_packed(path))  # only now: a report of this run exists
        saved = True

    try:
        with ProgressBar("predicting", lines=True) as bar:
            return run(plan, measurer, save, bar, earlier)
    except KeyboardInterrupt:
        state = "nothing was written"
        if saved:
            state = f"{path} is marked partial and contains the finished sweeps; --resume {path} continues the run"
        raise InterruptionError(f"interrupted; {state}") from None


def _announcement(plan: Plan, path: Path) -> str:
    """Say what a run will do, and about how long it takes."""
    device, limits = plan.match.device, plan.settings.limits
    sweeps = sum(len(each.sweeps(device, limits)) for each in plan.workloads)
    seconds = sweeps * _SWEEP_S[device.kind][limits.quick]
    time = f"{max(10, round(seconds, -1)):.0f} s" if seconds < _LONG_S else f"{seconds / 60:.0f} minutes"
    count = len(plan.workloads)
    if not count:
        return f"Reading power while kernels run takes about 10 s. Measurements are saved in {path}."
    what = f"{count} workload{'s' if count > 1 else ''} in {sweeps} sweep{'s' if sweeps > 1 else ''}"
    return f"Predicting and measuring {what} takes about {time}. Measurements are saved in {path}."


def _summarise(report: Report, path: Path) -> None:
    """Print findings, skipped workloads and other problems."""
    if nothing := _nothing_measured(report, path):
        note(f"gpureport: {nothing}")
    print_findings(report.findings)
    print_unexpected(report.explanations)
    print_energy(report.energy)
    for answer in answers(report, curves(report)):
        note(answer)
    print_advice(report.advice)
    wrong = wrong_results(report)
    for name, info in report.workloads.items():
        if info.skipped and name not in wrong:
            note(f"Skipped {name}: {sentence(info.skipped)}")
    for mismatch in mismatches(report):
        note(f"Compiled code moves a different number of bytes than the model assumes: {mismatch}")
    if load := load_sentences(report):
        note(f"Disturbed measurements: {load}")


def _nothing_measured(report: Report, path: Path) -> str:
    """Return the message of a run that measured nothing, with the first reason; else an empty text."""
    if report.status != "failed":
        return ""
    skipped = [f"{name}: {info.skipped}" for name, info in report.workloads.items() if info.skipped]
    first = f" The first reason: {sentence(skipped[0])}" if skipped else ""
    return (
        f"nothing was measured on {report.device.name}, and no HTML or PDF was written. All {len(report.workloads)} "
        f"workloads were skipped; {path} lists the reasons.{first}"
    )


def _close(report: Report, path: Path) -> int:
    """Report missing and wrong results, and return the exit code; raise if nothing was measured."""
    for problem in filter(None, (report.restarts(), report.failures(), report.gaps())):
        note(f"gpureport: {problem}")
    wrong = wrong_results(report)
    for name in wrong:
        note(f"gpureport: {name} gave wrong results and was not timed; the report shows them.")
    if nothing := _nothing_measured(report, path):
        raise GpuReportError(nothing)
    if report.stopped:
        raise GpuReportError(f"the device was lost and the run stopped: {report.stopped}; {path} is marked partial")
    return 1 if wrong else 0
