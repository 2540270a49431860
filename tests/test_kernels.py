"""Every shipped kernel against its NumPy reference: on the device here, under oclgrind, on Intel's runtime and rusticl.

The fast suite verifies one point of each kernel on the device of ``--device auto``, of those that it lacks on Intel's
runtime (sub-groups), and of a variant of each file under oclgrind.
"""

import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from platform import machine

import numpy as np
import pytest
from numpy.typing import NDArray

from gpureport.data import data_dir
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.runtimes import installed_runtimes
from gpureport.measure.kernels import verify
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Job, Parameters, Workload
from tests import sub_group_widths
from tests.kernel_runner import Outcome, few, outcomes
from tests.present import working

WORKLOADS = all_workloads()
FAMILIES = sorted({workload.family for workload in WORKLOADS})
ONE_OF_EACH_FILE = {workload.source: workload for workload in reversed(WORKLOADS)}.values()
OCLGRIND = {
    "OCLGRIND_CHECK_API": "1",
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNIFORM_WRITES": "1",
    "OCLGRIND_MAX_ERRORS": "1000000",  # it reports nothing after that number
    # The optimiser makes vector shuffles with undefined lanes, on which the check for uninitialised values crashes.
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",
    "OCLGRIND_NUM_THREADS": "1",
}
FAULTS = {
    "Invalid read": "to[i] = from[i + get_global_size(0)];",
    "Invalid write": "to[i] = from[i]; to[i + get_global_size(0)] = 1;",
    "Write-write data race": "to[i] = from[i]; to[0] = from[0];",
    "Read-write data race": "box[l] = from[i]; to[i] = box[l ^ 1];",
    "Uninitialized value": "uint none[2]; to[i] = from[i] + none[l & 1];",
    "divergence detected": "if (l & 1) barrier(CLK_LOCAL_MEM_FENCE); to[i] = from[i];",
}
FAULTY = """
kernel void copy(global const uint *from, global uint *to)
{{
    local uint box[8];
    const size_t i = get_global_id(0), l = get_local_id(0);
    box[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    {}
}}
"""

