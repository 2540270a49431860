"""Every shipped kernel under oclgrind (memory, races, barriers), and on Intel's CPU runtime (sub-groups)."""

import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from platform import machine

import pytest

from gpureport.data import data_dir
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Workload
from tests.kernel_runner import Outcome, outcomes

WORKLOADS = all_workloads()
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

pytestmark = pytest.mark.skipif(
    (sys.platform, machine()) != ("linux", "x86_64"), reason="oclgrind and Intel's runtime have wheels for x86-64 only"
)


def wide(workload: Workload) -> bool:
    """Return whether the source uses vectors of 16, or parts of vectors.

    Oclgrind treats the upper half of the former as uninitialised, and crashes on undefined lanes of the latter.
    """
    source = (data_dir("kernels_cl") / workload.source).read_text()
    return re.search(r"\b[a-z]+16\b|\.s[0-9a-f]{2,}\b", source) is not None


def members(family: str) -> list[Workload]:
    """Return the variants of a family."""
    return [workload for workload in WORKLOADS if workload.family == family]


@cache
def under_oclgrind(family: str) -> dict[str, Outcome]:
    """Run a family under the checks of oclgrind."""
    wides, others = ([w.name for w in members(family) if wide(w) == which] for which in (True, False))
    return oclgrind(wides, {}) | oclgrind(others, {"OCLGRIND_UNINITIALIZED": "1"})


def oclgrind(names: Sequence[str], more: Mapping[str, str]) -> dict[str, Outcome]:
    """Run workloads, or kernel files, under oclgrind with *more* settings."""
    with tempfile.TemporaryDirectory() as folder:
        return outcomes("Oclgrind", names, {**OCLGRIND, "OCLGRIND_LOG": f"{folder}/log", **more}) if names else {}


@cache
def on_intel(family: str) -> dict[str, Outcome]:
    """Run a family on Intel's OpenCL runtime for CPUs."""
    return outcomes("Intel(R) OpenCL", [w.name for w in members(family)], {})


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_oclgrind_finds_nothing(workload: Workload) -> None:
    """No access outside a buffer, race, uninitialised value or divergent barrier; correct results."""
    check(under_oclgrind, workload)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_results_are_right_on_intel(workload: Workload) -> None:
    """A second compiler, with sub-groups, shuffles and ballots."""
    check(on_intel, workload)


def check(tool: Callable[[str], dict[str, Outcome]], workload: Workload) -> None:
    """Fail with the tool's findings; skip if it lacks a feature."""
    outcome = tool(workload.family)[workload.name]
    if outcome.missing:
        pytest.skip(outcome.missing)
    assert outcome.problems == (), "\n".join(outcome.problems)
    assert outcome.cases > 0


def test_every_variant_runs_somewhere() -> None:
    """Intel's runtime runs the workloads that oclgrind cannot (sub-groups); only GPUs have matrix instructions.

    Copies between two devices run in ``tests/test_transfers_devices.py``.
    """
    nowhere = {w.name for w in WORKLOADS if all(t(w.family)[w.name].missing for t in (under_oclgrind, on_intel))}
    assert nowhere == {"matrix/rate", "transfer/devices"}


@pytest.mark.parametrize("fault", FAULTS)
def test_oclgrind_finds(fault: str, tmp_path: Path) -> None:
    """One fault of each kind must be found."""
    source = tmp_path / "copy.cl"
    source.write_text(FAULTY.format(FAULTS[fault]))
    (outcome,) = oclgrind([str(source)], {"OCLGRIND_UNINITIALIZED": "1"}).values()
    assert fault in "\n".join(outcome.problems)


def test_a_crash_is_a_problem(tmp_path: Path) -> None:
    """A kernel that crashes the process is reported, and so are those after it."""
    source, other = str(tmp_path / "copy.cl"), "launch/groups"
    Path(source).write_text(FAULTY.format("to[i] = from[i]; *(global uint *)(to + (1ul << 40)) = 1;"))
    found = outcomes("auto", (other, source, other.replace("groups", "queued")), {})
    assert found.pop(other).problems == ()
    assert len(found) == 2
    assert all(outcome.problems[0].startswith("the process ended with -") for outcome in found.values())


def test_a_platform_that_does_not_come_up_is_a_problem() -> None:
    """Every workload has the reason."""
    (outcome,) = outcomes("Nobody's OpenCL", ("launch/groups",), {}).values()
    assert "StopIteration" in outcome.problems[0]
