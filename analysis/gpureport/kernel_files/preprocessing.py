"""What the preprocessor leaves of OpenCL C: the kernels that a compiler sees with given macros."""

import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:if|include|define)", re.MULTILINE)
_MARKER = re.compile(r'#\s+(\d+)\s+"(.*?)"')
_CLANG = ("-m", "ziglang", "clang", "-E", "-x", "cl", "-cl-std=CL2.0", "-cl-no-stdinc", "-w")
_LIMIT_S = 20.0
EVALUATE = "install gpureport[trace], whose compiler evaluates the conditions of the preprocessor"


@cache
def preprocessed(text: str, folder: Path, options: str = "") -> str:
    """Return a source without directives, in which everything keeps its line.

    Unchanged without the compiler of the extra ``trace``, or if the preprocessor reports an error: a driver may define
    other macros.

    Args:
        text: the source.
        folder: of included files.
        options: build options, of which those for macros and folders are used.
    """
    if find_spec("ziglang") is None or not (_DIRECTIVE.search(text) or "-D" in options):
        return text
    used = [each for each in shlex.split(options) if each.startswith(("-D", "-U", "-I"))]
    command = [sys.executable, *_CLANG, "--target=spir64-unknown-unknown", f"-I{folder}", *used, "-"]
    try:
        found = subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, text=True, timeout=_LIMIT_S, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return text
    return _by_line(found.stdout)


def _by_line(output: str) -> str:
    """Return the output of the preprocessor by lines of its input. An included file is in the line that includes it."""
    lines, line, inside = dict[int, str](), 1, True
    for each in output.splitlines():
        if marker := _MARKER.match(each):
            inside = marker[2] == "<stdin>"
            line = int(marker[1]) if inside else line
        else:
            lines[line] = f"{lines.get(line, '')} {each}" if line in lines else each
            line += inside
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))
