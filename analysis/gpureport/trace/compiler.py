"""OpenCL C to LLVM's code, by the clang of the ``ziglang`` package; its own header declares the language's types."""

import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import zip_longest
from pathlib import Path

from gpureport.data import data_dir
from gpureport.errors import GpuReportError, InputError
from gpureport.spec.uncertainty import sourced
from gpureport.trace.ir import Module

_VERSION = "-D__OPENCL_VERSION__=300"
"""That of the device, which drivers define."""
_FLAGS = shlex.split(
    f"{_VERSION} -x cl --target=spir64-unknown-unknown -nostdinc -S -emit-llvm -w -gline-tables-only "
    "-cl-kernel-arg-info -Xclang -fdeclare-opencl-builtins -Xclang -cl-ext=+all -Dnoinline= -D__noinline__= "
    "-fno-convergent-functions"
)
"""Barriers and functions of sub-groups stay convergent; others may be combined and moved, as drivers do."""
_OPTIMISED = shlex.split(
    "-O2 -mllvm -inline-threshold=1000000 -mllvm -unroll-threshold=600 -fno-vectorize -fno-slp-vectorize "
    "-mllvm -disable-loop-idiom-memset -mllvm -disable-loop-idiom-memcpy"
)
"""All functions become part of their kernels; loops of few constant iterations are unrolled, as drivers do."""
UNROLLED_PRIVATE = sourced("trace.compiler.UNROLLED_PRIVATE", int)
"""Size of unrolled loops, at most, in kernels with private arrays whose indices are not constant (LLVM's limit)."""
_OF_STORE = re.compile(r"(= load <[^!\n]*), !dbg !\d+$", re.M)
"""The load of a whole vector of which a part is stored: it has no access type. It gets no line."""
_TAKEN = re.compile(r"-(?:[DUI]|cl-(?!std)|cl-std=CL[23]|O|Xclang|disable-llvm-passes)")
_PREPROCESSOR = shlex.split(f"{_VERSION} -E -P -x cl -cl-no-stdinc -w --target=spir64-unknown-unknown")
_SECONDS = 120


class _RefusedError(InputError):
    """A source that does not compile."""


def compile_file(path: Path, options: str = "", *, variables: bool = False, restrict: bool = False) -> Module:
    """Compile a file of OpenCL C.

    Args:
        path: the file; its folder and ``kernels_cl`` are searched for included files.
        options: build options as for OpenCL; those of other compilers are left out. The language is that of
            ``-cl-std=CL2.0`` or ``CL3.0``; otherwise OpenCL C 1.2, as drivers compile, or else 2.0.
        variables: keep the program's variables in memory, without optimisation, to find out which are never set.
        restrict: compile as if all pointers to global memory had this qualifier.

    Raises:
        InputError: the file does not compile, with file, line and the compiler's message.
        GpuReportError: the compiler is not installed.
    """
    command = [*_FLAGS, *_found_in(path.parent), *_taken(options), "-o", "-", str(path)]
    if not (variables or restrict):
        return _with_unrolled(path, lambda flags: _translated([*command, *flags], path))
    plain = _translated([*command, "-O1", "-Xclang", "-disable-llvm-passes"], path)
    again = shlex.split("-x ir -S -emit-llvm -w -o - -")
    if restrict:
        kernels = re.compile(r"^define [^\n]*spir_kernel[^\n]*", re.M)
        alone = kernels.sub(lambda line: re.sub(r"ptr addrspace\(1\) (?!noalias)", r"\g<0>noalias ", line[0]), plain)
        return _with_unrolled(path, lambda flags: _clang([*flags, *again], path, alone))
    inlined = re.sub(
        r"^(attributes #\d+ = \{ )(?!.*alwaysinline)(?=.*frame-pointer)", r"\1alwaysinline ", plain, flags=re.M
    )
    return Module(path, _OF_STORE.sub(r"\1, !part", _clang(["-O0", *again], path, inlined)))


def _with_unrolled(path: Path, translated: Callable[[Sequence[str]], str]) -> Module:
    """Return what flags make of a file, and what more unrolling does, if there are private arrays."""
    found = Module(path, translated(_OPTIMISED))
    if private := [name for name, (_, body) in found.kernels.items() if "= alloca " in body]:
        more = ("-mllvm", f"-unroll-threshold={UNROLLED_PRIVATE}")
        found.unrolled = dict.fromkeys(private, Module(path, translated([*_OPTIMISED, *more])))
    return found


@cache
def preprocessed(text: str, folder: Path, options: str = "") -> str:
    """Return a source as the compiler sees it: without directives and comments, with included files."""
    return _translated([*_PREPROCESSOR, *_found_in(folder), *_taken(options), "-"], folder, text)


def _found_in(folder: Path) -> list[str]:
    return [f"-I{each}" for each in (data_dir("kernels_cl") / "trace", folder, data_dir("kernels_cl"))]


def _taken(options: str) -> list[str]:
    words = shlex.split(options)
    joined = [a + b if a in ("-D", "-I", "-U") else a for a, b in zip_longest(words, words[1:], fillvalue="")]
    return [word for word in joined if _TAKEN.match(word)]


def _translated(arguments: Sequence[str], path: Path, text: str | None = None) -> str:
    if any(each.startswith("-cl-std=") for each in arguments):
        return _clang(arguments, path, text)
    with suppress(_RefusedError):
        return _clang([*arguments, "-cl-std=CL1.2"], path, text)
    return _clang([*arguments, "-cl-std=CL2.0"], path, text)


def _clang(arguments: Sequence[str], path: Path, text: str | None = None) -> str:
    try:
        import ziglang
    except ImportError as error:
        raise GpuReportError(
            "executing kernels needs a compiler; install it with: pip install 'gpureport[trace]'"
        ) from error
    program = Path(ziglang.__file__).parent / "zig"
    command: list[str | Path] = [program, "clang", *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{path}: it does not compile within {_SECONDS} s") from None
    if done.returncode:
        raise _RefusedError(_complaint(done.stderr, path))
    return done.stdout


def _complaint(output: str, path: Path) -> str:
    found = re.search(r"^(.*?):(\d+):\d+: (?:fatal )?error: (.*?)(?: \[-W.*\])?$", output, re.M)
    if not found:
        return f"{path}: it does not compile: {output.strip()[:500]}"
    place, text = f"{found[1]}:{found[2]}", found[3]
    if not Path(found[1]).resolve().is_relative_to(path.parent.resolve()):
        return f"{place}: " + re.sub(r"'[^']*'", "'...'", text)  # of a file that need not be a source
    unknown = r".*(?:undeclared identifier '([A-Z][A-Z0-9_]*)'|unknown type name '(\w+)')"
    missing = re.findall(f"^{re.escape(found[1])}:{unknown}", output, re.M)
    macros = " ".join(dict.fromkeys(f"-D {name}=16" if name else f"-D {kind}=float" for name, kind in missing))
    advice = f"; if macros of the build are missing, define them, such as {macros}" if macros else ""
    advice = "; give its folder, such as -I include" if text.endswith("file not found") else advice
    return f"{place}: {text}{advice}"
