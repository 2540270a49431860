"""How long the stages of a run took."""

from collections import defaultdict
from collections.abc import Sequence

from gpureport.cli.tables import Row, print_table
from gpureport.records.report import Timing

_LONGEST = 10


def print_timings(timings: Sequence[Timing], rendering_s: float | None = None) -> None:
    """Print the seconds of each stage, and the slowest workloads; *rendering_s* is the time for HTML and PDF."""
    stages: dict[str, float] = defaultdict(float)
    workloads: dict[str, dict[str, float]] = defaultdict(dict)
    for timing in timings:
        stages[timing.stage] += timing.seconds
        if timing.workload:
            workloads[timing.workload][timing.stage] = timing.seconds
    if rendering_s is not None:
        stages["render"] = rendering_s
    longest = sorted(workloads, key=lambda name: -sum(workloads[name].values()))[:_LONGEST]
    rows: list[Row] = [(stage, f"{seconds:.1f} s", "") for stage, seconds in stages.items()]
    rows += [("total", f"{sum(stages.values()):.1f} s", ""), ("Slowest workloads",)]
    rows += [(name, f"{sum(workloads[name].values()):.1f} s", _parts(workloads[name])) for name in longest]
    print_table("Time by stage", ("stage or workload", "time", "by stage"), rows, right=(1,))


def _parts(stages: dict[str, float]) -> str:
    return ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in stages.items())
