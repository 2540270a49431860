"""Kernels executed from source: results of all workloads and examples, meaning of the language, and what is counted."""

import gc
import weakref
from collections.abc import Sequence
from itertools import cycle, islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.kernel_files import load_kernels
from gpureport.trace import operations
from gpureport.trace.chains import TOGETHER, Chains
from gpureport.trace.compiler import compile_file, preprocessed
from gpureport.trace.execution import Execution, Recorder, execute
from gpureport.trace.program import TAKEN, Access, program
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Dispatch, Workload
from tests.fake_backend import having

pytest.importorskip("ziglang")
SHOWN = having("cl_khr_subgroups", "cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot")
KERNELS = [*all_workloads(), *load_kernels(sorted((data_dir("kernels_cl") / "examples").glob("*.yaml")))]
EXECUTED = [each for each in KERNELS if each.family not in ("transfer", "matrix") and list(each.verification())]
FAST = (
    "bit_transpose/ballot",
    "game_of_life/bytes_strips",
    "particles/structs16",
    "reduction/reduce",
)


@pytest.mark.parametrize(
    "workload",
    [pytest.param(w, id=w.name, marks=() if w.name in FAST else pytest.mark.slow) for w in EXECUTED],
)
def test_results_are_right(workload: Workload) -> None:
    point, count = next(iter(workload.verification())), workload.verification_dispatches
    job = workload.verification_job(point, np.random.default_rng(0))
    options = f"{workload.build_options(point)} {workload.options(SHOWN)}"
    module = compile_file(data_dir("kernels_cl") / workload.source, options)
    arrays = {
        name: np.zeros(buffer.nbytes, np.uint8) if buffer.contents is None else buffer.filled().view(np.uint8)
        for name, buffer in job.buffers.items()
    }
    for dispatch in (*job.once, *job.before, *islice(cycle(job.dispatches), max(count, len(job.dispatches)))):
        execute(program(module, dispatch.kernel), dispatch.on_host(arrays), dispatch, range(prod(dispatch.groups)))
    for name, expected in workload.expected(point, job, count).items():
        found = arrays[name][: expected.nbytes].view(expected.dtype).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=max(workload.tolerance, 2e-5), atol=workload.tolerance)


class Seen(Recorder):
    """A recorder that keeps what it sees."""

    def __init__(self, missed: float = 0.0) -> None:
        self.missed = missed
        self.offsets: list[tuple[bool, int, list[int]]] = []
        self.alike: list[bool] = []
        """Whether offsets are known to be the same for all lanes."""

    def accessed(self, access: Access, buffer: int, offsets: NDArray[np.int64], waves: NDArray[np.int64]) -> float:
        assert offsets.shape == waves.shape
        self.offsets.append((access.write, buffer, offsets.tolist()))
        self.alike.append(not offsets.strides[0])
        return self.missed


_FOUR = dict.fromkeys(("fp32", "add", "address", "int32"), 4.0)
CYCLES = {**_FOUR, "branch": 37.0, "hit": 30.0, "miss": 500.0, "barrier": 20.0, "local": 25.0, "atomic": 100.0}


def run(
    folder: Path, source: str, arguments: Sequence[Any], items: int = 64, local: int = 64, **more: Any
) -> Execution:
    """Execute all groups of the first kernel of *source*."""
    file = folder / "kernel.cl"
    file.write_text(source)
    module = compile_file(file, more.pop("options", ""))
    shape = Dispatch("k", (items,), (local,))
    kernel = program(module, next(iter(module.kernels)), more.pop("unrolled", 4), joins=more.pop("joins", False))
    more |= {"chains": Chains(kernel, more.pop("latencies"))} if "latencies" in more else {}
    return execute(kernel, arguments, shape, range(prod(shape.groups)), **more)


def test_buffers_are_freed_when_an_execution_ends(tmp_path: Path) -> None:
    """Not only when the garbage collector finds them, which commands let run rarely."""
    gc.collect()
    gc.disable()
    try:
        data = np.zeros(64, np.int32)
        run(tmp_path, "kernel void f(global int *x) { x[get_global_id(0)] = 1; }", [data], latencies=CYCLES)
        assert data.all()
        freed = weakref.ref(data)
        del data
        assert freed() is None
    finally:
        gc.enable()


