"""Observation of curves that others, and we, measured: every step found, none invented."""

from pathlib import Path

import numpy as np
import pytest

from gpureport.observe import observe
from gpureport.records.curves import Axis, Metric
from gpureport.results.published import load
from tests.curves import features_of_curve
from tests.kept import database

PUBLISHED = Path(__file__).parents[1] / "reports" / "published"
WORKING_SET = Axis(quantity="working_set", label="working set")
WORK_ITEMS = Axis(quantity="work_items", label="work-items")
LATENCY = Metric(kind="time", unit="loads", label="latency")
BANDWIDTH = Metric(kind="rate", unit="B", label="bandwidth")

# RRZE-HPC/gpu-benches @1038c5d, gpu-stream: resident work-items : GB/s, every second point.
A40_STREAM = """
    1344:20 4032:60 6720:97 9408:134 13440:188 21504:305 32256:436 43008:553 53760:639 64512:677
    75264:680 86016:680 96768:680 107520:680 118272:680 129024:680
"""
# Pointer chase on an H200 under OpenCL: KiB : ns.
H200_LATENCY = """
    3.9936:20.5 4.7104:20.6 5.632:20.6 6.656:20.6 7.9872:20.7 9.5232:20.8 11.264:21 13.4144:20.9
    15.9744:21.1 19.0464:21.4 22.6304:21.5 26.8288:21.6 31.9488:21.9 37.9904:22.1 45.2608:22.5
    53.76:22.9 64:23.4 75.9808:24 90.5216:24.7 107.622:25.6 128:26.6 152.166:27.8 181.043:29.1
    215.245:30.8 256:89.7 304.333:136.2 361.984:141.3 430.49:141.4 512:141.6 608.768:141.5 723.968:141.5
    860.979:141.5 1024:141.4 1217.64:141.5 1448.14:141.4 1722.16:141.2 2048:141.2 2435.38:141.1
    2896.28:141.1 3444.22:141.1 4096:141.1 4870.86:141 5792.46:141 6888.55:141 8192:141 9741.82:141
    11585.1:141 13777.1:140.9 16384:141 19483.9:140.9 23170.4:141 27554.4:142.8 32768:208.1
    38967.9:257.6 46340.9:257.6 55108.9:259.9 65536:320.3 77935.9:331.7 92681.8:331.6 110218:331.6
    131072:331.5 155872:331.5 185364:331.6 220436:331.6 262144:331.6 311743:327.1 370728:331
    440872:333.7 524288:334.2
"""
# Half-used 32-byte particles on an H200 under OpenCL, 2^12 to 2^25 of them: GB/s.
H200_PARTICLES = (27.7, 55.4, 109, 200, 381, 716, 1101, 1643, 1320, 1365, 1417, 1444, 1457, 1465)


def table(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return both columns."""
    x, y = zip(*(pair.split(":") for pair in text.split()), strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float)


def test_every_step_and_latency_of_an_h200_is_found_and_none_is_invented() -> None:
    """Under OpenCL: L1, near L2, far L2 and memory."""
    kib, ns = table(H200_LATENCY)
    found = features_of_curve(WORKING_SET, LATENCY, np.full(len(kib), 1024.0), kib * 1024, ns, ns)

    midpoints = [f.value / 1024 for f in found if f.position == "midpoint"]
    assert midpoints == pytest.approx([240, 31500, 60700], rel=0.06)
    assert [f.value for f in found if f.feature == "rate"] == pytest.approx([21.5, 141, 258, 332], rel=0.01)


@pytest.mark.parametrize(
    ("record", "variant", "expected"),
    [
        pytest.param("a100_sxm_80_memory", "latency", [164, 21400, 40600], id="A100: L1, near L2, far L2"),
        pytest.param("a40_memory", "latency", [111.5, 6170], id="A40: L1, L2"),
        pytest.param("mi210_memory", "latency", [15.9, 7330], id="MI210: L1, L2"),
        pytest.param("h100_pcie_memory", "read", [46600], id="H100 PCIe: L2, bandwidth"),
    ],
)
def test_every_step_that_others_measured_is_found_and_none_is_invented(
    record: str, variant: str, expected: list[float]
) -> None:
    """Midpoints in KiB, read off the curves by eye; the intervals say that their positions are sure."""
    (measured,) = (
        series.measurement
        for series in load(PUBLISHED / f"{record}.yaml", database()).series
        if (series.workload.variant, series.sweep.name) == (variant, "working_set")
    )

    observation = observe(measured)

    midpoints = [f for f in observation.features if f.position == "midpoint"]
    assert [f.value / 1024 for f in midpoints] == pytest.approx(expected, rel=0.03)
    assert all(f.ci_low and f.ci_high and f.ci_high < 1.1 * f.ci_low for f in midpoints)


def test_the_reads_of_the_a40_fill_it_where_its_curve_bends() -> None:
    """Knee = first bandwidth per work-item extended to 680 GB/s: 680 / (20 / 1344) = 45,700 work-items."""
    x, y = table(A40_STREAM)

    found = {f.position: f.value for f in features_of_curve(WORK_ITEMS, BANDWIDTH, x, np.ones(len(x)), y, 1 / y)}

    assert found.keys() == {"knee", "n90", "plateau"}
    assert found["plateau"] == pytest.approx(680)
    assert found["knee"] == pytest.approx(45700, rel=0.05)
    # 612 GB/s lie between 553 GB/s at 43008 and 639 GB/s at 53760.
    assert 43008 < found["n90"] < 53760


def test_a_peak_in_cache_and_a_lower_plateau_are_a_taper_and_a_cliff() -> None:
    """The launch cost hides most of the cache: one point stands above the plateau, between a rise and a cliff."""
    items = 2.0 ** np.arange(12, 26)
    rates = np.array(H200_PARTICLES) * 1e9

    features = features_of_curve(WORK_ITEMS, BANDWIDTH, items, 64 * items, rates, 32 * items / rates)
    found = {(f.feature, f.position, str(f.level)): f.value for f in features}

    assert 2**19 * 64 < found["cliff", "midpoint", "level 1"] < 2**20 * 64
    assert found["rate", "plateau", "level 1"] == pytest.approx(1643e9)
    assert found["rate", "plateau", "level 2"] == pytest.approx(1444e9, rel=0.02)
    assert 2**18 < found["taper", "n90", "device"] < 2**19
    assert ("cliff", "midpoint", "level 2") not in found