pytestmark = pytest.mark.xdist_group("opencl")
rusticl = pytest.mark.skipif(
    not any("rusticl" in runtime.library.lower() for runtime in installed_runtimes()),
    reason="Mesa's rusticl is not installed (Debian: mesa-opencl-icd)",
)
wheels = pytest.mark.skipif(
    (sys.platform, machine()) != ("linux", "x86_64"), reason="oclgrind and Intel's runtime have wheels for x86-64 only"
)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_results_equal_the_reference_and_a_wrong_one_is_noticed(
    backend: OpenCLBackend, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At odd sizes, after several dispatches; then one bit of the kernel's input is flipped."""
    _verified(backend, workload, few(workload), monkeypatch)
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


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_results_equal_the_reference_at_every_point(
    backend: OpenCLBackend, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    _verified(backend, workload, workload.verification(), monkeypatch)


def _verified(
    backend: OpenCLBackend, workload: Workload, points: Sequence[Parameters], monkeypatch: pytest.MonkeyPatch
) -> None:
    present = backend.device
    if reason := workload.missing(present):
        pytest.skip(reason)
    with monkeypatch.context() as patch:
        patch.setattr(type(workload), "verification", lambda _: points)
        verification = verify(backend, workload, np.random.default_rng(5))
    assert verification.passed, verification.message
    assert len(verification.cases) == len([p for p in points if not workload.unsupported(p, present)]) > 0


def _damaged(contents: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
    """Return *contents* with one bit of its first element flipped."""
    if contents is None:
        return None
    other = contents.copy()
    raw = other.reshape(-1).view(np.uint8)
    raw[0] ^= 1
    return other


def wide(workload: Workload) -> bool:
    """Return whether the source uses vectors of 16, or parts of vectors.

    Oclgrind treats the upper half of the former as uninitialised, and crashes on undefined lanes of the latter.
    """
    source = (data_dir("kernels_cl") / workload.source).read_text()
    return re.search(r"\b[a-z]+16\b|\.s[0-9a-f]{2,}\b", source) is not None


def under_oclgrind(workloads: Iterable[Workload], *, every: bool) -> dict[str, Outcome]:
    wides, others = ([w.name for w in workloads if wide(w) == which] for which in (True, False))
    return oclgrind(wides, {}, every=every) | oclgrind(others, {"OCLGRIND_UNINITIALIZED": "1"}, every=every)


def oclgrind(names: Sequence[str], more: Mapping[str, str], *, every: bool = True) -> dict[str, Outcome]:
    """Run workloads, or kernel files, under oclgrind with *more* settings."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**OCLGRIND, "OCLGRIND_LOG": f"{folder}/log", **more}
        return outcomes("Oclgrind", names, settings, every=every) if names else {}


def on_intel(workloads: Iterable[Workload], *, every: bool) -> dict[str, Outcome]:
    """Run workloads on Intel's OpenCL runtime for CPUs, a second compiler, with sub-groups, shuffles and ballots."""
    names = [workload.name for workload in workloads]
    return outcomes("Intel(R) OpenCL", names, {}, every=every) if names else {}


def check(found: Mapping[str, Outcome]) -> None:
    """Fail with the findings; what lacks a feature was not run."""
    assert {name: outcome.problems for name, outcome in found.items() if outcome.problems} == {}
    assert all(outcome.cases or outcome.missing for outcome in found.values())


@cache
def lacked_here() -> dict[str, Outcome]:
    """Run on Intel's runtime what the device of ``--device auto`` lacks."""
    present = working().device
    return on_intel([w for w in WORKLOADS if w.missing(present)], every=False)


@wheels
def test_kernels_that_the_device_lacks_run_on_intel() -> None:
    check(lacked_here())


@wheels
def test_oclgrind_finds_nothing_in_any_file() -> None:
    """Nor in what neither runtime runs. Only GPUs have matrix instructions."""
    lacking = {name for name, outcome in lacked_here().items() if outcome.missing}
    run = {*ONE_OF_EACH_FILE, *(workload for workload in WORKLOADS if workload.name in lacking)}
    found = under_oclgrind(sorted(run, key=lambda workload: workload.name), every=False)
    check(found)
    assert {name for name in lacking if found[name].missing} == {"matrix/rate"} & lacking
    assert len([outcome for outcome in found.values() if not outcome.missing]) >= 20


@wheels
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_oclgrind_finds_nothing_in_any_variant(family: str) -> None:
    """No access outside a buffer, race, uninitialised value or divergent barrier; correct results."""
    check(under_oclgrind([w for w in WORKLOADS if w.family == family], every=True))


@wheels
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_on_intel(family: str) -> None:
    check(on_intel([w for w in WORKLOADS if w.family == family], every=True))


@rusticl
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_right_on_rusticl(family: str) -> None:
    """Mesa's runtime, on its software renderer llvmpipe: a compiler of its own."""
    check(outcomes("rusticl", [w.name for w in WORKLOADS if w.family == family], {"RUSTICL_ENABLE": "llvmpipe"}))


@pytest.mark.slow
@pytest.mark.skipif(not sub_group_widths.LIBRARY.exists(), reason="Intel's runtime has a wheel for x86-64 only")
def test_sub_groups_of_every_width_are_right() -> None:
    """Lanes of narrow ones process several rows, wide ones several tiles."""
    assert sub_group_widths.problems() == dict.fromkeys((*sub_group_widths.CASES, sub_group_widths.CHAIN), "")


@wheels
@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=() if "Write-write" in each else pytest.mark.slow) for each in FAULTS]
)
def test_oclgrind_finds(fault: str, tmp_path: Path) -> None:
    source = tmp_path / "copy.cl"
    source.write_text(FAULTY.format(FAULTS[fault]))
    (outcome,) = oclgrind([str(source)], {"OCLGRIND_UNINITIALIZED": "1"}).values()
    assert fault in "\n".join(outcome.problems)


def test_a_crash_is_a_problem(tmp_path: Path) -> None:
    """A kernel that crashes the process is reported, and so are those after it."""
    source, other = str(tmp_path / "copy.cl"), "launch/groups"
    if working().device.kind != "cpu":
        pytest.skip("GPUs report the access instead of a crash")
    Path(source).write_text(FAULTY.format("to[i] = from[i]; *(global uint *)(to + (1ul << 40)) = 1;"))
    found = outcomes("auto", (other, source, other.replace("groups", "queued")), {})
    assert found.pop(other).problems == ()
    assert len(found) == 2
    assert all(outcome.problems[0].startswith("the process ended with -") for outcome in found.values())