EXPRESSIONS = """a + b; mul_hi(a, b); (int)((uint)a % 10); mul_hi((long)a << 20, (long)b << 20); rotate(a, b); clz(a);
popcount(a); add_sat(a, b); a >> (b & 31); (int)((uint)a >> (b & 31)); convert_uchar_sat(a);
(a > b) - ((uint)a > (uint)b); a / (b | 1); ((int4)(a, b, 1, 2)).wzyx.z + hadd(a, b)"""


def results(a: int, b: int) -> list[int]:
    """Of the expressions, without a width."""
    p, q, d = a % 2**32, b % 2**32, b | 1
    turned, quotient = p << b % 32 | p >> (32 - b % 32), abs(a) // abs(d) * (1 if a * d > 0 else -1)
    first = [a + b, (a * b) >> 32, p % 10, (a * b << 40) >> 64, turned, 32 - p.bit_length(), p.bit_count()]
    limited = [min(max(a + b, -(2**31)), 2**31 - 1), a >> b % 32, p >> b % 32, min(max(a, 0), 255)]
    return [*first, *limited, (a > b) - (p > q), quotient, b + ((a + b) >> 1)]


def test_integers_are_exact(tmp_path: Path) -> None:
    extreme = [0, 1, -1, 2**31 - 1, -(2**31), 31, -33, 65536]
    numbers = np.array([*extreme, *np.random.default_rng(1).integers(-(2**31), 2**31, 24)], np.int32)
    a, b = (axis.ravel() for axis in np.meshgrid(numbers, numbers))
    texts = EXPRESSIONS.split(";")
    lines = "".join(f"out[{row * a.size} + i] = {text};" for row, text in enumerate(texts))
    out = np.zeros((len(texts), a.size), np.int32)
    head = (
        "kernel void k(global int *p, global int *q, global int *out) { int i = get_global_id(0), a = p[i], b = q[i];"
    )
    run(tmp_path, f"{head} {lines} }}", [a, b, out], a.size)
    expected = np.array([results(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)], np.int64).T

    assert {
        text for text, row, right in zip(texts, out, expected.astype(np.int32), strict=True) if (row != right).any()
    } == set()


def test_infinite_halves_become_the_limits_of_integers() -> None:
    halves = np.array([np.inf, -np.inf, np.nan, 3], np.float16)
    assert operations._limited(halves, np.dtype(np.int32)).tolist() == [2**31 - 1, -(2**31), 0, 3]


F32, F64 = np.float32, np.float64
DIGIT, LAST = 2.0**-23, 2.0**-52


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("round(a)", [8388609, 0.49999997, -0.5, -0.25], [8388609, 0, -1, -0.0]),
        ("sign(a)", [-0.0, np.nan, -3, 0], [-0.0, 0, -1, 0]),
        ("remainder(a, 3.0f)", [1e8, 4.5, -4.5, 7.5], [1, -1.5, 1.5, 1.5]),
        ("rootn(a, 3)", [-8, 27], [-2, 3]),
        ("__builtin_bitreverse32(as_uint(a))", [1], [0x1FC]),
        ("modf(a, q + i) + 10 * q[i]", [-2.5, 3.25], [-20.5, 30.25]),
        ("frexp(a, (global int *)q + i) + ((global int *)q)[i]", [-12, 0.25], [3.25, -0.5]),
        ("fma(a, a, 0x1p-60f)", [1 + 2.0**-12, -np.inf, 2], [1 + 2.0**-11 + DIGIT, np.inf, 4]),
        ("dot((float4)(a, length((float2)(a, 4)), a, a), (float4)(0, 1, 0, 0))", [3], [5]),
        ("fma(a, -a, 1.0)", F64([1 + LAST, 1e300, 1 - 2.0**-30]), [-2 * LAST, -np.inf, 2.0**-29 - 2.0**-60]),
    ],
)
def test_floating_point_numbers_are_exact(text: str, values: Any, expected: list[float], tmp_path: Path) -> None:
    values = np.asarray(values, getattr(values, "dtype", F32))
    out, of = np.zeros_like(values), "float" if values.dtype == F32 else "double"
    head = f"kernel void k(global {of} *p, global {of} *q) {{ int i = get_global_id(0); {of} a = p[i];"
    run(tmp_path, f"{head} q[i] = {text}; }}", [values, out], values.size, values.size)
    right = np.array(expected, values.dtype)

    np.testing.assert_array_equal(out, right)
    assert np.signbit(out).tolist() == np.signbit(right).tolist()


