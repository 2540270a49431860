"""Observation of curves that others, and we, measured: every step found, none invented."""

import numpy as np
import pytest

from gpureport.observe import features_of_curve
from gpureport.records import Axis, CurveFeature, Metric

WORKING_SET = Axis(quantity="working_set", label="working set")
WORK_ITEMS = Axis(quantity="work_items", label="work-items")
LATENCY = Metric(kind="time", unit="loads", label="latency")
BANDWIDTH = Metric(kind="rate", unit="B", label="bandwidth")

# RRZE-HPC/gpu-benches @1038c5d, gpu-latency: KiB : cycles, every fourth or fifth point.
A100_LATENCY = """
    2:33 2.9:33 4.1:33 5.6:33.1 7.5:33.1 9.2:33.1 11.6:33.1 14.6:33.1 17.8:33.1 21.1:33.1 25.4:33.2
    30:33.2 36:33.2 42.6:33.3 50.4:33.3 59.5:33.4 69.6:33.4 81.9:33.5 95.5:33.5 111.5:33.6 130.5:33.7
    152.1:33.9 177.4:126.1 206.6:190.6 240.6:205.1 280:205.2 325.9:205.7 379.2:205.5 441:205.8
    513.1:205.9 596.5:205.5 693:205.7 805.2:205.6 935.2:205.7 1086.6:205.6 1262.6:205.4 1466.6:205.8
    1703:205.7 1977.8:205.6 2296.9:205.6 2667.4:205.8 3097.6:205.7 3596.9:205.8 4176.5:205.7
    4849.2:205.5 5630.2:205.5 6537.1:205.6 7589.8:205.6 8812:205.8 10230.6:205.7 11877:205.7
    13788.8:205.5 16008.4:205.6 18584.4:206.6 21574.9:290.9 25046.8:412.7 29077.6:398.6 33756.8:406.9
    39188.8:406.7 45494.4:512.2 52814.6:506.8 61312.5:540.3 71177.8:544.7 82630:526 95924.8:520.5
    111358:514.8 156423:550.5 265865:551.1 451878:551.9 768037:552.2 1.3054e+06:552.3 2.21872e+06:552.4
"""
A40_LATENCY = """
    2:33 2.6:33 3.2:33 4.4:33 5.6:33 7:33.1 8.9:33.1 11:33.1 13.5:33.1 16.6:33.1 20.4:33.1 24.9:33.2
    30.2:33.2 36.8:33.3 44.8:33.3 54.2:33.4 65.8:33.5 79.5:33.6 96.4:33.7 116.5:93.3 140.8:206.2
    169.9:250.4 205:250.4 247.4:250.4 298.6:250.4 360.1:250.4 434.2:250.4 523.8:250.4 631.5:250.4
    761.1:250.4 917.5:250.4 1105.8:250.4 1332.9:250.4 1606.5:250.4 1936.2:250.4 2333.6:250.4
    2812.4:250.4 3389.2:250.4 4084.5:250.4 4922:250.4 5931.5:289.4 7147.8:538.5 8613.4:546.7
    10379.4:546.7 12507.5:546.7 15071.9:546.7 18161.9:546.7 21885.4:546.7 26372.2:546.7 31779:546.7
    38293.9:548.2 46144.4:549.7 55604.1:550.9 67003.2:551.9 80739.2:552.7 97291:553.4 117236:551.6
    206833:555.2 401393:555.9 778968:556.3 1.51172e+06:556.5
"""
# RRZE-HPC/gpu-benches @1038c5d, gpu-l2-cache: KiB : GB/s, every second point.
H100_L2 = """
    1024:7758.1 2048:7381.1 3072:7254 4096:7121.5 5120:7122.9 6144:7077.9 7168:7044.1 8192:7034.2
    9216:6993.8 10240:6998.9 12288:6992.5 14336:6946.5 16896:6912.2 19968:6874.1 23552:6921.3
    28160:6946.5 33792:6925.4 40448:5728.6 48128:3452.7 57856:2244.2 69632:2019.4 83456:1993
    100352:1989.8 120832:1989.1 145408:1987.7 175616:1987.8 211968:1988 256000:1988.5 309760:1988.2
    374272:1988.2 452608:1988.7 547328:1988.5 661504:1988.5 800256:1988.4 967680:1987.9
    1.17043e+06:1987.8 1.41568e+06:1988.4 1.71264e+06:1984.9 2.07155e+06:1979.5 2.50624e+06:1964.2
    3.03206e+06:1949.9 3.66848e+06:1941.4 4.43853e+06:1927.4
"""
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


