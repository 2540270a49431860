"""A progress bar on standard error; without a terminal lines, or nothing."""

import sys
from types import TracebackType
from typing import Self

from rich.console import RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from gpureport.cli.console import err, note


class ProgressBar:
    """A context manager that shows the current task and its progress."""

    def __init__(self, label: str, *, lines: bool = False) -> None:
        """Start with a *label*; with *lines*, print a line per workload if there is no terminal."""
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
        """Remove the bar."""
        self._bar.stop()

    def picture(self) -> RenderableType:
        """Return the displayed bar."""
        return self._bar.get_renderable()

    def advance(self, label: str, done: float) -> None:
        """Show the current task, and the completed share (0 to 1)."""
        self._bar.update(self._task, description=label, total=100, completed=round(100 * done))
        workload = label.partition(":")[0]
        if self._lines and workload != self._workload:
            self._workload = workload
            note(f"{workload} …")