def test_a_dimension_may_differ_between_work_items(tmp_path: Path) -> None:
    out = np.zeros(8, np.int32)
    run(
        tmp_path, "kernel void k(global int *p) { int i = get_global_id(0); p[i] = get_global_id(i & 1); }", [out], 8, 4
    )

    assert out.tolist() == [0, 0, 2, 0, 4, 0, 6, 0]


@pytest.mark.parametrize("wave", [16, 32, 64])
def test_waves_exchange(wave: int, tmp_path: Path) -> None:
    out, i = np.zeros((4, 96), np.int32), np.arange(96)
    source = """kernel void k(global int *out) {
        int i = get_global_id(0), lane = get_sub_group_local_id();
        out[i] = sub_group_reduce_add(i);
        out[96 + i] = sub_group_reduce_max(i & 7);
        out[192 + i] = sub_group_shuffle_xor(i, 3);
        out[288 + i] = sub_group_ballot(lane == 1).x + sub_group_broadcast(i, 2); }"""
    run(tmp_path, source, [out], 96, 96, wave=wave)
    start = i // wave * wave
    sums = [i[start == first].sum() for first in start]

    assert out[0].tolist() == sums
    assert out[1].tolist() == [7] * 96
    assert out[2].tolist() == (i ^ 3).tolist()
    assert out[3].tolist() == (2 + start + 2).tolist()


def test_ptx_of_kernels_is_executed(tmp_path: Path) -> None:
    x, out = np.random.default_rng(1).integers(0, 2**31, 64, np.int32), np.zeros((4, 64), np.int32)
    source = """kernel void k(global int *x, global int *out) {
        int i = get_global_id(0), a = x[i], b = x[63 - i], c;
        __asm__("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(c) : "r"(a), "r"(b), "r"(i));
        out[i] = c;
        __asm__("shf.l.wrap.b32 %0, %1, %1, %2;" : "=r"(c) : "r"(a), "r"(5));
        out[64 + i] = c;
        __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(c) : "r"(a), "r"(4));
        out[128 + i] = c;
        __asm__ volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
            : "=r"(c) : "r"(i & 1));
        out[192 + i] = c; }"""
    run(tmp_path, source, [x, out], 64, 64)
    i, bits = np.arange(64), x.view(np.uint32)

    np.testing.assert_array_equal(out[0], x & x[::-1] | ~x & i)
    np.testing.assert_array_equal(out[1].view(np.uint32), bits << 5 | bits >> 27)
    np.testing.assert_array_equal(out[2], x[i ^ 4])
    np.testing.assert_array_equal(out[3].view(np.uint32), 0xAAAAAAAA)


