"""The fit of core types recovers a known core, and writes what an architecture's file then contains."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fit_cpus as script
from gpureport.predict.cpu_memory import OPERATIONS, latency_s, machine_streams
from gpureport.spec.cores import topology
from gpureport.spec.host import ListedCache, ProcessorFacts
from gpureport.validate.tables import CloudMachine
from tests.test_predict_cpu_memory import CORE

SIZES = 2.0 ** np.arange(14, 30)


def machine(number: int, processors: int) -> CloudMachine:
    l3 = ListedCache(instance_bytes=32 << 20, instances=max(1, processors // 8))
    facts = ProcessorFacts(processors=processors, l3=l3)
    place = topology(facts, CORE)
    streams = {
        name: machine_streams(CORE, place, SIZES, each, write_allocate=True) for name, each in OPERATIONS.items()
    }
    bandwidth = {name: each.bytes_per_s() for name, each in streams.items()}
    values = pd.DataFrame({"working_set_bytes": SIZES, "latency_s": latency_s(CORE, place, SIZES), **bandwidth})
    return CloudMachine(number, f"some/{number}", facts, values)


def test_a_known_core_is_recovered() -> None:
    machines = [machine(number, processors) for number, processors in enumerate((1, 2, 4, 8, 16, 32, 64))]
    start = CORE.model_copy(update=dict(script.TYPICAL))

    found = script.fitted(machines, start, write_allocate=True)

    names = ("l1_latency_s", "l3_latency_s", "memory_latency_s", "l1_read_bytes_per_s", "socket_bandwidth_bytes_per_s")
    assert [getattr(found, name) for name in names] == pytest.approx([getattr(CORE, name) for name in names], rel=0.1)
    assert all(np.median(values) < 0.05 for values in script.errors(machines, found, write_allocate=True).values())


def test_fitted_values_replace_only_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "architectures" / "mine.yaml"
    path.parent.mkdir()
    path.write_text("core:\n  l1: 32 KiB\n  # fitted\n  l1_latency: 7 ns\nnotes:\n  - last\n")
    monkeypatch.setattr(script, "data_dir", lambda _: tmp_path)

    script.write("mine", CORE, script.TYPICAL, "fitted", "source: here")

    lines = path.read_text().splitlines()
    assert lines[:3] == ["core:", "  l1: 32 KiB", "  # fitted"]
    assert lines[-2:] == ["notes:", "  - last"]
    assert "  l1_latency: {value: 1 ns, source: here}" in lines
    assert len(lines) == 5 + len(script.TYPICAL)