def cache_curve(text: str, metric: Metric) -> tuple[CurveFeature, ...]:
    """Return the features of a curve over KiB."""
    x, y = table(text)
    return features_of_curve(WORKING_SET, metric, x * 1024, np.full(len(x), 1024.0), x * 1024, y, y)


def midpoints_kib(features: tuple[CurveFeature, ...]) -> list[float]:
    """Return where the cliffs are."""
    return [f.value / 1024 for f in features if f.position == "midpoint"]


@pytest.mark.parametrize(
    ("text", "metric", "expected"),
    [
        pytest.param(A100_LATENCY, LATENCY, [164, 21400, 40600], id="A100: L1, near L2, far L2"),
        pytest.param(A40_LATENCY, LATENCY, [113, 6200], id="A40: L1, L2"),
        pytest.param(H100_L2, BANDWIDTH, [46600], id="H100 PCIe: L2"),
        pytest.param(H200_LATENCY, LATENCY, [240, 31500, 60700], id="H200: L1, near L2, far L2"),
    ],
)
def test_every_step_of_a_recorded_curve_is_found_and_none_is_invented(
    text: str, metric: Metric, expected: list[float]
) -> None:
    """The midpoints are those of the full curves, read off by eye; thinning the points costs a few percent."""
    assert midpoints_kib(cache_curve(text, metric)) == pytest.approx(expected, rel=0.06)


def test_the_plateaus_of_the_a40_are_its_latencies() -> None:
    """L1, L2 and memory, in the metric's unit."""
    plateaus = [f.value for f in cache_curve(A40_LATENCY, LATENCY) if f.feature == "rate"]

    assert plateaus == pytest.approx([33.1, 250.4, 548], rel=0.01)


def test_the_reads_of_the_a40_fill_it_where_its_curve_bends() -> None:
    """Knee = first bandwidth per work-item extended to 680 GB/s: 680 / (20 / 1344) = 45,700 work-items."""
    x, y = table(A40_STREAM)

    found = {f.position: f.value for f in features_of_curve(WORK_ITEMS, BANDWIDTH, x, x, np.ones(len(x)), y, 1 / y)}

    assert found.keys() == {"knee", "n90", "plateau"}
    assert found["plateau"] == pytest.approx(680)
    assert found["knee"] == pytest.approx(45700, rel=0.05)
    # 612 GB/s lie between 553 GB/s at 43008 and 639 GB/s at 53760.
    assert 43008 < found["n90"] < 53760


def test_a_peak_in_cache_and_a_lower_plateau_are_a_taper_and_a_cliff() -> None:
    """The launch cost hides most of the cache: one point stands above the plateau, between a rise and a cliff."""
    items = 2.0 ** np.arange(12, 26)
    rates = np.array(H200_PARTICLES) * 1e9

    features = features_of_curve(WORK_ITEMS, BANDWIDTH, items, items, 64 * items, rates, 32 * items / rates)
    found = {(f.feature, f.position, f.level): f.value for f in features}

    assert 2**19 * 64 < found["cliff", "midpoint", "level 1"] < 2**20 * 64
    assert found["rate", "plateau", "level 1"] == pytest.approx(1643e9)
    assert found["rate", "plateau", "level 2"] == pytest.approx(1444e9, rel=0.02)
    assert 2**18 < found["taper", "n90", "device"] < 2**19
    assert ("cliff", "midpoint", "level 2") not in found