def test_lanes_and_waves_of_divergent_code(tmp_path: Path) -> None:
    """One lane of each second wave of 16 adds; the others of these waves wait."""
    x = np.zeros(64, np.float32)
    source = "kernel void k(global float *x) { int i = get_global_id(0); if (i % 32 == 5) x[i] = x[i] * x[i] + 1.5f; }"
    done = run(tmp_path, source, [x], wave=16)

    assert (x != 0).tolist() == [i % 32 == 5 for i in range(64)]
    assert (done.issued["fp32"], done.issued["branch"]) == (32, 96)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("(a[i] & b[i]) ^ a[i + 64]", {"ternary": 1}),
        ("(a[i] & 240) | (b[i] & ~240)", {"ternary": 1}),
        ("(((global long *)a)[i] & ((global long *)b)[i] ^ ((global long *)a)[i + 64]) >> 40", {"ternary": 2}),
        ("bitselect(a[i], b[i], a[i] ^ a[i + 64])", {"ternary": 1}),
        ("(a[i] & b[i]) ^ (a[i] & a[i + 64]) ^ (b[i] & a[i + 64])", {"ternary": 1}),
        ("((a[i] & b[i]) | (a[i + 64] & ~b[i])) + ((b[i + 64] & b[i]) | (a[i + 128] & ~b[i]))", {"ternary": 3}),
        ("((a[i] & b[i]) ^ (~a[i] & a[i + 64])) + b[i] + a[i]", {"ternary": 1}),
        ("a[i] + b[i] + a[i + 64]", {"add": 1}),
        ("a[i] * b[i] + a[i + 64]", {"int32_mul": 1, "add": 0}),
        ("rotate(a[i], 3) >> 2", {"shift": 2}),
        ("(a[i] & b[i]) ? i << 1 : 5", {"ternary": 1, "int32": 1, "left_shift": 1, "shift": 0}),
        ("a[i] + (b[i] > 9)", {"add": 1, "int32": 1}),
        (
            "a[i] / 7 + convert_int(sin((float)b[i]))",
            {"int32_mul": 2, "fp32": 26, "transcendental": 1, "conversion": 1, "from_int32": 1},
        ),
        ("a[i] / b[i]", {"int32": 12, "int32_mul": 9, "conversion": 2, "transcendental": 1}),
        ("0; for (int k = 0; k < a[200]; k++) b[i] ^= a[k + i] % (i + 1)", {"int32_mul": 4 * 40, "conversion": 0}),
        ("(int)(3.0f / a[i]) + (int)(b[i] / 3.0f)", {"fp32": 8, "transcendental": 1, "conversion": 2}),
        ("(int)fmin((double)a[i], (double)b[i])", {"int32": 4, "fp64": 1, "conversion": 3}),
        ("(int)fast_length((float2)(a[i], b[i]))", {"fp32": 7, "transcendental": 1}),
        ("0; float2 c, s = sincos((float2)(a[i], b[i]), &c); b[i] = (int)(s.x + c.y)", {"transcendental": 2}),
        ("0; float4 v = ((global float4 *)a)[i & 3] * 1.5f; b[i] = (int)(v.x + v.z)", {"fp32": 3}),
        (
            "0; for (int k = 0; k < a[200]; k++) b[i] ^= a[k + i]",
            {"ternary": 40, "add": 20, "int32": 11, "address": 11},
        ),
    ],
)
def test_counted_instructions(text: str, counts: dict[str, float], tmp_path: Path) -> None:
    """Of one work-item; a loop of 40 iterations, four of which are interleaved."""
    head = "kernel void k(global int *restrict a, global int *restrict b) { int i = get_global_id(0);"
    done = run(tmp_path, f"{head} b[i] = {text}; }}", [np.full(256, 40, np.int32), np.full(128, 40, np.int32)])

    assert {kind: done.issued[kind] / 64 for kind in counts} == counts


def test_stores_of_three_elements_leave_the_fourth(tmp_path: Path) -> None:
    text = "kernel void k(global float3 *x, global float *y) { size_t i = get_global_id(0); x[i] = x[i] * y[i]; }"
    data = np.ones(256, np.float32)
    run(tmp_path, text, [data, np.full(64, 2, np.float32)], 64, 64)
    assert data.reshape(64, 4).tolist() == [[2, 2, 2, 1]] * 64
    assert [each.nbytes for each in program(compile_file(tmp_path / "kernel.cl"), "k").accesses if each.write] == [12]


@pytest.mark.parametrize(
    ("text", "fp32"), [("x[0] * x[1] + x[2] * x[3]", 2), ("x[0] * x[1] + x[2] * x[3] + x[4] * x[5]", 3)]
)
def test_products_and_sums_in_free_order_are_one_instruction(text: str, fp32: float, tmp_path: Path) -> None:
    """Of two products that are added, one stays a product."""
    source = f"kernel void k(global float *x) {{ x[6] = {text}; }}"
    done = run(tmp_path, source, [np.ones(8, np.float32)], 1, 1, options="-cl-fast-relaxed-math")
    assert done.issued["fp32"] / 32 == fp32


