"""Every shipped kernel against its NumPy reference, on a real OpenCL runtime."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.limits import features
from gpureport.measure.verify import verify
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Job, Parameters, Workload


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda workload: workload.name)
def test_results_equal_the_reference(backend: OpenCLBackend, workload: Workload) -> None:
    """At odd sizes, after several dispatches."""
    reason = workload.missing(features(backend.device))
    if reason:
        pytest.skip(reason)

    verification = verify(backend, workload, np.random.default_rng(5))

    assert verification.passed, verification.message
    supported = [p for p in workload.verification() if not workload.unsupported(p, features(backend.device))]
    assert len(verification.cases) == len(supported)


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda workload: workload.name)
def test_a_wrong_result_is_noticed(backend: OpenCLBackend, workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of the kernel's input is flipped: the check must fail."""
    if workload.missing(features(backend.device)):
        pytest.skip("not on this device")
    make, reference = workload.verification_job, workload.expected

    def damaged(_: Workload, parameters: Parameters, rng: np.random.Generator) -> Job:
        job = make(parameters, rng)
        buffers = {name: replace(buffer, contents=_damaged(buffer.contents)) for name, buffer in job.buffers.items()}
        return replace(job, buffers=buffers)

    def undamaged(_: Workload, parameters: Parameters, __: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        return reference(parameters, make(parameters, np.random.default_rng(6)), dispatches)

    monkeypatch.setattr(type(workload), "verification_job", damaged)
    monkeypatch.setattr(type(workload), "expected", undamaged)

    verification = verify(backend, workload, np.random.default_rng(6))

    assert not verification.passed
    assert "differ" in verification.message


def _damaged(contents: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
    """Return *contents* with one bit of its first element flipped."""
    if contents is None:
        return None
    other = contents.copy()
    raw = other.reshape(-1).view(np.uint8)
    raw[0] ^= 1
    return other
