"""Matrix products of vendors' libraries: what a tile computes and moves, and which kernels a library chooses from."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpureport.predict.energy import sustained_clock
from gpureport.predict.model import point_time
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.validate.matrix_products import Unit, fastest, kernel, product
from gpureport.validate.operators import MissingError
from gpureport.validate.scoreboard import predict_rows
from gpureport.validate.software import SOFTWARE, DataSet, Tile, stack_of

FP32 = Unit("fp32", 1, 4)


@pytest.fixture(scope="module")
def a100() -> Device:
    return load_database().device("nvidia/a100_pcie_40")


@pytest.fixture(scope="module")
def mi100() -> Device:
    return load_database().device("amd/mi100")


def row(
    operator: str = "linear", batch: int = 1, m: int = 4096, n: int = 4096, k: int = 4096
) -> dict[str, float | str]:
    return {"operator": operator, "batch": batch, "m": m, "n": n, "k": k}


def test_a_tile_at_the_edge_is_computed_in_full(a100: Device) -> None:
    demand = kernel(Tile(128, 64, 256), FP32, a100, (1, 129, 64, 100))

    assert demand.groups == 2
    # 2 tiles of 128 x 64 results; 100 elements of the reduction are 13 steps of 8.
    assert demand.operations["fp32"] == 2 * 128 * 64 * 104
    assert demand.operations["memory"] == 2 * (128 + 64) * 104 / 4 + 2 * 128 * 64
    assert demand.chain["barrier"] == 13
    # A wave computes 1024 results, 32 x 32; a work-item 32 of them.
    assert demand.operations["local"] == pytest.approx(demand.operations["fp32"] * 2 / 32 + 2 * 192 * 104)


def test_tiles_read_their_rows_and_columns_again(a100: Device) -> None:
    a, b, c = kernel(Tile(128, 64, 256), FP32, a100, (3, 256, 256, 512)).streams

    assert [each.elements for each in (a, b, c)] == [3 * 256 * 512, 3 * 512 * 256, 3 * 256 * 256]
    assert (a.outer_passes, b.outer_passes) == (4, 2)
    assert (a.memory_passes, b.memory_passes) == (1, 1)  # the L2 keeps each matrix of 512 KiB
    assert c.write


def test_a_matrix_beyond_the_cache_is_read_again_from_memory(a100: Device) -> None:
    wide, *_ = kernel(Tile(128, 128, 256), FP32, a100, (1, 65536, 65536, 1024)).streams

    # 216 tiles of 128 x 128 are computed at once: a square of 1881 x 1881 results.
    assert wide.memory_passes == pytest.approx(65536 / (216 * 128 * 128) ** 0.5)


def test_stages_of_loads_and_computation_overlap_in_part(a100: Device) -> None:
    demand = kernel(Tile(128, 128, 256), FP32, a100, (128, 2048, 2048, 64))
    computing_s = point_time(a100, replace(demand, streams=())).time_s
    moving_s = point_time(a100, replace(demand, operations={}, chain={})).time_s

    overlapping_s = point_time(a100, replace(demand, staged=False)).time_s
    assert demand.staged
    assert computing_s < overlapping_s < point_time(a100, demand).time_s < computing_s + moving_s


def test_the_limit_of_the_board_lengthens_computation() -> None:
    small = load_database().device("nvidia/t4")
    tile, sizes = Tile(128, 128, 256), (1, 5120, 4096, 4096)  # 1280 tiles: 32 for each of 40 compute units
    unlimited = kernel(tile, FP32, small.model_copy(update={"board_power_w": None}), sizes).operations
    limited = kernel(tile, FP32, small, sizes).operations

    peak = 2 * small.rate_per_s("fp32")
    clock = sustained_clock(small, peak, peak * 4 * 256 / (2 * 128 * 128))
    assert clock < 0.8
    assert limited["fp32"] == pytest.approx(unlimited["fp32"] / clock)
    assert limited["local"] == unlimited["local"]


def test_few_tiles_share_the_reduction(a100: Device) -> None:
    split = kernel(Tile(128, 128, 256), FP32, a100, (1, 128, 128, 4096), 4)
    whole = kernel(Tile(128, 128, 256), FP32, a100, (1, 128, 128, 4096))

    assert (split.groups, whole.groups) == (4, 1)
    assert [each.buffer for each in split.streams] == ["a", "b", "c", "parts", "parts"]
    assert point_time(a100, split).time_s < point_time(a100, whole).time_s


def test_many_tiles_do_not(a100: Device) -> None:
    assert all(len(each.streams) == 3 for each in product(row(), a100))
    assert any(len(each.streams) == 5 for each in product(row(m=128, n=128), a100))


def test_the_kernel_with_the_shortest_time_is_taken(a100: Device) -> None:
    few, many = product(row(m=64, n=64, k=256), a100), product(row(), a100)
    copy = product(row("bmm", 8, 64, 64, 64) | {"copied": 1024.0}, a100)

    chosen = fastest(a100, [few, many, copy])

    assert chosen[0] == min(few, key=lambda each: point_time(a100, each).time_s)
    assert chosen[1] == min(many, key=lambda each: point_time(a100, each).time_s)
    assert chosen[2] == copy[0]  # batches of an A100 have one kernel
    assert [stream.elements for stream in copy[0].later_dispatches[0].streams] == [256, 256]


def test_rocm_copies_the_bias_and_uses_matrix_units(a100: Device, mi100: Device) -> None:
    first = product(row(m=100, n=50), mi100)[0]

    assert "matrix_fp32" in first.operations
    (bias,) = first.later_dispatches
    assert [(each.elements, each.write) for each in bias.streams] == [(1250, True)]
    assert not product(row(), a100)[0].later_dispatches
    assert not product(row("bmm", 2), mi100)[0].later_dispatches


def test_half_precision_uses_matrix_units(a100: Device) -> None:
    kernels = product(row("matmul") | {"type": "fp16"}, a100)

    assert len(kernels) == len(SOFTWARE.tensor_kernels)
    assert all("matrix_fp16" in each.operations and each.streams[0].used_bytes == 2 for each in kernels)


def test_the_time_follows_the_peak_for_large_products(a100: Device) -> None:
    (best,) = fastest(a100, [product(row(m=8192, n=8192, k=8192), a100)])

    least_s = 8192**3 / a100.rate_per_s("fp32")
    assert least_s < point_time(a100, replace(best, later_dispatches=())).time_s < 1.2 * least_s


def test_intervals_count_that_the_library_may_choose_another_kernel(mi100: Device, a100: Device) -> None:
    data = DataSet("products")
    for device in (a100, mi100):
        multiplied, copy = predict_rows(
            Path("table"),
            {0: {0: row("bmm", 2)}, 1: {1: {"operator": "copy", "rows": 4096, "columns": 4096}}},
            device,
            data,
        )
        assert multiplied
        assert copy
        assert 1 + 1.96 * stack_of(device).kernel_deviation < multiplied.spread
        assert copy.spread < 1.5


def test_a_size_is_needed(a100: Device) -> None:
    with pytest.raises(MissingError, match="k"):
        product({"operator": "linear", "batch": 1, "m": 2, "n": 2}, a100)