@pytest.mark.parametrize(("sum_of", "nbytes"), [("xy", [8]), ("wx", [16]), ("yz", [4, 4]), ("zxy", [16])])
def test_loads_of_neighbouring_members_are_one(sum_of: str, nbytes: list[int], tmp_path: Path) -> None:
    """As in the PTX of nvcc 13: gaps are loaded, and the first member shows the alignment."""
    file, x, y = tmp_path / "kernel.cl", np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    text = "+".join(f"x[i].{member}" for member in sum_of)
    file.write_text(f"kernel void k(global float4 *x, global float *y) {{ int i = get_global_id(0); y[i] = {text}; }}")
    kernel = program(compile_file(file), "k", joins=True)
    execute(kernel, [x, y], Dispatch("k", (64,), (64,)), [0])

    assert [each.nbytes for each in kernel.accesses if not each.write] == nbytes
    assert y.tolist() == sum(x["xyzw".index(member) :: 4] for member in sum_of).tolist()


def test_atomics_take_turns(tmp_path: Path) -> None:
    place, total, log = np.zeros(1, np.int32), np.zeros(1, np.float32), np.zeros(64, np.int32)
    source = """kernel void k(global int *place, volatile global int *total, global int *log) {
        log[atomic_inc(place)] = get_global_id(0);
        int old, new;
        do { old = *total; new = as_int(as_float(old) + 0.5f); } while (atomic_cmpxchg(total, old, new) != old); }"""
    run(tmp_path, source, [place, total, log], 64, 32)

    assert sorted(log.tolist()) == list(range(64))
    assert (place[0], total[0]) == (64, 32.0)


def test_memory_of_all_kinds(tmp_path: Path) -> None:
    """Local memory, an array with variable indices, a table, a choice of buffers."""
    a, b, out = np.arange(8, dtype=np.int32), np.arange(8, dtype=np.int32) + 100, np.zeros(8, np.int32)
    source = """constant int table[3] = {7, 8, 9};
    kernel void k(global int *a, global int *b, global int *out, local int *l, int count) {
        local int last; int i = get_global_id(0), j = get_local_id(0), order[4];
        if (j == 3) last = i;
        for (int n = 0; n < count; n++) order[(n + j) & 3] = n;
        l[3 - j] = i; barrier(CLK_LOCAL_MEM_FENCE);
        global int *from = i & 1 ? a : b;
        out[i] = l[j] * 10000 + last * 1000 + from[j] * 10 + order[2] + table[j % 3] * 100000; }"""
    run(tmp_path, source, [a, b, out, 16, np.int32(4)], 8, 4)
    expected = [
        (4 * g + 3 - j) * 10000 + (3 + 4 * g) * 1000 + (j if j & 1 else j + 100) * 10 + number
        for g in range(2)
        for j, number in enumerate((2 - j) % 4 + (7 + j % 3) * 100000 for j in range(4))
    ]

    assert out.tolist() == expected


@pytest.mark.parametrize(("wave", "alike"), [(1, [True] * 4 + [False] * 2), (32, [False] * 6)])
def test_waves_of_one_lane_have_their_private_variables_at_one_place(
    wave: int, alike: list[bool], tmp_path: Path
) -> None:
    """Four stores of which the compiler knows the index, a load, and a store of the result."""
    body = "{ int i = get_global_id(0), a[4]; for (int k = 0; k < 4; k++) a[k] = k * i * (i ^ k); x[i] = a[i & 3]; }"
    run(
        tmp_path, f"kernel void k(global int *x) {body}", [np.zeros(64, np.int32)], wave=wave, recorder=(seen := Seen())
    )
    assert seen.alike == alike


def test_bytes_of_a_table_that_llvm_writes_as_text(tmp_path: Path) -> None:
    """Letters, a quotation mark, backslashes, and bytes that are no letters."""
    table, out = [92, 92, 53, 67, 34, 65, 0, 255, 92, 10], np.zeros(10, np.uint8)
    listed = ", ".join(map(str, table))
    source = f"constant uchar table[10] = {{{listed}}};"
    source += "kernel void k(global uchar *out) { int i = get_global_id(0); out[i] = table[i]; }"
    run(tmp_path, source, [out], 10, 10)

    assert out.tolist() == table


