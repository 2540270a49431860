"""What vector operators of PyTorch move and compute, and what their timing adds."""

from math import ceil

import pytest

from gpureport.predict.traffic import memory_bytes
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.validate.operators import OPERATORS
from gpureport.validate.software import timing_of
from gpureport.workloads.model import Demand

A100, P4, MI100 = (load_database().device(name) for name in ("nvidia/a100_pcie_40", "nvidia/p4", "amd/mi100"))


def demand(operator: str, device: Device = A100, **row: float | str) -> Demand:
    return OPERATORS[operator](row, device)


def moved(found: Demand, device: Device = A100) -> float:
    """Bytes of memory for each element that is written."""
    (out,) = (stream for stream in found.streams if stream.write)
    elements = out.elements * out.record_bytes / 4
    return memory_bytes(found.streams, device, every_pass=False) / elements


@pytest.mark.parametrize(("operator", "nbytes"), [("add", 12), ("add_scalar", 8), ("gelu", 8)])
def test_an_elementwise_operator_has_a_vector_for_each_item(operator: str, nbytes: int) -> None:
    found, wide = (demand(operator, device, rows=3.0, columns=1001.0) for device in (A100, MI100))

    assert (found.work_items, found.work_group) == (ceil(751 / 128) * 128, (128,))
    assert wide.work_group == (256,)
    assert moved(found) == nbytes


def test_numbers_of_half_precision_take_half_of_the_bytes() -> None:
    found = demand("gelu", rows=1.0, columns=4096.0, type="fp16")

    assert memory_bytes(found.streams, A100, every_pass=False) == 4 * 4096


def test_an_operand_that_is_broadcast_comes_from_memory_again_if_caches_have_lost_it() -> None:
    small = demand("add", rows=65536.0, columns=512.0, operand=4096.0, period=512.0)
    large = demand("add", rows=131072.0, columns=2048.0, operand=131072.0 * 64, period=2048.0**2)
    scalar = demand("div", rows=65536.0, columns=512.0, operand=1.0, period=1.0)

    assert small.work_items == 65536 * 512 / 2
    assert moved(small) == pytest.approx(8.0, rel=1e-3)
    assert moved(large) == pytest.approx(12.0)  # 50 MB between two uses
    assert scalar.operations["int32_mul"] == small.operations["int32_mul"] / 3  # dimensions


def test_dropout_also_writes_a_mask_of_bytes() -> None:
    found, copied = (demand(operator, rows=8.0, columns=1024.0) for operator in ("dropout", "copy"))

    more = memory_bytes(found.streams, A100, every_pass=False) - memory_bytes(copied.streams, A100, every_pass=False)
    assert more == 8 * 1024


def test_powers_take_longer_on_amd() -> None:
    here, there = (demand("pow", device, rows=1.0, columns=4.0) for device in (A100, MI100))

    assert there.operations["fp32"] == pytest.approx(1.65 * here.operations["fp32"])


@pytest.mark.parametrize(
    ("columns", "work_items", "group"), [(100, 64 / 8 * 128, 128), (1024, 64 / 4 * 128, 128), (2048, 64 * 256, 256)]
)
def test_rows_of_a_softmax_belong_to_waves_or_groups(columns: float, work_items: float, group: int) -> None:
    found = demand("softmax", rows=64.0, columns=columns)

    assert (found.work_items, found.work_group) == (work_items, (group,))
    assert moved(found) == 8  # few groups: the L1 keeps their rows


def test_later_passes_miss_caches_that_rows_of_all_groups_displace() -> None:
    short, long = (demand("softmax", P4, rows=65536.0, columns=columns) for columns in (1280.0, 16384.0))

    assert moved(short, P4) == 8  # 0.8 MB in an L2 of 2 MiB
    assert moved(long, P4) == 16
    assert long.memory_chain == 3 * 8  # loads of each pass
    assert (short.memory_chain, short.cached_chain) == (2, 4)  # a vector, then the rest


def test_recent_versions_keep_whole_vectors_of_a_softmax_in_local_memory() -> None:
    columns = (4096.0, 4095.0, 16384.0)  # the last one would leave no local memory for sums
    kept, again, large = (demand("softmax", MI100, rows=4096.0, columns=each) for each in columns)

    assert kept.work_group == again.work_group == (1024,)
    assert (kept.local_memory_bytes, moved(kept, MI100)) == (4 * 4096, 8)
    assert kept.cached_chain == 0 < again.cached_chain
    assert (large.local_memory_bytes, large.streams[0].passes) == (4 * 1024, 3)


def test_a_layer_norm_has_four_waves_for_each_row_and_reads_it_twice() -> None:
    few, many = (demand("layer_norm", rows=rows, columns=16384.0) for rows in (8.0, 65536.0))

    assert (few.work_items, few.work_group) == (8 * 128, (128,))
    assert few.streams[0].passes == 2
    assert moved(few) == 8 + 2 * 4 / 8  # weights
    assert moved(many) == pytest.approx(12, rel=1e-3)


def test_an_embedding_has_at_most_eight_groups_for_each_unit() -> None:
    found = demand("embedding", rows=8192.0, columns=1024.0)

    assert found.work_items == 8 * 128 * A100.compute_units
    assert found.memory_chain == ceil(8192 * 1024 / found.work_items)


def test_kernels_hide_in_the_call_and_start_later_if_it_takes_longer() -> None:
    way = "PyTorch, events"
    add, norm = (timing_of(way, {"operator": name}, A100) for name in ("add", "layer_norm"))

    assert add.before_s < add.least_s
    assert norm.least_s == pytest.approx(1.6 * add.least_s)
    assert norm.before_s - add.before_s == pytest.approx(norm.least_s - add.least_s)
    assert timing_of(way, {}, MI100) != add


def test_compiled_functions_have_a_timing_of_their_own() -> None:
    compiled, other = (timing_of("PyTorch, host", {"operator": name}, A100) for name in ("gelu", "softmax"))

    assert compiled.least_s > 3 * other.least_s


def test_kernels_in_a_queue_start_at_the_interval_of_their_software() -> None:
    here, there = (timing_of("CUDA, queued", {}, device) for device in (A100, MI100))

    assert here.before_s + A100.launch.batched_s == pytest.approx(1.8e-6)
    assert (there.before_s, there.deviation) == (0.0, here.deviation)
