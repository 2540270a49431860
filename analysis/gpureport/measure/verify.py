"""Verification: before anything is timed, the kernels' results are compared with NumPy's."""

from collections.abc import Callable, Sequence
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray

from gpureport.measure.backends.protocol import Backend
from gpureport.measure.compiling import program_options
from gpureport.measure.limits import features
from gpureport.records.measurement import Verification
from gpureport.workloads.model import Parameters, Sweep, Workload


def verify(
    backend: Backend,
    workload: Workload,
    rng: np.random.Generator,
    next_case: Callable[[], None] = lambda: None,
    sweeps: Sequence[Sweep] | None = None,
) -> Verification:
    """Run the workload's verification points and compare the contents of their buffers with the reference.

    *next_case* is called before each point. Points that the device does not support are left out, and those that
    concern none of *sweeps*, if these are given.

    Raises:
        DeviceError: a kernel does not build, there is no memory, or a launch fails.
    """
    cases = []
    present = features(backend.device)
    for parameters in workload.verification() if sweeps is None else workload.to_verify(sweeps):
        if workload.unsupported(parameters, present):
            continue
        next_case()
        cases.append(_case(parameters, workload.verification_dispatches))
        problem = _check(backend, workload, parameters, rng)
        if problem is not None:
            return Verification(passed=False, cases=tuple(cases), message=f"{cases[-1]}: {problem}")
    return Verification(passed=True, cases=tuple(cases))


def difference(got: NDArray[np.generic], expected: NDArray[np.generic], tolerance: float) -> str | None:
    """Describe how *got* differs from *expected*; ``None`` if it does not.

    Args:
        got: results, of the type and shape of *expected*.
        expected: the reference.
        tolerance: 0: equal bit by bit. Otherwise the largest permitted difference, relative to the value or to the
            array's root mean square, whichever is larger: after cancellation, small values have the error of large
            ones.
    """
    got, expected = got.ravel(), expected.ravel()
    wrong = np.flatnonzero(_unequal(got, expected) if tolerance == 0 else _far(got, expected, tolerance))
    if not wrong.size:
        return None
    first = int(wrong[0])
    return (
        f"{wrong.size} of {expected.size} elements differ, "
        f"the first at {first}: {got[first]} instead of {expected[first]}"
    )


def _unequal(got: NDArray[np.generic], expected: NDArray[np.generic]) -> NDArray[np.bool_]:
    left, right = (np.ascontiguousarray(a).view(np.uint8).reshape(a.size, a.itemsize) for a in (got, expected))
    return np.asarray((left != right).any(axis=1))


def _far(got: NDArray[np.generic], expected: NDArray[np.generic], tolerance: float) -> NDArray[np.bool_]:
    value, reference = got.astype(np.float64), expected.astype(np.float64)
    scale = np.maximum(np.abs(reference), np.sqrt(np.mean(reference**2)))
    return np.asarray(~(np.abs(value - reference) <= tolerance * scale))  # so that NaN counts as wrong


def _check(backend: Backend, workload: Workload, parameters: Parameters, rng: np.random.Generator) -> str | None:
    job = workload.verification_job(parameters, rng)
    program = backend.build(workload.source, program_options(workload, parameters, features(backend.device)))
    try:
        buffers = {name: backend.allocate(buffer) for name, buffer in job.buffers.items()}
        launches = [backend.prepare(program, dispatch, buffers) for dispatch in job.dispatches]
        before = [backend.prepare(program, dispatch, buffers) for dispatch in job.before]
        backend.run([*before, *islice(cycle(launches), workload.verification_dispatches)])
        for name, expected in workload.expected(parameters, job, workload.verification_dispatches).items():
            got = backend.read(buffers[name], expected.nbytes).view(expected.dtype)
            problem = difference(got, expected, workload.tolerance)
            if problem is not None:
                return f"{name}: {problem}"
        return None
    finally:
        backend.clear()


def _case(parameters: Parameters, dispatches: int) -> str:
    listed = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return f"{listed}; {dispatches} dispatch{'es' if dispatches > 1 else ''}"