def test_structures_are_copied_and_cleared(tmp_path: Path) -> None:
    """By ``llvm.memcpy`` and ``llvm.memset``, which clang makes of large ones."""
    a, b = np.arange(40, dtype=np.int32), np.arange(40, dtype=np.int32) + 100
    source = """typedef struct { int x[5]; } five;
    kernel void k(global five *a, global five *b, int n) {
        int i = get_global_id(0); five own = {{0}}; own.x[n] = i; a[i] = b[i]; b[i] = own; }"""
    run(tmp_path, source, [a, b, np.int32(3)], 8, 8)

    assert a.tolist() == list(range(100, 140))
    assert b.reshape(8, 5).tolist() == [[0, 0, 0, i, 0] for i in range(8)]


def test_accesses_beyond_a_buffer_are_seen_and_change_nothing(tmp_path: Path) -> None:
    x, seen = np.arange(4, dtype=np.int32), Seen()
    source = "kernel void k(global int *x) { int i = get_global_id(0); x[i + 3] = x[i - 1]; }"
    run(tmp_path, source, [x], 2, 2, recorder=seen)

    assert (x.tolist(), seen.offsets) == ([0, 1, 2, 0], [(False, 0, [-4, 0]), (True, 0, [12, 16])])


LONG = " * ".join(f"(v + {term})" for term in range(1, 20))


@pytest.mark.parametrize(
    ("text", "missed", "chain"),
    [
        ("float s = 0; for (int k = 0; k < n; k++) s += x[k * 64 + i]; y[i] = s;", 0.0, {"hit": 64, "miss": 0}),
        ("float s = 0; for (uint k = 0; k < n; k += n >> 8) s += x[k * 64 + i]; y[i] = s;", 0.0, {"hit": 256}),
        ("float s = 0; for (int k = 0; k < n; k += n >> 8) s += x[k * 64 + i]; y[i] = s;", 0.0, {"hit": 64}),
        ("float s = 0; for (int k = i; k < n * 64; k += 64) { y[i] = x[k]; x[k] = s++; }", 0.0, {"hit": 256}),
        ("int s = 0; for (int k = i; k < n * 64; k += 64) { int v = x[k]; x[k] = s; s += v; }", 0.0, {"hit": 64}),
        (
            f"float s = 0; for (int k = 0; k < n; k++) {{ float v = x[k * 64 + i]; s += {LONG}; }} y[i] = s;",
            0.0,
            {"hit": 128},
        ),
        (
            """float s = 0, t = 0; for (int k = 0; k < n; k++) { float a = x[k], b = x[k + 64], c = x[k + 128], f =
            x[k + 192] * rsqrt(a * b + c) + x[k + 256]; s += a * f + c; t += b * f + a; } y[i] = s + t;""",
            0.0,
            {"hit": 128},  # with five words each, two at once
        ),
        ("int k = i; for (int j = 0; j < n; j++) k = ((global int *)x)[k]; y[i] = k;", 1.0, {"hit": 0, "miss": 256}),
        ("for (int k = 0; k < n; k++) y[i] += x[k * 64 + i];", 0.5, {"hit": 128, "miss": 128}),
        ("int o = 0; while (n--) atomic_compare_exchange_strong((global atomic_int *)x, &o, n);", 0.0, {"atomic": 64}),
        (
            "int s = 0; for (int k = 0; k < n; k++) s += atomic_inc((global int *)x + (s & 1)); y[i] = s;",
            0.0,
            {"atomic": 256},
        ),
        ("for (int k = 0; k < n; k++) atomic_inc((global int *)x + k);", 0.0, {"atomic": 0}),
        ("local float t[64]; t[i] = 0; for (int k = 0; k < n; k++) t[(int)x[k]] += 1; y[i] = t[i];", 0, {"local": 256}),
        ("if (i & 1) y[i] = x[i];", 0.0, {"branch": 1}),
        ("y[i] = pow(x[0], x[i]) + pow(x[1], x[i]);", 0.0, {"transcendental": 2}),
        ("y[i] = exp(x[0] + x[i]) + exp(x[1] + x[i]);", 0.0, {"transcendental": 1}),
        ("int k = 0; while (k < n && x[k] < 1) k++; y[i] = k;", 0.0, {"branch": 2 * 256 * TOGETHER, "hit": 256}),
        ("float s = 0; if (i > 0) s += 2 * x[i]; if (i < 9) s += 2 * x[64 + i]; y[i] = s;", 1.0, {"hit": 0, "miss": 2}),
    ],
)
def test_chains(text: str, missed: float, chain: dict[str, float], tmp_path: Path) -> None:
    """Of 256 iterations: up to four short ones are interleaved, if none waits for a store or a use."""
    source = f"kernel void k(global float *x, global float *y, int n) {{ int i = get_global_id(0); {text} }}"
    arguments = [np.zeros(256 * 64, np.float32), np.zeros(64, np.float32), np.int32(256)]
    done = run(tmp_path, source, arguments, recorder=Seen(missed), latencies=CYCLES)

    assert {name: done.chain[name] for name in chain} == pytest.approx(chain, rel=0.05, abs=0.5)


