"""A progress bar on standard error; lines, or nothing, where that is no terminal."""

import sys
from types import TracebackType
from typing import Self

from rich.console import RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from gpureport.cli.console import err, note


class ProgressBar:
    """Shows what is being done and, once told, how much of its time has gone. A context manager."""

    def __init__(self, label: str, *, lines: bool = False) -> None:
        """Start with a *label*; *lines*: where there is no terminal, print a line a workload instead."""
        shown = sys.stderr.isatty()
        self._lines = lines and not shown
        self._workload = ""
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=16),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            console=err(),
            expand=True,
            disable=not shown,
            transient=True,
        )
        self._task = self._bar.add_task(label, total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def picture(self) -> RenderableType:
        """Return what the terminal shows."""
        return self._bar.get_renderable()

    def advance(self, label: str, done: float) -> None:
        """Show what is done, and which part of it."""
        self._bar.update(self._task, description=label, total=100, completed=round(100 * done))
        workload = label.partition(":")[0]
        if self._lines and workload != self._workload:
            self._workload = workload
            note(f"{workload} …")
