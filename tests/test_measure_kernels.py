"""Compilation of a sweep's kernels before it is timed, and their results against references."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.measure.backends.common import LaunchId
from gpureport.measure.kernels import compile_sweep, difference, program_options, verify
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Job, Parameters, Sweep
from tests.fake_backend import PRESENT, CopyWorkload, FakeBackend


class Counted(CopyWorkload):
    """Records the points whose jobs were made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []

    def options(self, present: PresentDevice) -> str:
        return f"-DON_{present.kind.upper()}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        self.made.append(parameters["items"])
        return super().job(parameters, rng)


def test_options_of_the_point_precede_those_of_the_device() -> None:
    assert program_options(Counted(), {"items": 8, "local": 4}, PRESENT) == "-DLOCAL=4 -DON_GPU"
    assert program_options(CopyWorkload(), {"items": 8}, PRESENT) == "-DLOCAL=1"


def test_each_set_of_options_is_compiled_once_at_its_smallest_point() -> None:
    workload, backend = Counted(), FakeBackend()
    eight, four = workload.sweep(64, 32, 128, local=8), workload.sweep(256, 16, local=4)
    sweep = Sweep("both", workload.axis, (*eight.points, *four.points), "both")
    facts = compile_sweep(backend, workload, sweep)
    assert [fact.options if fact else "" for fact in facts] == ["-DLOCAL=8 -DON_GPU"] * 3 + ["-DLOCAL=4 -DON_GPU"] * 2
    assert sorted(workload.made) == [16, 32]
    assert sorted(backend.allocated) == [64, 64, 128, 128]
    assert not backend.buffers


def test_refused_builds_and_allocations_have_no_facts() -> None:
    workload = CopyWorkload()
    sweep = workload.sweep(64, local=8)
    assert compile_sweep(FakeBackend(refused_options="-DLOCAL=8"), workload, sweep) == (None,)
    assert compile_sweep(FakeBackend(memory_bytes=100), workload, sweep) == (None,)


class Launching(FakeBackend):
    """A device of some kind that counts its launches."""

    kind = "cpu"
    launches = 0

    @property
    def device(self) -> PresentDevice:
        return PRESENT.model_copy(update={"kind": self.kind})

    def run(self, launches: Sequence[LaunchId]) -> None:
        self.launches += len(launches)
        super().run(launches)


class Described(CopyWorkload):
    """A kernel of a user."""

    described = True


@pytest.mark.parametrize(
    ("kind", "workload", "launches"), [("cpu", CopyWorkload(), 1), ("gpu", CopyWorkload(), 0), ("cpu", Described(), 0)]
)
def test_a_kernel_runs_before_its_code_for_a_cpu_is_read(kind: str, workload: CopyWorkload, launches: int) -> None:
    backend = Launching()
    backend.kind = kind
    assert compile_sweep(backend, workload, workload.sweep(64, 128, local=8)) != (None, None)
    assert backend.launches == launches


def test_code_is_read_for_the_usual_work_group() -> None:
    """The smallest point may have a smaller one, for which compilers for CPUs unroll all loops."""
    workload, backend = Counted(), FakeBackend()
    least, others = workload.sweep(16, local=8), workload.sweep(32, 64, local=8)
    points = ({**least.points[0], "local": 4}, *others.points)
    workload.build_options = lambda parameters: ""  # type: ignore[method-assign] # noqa: ARG005
    compile_sweep(backend, workload, Sweep("sizes", workload.axis, points, "sizes"))
    assert workload.made == [32]


def test_right_results_pass_and_wrong_ones_are_reported() -> None:
    result = verify(FakeBackend(), CopyWorkload(), np.random.default_rng(0))
    assert result.passed
    assert result.cases == ("items = 7; 1 dispatch", "items = 187; 1 dispatch")
    assert result.message == ""
    backend = FakeBackend(wrong=True)
    result = verify(backend, CopyWorkload(), np.random.default_rng(0))
    assert not result.passed
    assert result.cases == ("items = 7; 1 dispatch",)
    assert result.message.startswith("items = 7; 1 dispatch: to: 1 of 7 elements differ, the first at 1: ")
    assert backend.buffers == {}


def test_equal_bit_by_bit() -> None:
    nan = np.array([np.nan, 1.0, -0.0], np.float32)
    assert difference(nan, nan.copy(), 0) is None
    assert difference(nan, np.array([np.nan, 1.0, 0.0], np.float32), 0) == (
        "1 of 3 elements differ, the first at 2: -0.0 instead of 0.0"
    )


def test_structures_are_compared_by_bytes() -> None:
    kind = np.dtype([("x", "f4"), ("y", "f4")])
    got, expected = np.zeros((2, 3), kind), np.zeros((2, 3), kind)
    assert difference(got, expected, 0) is None
    got["y"][1, 2] = 1
    assert str(difference(got, expected, 0)).startswith("1 of 6 elements differ, the first at 5")


@pytest.mark.parametrize(("got", "wrong"), [(1.0009, False), (1.0011, True), (np.nan, True), (np.inf, True)])
def test_a_tolerance_is_relative(got: float, *, wrong: bool) -> None:
    expected = np.array([1.0, 1.0])
    assert (difference(np.array([1.0, got]), expected, 1e-3) is not None) == wrong
    assert (difference(np.array([1e6, 1e6 * got]), 1e6 * expected, 1e-3) is not None) == wrong
    assert difference(np.array([np.inf, got]), np.array([np.inf, got]), 1e-3) is None
    assert difference(np.array([1.0, got]), np.array([-np.inf, got]), 1e-3) is not None


def test_small_values_may_have_the_error_of_large_values() -> None:
    assert difference(np.array([1000.0, 0.5]), np.array([1000.0, 0.0]), 1e-3) is None
    assert difference(np.array([1000.0, 0.8]), np.array([1000.0, 0.0]), 1e-3) is not None


@given(st.integers(0, 63), st.integers(0, 31))
def test_every_flipped_bit_is_found(element: int, bit: int) -> None:
    expected = np.arange(64, dtype=np.uint32)
    got = expected.copy()
    got[element] ^= np.uint32(1 << bit)
    assert str(difference(got, expected, 0)).startswith(f"1 of 64 elements differ, the first at {element}:")