def test_what_leaves_a_loop_waits_for_its_end(tmp_path: Path) -> None:
    """Lanes leave one by one, but wait for each other: each wave executes what follows once."""
    out = np.zeros(64, np.float32)
    source = """kernel void k(global float *x, int n) {
        int i = get_global_id(0);
        for (int k = 0; k < n; k++) if (k >= i) { x[i] = native_sqrt(k + x[k]); return; }
        x[i] = 9; }"""
    done = run(tmp_path, source, [out, np.int32(63)], wave=32)

    assert done.issued["transcendental"] == 64
    np.testing.assert_allclose(out, [*np.sqrt(np.arange(63)), 9])


@pytest.mark.parametrize(("unrolled", "joins", "steps"), [(4, False, 64), (1, False, 256), (1, True, 256)])
def test_each_step_of_a_loop_may_wait_and_is_counted_once_for_all_lanes(
    unrolled: int, joins: bool, steps: int, tmp_path: Path
) -> None:
    """On GPUs, it waits for its branch back too."""
    source = "kernel void k(global float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; x[n] = s; }"
    arguments = [np.zeros(512, np.float32), np.int32(256)]
    done = run(tmp_path, source, arguments, recorder=Seen(1.0), latencies=CYCLES, unrolled=unrolled, joins=joins)

    assert done.chain["miss"] == pytest.approx(steps, abs=1)
    assert done.issued["branch"] == pytest.approx(64 * (steps * (TAKEN if joins else 1) + 1))
    assert done.uniform["branch"] == done.issued["branch"]


@pytest.mark.parametrize(("limit", "counted"), [("n", True), ("n - i % 2", False)])
def test_what_stays_the_same_for_all_lanes_is_uniform(limit: str, counted: bool, tmp_path: Path) -> None:
    loop = f"for (int j = 0; j < {limit}; j++) h = (h * 1103515245 + 12345) ^ i; x[i] = h;"
    source = f"kernel void k(global int *x, int n) {{ int h = 0, i = get_global_id(0); {loop} }}"
    done = run(tmp_path, source, [np.zeros(64, np.int32), np.int32(40)])

    assert done.issued["int32_mul"] > done.uniform["int32_mul"] == 0
    assert done.uniform["add"] >= 64 * 10  # the counter, although lanes leave the loop
    assert (done.uniform["branch"] > 64 * 5) is counted


def test_only_global_pointers_may_point_to_the_same(tmp_path: Path) -> None:
    parameters = "global int *a, global int *restrict b, constant int *c, local int *d, int e"
    (tmp_path / "k.cl").write_text(f"kernel void k({parameters}) {{ d[0] = c[e]; a[0] = b[0] + d[e]; }}")

    assert [each.noalias for each in program(compile_file(tmp_path / "k.cl"), "k").parameters] == [False, *4 * [True]]


