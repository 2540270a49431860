"""The compiler's facts about a sweep's kernels, before any of them is timed."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.limits import features
from gpureport.records.measurement import Compilation
from gpureport.workloads.model import Buffer, Features, Parameters, Sweep, Transfer, Workload


def program_options(workload: Workload, parameters: Parameters, present: Features) -> str:
    """Return all build options of a point: its own, then those that the device requires."""
    return f"{workload.build_options(parameters)} {workload.options(present)}".strip()


def programs(workload: Workload, sweeps: Sequence[Sweep], present: Features) -> Iterator[tuple[str, str]]:
    """Yield source and options of every program that verifying and measuring a workload may build."""
    if workload.missing(present):
        return
    points = (parameters for sweep in sweeps for parameters in sweep.points)
    for parameters in (*workload.to_verify(sweeps), *points):
        if not workload.unsupported(parameters, present):
            yield workload.source, program_options(workload, parameters, present)


def compile_sweep(backend: Backend, workload: Workload, sweep: Sweep) -> tuple[Compilation | None, ...]:
    """Build the sweep's programs and return, for each point, the compiler's facts about the point's first kernel.

    Registers do not depend on sizes, so each set of build options is compiled once, at its smallest point with the most
    frequent work-group of the sweep: code for CPUs depends on the work-group. Builds are cached: measuring does not
    build again. ``None`` if the compiler or the device refused; measuring reports why.
    """
    present = features(backend.device)
    options = [program_options(workload, parameters, present) for parameters in sweep.points]
    usual = Counter(map(_work_group, sweep.points)).most_common(1)[0][0] if sweep.points else ()
    smallest: dict[str, Parameters] = {}
    for each, parameters in sorted(
        zip(options, sweep.points, strict=True),
        key=lambda pair: (_work_group(pair[1]) != usual, workload.point(pair[1], sweep).working_set_bytes),
    ):
        smallest.setdefault(each, parameters)
    facts = {
        each: None if workload.unsupported(parameters, present) else _compile(backend, workload, parameters, each)
        for each, parameters in smallest.items()
    }
    return tuple(facts[each] for each in options)


def _work_group(parameters: Parameters) -> tuple[int, ...]:
    return tuple(value for name, value in parameters.items() if name.startswith("local"))


def _compile(backend: Backend, workload: Workload, parameters: Parameters, options: str) -> Compilation | None:
    """Return the facts about a point's first kernel.

    On a CPU it runs once, untimed: PoCL has its code only then. Kernels of users do not: they may take minutes.
    """
    launched = backend.device.is_cpu and not workload.described
    try:
        program = backend.build(workload.source, options)
        job = workload.job(parameters, np.random.default_rng(0))
        if isinstance(job.dispatches[0], Transfer):
            return None
        contents = job.buffers if launched else {name: Buffer(each.nbytes) for name, each in job.buffers.items()}
        buffers = {name: backend.allocate(each) for name, each in contents.items()}
        launch = backend.prepare(program, job.dispatches[0], buffers)
        if launched:
            backend.run([*(backend.prepare(program, each, buffers) for each in job.before), launch])
        return backend.compilation(launch)
    except DeviceError:
        return None
    finally:
        backend.clear()
