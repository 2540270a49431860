"""A progress bar on standard error; none where that is no terminal."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from gpureport.cli.console import err
from gpureport.workloads.model import Sweep, Workload


class ProgressBar:
    """Shows which sweep is measured and how many workloads are done. A context manager."""

    def __init__(self) -> None:
        console = err()
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._seen: list[str] = []

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def begin(self, workloads: Sequence[Workload]) -> None:
        """Set the number of workloads."""
        self._bar.update(self._task, total=len(workloads), description="predicted")

    def workload(self, workload: Workload, sweep: Sweep) -> None:
        """Name the sweep that starts."""
        if workload.name not in self._seen:
            self._seen.append(workload.name)
        self._bar.update(
            self._task,
            completed=len(self._seen) - 1,
            description=f"{workload.name}: {sweep.title}",
            refresh=True,
        )

    def advance(self, label: str) -> None:  # noqa: ARG002 - the spinner turns; a name that changes 100 times a second is noise
        """Turn the spinner."""
        self._bar.update(self._task)
