"""The kernels of a workload before any of them is timed: how they are built, the compiler's facts, their results."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import Backend
from gpureport.records.measurement import Compilation, Verification
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Buffer, Parameters, Sweep, Transfer, Workload

_GUARD_BYTES = 2**12
"""Behind each buffer of a kernel of the user while its results are checked."""


def program_options(workload: Workload, parameters: Parameters, present: PresentDevice) -> str:
    """Return all build options of a point: its own, then those that the device requires."""
    return f"{workload.build_options(parameters)} {workload.options(present)}".strip()


def programs(workload: Workload, sweeps: Sequence[Sweep], present: PresentDevice) -> Iterator[tuple[str, str]]:
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
    present = backend.device
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

    It runs once, untimed, on a CPU: its code exists only then. Kernels of users do not: they may take minutes.
    """
    launched = backend.device.on_host and not workload.described
    try:
        program = backend.build(workload.source, options)
        job = workload.job(parameters, np.random.default_rng(0))
        if isinstance(job.dispatches[0], Transfer):
            return None
        contents = job.buffers if launched else {name: Buffer(each.nbytes) for name, each in job.buffers.items()}
        buffers = {name: backend.allocate(each) for name, each in contents.items()}
        launch = backend.prepare(program, job.dispatches[0], buffers)
        if launched:
            backend.run([*(backend.prepare(program, each, buffers) for each in (*job.once, *job.before)), launch])
        return backend.compilation(launch)
    except DeviceError:
        return None
    finally:
        backend.clear()


def verify(
    backend: Backend,
    workload: Workload,
    rng: np.random.Generator,
    next_case: Callable[[], None] = lambda: None,
    sweeps: Sequence[Sweep] | None = None,
) -> Verification:
    """Run the workload's verification points and compare the contents of their buffers with NumPy's results.

    *next_case* is called before each point. Points that the device does not support are left out, and those that
    concern none of *sweeps*, if these are given.

    Raises:
        DeviceError: a kernel does not build, there is no memory, or a launch fails.
    """
    cases, dispatches = [], workload.verification_dispatches
    present = backend.device
    for parameters in workload.verification() if sweeps is None else workload.to_verify(sweeps):
        if workload.unsupported(parameters, present):
            continue
        next_case()
        listed = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        cases.append(f"{listed}; {dispatches} dispatch{'es' if dispatches > 1 else ''}")
        if (problem := _check(backend, workload, parameters, rng)) is not None:
            return Verification(passed=False, cases=tuple(cases), message=f"{cases[-1]}: {problem}")
    return Verification(passed=True, cases=tuple(cases))


def _check(backend: Backend, workload: Workload, parameters: Parameters, rng: np.random.Generator) -> str | None:
    job = workload.verification_job(parameters, rng)
    # A simulator finds faulty accesses itself, unless memory follows the buffers.
    guarded = _with_guards(job.buffers, rng) if workload.described and not backend.device.is_software else {}
    program = backend.build(workload.source, program_options(workload, parameters, backend.device))
    try:
        buffers = {name: backend.allocate(buffer) for name, buffer in {**job.buffers, **guarded}.items()}
        launches = [backend.prepare(program, dispatch, buffers) for dispatch in job.dispatches]
        before = [backend.prepare(program, dispatch, buffers) for dispatch in (*job.once, *job.before)]
        backend.run([*before, *islice(cycle(launches), workload.verification_dispatches)])
        for name, expected in workload.expected(parameters, job, workload.verification_dispatches).items():
            got = backend.read(buffers[name], expected.nbytes).view(expected.dtype)
            if (problem := difference(got, expected, workload.tolerance)) is not None:
                return f"{name}: {problem}"
        checked = ((name, _overrun(backend.read(buffers[name], each.nbytes), each)) for name, each in guarded.items())
        return next((f"{name}: {problem}" for name, problem in checked if problem), None)
    finally:
        backend.clear()


def _with_guards(buffers: Mapping[str, Buffer], rng: np.random.Generator) -> dict[str, Buffer]:
    """Return each buffer followed by random bytes, which no work-item may change."""
    guarded = {}
    for name, each in buffers.items():
        own = each.filled().view(np.uint8) if each.contents is not None else np.zeros(each.nbytes, np.uint8)
        contents = np.concatenate([own, rng.integers(0, 256, _GUARD_BYTES, dtype=np.uint8)])
        guarded[name] = replace(each, nbytes=contents.nbytes, contents=contents)
    return guarded


def _overrun(got: NDArray[np.uint8], guarded: Buffer) -> str | None:
    """Say where the guard zone of a buffer was changed; ``None`` if it was not."""
    end = guarded.nbytes - _GUARD_BYTES
    if not (stored := np.flatnonzero(got[end:] != guarded.filled()[end:])).size:
        return None
    return f"the kernel stores beyond the end of this buffer of {end} bytes, first at byte {end + stored[0]}"


def difference(got: NDArray[np.generic], expected: NDArray[np.generic], tolerance: float) -> str | None:
    """Describe how *got* differs from *expected*, of the same type and shape; ``None`` if it does not.

    With *tolerance* 0 they must be equal bit by bit. Otherwise it is the largest permitted difference, relative to the
    value or to the array's root mean square, whichever is larger: after cancellation, small values have the error of
    large ones. Infinities and NaN must be the same.
    """
    got, expected = got.ravel(), expected.ravel()
    left, right = (np.ascontiguousarray(a).view(np.uint8).reshape(a.size, a.itemsize) for a in (got, expected))
    wrong = np.flatnonzero(_far(got, expected, tolerance) if tolerance else (left != right).any(axis=1))
    if not wrong.size:
        return None
    first = int(wrong[0])
    return (
        f"{wrong.size} of {expected.size} elements differ, "
        f"the first at {first}: {got[first]} instead of {expected[first]}"
    )


def _far(got: NDArray[np.generic], expected: NDArray[np.generic], tolerance: float) -> NDArray[np.bool_]:
    value, reference = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(reference)
    scale = np.maximum(np.abs(reference), np.sqrt(np.mean(reference**2, where=finite)) if finite.any() else 0.0)
    with np.errstate(invalid="ignore"):
        near = finite & (np.abs(value - reference) <= tolerance * scale)  # no NaN
    return np.asarray(~(near | (value == reference) | (np.isnan(value) & np.isnan(reference))))
