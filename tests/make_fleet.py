"""Runs of a fleet of known truth: copies of a synthetic run that are faster or slower by a known amount."""

from pathlib import Path

import numpy as np
import pandas as pd

from gpureport.fleet.reading import read_run
from gpureport.fleet.store import Row, Store, StoredRun
from gpureport.records.report import Report, save_report
from tests.make_report import make_report

REPORT = make_report(only=("game_of_life",))
HOSTILE = '<script>alert("x")</script>'


def saved(folder: Path, report: Report) -> Path:
    """Save *report* to *folder*, and return this."""
    save_report(report, folder / "report.json")
    return folder


def a_run(folder: Path) -> StoredRun:
    """The synthetic run as rows."""
    return read_run(saved(folder, REPORT), "node1")


def varied(run: StoredRun, name: str, node: str, day: int, log_speed: float, **facts: str | float | None) -> StoredRun:
    """Return a run with other ids whose points and key figures are faster by *log_speed*."""
    rng = np.random.default_rng([ord(letter) for letter in name])

    def changed(row: Row) -> Row:
        factor = np.exp(log_speed + rng.normal(0, 0.001)) ** (-1 if row["unit"] == "s" else 1)
        assert isinstance(row["measured"], float)
        return {**row, "run": name, "measured": row["measured"] * factor}

    (first,) = run["runs"]
    created = pd.Timestamp(2026, 11, day, 10).to_pydatetime()
    own: Row = {**first, "run": name, "node": node, "created_at": created, **facts}
    return {
        "runs": (own,),
        "key_figures": tuple(changed(row) for row in run["key_figures"] if "measured" in row),
        "points": tuple(map(changed, run["points"])),
    }


def eight_nodes(run: StoredRun, folder: Path) -> Store:
    """Eight nodes on six days: one slower by 6 % since the fourth day, with a hostile name; all slower on the third."""
    for day in range(1, 7):
        for node in range(8):
            slow = -0.06 if node == 3 and day >= 4 else 0.0
            slow += -0.04 if day == 3 else 0.0
            name = HOSTILE if node == 3 else f"node{node}"
            facts = {"power_limit": "500 W" if slow < -0.05 else "700 W", "driver": "2" if day == 3 else "1"}
            facts["uuid"] = f"GPU-{node}{'-other' if slow < -0.05 else ''}"
            Store(folder).add(varied(run, f"run{node}on{day}", name, day, slow, **facts))
    return Store(folder)