def test_addresses_of_different_ways_are_not_the_same(tmp_path: Path) -> None:
    ways = "int k; if (x[get_global_id(0)] > 0) { k = 0; x[0] = 1; } else { k = 7; x[1] = 2; } atomic_inc(&c[k]);"
    (tmp_path / "k.cl").write_text(f"kernel void k(global float *x, global int *c) {{ {ways} }}")

    assert [each.same for each in program(compile_file(tmp_path / "k.cl"), "k").accesses if each.atomic] == [False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("read_only image2d_t a) { }", "kernel.cl:1: images, samplers and events are not supported: a"),
        ("struct { int a; } pair) { }", "kernel.cl:1: a structure by value, pair, is not supported"),
        ('global int *x) {\n __asm__ volatile("nop"); }', "kernel.cl:2: inline assembly"),
        ("global int *x) {\n x[0] = remquo(1.0f, 2.0f, x); }", "kernel.cl:2: remquo is not supported"),
        ("global int *x) { atomic_inc(get_global_id(0) ? x : 0); }", "kernel.cl:1: one atomic operation on several"),
        (
            "global int *x) {\n x[0] = work_group_scan_inclusive_add(1); }",
            "kernel.cl:2: work_group_scan_inclusive_add is",
        ),
        ("global int *x) {\n x[0] = *(global int *)get_local_id(0); }", "kernel.cl:2: access through a pointer that"),
        ("global int *x) { int *p = 0; p = x;\n x[0] = y; }", "kernel.cl:2: use of undeclared identifier 'y'$"),
        ("global int *x) { int y = x; }", "kernel.cl:1: incompatible pointer to integer .*'__global int [^\\[]*'$"),
        ("global T *x) { x[0] = N; }", "kernel.cl:1: unknown type name 'T'.* such as -D T=float -D N=16$"),
        ('global int *x) {\n#include "none.h"\n}', "kernel.cl:2: 'none.h' file not found; .* such as -I include$"),
    ],
)
def test_what_cannot_be_executed_is_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        run(tmp_path, f"kernel void k({text}", [np.zeros(1, np.int32)])


def test_included_files(tmp_path: Path) -> None:
    """They may have another encoding; messages about those elsewhere contain no words of them; lines are the file's."""
    (tmp_path / "text.h").write_bytes(b'constant char text[] = "\xe9";')
    (tmp_path / "own.txt").write_text("secret words;")
    (tmp_path / "kernels").mkdir()

    assert "\ufffd" in preprocessed('#include "text.h"', tmp_path)
    with pytest.raises(InputError, match=r"own\.txt:1: unknown type name '\.\.\.'$"):
        run(tmp_path / "kernels", '#include "../own.txt"', [])
    (tmp_path / "get.h").write_text("\n\n\nint get(global int *x) { return x[0]; }\n")
    (tmp_path / "k.cl").write_text('#include "get.h"\nkernel void k(global int *x) { x[1] = get(x); }')
    assert [each.line for each in program(compile_file(tmp_path / "k.cl"), "k").accesses] == [2, 2]


@pytest.mark.parametrize(("options", "result"), [("", 120), ("-cl-std=CL2.0", 200), ("-cl-std=CL3.0", 300)])
def test_the_language_is_that_of_the_build_options(options: str, result: int, tmp_path: Path) -> None:
    text = "kernel void k(global int *x) { x[0] = __OPENCL_C_VERSION__; x[1] = __OPENCL_VERSION__; }"
    run(tmp_path, text, [data := np.zeros(2, np.int32)], 1, 1, options=options)
    assert data.tolist() == [result, 300]


def test_compiling_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.trace.compiler._SECONDS", 1e-3)
    with pytest.raises(InputError, match=r"kernel\.cl: it does not compile within 0\.001 s"):
        run(tmp_path, "kernel void k(global int *x) { }", [np.zeros(1, np.int32)])


def test_endless_loops_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.trace.execution._MOST_BLOCKS", 100)
    with pytest.raises(InputError, match=r"kernel\.cl:1: k did not end after 100 steps"):
        run(tmp_path, "kernel void k(global volatile int *x) { while (!x[0]); }", [np.zeros(1, np.int32)])
