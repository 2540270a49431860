"""What the compiler makes of a sweep's kernels, before any of them is timed."""

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure.backend import Backend
from gpureport.measure.verify import build_options
from gpureport.records import Compilation
from gpureport.workloads.model import Buffer, Features, Job, Sweep, Workload


def compile_sweep(
    backend: Backend, workload: Workload, sweep: Sweep, features: Features
) -> tuple[Compilation | None, ...]:
    """Build what the sweep needs and return, for each of its points, the facts of the point's first kernel.

    Registers do not depend on sizes, so each set of build options is asked about once. Builds are kept: measuring
    does not build again. ``None`` where the compiler or the device refused; measuring will say why.
    """
    facts: dict[str, Compilation | None] = {}
    options = []
    for parameters in sweep.points:
        job = workload.job(parameters, np.random.default_rng(0))
        options.append(job.options)
        if job.options not in facts:
            facts[job.options] = _compile(backend, workload, job, features)
    return tuple(facts[option] for option in options)


def _compile(backend: Backend, workload: Workload, job: Job, features: Features) -> Compilation | None:
    try:
        program = backend.build(workload.source, build_options(workload, job, features))
        buffers = {name: backend.allocate(Buffer(buffer.nbytes)) for name, buffer in job.buffers.items()}
        return backend.compilation(backend.prepare(program, job.dispatches[0], buffers))
    except DeviceError:
        return None
    finally:
        backend.clear()
