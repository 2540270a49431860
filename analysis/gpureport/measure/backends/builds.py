"""Compiler logs of programs that other processes build for one that measures.

These processes share the driver's store of programs, so that builds do not delay kernels: one lock of the driver would
make launches wait for compilers. Drivers give no log of a program from their store.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_WAIT_S, _POLL_S = 2.0, 0.001
_END = "\n\0"


class BuildLogs(NamedTuple):
    """Logs by source and options, as files of a folder. A file is empty until the build has ended."""

    folder: Path

    def _file(self, source: str, options: str) -> Path:
        return self.folder / f"{hashlib.sha256(repr((source, options)).encode()).hexdigest()[:32]}.log"

    @contextmanager
    def written(self, source: str, options: str) -> Iterator[list[str]]:
        """Yield a list for the parts of a log, which is written at the end, also if the build fails."""
        file, parts = self._file(source, options), list[str]()
        file.touch()
        try:
            yield parts
        finally:
            file.write_text(f"{''.join(parts)}{_END}", encoding="utf-8")  # not in a folder that was removed

    def read(self, source: str, options: str) -> str:
        """Return the log of a program that another process began to build; empty if none did or it takes too long."""
        file, until = self._file(source, options), time.monotonic() + _WAIT_S
        while file.exists() and time.monotonic() < until:
            if (text := file.read_text(encoding="utf-8", errors="replace")).endswith(_END):  # else a part of it
                return text.removesuffix(_END)
            time.sleep(_POLL_S)
        return ""
