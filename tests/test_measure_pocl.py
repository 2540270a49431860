"""Finding the library that PoCL runs for a kernel: in synthetic folders, and with PoCL."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.pocl import KernelLibraries, provide_cache
from gpureport.measure.bench import Bench, Point
from gpureport.workloads.game_of_life.strips import BytesStrips, PackedStrips
from gpureport.workloads.memory.latency import PointerChase
from gpureport.workloads.model import Buffer, Dispatch, Limits, Workload
from tests.present import opened, working
from tests.toy import on_cpu


@pytest.mark.parametrize(
    ("variables", "writable", "kept"),
    [
        ({"HOME": "{}"}, True, True),
        ({"HOME": "{}"}, False, False),
        ({"HOME": "/proc/nowhere"}, True, False),
        ({"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "{}"}, True, True),
        ({"HOME": "{}", "XDG_CACHE_HOME": "/proc/nowhere"}, True, False),
        ({"HOME": "{}", "POCL_CACHE_DIR": "/proc/nowhere"}, True, False),
        ({}, False, False),  # the system's folder, which belongs to another user
    ],
)
def test_pocl_has_a_cache_that_can_be_written(
    variables: dict[str, str], writable: bool, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"):
        monkeypatch.setenv(name, variables.get(name, "").format(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: writable)
    before = os.environ["POCL_CACHE_DIR"]
    provide_cache()
    after = os.environ["POCL_CACHE_DIR"]
    assert (after == before) == kept
    assert kept or Path(after).is_dir()


class Process:
    """A cache folder of PoCL, and the list of files mapped into the process."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "ca che"
        self.maps = folder / "maps"
        self.maps.write_text("00400000-00452000 r-xp 00000000 08:02 173521 [stack]\n")

    def load(self, program: str, kernel: str, size: str) -> None:
        library = self.cache / program / kernel / size / f"{kernel}.so"
        library.parent.mkdir(parents=True)
        library.write_text(f"{program} {size}")
        with self.maps.open("a") as maps:
            maps.write(f"7f0000-7f1000 r-xp 00001000 08:02 {len(program)}          {library}\n")


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_a_library_loaded_by_a_launch_belongs_to_its_program(process: Process) -> None:
    libraries = KernelLibraries(process.maps)
    assert libraries.read("a", "step", (64,)) == b""
    process.load("AA/X", "step", "64-1-1-goffs0")
    libraries.note("a", "step", (64,))
    process.load("BB/Y", "step", "64-1-1-goffs0")
    process.load("BB/Y", "step", "8-8-1")
    libraries.note("b", "step", (64,))
    assert libraries.read("a", "step", (64,)) == b"AA/X 64-1-1-goffs0"
    assert libraries.read("b", "step", (64,)) == b"BB/Y 64-1-1-goffs0"
    assert libraries.read("b", "step", (8, 8)) == b"BB/Y 8-8-1"
    assert libraries.read("b", "step", (6,)) == b""
    assert libraries.read("b", "copy", (64,)) == b""


def test_the_newest_of_several_libraries_of_a_size_is_read(process: Process) -> None:
    process.load("AA/X", "step", "64-1-1-goffs0")
    process.load("AA/X", "step", "64-1-1-goffs0-smallgrid")
    os.utime(process.cache / "AA/X/step/64-1-1-goffs0/step.so", (0, 0))
    libraries = KernelLibraries(process.maps)
    libraries.note("a", "step", (64, 1, 1))
    assert libraries.read("a", "step", (64, 1, 1)) == b"AA/X 64-1-1-goffs0-smallgrid"


def test_an_ambiguous_library_is_not_read_and_a_system_without_maps_has_none(process: Process) -> None:
    process.load("AA/X", "step", "64-1-1")
    process.load("BB/Y", "step", "64-1-1")
    for maps in (process.maps, process.maps.with_name("absent")):
        libraries = KernelLibraries(maps)
        libraries.note("a", "step", (64,))
        assert libraries.read("a", "step", (64,)) == b""


pytestmark = pytest.mark.xdist_group("opencl")
SOURCE = """
kernel void twice(global const float *restrict from, global float *restrict to)
{
    const size_t i = get_global_id(0);
    to[i] = 2.0f * from[i] + ADDED;
}
"""


@pytest.fixture
def backend() -> Iterator[OpenCLBackend]:
    candidate = working()
    if not candidate.device.platform.startswith("Portable"):
        pytest.skip("the device here is not PoCL's")
    backend = opened(candidate)
    yield backend
    backend.clear()


def test_pocl_code_is_read_after_the_first_launch(backend: OpenCLBackend, tmp_path: Path) -> None:
    source = tmp_path / "twice.cl"
    source.write_text(SOURCE)
    buffers = {name: backend.allocate(Buffer(4096, np.ones(1024, np.float32))) for name in ("from", "to")}
    launches = [
        backend.prepare(
            backend.build(str(source), options), Dispatch("twice", (1024,), (256,), ("from", "to")), buffers
        )
        for options in ("-DADDED=1.0f", "-DADDED=from[i]*from[i]*from[i]")
    ]
    assert backend.compilation(launches[0]).code is None
    backend.run(launches[:1])
    backend.time([], launches[1:])
    simple, longer = (backend.compilation(launch).code for launch in launches)
    assert simple is not None
    assert longer is not None
    assert simple.vectorised is True
    assert simple.vector_loops or simple.global_loads  # a group of 256 may be unrolled
    assert longer.counts["vector arithmetic"] > simple.counts["vector arithmetic"]


@pytest.mark.parametrize(
    ("workload", "vectorised"),
    [(BytesStrips(), True), (PackedStrips(), True), (PointerChase(), False)],
    ids=lambda value: getattr(value, "variant", ""),
)
def test_the_fastest_kernels_are_vectors_on_a_processor(
    backend: OpenCLBackend, workload: Workload, vectorised: bool
) -> None:
    """Every loop of the strips; a chain of dependent loads, which cannot be vectorised, is the counterexample."""
    limits = Limits(max_bytes=2**26, max_buffer_bytes=2**25, max_work_group=backend.device.max_work_group)
    sweep = workload.sweeps(on_cpu(), limits)[0]
    point = Point(workload, workload.point(sweep.points[len(sweep.points) // 2], sweep), 0)
    bench = Bench(backend, limits)
    bench.run(point, 1)
    for compilation in bench.compilations(point):
        assert compilation.code is not None
        assert compilation.code.vectorised is vectorised
        assert (compilation.code.vector_loops > 0, compilation.code.scalar_loops == 0) == (vectorised, vectorised)
