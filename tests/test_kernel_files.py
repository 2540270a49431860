"""Kernels of users: sources, descriptions, expressions, and the shipped examples."""

import pickle
import re
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shutil import copy
from unittest.mock import Mock, patch

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import gpureport
from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.errors import GpuReportError, InputError
from gpureport.explain.hypotheses import HYPOTHESES
from gpureport.kernel_files import described, load_kernels
from gpureport.kernel_files.description import kernel_schema
from gpureport.kernel_files.expressions import _FUNCTIONS, ExpressionError, _signature, evaluate, number, whole
from gpureport.kernel_files.workload import KernelFileWorkload
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.kernels import verify
from gpureport.measure.measurer import checked
from gpureport.measure.presence import choose_working
from gpureport.predict import ModelInput, limits_of, model_inputs, predict_sweep
from gpureport.predict.advice import advice, source_accesses
from gpureport.predict.model import PointModel, point_time
from gpureport.records.finding import Advice
from gpureport.records.report import save_report
from gpureport.report.text.words import family_name, kernel_name
from gpureport.results.opening import predicted
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.trace.compiler import preprocessed
from gpureport.trace.faults import check
from gpureport.workloads import select
from gpureport.workloads.model import Limits
from tests.fake_backend import having
from tests.toy import MIB, TOY, on_cpu

EXAMPLES = sorted((data_dir("kernels_cl") / "examples").glob("*.yaml"))
SAXPY = data_dir("kernels_cl") / "examples" / "saxpy.yaml"
CPU = on_cpu()


def example(name: str) -> KernelFileWorkload:
    (found,) = load_kernels([data_dir("kernels_cl") / "examples" / f"{name}.yaml"])
    return found


def changed(folder: Path, old: str, new: str, source: str = "saxpy.cl") -> Path:
    text = SAXPY.read_text()
    assert old in text
    copy(SAXPY.with_name(source), folder / "saxpy.cl")
    file = folder / "saxpy.yaml"
    file.write_text(text.replace(old, new))
    return file


def test_expressions_compute_sizes_and_arrays() -> None:
    x = np.arange(6, dtype=np.float32)
    assert whole("-(-n // 4)", {"n": 9}) == 3
    assert evaluate("x + 2 * a", {"x": x, "a": np.float32(3)}).dtype == np.float32
    np.testing.assert_array_equal(evaluate("reshape(x, 2, 3)[:, None, 1:]", {"x": x}), x.reshape(2, 1, 3)[..., 1:])
    np.testing.assert_array_equal(evaluate("where(x > 2, x, -x) @ ones(6)", {"x": x}), 3 + 4 + 5 - 3)
    np.testing.assert_array_equal(evaluate("concatenate([x, [1] * 2, (3, 4)], 0)[-4:]", {"x": x}), [5, 2, 3, 4])
    np.testing.assert_array_equal(evaluate("[0, 1, 2, 3][1:3] * 2 + -[1, 2]", {}), [1, 2])
    np.testing.assert_array_equal(evaluate("([1, 2] == [1, 2]) * ([1] if n > 3 else (2, 3)) * n", {"n": 5}), [5, 5])
    np.testing.assert_array_equal(evaluate("sum(ones(2, 3, 4), axis=(0, 2))", {}), [8, 8, 8])
    np.testing.assert_array_equal(evaluate("histogram([5, 2 ** 40, 1], 3)", {}), [0, 1, 0])
    assert evaluate("sum(arange(3)) + sum", {"sum": 4}) == 7  # a function and a size
    for text in ("2^3", "n - 2^40"):
        with pytest.raises(ExpressionError, match=re.escape("write **")):
            number(text, {"n": 8})


_UNSUPPORTED = (
    *("x.tofile('a')", "x.size", "__import__('os')", "open(1)", "lambda: 1", "(lambda a: a)(2)", "sum(x)(2)"),
    *("x +", "", "[i for i in x]", "f'{x}'", "n, n", "n; n", "z", "x[9]", "1 / 0", "sum(x, axis=7)", "n / 4", "-n"),
    *("'a' * 10", "2 ** 1000", "1 << -1", "(" * 300 + "n" + ")" * 300, "n + " * 400 + "n"),
)
_TOO_LARGE = ("zeros(2 ** 20, 2 ** 20)", "arange(0, 1, 1e-11)", "tile([0], 2 ** 31)", "repeat(x, 2 ** 40)")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *((text, "") for text in _UNSUPPORTED),
        *((text, "Unable to allocate") for text in _TOO_LARGE),
        *(
            (text, "64 bits")
            for text in ("9 ** 9 ** 9", "1 << 100", "((1 << (1 << 24)) // 7) * 3", "tile(2**62 * 2**62, 3) ** 10**7")
        ),
        ("x[..., 0]", "(ellipsis)"),
        ("cumsum(x, 0, None, x)", "cumsum(array, axis=None)"),
        ("sum(x, out=x)", "sum(array, axis=None)"),
        ("sum()", "write sum(array, axis=None)"),
        ("sqrt(x, x)", "sqrt(value)"),
        ("sum(x, **x)", "sum(array, axis=None)"),
        ("9 ** 9 + 10000000000000000000000", "64 bits"),
        ("[None, 1]", "number"),
        ("(([0] if 1 > 0 else [1]) * 300000000 == 0) + 64", "not a finite number"),
        ("concatenate(([0] if 1 > 0 else [1]) * 300000000)", "concatenated"),
        ("not n", "support"),
        ("n in x", "support"),
        ("interior(1, x)", "dimensions"),
    ],
)
def test_expressions_within_limits(text: str, word: str) -> None:
    """One sentence names the limit, or the allowed arguments; nothing is changed."""
    x = np.arange(6)
    with pytest.raises(ExpressionError, match=re.escape(word) or None) as error:
        whole(text, {"x": x, "n": 9})
    assert "\n" not in str(error.value)
    np.testing.assert_array_equal(x, np.arange(6))


@given(st.text(alphabet="nx0123456789+-*/%()[],.: _'<>=&|^~@", max_size=40))
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    with suppress(ExpressionError):
        evaluate(text, {"x": np.arange(6), "n": 9})


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.xdist_group("opencl")
def test_examples_give_the_expected_results(backend: OpenCLBackend, file: Path) -> None:
    for workload in load_kernels([file]):
        assert workload.is_verified
        assert not workload.missing(backend.device)
        received = pickle.loads(pickle.dumps(workload))  # noqa: S301 - as the driver process receives it
        verification = verify(backend, received, np.random.default_rng(5))
        assert verification.passed, verification.message


@pytest.mark.parametrize(("device", "quick"), [(TOY, False), (CPU, True)], ids=["gpu", "cpu"])
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_sweeps_of_examples_respect_the_limits(file: Path, device: Device, quick: bool) -> None:
    """No point needs more memory or a larger work-group than allowed; points differ; x ascends."""
    limits = Limits(max_bytes=256 * MIB, max_buffer_bytes=128 * MIB, max_work_group=1024, quick=quick)
    for workload in load_kernels([file]):
        for sweep in workload.sweeps(device, limits):
            keys = [workload.point(parameters, sweep) for parameters in sweep.points]
            assert len({key.label for key in keys}) == len(keys) > 1
            assert sorted(key.x for key in keys) == [key.x for key in keys] or sweep.name == "work_group"
            for parameters, key in zip(sweep.points, keys, strict=True):
                group = workload.formulas.local_size(parameters)
                assert key.working_set_bytes <= limits.max_bytes
                assert np.prod(group) <= limits.max_work_group
                assert key.work_items % np.prod(group) == 0


def test_a_stream_is_predicted_as_the_microbenchmark() -> None:
    (triad,) = select(("memory/triad",))
    own = example("stream_triad")
    sweeps = [(each, each.sweeps(TOY, limits_of(TOY))[0]) for each in (triad, own)]
    last = [(each, replace(sweep, points=sweep.points[-1:])) for each, sweep in sweeps]
    theirs, ours = (predict_sweep(TOY, *each, "specification").points[0].value for each in last)
    assert ours == pytest.approx(theirs, rel=0.1)


def test_a_sequence_takes_the_time_of_its_kernels() -> None:
    """Times are those of the mean dispatch, and so is the work; the second kernel is small."""
    one, two = example("reduction"), example("reduction_two_pass")
    sweep = two.sweeps(TOY, limits_of(TOY))[0]
    point = sweep.points[-1]
    single, both = (point_time(*model_inputs(TOY, each, sweep, point)) for each in (one, two))
    assert len(two.job(two.verification()[0], np.random.default_rng(0)).dispatches) == 2
    assert two.point(point, sweep).work == one.point(point, sweep).work / 2
    assert single.time_s / 2 < both.time_s < single.time_s
    assert both.bottleneck in both.ceilings_s


def test_a_mistake_in_a_sequence_has_its_line(tmp_path: Path) -> None:
    text = (SAXPY.parent / "reduction_two_pass.yaml").read_text()
    copy(SAXPY.with_name("reduction.cl"), tmp_path / "reduction.cl")
    file = tmp_path / "two.yaml"
    old = "buffer: sums, elements: groups"
    file.write_text(text.replace(old, old.replace("groups", "none")))
    line = 1 + next(number for number, each in enumerate(text.splitlines()) if "buffer: sums" in each)
    with pytest.raises(InputError, match=rf":{line}: sequence.0.arguments.1.elements"):
        load_kernels([file])


def test_kernels_of_one_name_are_a_family(tmp_path: Path) -> None:
    file = changed(tmp_path, "{n: auto}", "{n: [64]}")
    source = tmp_path / "saxpy.cl"
    source.write_text(source.read_text() + source.read_text().replace("saxpy", "other"))
    text = file.read_text()
    files = [_written(tmp_path / f"{name}.yaml", f"{text}kernel: {name}\n") for name in ("saxpy", "other")]
    report = predicted(TOY, load_kernels(files), quick=True)[0]
    assert kernel_name(report, report.workloads["saxpy/other"]) == "SAXPY (other)"
    assert family_name(report, report.predictions[0].key.family) == "SAXPY"


@pytest.mark.parametrize("array", [np.zeros(0), np.array(["a"]), np.zeros(4, complex)])
def test_arrays_that_do_not_fit_are_refused(array: np.ndarray) -> None:
    fields = yaml.safe_load(SAXPY.read_text())
    with pytest.raises(InputError, match="arrays: 'x'"):
        described(fields, SAXPY.parent, {"x": array})
    with pytest.raises(InputError, match="no buffer 'a'"):
        described(fields, SAXPY.parent, {"a": np.ones(4)})


def test_fields_of_python_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="give expect or expect_from, not both"):
        described({"source": "saxpy.cl", "expect": {}, "expect_from": "own:right"}, SAXPY.parent)


def test_names_have_letters_of_all_languages(tmp_path: Path) -> None:
    text = "kernel void größe(global float *ä, int ñ) { int i = get_global_id(0); if (i < ñ) ä[i] *= 2; }"
    (workload,) = load_kernels([_written(tmp_path / "k.cl", text)])
    assert (workload.variant, workload.formulas.buffers[0].text) == ("größe", "ñ")


def test_fields_may_have_numbers_of_numpy() -> None:
    fields = yaml.safe_load(SAXPY.read_text())
    sizes = {"n": np.array([1024, 4096])}
    workload = described(fields | {"sizes": sizes, "work_groups": np.int64(64)}, SAXPY.parent)
    assert workload.verification()[0] == {"n": 1024, "local_x": 64}


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "word"),
    [
        ("sizes: {n: auto}", "kernel: saxpi\nsizes: {n: auto}", 5, "kernel", "'saxpy'"),
        ("source: saxpy.cl", "source: other.cl", 4, "source", "no file"),
        ("name: a,", "name: b,", 7, "arguments.0.name", "it has y, x, a, n"),
        ("name: a, value", "name: a, elements", 7, "arguments.0.elements", "a is a scalar in saxpy (saxpy.cl:3)"),
        ("{name: a, value: 2.0}", "{name: a}\n  - {name: a}", 8, "arguments.1.name", "twice"),
        ("{name: a, value: 2.0}", "{name: n, value: 2.5}\nglobal_size: [64]", 7, "arguments.0.value", "uint32"),
        ("value: 2.0", "value: 2.0 +", 7, "arguments.0.value", "not an expression"),
        ("{n: auto}", "{n: auto, m: 3}", 5, "sizes.m", "nothing uses m; other sizes are: n"),
        ("value: 2.0", "value: [1, 2]", 7, "arguments.0.value", "must be a number or an expression"),
        ("a, value: 2.0", "x, elements: 0", 7, "arguments.0.elements", "at least one"),
        *(("a, value: 2.0", f"x, elements: 2**{n}", 7, "arguments.0.elements", "fewer") for n in (50, 63)),
        ("y + a * x", "y[1:] + a", 9, "expect.y", "values"),
        ("y + a * x", "(0 - 1) ** 0.5 * y", 9, "expect.y", "real"),
        ("expect: {y:", "expect: {z:", 9, "expect.z", "no buffer"),
        ("work:", "work_groups: [[7, 7]]\nwork:", 8, "work_groups", "dimension"),
        ("work:", "work_groups: 0\nwork:", 8, "work_groups", "[16, 16]"),
        ("work:", "gaurded: true\nwork:", 8, "gaurded", "guarded"),
        ("work:", "swap: [y, y]\nwork:", 1, "", "different"),
        ("work:", "global_size: [1e300]\nwork:", 8, "global_size.0", "'1e+300' is 1e+300, which exceeds 64 bits"),
        ("amount: n,", "amount: 0,", 8, "work.amount", "positive"),
        ("{n: auto}", "{n: auto, m: auto}", 5, "sizes", "swept"),
        ("{n: auto}", "{n: [0, 5]}", 5, "sizes.n", "at least 1"),
        ("{n: auto}", "{n: 10..x}", 5, "sizes.n", "2^10..2^20"),
        ("{n: auto}", "{n: 0..20}", 5, "sizes.n", "1..2^40"),
        ("sizes: {n: auto}", "multiple_of: 256\nsizes: {n: 300..500}", 6, "sizes.n", "no multiple of 256"),
        ("{n: auto}", "{n: [2147483648]}", 5, "sizes", "smaller"),
        ("{n: auto}\narguments:", "{n: 268435456}\narguments:\n  - {name: x, values: arange(n)}", 5, "sizes", "2^27"),
        (
            "auto}\narguments:\n  - {name: a, ",
            "[64, 268435456]}\narguments:\n  - {name: x, values: arange(n)}\n  - {name: a, ",
            5,
            "sizes.n",
            "2^27",
        ),
        ("{n: auto}", "{lambda: auto}", 5, "sizes", "write lambda_"),
        ("{n: auto}", "{n: 2^12..2^10}", 5, "sizes.n", "exchange them, or write a list such as [4096]"),
        ("name: SAXPY", "name: ''", 2, "name", "empty"),
    ],
)
def test_a_mistake_has_its_line(tmp_path: Path, old: str, new: str, line: int, field: str, word: str) -> None:
    file = changed(tmp_path, old, new)
    with pytest.raises(InputError) as error:
        load_kernels([file])
    message = str(error.value)
    assert message.startswith((f"{file}:{line}: {field}", f"{file}: {field}"))
    assert f":{line}:" in message or not field
    assert word in message
    assert "\n" not in message


CONDITIONAL = """#ifdef WIDE
#define REAL double
#else
#define REAL float
#endif
#ifdef SHORT
kernel void saxpy(global REAL *y) { y[get_global_id(0)] = 1; }
#else
kernel void saxpy(global REAL *y, global const REAL *x, REAL a, uint n) {
    uint i = get_global_id(0); if (i < n) y[i] += a * x[i]; }
#endif
""".replace("\n", "\r\n")


@pytest.mark.parametrize(("options", "types"), [("", 4 * ["float32"]), ("-DWIDE", 3 * ["float64"]), ("-DSHORT", ["f"])])
def test_a_source_is_what_the_preprocessor_leaves(tmp_path: Path, options: str, types: list[str]) -> None:
    """With line ends of Windows, too."""
    file = changed(tmp_path, "work:", f"build_options: '{options}'\nwork:")
    (tmp_path / "saxpy.cl").write_text(CONDITIONAL, newline="")
    if options == "-DSHORT":
        with pytest.raises(InputError, match=r"arguments.0.name: saxpy \(saxpy.cl:7\) has no argument 'a'; it has y$"):
            load_kernels([file])
        return
    (workload,) = load_kernels([file])
    assert [str(each.dtype) for each in workload.formulas.arguments][:3] == types[:3]


def test_kernels_need_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(GpuReportError, match="needs a compiler; install it with"):
        load_kernels([changed(tmp_path, "2.0", "3.0")])


def test_sizes_are_those_that_are_written() -> None:
    """Ends of ranges, multiples, all of a list, and sizes that share work-items; of rounded sizes the first."""

    def points(size: object, *, quick: bool = False, **others: object) -> list[int]:
        fields = yaml.safe_load(SAXPY.read_text()) | {"sizes": {"n": size}, **others}
        workload = described(fields, SAXPY.parent)
        return [point["n"] for point in workload.sweeps(TOY, replace(limits_of(TOY), quick=quick))[0].points]

    assert points([4096, 1024, 1000], quick=True) == [1000, 1024, 4096]
    assert points("3000..50000")[::33] == [3000, 50000]
    assert described({"source": "saxpy.cl", "sizes": {"n": "2^10"}}, SAXPY.parent).verification()[0] == {"local_x": 256}
    multiples = points("2^14..2^17", multiple_of=3000)
    assert (multiples[0], multiples[-1]) == (18000, 129000)
    assert len(points("2^12..2^15", global_size=[1024])) == 25


def test_loops_that_grow_are_executed_at_few_sizes(tmp_path: Path) -> None:
    """One per factor of two, up to many instructions; the work-groups at one of these sizes."""
    loop = "float s = 0; for (int j = 0; j < n; j++) s += a[j * n + i]; x[i] = s;"
    head = "kernel void k(global float *x, global float *a, int n) { int i = get_global_id(0);"
    text = f"{head} if (i < n) {{ {loop} }} }}"
    (workload,) = load_kernels([_written(tmp_path / "k.cl", text)])
    with patch("gpureport.kernel_files.workload._MOST_INSTRUCTIONS", 2**12):
        sizes, groups = workload.sweeps(TOY, limits_of(TOY))
    values = [each["n"] for each in sizes.points]
    assert all(2 <= later / size < 2.5 for size, later in pairwise(values))
    assert len(values) >= 3
    assert groups.points[0]["n"] <= values[-1] < 2**11


@pytest.mark.parametrize(("sizes", "points"), [("4096..8191", [4096, 8191]), ("auto", [])])
def test_sizes_are_in_the_range_of_valid_expressions(sizes: str, points: list[int], tmp_path: Path) -> None:
    _written(tmp_path / "k.cl", "kernel void k(global int *x) { for (int j = 0; j < 3000; j++) x[j & 63] ^= j; }")
    elements = {"name": "x", "elements": 64 if sizes == "auto" else "64 * (n // 4096)"}
    fields = {"name": "K", "source": "k.cl", "arguments": [elements], "sizes": {"n": sizes}, "global_size": ["n"]}
    with nullcontext() if points else pytest.raises(InputError, match=r"sizes\.n: no buffer grows with it"):
        workload = described({**fields, "guarded": True, "work": {"amount": "n", "unit": "elements"}}, tmp_path)
        assert [each["n"] for each in workload.sweeps(TOY, limits_of(TOY))[0].points] == points


def test_a_workload_is_another_with_other_included_files_and_arrays(tmp_path: Path) -> None:
    text, digests = '#include "size.h"\nkernel void k(global float *x) { x[get_global_id(0)] = SIZE; }', set[str]()
    _written(tmp_path / "k.cl", text)
    fields = {"source": "k.cl", "arguments": [{"name": "x", "elements": "n"}], "sizes": {"n": "auto"}}
    for size, value in ((1, 0), (2, 0), (2, 1), (2, 1)):
        _written(tmp_path / "size.h", f"#define SIZE {size}")
        preprocessed.cache_clear()
        digests.add(described({**fields, "global_size": ["n"]}, tmp_path, {"x": np.array([value], "f4")}).digest)
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("k.cl", b"int f() { return 0; }", "source: k.cl contains no kernel$"),
        ("k.cl", b"kernel", "k.cl:1: "),
        ("k.cl:g", b"kernel void f() {} // \xe9", "contains no kernel 'g'"),
        ("k.cl:g", b"kernel void f() {}\n#ifdef N\nkernel void g() {}\n#endif", "contains g only under a condition"),
        ("none.yaml", b"", "no such file"),
        ("k.yaml", b"a: b: c", "k.yaml:1: "),
        ("k.yaml", b"\xff\x00\x01", "UTF-8"),
        ("image.png", b"PNG\0", r"'.*' is no text in UTF-8: .*; give the source of a kernel \(FILE.cl\), or"),
        ("k.cl", "kernel void f() {}".encode("utf-16"), "it has NUL bytes, as UTF-16 has; give"),
        (".", b"", r"'.*' is a folder or device; give the source of a kernel \(FILE.cl\), or"),
    ],
)
def test_other_files_are_refused(name: str, text: bytes, problem: str, tmp_path: Path) -> None:
    if text:
        (tmp_path / name.removesuffix(":g")).write_bytes(text)
    with pytest.raises(InputError, match=problem):
        load_kernels([tmp_path / name])


def test_names_are_not_those_of_other_workloads(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="family"):
        load_kernels([changed(tmp_path, "name: SAXPY", "name: Memory")])
    with pytest.raises(InputError, match="twice"):
        load_kernels([SAXPY, SAXPY])


@pytest.mark.xdist_group("opencl")
def test_stores_beyond_the_end_are_noticed_and_missing_results_computed(backend: OpenCLBackend, tmp_path: Path) -> None:
    (workload,) = load_kernels([SAXPY])
    short = (replace(each, text="n - 1") if each.kind == "buffer" else each for each in workload.formulas.arguments)
    workload.formulas = replace(workload.formulas, arguments=tuple(short))
    assert "y: the kernel stores beyond the end" in str(verify(backend, workload, np.random.default_rng(5)).message)
    (workload,) = load_kernels([changed(tmp_path, 'expect: {y: "y + a * x"}\n', "")])
    assert verify(backend, workload, np.random.default_rng(5)).passed
    assert not workload.is_verified
    assert "executed on the host" in workload.description
    with patch("gpureport.kernel_files.formulas.Formulas.executed_results", lambda *_: {"y": np.zeros(5, np.float32)}):
        assert not verify(backend, workload, np.random.default_rng(5)).passed


def test_of_exchanged_buffers_the_results_of_one_dispatch_are_expected(tmp_path: Path) -> None:
    (workload,) = load_kernels([changed(tmp_path, 'expect: {y: "y + a * x"}', "swap: [y, x]")])
    point = workload.verification()[0]
    job = workload.job(point, np.random.default_rng(5))
    x, y = (job.buffers[name].filled() for name in "xy")
    expected = workload.expected(point, job, workload.verification_dispatches)
    np.testing.assert_allclose(expected["y"], y + np.float32(2) * x, rtol=1e-6)
    np.testing.assert_array_equal(expected["x"], x)


def test_a_function_gives_expected_results(tmp_path: Path) -> None:
    file = changed(tmp_path, 'expect: {y: "y + a * x"}', "expect_from: own.py:right")
    (tmp_path / "own.py").write_text("def right(y, x, a, **others):\n    return {'y': y + a * x}\n")
    (workload,) = load_kernels([file])
    job = workload.job(workload.verification()[0], np.random.default_rng(5))
    assert set(workload.expected(workload.verification()[0], job, 1)) == {"y"}
    (same,) = load_kernels([changed(tmp_path, 'expect: {y: "y + a * x"}', "expect_from: own:right")])
    assert set(same.expected(workload.verification()[0], job, 1)) == {"y"}
    file = changed(tmp_path, 'expect: {y: "y + a * x"}', "expect_from: own.py:right")
    wrong = {
        "raise ValueError('no')": "failed: ValueError: no$",
        "return {'y_new': 1}": "y_new",
        "return all['nope']": "KeyError",
        "return 3": "dict",
        "return {'y': [[1, 2], [3]]}": "failed: ValueError",
        "return {'y': [right]}": "returned something for 'y' that is not an array of numbers",
        "sys.exit(0)": "failed: SystemExit: 0$",
        "os._exit(0)": "the process of own.py:right ended with exit code 0$",
        "raise KeyboardInterrupt('\\x1b[31m' + 'x' * 9**6)": "failed: KeyboardInterrupt: .31mx+…$",
    }
    for code, message in wrong.items():
        (tmp_path / "own.py").write_text(f"import os, sys\ndef right(**all):\n    {code}\n")
        with pytest.raises(InputError, match=f":9: expect_from: .*{message}"):
            load_kernels([file])


def test_a_device_that_does_not_support_a_kernel_is_named(tmp_path: Path) -> None:
    """Work-groups or data are too large; with line and limit."""
    small = limits_of(TOY)
    (workload,) = load_kernels([changed(tmp_path, "work:", "work_groups: 100000\nwork:")])
    with pytest.raises(InputError, match=rf"saxpy.yaml:8: work_groups: .* {small.max_work_group} .*{TOY.name}"):
        workload.sweeps(TOY, small)
    with pytest.raises(InputError, match="work_groups"):  # before a driver reports less
        checked(Mock(spec_set=()), [workload], TOY, small, Mock(spec_set=()))
    (workload,) = load_kernels([changed(tmp_path, "work:", "work_groups: [64, 100000]\nwork:")])
    assert {point["local_x"] for sweep in workload.sweeps(TOY, small) for point in sweep.points} == {64}
    (workload,) = load_kernels([changed(tmp_path, "sizes: {n: auto}", "sizes: {n: [1048576]}")])
    with pytest.raises(InputError, match=rf"sizes.*{TOY.name}"):
        workload.sweeps(TOY, replace(small, max_bytes=2**20))


@pytest.mark.xdist_group("opencl")
def test_one_wrong_kernel_does_not_stop_others(tmp_path: Path) -> None:
    """All problems are stated; kernels that do not fit are left out, and one that is wrong is part of the report."""
    (wrong,) = load_kernels([changed(tmp_path, "y + a * x", "y - a * x")])
    (large,) = load_kernels([changed(tmp_path, "work:", "work_groups: 100000\nwork:")])
    with choose_working("auto") as measurer:
        fitting, problems = checked(measurer, [wrong, example("saxpy"), large], TOY, limits_of(TOY), Mock())
    assert [each.variant for each in fitting] == ["saxpy", "saxpy"]
    assert ["wrong results" in each for each in problems] == [True, False]


def test_contents_that_are_computed_limit_all_sweeps(tmp_path: Path) -> None:
    """The search for a work-group uses the largest data that can be computed."""
    large = TOY.model_copy(
        update={"caches": tuple(c.model_copy(update={"capacity_bytes": 2.0**28}) for c in TOY.caches)}
    )
    limits = replace(limits_of(large), max_bytes=2**34, max_buffer_bytes=2**33)
    (workload,) = load_kernels([changed(tmp_path, "a, value: 2.0}", 'x, values: "random(0, n)"}')])
    sizes, groups = workload.sweeps(large, limits)
    assert len(groups.points) > 1
    assert max(point["n"] for point in sizes.points) == groups.points[0]["n"] == 2**27


def advice_on(workload: KernelFileWorkload, device: Device = TOY) -> tuple[Advice, ...]:
    return advice(workload, ModelInput(device), workload.sweeps(device, limits_of(device)))


def test_advice_has_gains_of_at_least_five_percent() -> None:
    for name in ("reduction", "saxpy"):
        gains = [each.gain for each in advice_on(example(name))]
        assert gains == sorted(gains, reverse=True)
        assert all(gain >= 1.05 for gain in gains)
    assert not [each for each in advice_on(example("saxpy"), CPU) if "work-groups of" in each.change]
    (copy_,) = select(("memory/copy",))
    assert advice(copy_, ModelInput(TOY), copy_.sweeps(TOY, limits_of(TOY))) == ()


def test_accesses_are_explained_by_source_line(tmp_path: Path) -> None:
    """Each work-item sums a row: a wave touches a line for each of its work-items. Its sum is stored in each step."""
    source = """kernel void rows(global float *sums, global const float *a, int n) {
    int i = get_global_id(0);
    for (int k = 0; k < n; k++)
        sums[i] += a[i * n + k]; // <&>
}"""
    (tmp_path / "rows.cl").write_text(source)
    rows = described({"source": "rows.cl", "sizes": {"n": [512, 1024]}, "global_size": ["n"]}, tmp_path)
    found = {
        (each.kind, each.array): each
        for each in source_accesses(rows, ModelInput(TOY), rows.sweeps(TOY, limits_of(TOY)))
    }
    load, store = found["load", "a"], found["store", "sums"]
    assert (load.line, load.text, load.point) == (4, "sums[i] += a[i * n + k]; // <&>", "n = 1024")
    assert (load.lines, load.used_bytes, load.sector_bytes) == (32, 4, 32)
    assert (store.lines, store.used_bytes) == (1, 32)
    assert load.unit_s > store.unit_s > 0
    assert sum(each.traffic_share for each in found.values()) == pytest.approx(1)
    core = load_database().device("cpu/core_i7_7800x")  # its caches keep what they wrote
    on_core = {each.array: each for each in source_accesses(rows, ModelInput(core), rows.sweeps(core, limits_of(core)))}
    assert all(each.unit_s > 0 for each in on_core.values())
    assert on_core["a"].traffic_share == pytest.approx(1, abs=0.01)
    for device in (TOY, CPU):
        demand = rows.demand({"n": 512, "local_x": 256}, device)
        point = PointModel(device, demand)
        assert all(0 < each.time_s(point) < 100 * point.time_s for each in HYPOTHESES)
    changes = {each.change for each in advice_on(rows)}
    assert "let neighbouring work-items access neighbouring elements of a" in changes
    (demand,) = (demand for what, demand in rows.changes({"n": 512, "local_x": 256}, TOY) if "restrict" in what)
    assert {each.kind: each.waves for each in demand.accesses if each.buffer == "sums"}["store"] == 512 / 32


def test_stores_that_the_compiler_merges_have_the_line_of_one_of_them(tmp_path: Path) -> None:
    text = """kernel void k(global float *x, global float *y) { size_t i = get_global_id(0);
    switch (i % 3) {
        case 0: x[i] = 1; break;
        case 1: x[i] = 3 * y[i]; break;
    } }"""
    (kernel,) = load_kernels([_written(tmp_path / "k.cl", text)], {**GIVEN, "sizes": {"n": [1024]}})
    lines = [each.line for each in kernel.demand(kernel.verification()[0], TOY).accesses if each.buffer == "x"]
    assert lines == [4]


def test_the_traffic_of_an_access_takes_no_time_of_others(tmp_path: Path) -> None:
    text = "kernel void k(global int *x, global int *y) { size_t i = get_global_id(0); atomic_add(y + i % 8, x[i]); }"
    fields = {**GIVEN, "sizes": {"n": [2**24]}, "work_groups": [256]}
    (kernel,) = load_kernels([_written(tmp_path / "k.cl", text)], fields)
    device = load_database().device("nvidia/h200_sxm")
    load, atomic = source_accesses(kernel, ModelInput(device), kernel.sweeps(device, limits_of(device)))
    streamed_s = 4 * 2**24 / device.memory.bandwidth_bytes_per_s
    assert 0.3 * streamed_s < load.memory_s < 2 * streamed_s < atomic.memory_s


def test_lines_that_load_one_array_share_the_time_of_its_traffic(tmp_path: Path) -> None:
    device, lines = load_database().device("nvidia/h200_sxm"), ("y[i] = x[64 * i]", "+\n x[64 * i + 32]")
    times = []
    for count in (1, 2):
        body = f"{{ size_t i = get_global_id(0); {''.join(lines[:count])}; }}"
        source = _written(tmp_path / f"k{count}.cl", f"kernel void k(global float *y, global float *x) {body}")
        (kernel,) = load_kernels([source], {**GIVEN, "sizes": {"n": [2**22]}, "work_groups": [256]})
        found = source_accesses(kernel, ModelInput(device), kernel.sweeps(device, limits_of(device)))
        times.append([each.memory_s for each in found if each.array == "x"])
    (alone,), (one, other) = times
    assert one == pytest.approx(other)
    assert alone < one + other < 2.1 * alone


def test_a_required_work_group_is_that_of_its_kernel(tmp_path: Path) -> None:
    text = "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void f(global int *x) { x[get_global_id(0)]++; }"
    source = _written(tmp_path / "required.cl", text)
    given = {"sizes": {"n": "auto"}, "global_size": ["n"]}
    for right in ({}, {"work_groups": 64}):
        assert load_kernels([source], {**given, **right})[0].verification()[0]["local_x"] == 64
    for wrong in (32, [64, 128]):
        with pytest.raises(InputError, match=r"--local: f .* has reqd_work_group_size 64; write 64, or nothing"):
            load_kernels([source], {**given, "work_groups": wrong})


@pytest.mark.xdist_group("opencl")
def test_vectors_by_value_and_structures_have_numbers(backend: OpenCLBackend, tmp_path: Path) -> None:
    source = _written(
        tmp_path / "scale.cl",
        "typedef struct { float u, v; } Pair; kernel void scale(global float *y, float2 ab, global Pair *p) {"
        "int i = get_global_id(0); y[i] *= (ab.x + ab.y) * p[i].u + p[i].v; }",
    )
    given = {"sizes": {"n": "auto"}, "global_size": ["n"]}
    for expected in ({}, {"expect": {"y": "y * ((ab[0] + ab[1]) * p[::2] + p[1::2])"}}):
        (workload,) = load_kernels([source], {**given, **expected})
        assert [each.lanes for each in workload.formulas.arguments] == [1, 2, 1]
        assert verify(backend, workload, np.random.default_rng(5)).passed


def test_the_schema_accepts_the_examples() -> None:
    Draft202012Validator.check_schema(kernel_schema())
    for file in EXAMPLES:
        assert file.read_text().startswith("# yaml-language-server: $schema=../kernel.schema.json\n")
        errors = Draft202012Validator(kernel_schema()).iter_errors(yaml.safe_load(file.read_text()))
        assert [error.message for error in errors] == []


def test_a_kernel_is_described_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAXPY.parent)
    fields = yaml.safe_load(SAXPY.read_text())
    points = gpureport.Kernel(**{**fields, "sizes": {"n": [64]}}).predict("nvidia/h200_sxm", quick=True).points
    assert points["point"].iloc[0] == "n = 64"
    assert gpureport.Kernel.from_file("saxpy.yaml")
    workload = described(fields, SAXPY.parent, {"x": np.array([1.0, 2.0])})
    job = workload.job(workload.verification()[0], np.random.default_rng(0))
    np.testing.assert_array_equal(np.unique(job.buffers["x"].filled()), [1.0, 2.0])
    with pytest.raises(InputError, match="source: is missing"):
        gpureport.Kernel(**{name: value for name, value in fields.items() if name != "source"})


EXAMPLE_CL = SAXPY.parent
TWO = """kernel void first(global int *x, int n, int m) { int i = get_global_id(0); if (i < n) x[i] = m; }
kernel void second(global int *x, int n, int m) { int i = get_global_id(0); if (i < m) x[i] = n; }
kernel void scale(global int *x, int factor) { x[get_global_id(0)] *= factor; }
kernel void tiled(global int *x, int n, int m, int a, local int *t) { if (get_global_id(0) < n * m) x[m] = t[n] + a; }
kernel void comment(global int *x, int n) { int i = get_global_id(0); /* i < n */ x[i] = n; }
kernel void guarded(global int *y, int k, int n) { int i = get_global_id(0); if (i < n) y[i] = y[i] * k; }
kernel void columns(global int *x, int n) { x[get_global_id(1) * 16 + get_global_id(0)] = n; }
kernel void counted(global const int *x, global int *y, int n) {
    local int t[96]; int l = get_local_id(0); t[l] = 0; if (l < 32) t[l + 64] = 0; barrier(1);
    atomic_inc(t + x[get_global_id(0)]); barrier(1); y[get_global_id(0)] = t[l]; }
kernel void cells(global char *x, global int *y, int n) { int i = get_global_id(0); if (i < n && x[i]) y[i]++; }
kernel void places(global float *x, int n) { uint i = get_global_id(0); if (i < n) x[(uint)(int)(x[i] * 9)] = 1; }
kernel void blocks(global int *x, int n) { local int t[256]; int l = get_local_id(1) * 16 + get_local_id(0);
    t[l] = n; barrier(1); x[get_group_id(1) * n + get_group_id(0) * 256 + l] = t[255 - l]; }
kernel void strided(global int *x, int n) { for (int i = get_global_id(0); i < n; i += get_global_size(0)) x[i] = n; }
"""
ROW_STARTS = {"name": "starts", "values": "5 * arange(rows + 1)"}
SQUARE = {"width": "auto", "height": "width"}
TILED = {"global_size": ["n", "n"], "work_groups": [16, 16]}
GIVEN = {"global_size": ["n"], "work_groups": 64}


@pytest.mark.parametrize(
    ("source", "given", "elements", "global_size"),
    [
        ("saxpy.cl", {}, "n, n", "n"),
        ("two.cl:first", {"sizes": {"n": "auto", "m": 100}}, "n", "n"),
        (
            "stencil_5_point.cl",
            {"sizes": SQUARE},
            "max(1, width * width - width - 1), max(1, width * width - 1)",
            "width, height",
        ),
        (
            "stencil_5_point.cl",
            {"sizes": SQUARE, "swap": ["to", "from"]},
            2 * ", max(1, width * width - 1)",
            "width, height",
        ),
        ("matrix_product.cl", {**TILED, "defines": {"TILE": 16}}, 3 * ", n * n", "n, n"),
        ("reduction.cl", {"global_size": ["n // 16"], "work_groups": 256}, "-(-(n) // 4096), n", "n // 16"),
        ("reduction.cl", {"global_size": [65536], "work_groups": 256}, "256, n", "65536"),
        ("two.cl:strided", {**GIVEN, "sizes": {"n": [10600]}, "global_size": [3200]}, "10600", "3200"),
        ("two.cl:columns", {"global_size": [16, "n"], "work_groups": [16, 16]}, "16 * n", "16, n"),
        ("prefix_sum.cl", {"sizes": {"n": [4096, 8192]}, "global_size": ["n"], "work_groups": 128}, "n, n", "n"),
        (
            "csr_spmv.cl",
            {"arguments": [ROW_STARTS, {"name": "columns", "values": "random(0, rows)"}]},
            "rows, rows + 1, 5 * rows, 5 * rows, rows",
            "rows",
        ),
    ],
)
def test_a_source_determines_its_description(
    tmp_path: Path, source: str, given: dict[str, object], elements: str, global_size: str
) -> None:
    """Sizes of buffers, also those that other buffers index, and work-items."""
    (tmp_path / "two.cl").write_text(TWO)
    (workload,) = load_kernels([(tmp_path if "two" in source else EXAMPLE_CL) / source], given)
    assert ", ".join(each.text for each in workload.formulas.buffers) == elements.strip(", ")
    assert (", ".join(workload.fields.global_size), workload.is_executable) == (global_size, True)
    assert (workload.fields.work.unit == "n") == (global_size == "65536")  # of a fixed grid


@pytest.mark.parametrize(
    ("source", "given", "question"),
    [
        ("streams.cl", {}, "choose one, such as streams.cl:copy"),
        ("stencil_5_point.cl", {}, "--size width=auto --size height=width"),
        ("matrix_product.cl", {"defines": {"TILE": 16}}, "--global n,n --local 16,16"),
        ("two.cl:comment", {}, "--global n"),
        ("two.cl:places", {}, "negative? (with random numbers in x; give their contents, such as --data 'x=0')"),
        ("two.cl:blocks", {}, "--global n,n --local 16,16"),
        ("two.cl:scale", {}, "such as --size factor=1 --size n=auto --global n"),
        ("two.cl:guarded", {}, "such as --size k=1 --size n=auto"),
        (
            "two.cl:tiled",
            {},
            "and its work-group, because it uses local memory, such as --size n=auto --size m=n --size a=1 --local 256",
        ),
        (
            "csr_spmv.cl",
            {},
            "by the integers in starts what it executes; give their contents, such as --data 'starts=random(0,rows)'",
        ),
        ("csr_spmv.cl", {"arguments": [ROW_STARTS]}, "--data 'columns=random(0,rows)'"),
        (
            "two.cl:counted",
            GIVEN,
            "uses the integers in x as indices; give their contents, such as --data 'x=random(0,96)'",
        ),
        (
            "two.cl:cells",
            {},
            "decides by the integers in x what it executes; give their contents, such as --data 'x=random(0,2)'",
        ),
        (
            "saxpy.cl",
            {"global_size": [64], "arguments": [{"name": name, "elements": 256} for name in "xy"]},
            "no buffer or work-items that depend on n; give it as a number, and sweep another size, such as --size n=1",
        ),
    ],
)
def test_what_a_source_does_not_determine_is_asked_for(
    tmp_path: Path, source: str, given: dict[str, object], question: str
) -> None:
    (tmp_path / "two.cl").write_text(TWO)
    with pytest.raises(InputError, match=re.escape(question)):
        load_kernels([(tmp_path if "two" in source else EXAMPLE_CL) / source], given)


@pytest.mark.parametrize("condition", ["m[i] != 0", "m[i] > 0.5f", "m[i] < 0 && m[i] < p[i]", "p[i] > m[i] + 0.2f"])
@pytest.mark.parametrize("contents", ["random", "random(0, 1)"])
def test_contents_of_real_numbers_are_those_of_the_run(condition: str, contents: str, tmp_path: Path) -> None:
    if contents == "random(0, 1)" and "<" in condition:
        return
    head = "kernel void k(global const float *m, global const float *p, global float4 *x, int n)"
    text = f"{head} {{ int i = get_global_id(0); if (i < n) if ({condition}) x[2 * i] *= 2; }}"
    arguments = [{"name": name, "values": contents} for name in "mp"]
    (workload,) = load_kernels([_written(tmp_path / "k.cl", text)], {"arguments": arguments})
    assert [each.text for each in workload.formulas.buffers][-1] == "max(1, 2 * n - 1)"


def test_local_memory_beyond_its_arrays_is_refused(tmp_path: Path) -> None:
    text = TWO[TWO.index("kernel void counted") : TWO.index("kernel void cells")]
    given = {**GIVEN, "arguments": [{"name": "x", "values": "random(96, 97)"}]}
    with pytest.raises(InputError, match=r"k\.cl:3: work-item 0 stores t\[96\], and t has 96 elements"):
        load_kernels([_written(tmp_path / "k.cl", text)], given)


LOCAL = "kernel void k(global int *x, int n) { local int l[100000]; l[x[0]] = n; x[get_global_id(0)] = l[n & 7]; }"
GROUPS = "kernel void k(global int *x, uint n) { int i = get_global_id(0); x[i] = sub_group_reduce_add(i + n); }"


def test_sources_that_no_device_or_host_can_execute(tmp_path: Path) -> None:
    """Too much local memory, results that depend on the device, no buffer; too much data for a check of results."""
    file, small = tmp_path / "k.cl", limits_of(TOY)
    (local,) = load_kernels([_written(file, LOCAL)], {**GIVEN, "sizes": {"n": [64]}})
    with pytest.raises(InputError, match=r"--local: 400000 B of local memory are more than"):
        local.sweeps(TOY, small)
    assert "it needs 400000 bytes of local memory" in str(local.missing(having()))
    (groups,) = load_kernels([_written(file, GROUPS)], {**GIVEN, "sizes": {"n": [1_000_000_000]}})
    assert "Its results are not verified." in groups.description
    with pytest.raises(InputError, match="results cannot be checked"):
        groups.verification_job(groups.verification()[0], np.random.default_rng(0))
    kernels = (
        f"kernel void {of[0]}(global {of} *x, int n) {{ x[get_global_id(0)] = n; }}" for of in ("float", "double")
    )
    given = {**GIVEN, "kernel": "f", "sequence": [{"kernel": "d", "global_size": ["n"]}]}
    (both,) = load_kernels([_written(file, "\n".join(kernels))], given)
    assert "cl_khr_fp64" in str(both.missing(having()))
    for text in ("kernel void k(int n) { }", "kernel void k(global int *x, int n) { int unused = x[n]; }"):
        with pytest.raises(InputError, match="its behaviour is undefined"):
            load_kernels([_written(file, text)], GIVEN)


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_work_items_beyond_the_size_are_idle_and_buffers_differ() -> None:
    (traced,) = load_kernels([SAXPY.with_suffix(".cl")])
    point = {"n": 2**20 - 1, "local_x": 256}
    assert traced.demand(point, TOY).idle_items == 1
    x, y, *_ = (each.filled() for each in traced.formulas.host_buffers(point).values())
    assert (x != y).any()


@pytest.mark.parametrize("contents", ["random", "random(-1, 1)"])
def test_random_data_of_large_buffers_are_never_zero(contents: str, tmp_path: Path) -> None:
    text = "kernel void k(global float *m, int n) { int i = get_global_id(0); if (i < n && m[i] != 0) m[i] *= 2; }"
    given = {"arguments": [{"name": "m", "values": contents}], "sizes": {"n": [2**22, 2**28]}}
    (kernel,) = load_kernels([_written(tmp_path / "k.cl", text)], given)
    small, large = (kernel.demand({"n": n, "local_x": 256}, TOY) for n in given["sizes"]["n"])
    stored = [[each.lanes for each in one.accesses if each.kind == "store"] for one in (small, large)]
    assert stored == [[2**22], [2**28]]


def test_contents_of_indices_are_not_asked_for_where_all_elements_are_given(tmp_path: Path) -> None:
    text = (
        "kernel void k(global int *y, global uchar *x, constant int *t) { int i = get_global_id(0); y[i] = t[x[i]]; }"
    )
    elements = [{"name": "y", "elements": "n"}, {"name": "x", "elements": "n"}, {"name": "t", "elements": 256}]
    given = {**GIVEN, "sizes": {"n": "auto"}}
    assert load_kernels([_written(tmp_path / "k.cl", text)], {**given, "arguments": elements})
    with pytest.raises(InputError, match="the integers in x as indices"):
        load_kernels([tmp_path / "k.cl"], given)


@pytest.mark.parametrize(
    ("sizes", "elements", "more"),
    [
        ("1..64", "64", {}),
        ("1000..100000", "n // 64 * 64", {"multiple_of": 64}),
        ("1000..100000", "n // 64 * 64", {"guarded": False}),
        ("1..64", "63", {}),
    ],
)
def test_elements_are_checked_at_a_size_that_is_measured(
    sizes: str, elements: str, more: dict[str, object], tmp_path: Path
) -> None:
    guard = "" if more.get("guarded") is False else "if (i < n)"
    text = f"kernel void k(global float *x, uint n) {{ uint i = get_global_id(0); {guard} x[i] = 2 * x[i] + n; }}"
    _written(tmp_path / "k.cl", text)
    arguments = [{"name": "x", "elements": elements}]
    given = {"source": "k.cl", "sizes": {"n": sizes}, "global_size": ["n"], "arguments": arguments, **more}
    refused = pytest.raises(InputError, match=r"is 63 at n = 64, and k.cl:1 accesses x\[63\]")
    with refused if elements == "63" else nullcontext():
        assert described(given, tmp_path).demand({"n": 64, "local_x": 64}, TOY)


def test_elements_that_grow_faster_beyond_small_sizes_are_refused_before_a_dispatch(tmp_path: Path) -> None:
    """The part of a size's samples that was not there at the sizes from which the elements were inferred."""
    text = "kernel void k(global float *x) { size_t i = get_global_id(0); x[i + (i >> 15 << 20)] = 1; }"
    (workload,) = load_kernels([_written(tmp_path / "k.cl", text)], {**GIVEN, "sizes": {"n": [1024, 2048, 2**17]}})
    problem = r"x.*: is 131072 at n = 131072, and k\.cl:1 accesses x\[3276799\]; give its elements in a description"
    with pytest.raises(InputError, match=problem):
        checked(Mock(spec_set=()), [workload], TOY, limits_of(TOY), Mock(spec_set=()))


def test_loops_of_a_fixed_grid_are_executed_at_sizes_up_to_the_given_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpureport.trace.execution._MOST_BLOCKS", 2**12)
    text = "kernel void k(global float *x, int n) { int i = get_global_id(0); for (; n > 0; n--) x[i] = x[i] * x[i]; }"
    fields = {**GIVEN, "sizes": {"n": [64, 512]}, "global_size": [2**20]}
    (workload,) = load_kernels([_written(tmp_path / "k.cl", text)], fields)
    assert [each.text for each in workload.formulas.buffers] == ["1048576"]


def test_commands_take_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = ["--kernel", str(SAXPY), "--quick"]
    assert main(["predict", "nvidia/h200_sxm", *kernel]) == 0
    assert "(saxpy) is predicted to reach" in " ".join(capsys.readouterr().out.split())
    source = ["--kernel", f"{EXAMPLE_CL / 'streams.cl'}:copy", "--size", "n=1000000,4000000", "--global", "n"]
    assert main(["predict", "nvidia/h200_sxm", "nvidia/a40", *source, "--local", "64"]) == 0
    assert "copy/copy" in capsys.readouterr().out
    for wrong in (["kernel"], ["kernel", str(tmp_path / "none.yaml")], ["predict", "a40", "--kernel", "none.yaml"]):
        assert main(wrong) == 2


FAULTY = """kernel void faulty(global float *y, global const float *x, local float *part, uint n) {
    local float tile[16];
    uint i = get_global_id(0), l = get_local_id(0);
    BODY
}"""
_FILL = "tile[l] = x[i]; barrier(CLK_LOCAL_MEM_FENCE);"
_RACE = "without a barrier in between, and one of them stores it"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("y[i + 1] = x[i];", "work-item 127 stores y[128], and y has 128 elements"),
        ("part[l] = x[(int)i - 1];", "accesses x[-1], which is before its first element"),
        ("tile[l + 1] = 1;", "work-item 15 stores tile[16], and tile has 16 elements"),
        ("part[(int)l - 1] = 1;", "work-item 0 stores part[-1], and part has 16 elements"),
        ("y[i] = tile[l];", "work-item 0 loads tile[0], which has no value"),
        ("float s; if (l == 0) s = 1; y[i] = s;", "work-item 1 loads a private variable, which has no value"),
        ("tile[l] = x[i]; y[i] = tile[(l + 1) % 16];", f"work-items 0 and 1 access tile[1] {_RACE}"),
        (f"{_FILL} y[i] = tile[15 - l]; tile[l] = 1;", f"work-items 0 and 15 access tile[0] {_RACE}"),
        ("y[0] = x[i];", f"work-items 0 and 15 access y[0] {_RACE}"),
        ("part[l] = 0; atomic_xchg(part + (l & 3), 1.0f);", f"work-items 0 and 4 access part[0] {_RACE}"),
        ("atomic_xchg(y, 1.0f); y[l] = 0;", f"work-items 0 and 15 access y[0] {_RACE}"),
        ("part[l] = 0; barrier(1); atomic_xchg(part, 1.0f); barrier(1); y[i] = part[0];", ""),
        (f"if (i == 17) return; {_FILL}", "work-item 17 does not reach this barrier, unlike others of its group"),
        (f"{_FILL} y[i] = tile[15 - l]; barrier(1); {_FILL}", ""),
        ("part[l] = 1; sub_group_barrier(1); y[i] = part[l ^ 1] + sub_group_reduce_add(x[i]);", ""),
        ("part[l] = 1; y[i] = part[l ^ 1] + sub_group_reduce_add(x[i]);", f"work-items 0 and 1 access part[1] {_RACE}"),
        ("y[i] = x[((ulong)l - 1) / 8];", "accesses x[2305843009213693951]; is the index negative?"),
        ("float2 v; v.x = x[i]; v.y = 0; part[l] = v.x; y[i] = part[l];", ""),
        ("float p[4]; for (int k = 0; k < 4; k++) p[k] = x[i]; y[i] = p[l & 3];", ""),
    ],
)
def test_a_check_names_the_fault(body: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "faulty.cl").write_text(FAULTY.replace("BODY", body))
    arguments = [
        {"name": "y", "elements": "4 * n"},
        {"name": "x", "elements": "4 * n"},
        {"name": "part", "local": 16},
    ]
    fields = {"name": "Faulty", "source": "faulty.cl", "kernel": "faulty", "sizes": {"n": [128]}, "work_groups": [16]}
    work = {"amount": "n", "unit": "elements"}
    with pytest.raises(InputError, match=f"faulty.cl:4:? .*{re.escape(fault)}") if fault else nullcontext():
        kernel = described({**fields, "arguments": arguments, "global_size": ["n"], "work": work}, tmp_path)
        exact = (replace(each, text=each.text.replace("4 * n", "n")) for each in kernel.formulas.arguments)
        kernel.formulas = replace(kernel.formulas, arguments=tuple(exact))
        parameters = kernel.verification()[0]
        assert check(kernel, parameters, kernel.job(parameters, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("if (i < n && i % 2 == 0) y[i / 2] = x[i];", ["-(-(n) // 2)", "n"]),
        ("float v = i < n ? x[i] : 0; if (get_local_id(0) == 0) y[get_group_id(0)] = v;", ["-(-(n) // 256)", "n"]),
        ("if (4 * i < n) vstore4(vload4(i, x), i, y);", ["n + 3", "n + 3"]),
        ("if (i < n) y[(n & 1) ? i + 2000 : 2 * i] = x[i];", ["max(max(1, 2 * n - 1), n + 2000)", "n"]),
        ("if (i < n) y[i * 2 / 3] = x[i];", ["n", "n"]),
        ("if (i < n) y[i & 1023] = x[i];", ["1024", "n"]),
        ("if (i < n) y[i] = x[n - 1 - i - 1];", "4294967295]; is the index negative?"),
        ("if (i < n) y[i] = x[(long)i - 9];", "-9], which is before its first element"),
    ],
)
def test_sizes_between_those_of_work_groups_count(body: str, elements: list[str] | str, tmp_path: Path) -> None:
    head = "kernel void k(global float *y, global const float *x, uint n) {\n uint i = get_global_id(0);"
    refused = pytest.raises(InputError, match=re.escape(f"k.cl:2: accesses x[{elements}"))
    with refused if isinstance(elements, str) else nullcontext():
        (workload,) = load_kernels([_written(tmp_path / "k.cl", f"{head} {body} }}")], {"work_groups": 256})
        assert [each.text for each in workload.formulas.buffers] == elements


def test_a_barrier_in_divergent_code_is_remarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "local int t[64]; uint i = get_global_id(0), l = get_local_id(0); if (i >= n) return; t[l] = x[i];"
    file = _written(
        tmp_path / "k.cl", f"kernel void k(global int *x, uint n) {{ {body} barrier(1); x[i] = t[l ^ 1]; }}"
    )
    assert main(["predict", "a40", "--kernel", str(file), "--local", "64"]) == 0
    assert "Note: k.cl:1: some work-items of a group do not reach this barrier" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--size", f"n={'9' * 5000},4"], "--size n: has 5002 characters"),
        (["--size", "n=4", "--size", "n=8"], "--size: 'n' is given twice"),
        (["--size", "n=true,4"], "--size n: must be a list of whole numbers"),
        (["--size", "n=auto", "--size", "a=1..9"], "--size: n and a are both swept; give one of them"),
        (["--global", "n,n", "--local", "16"], "--local: [16] has 1 dimensions, and global_size has 2"),
        *(
            (["--local", each], f"--local: '{each}' is no work-group; write 256 or")
            for each in ("0", "x", "256x", "-3")
        ),
        (["--local", "99999999"], "--local: [99999999] has more than 131072 work-items"),
        (["--data", "x"], "--data: 'x' is not NAME=VALUE, such as 'columns=random(0,n)'"),
        (["--data", "z=zeros"], "--data z: saxpy (saxpy.cl:3) has no argument 'z'; it has y, x, a, n"),
        (["--data", "a=zeros"], "--data a: a is a scalar in saxpy (saxpy.cl:3), which has no contents"),
        (["--data", "x=zeros("], "--data x: "),
        (["-D", "A=1", "-D", "A=2"], "-D: 'A' is given twice"),
        (["-I", "none"], "-I: there is no folder 'none'"),
        *((["--size", "n=0", *more], "--size n: makes 0 work-items; it must be") for more in ([], ["--global", "n"])),
        (["--size", "n=2^10", "--global", "n - n"], "--global: is 0 work-items; it must be from 1 to 2^63"),
        (["--size", "n=2^10", "--global", "2^63"], "--global: is 9.22e+18 work-items; it must be from 1 to 2^63"),
        (["-D", "1bad"], "-D: '1bad' is not NAME=VALUE, such as BLOCK_SIZE=16, nor a NAME; names begin with a letter"),
    ],
)
def test_wrong_options_of_kernels(options: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", "--check", str(EXAMPLE_CL / "saxpy.cl"), *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_check_refuses_a_size_with_which_nothing_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At its only size, 1, no work-items could race."""
    file = _written(tmp_path / "k.cl", "kernel void k(global int *x, int n) { if (get_global_id(0) < n) x[0] += 1; }")
    assert main(["kernel", "--check", str(file), "--size", "n=auto"]) == 2
    assert "no buffer grows with it; write a range or a list" in capsys.readouterr().err


def test_a_check_names_wrong_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernel", "--check", str(SAXPY), str(SAXPY.with_stem("reduction_two_pass"))]) == 0
    assert "beyond the end of a buffer" in capsys.readouterr().err
    given = "2.0}\n  - {name: x, elements: n}\n  - {name: y, elements: n}"
    assert main(["kernel", "--check", str(changed(tmp_path, "2.0}", given))]) == 0
    assert "beyond the end of a buffer" not in capsys.readouterr().err
    assert main(["kernel", "--check", str(changed(tmp_path, "y + a * x", "y + a"))]) == 2
    assert "expect.y: SAXPY: y: 255 of 255 elements differ" in capsys.readouterr().err


def test_the_documentation_shows_the_example_and_lists_all_functions_with_their_arguments() -> None:
    """Those of the code, in its order."""
    page = (Path(__file__).parents[1] / "docs" / "kernels.md").read_text()
    assert SAXPY.read_text().partition("\n")[2] in page
    listed = page.partition("These are the functions of expressions:\n\n")[2].partition("\n\n")[0]
    assert " ".join(listed.split()) == ", ".join(_signature(*each) for each in _FUNCTIONS.items())


def test_a_run_with_kernels_is_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workload,) = load_kernels([changed(tmp_path, "{n: auto}", "{n: [64]}")])
    report = predicted(TOY, [workload], quick=True)[0].model_copy(update={"status": "partial"})
    save_report(report, tmp_path / "report.json")
    assert main(["--resume", str(tmp_path)]) == 2
    assert "report.json measured saxpy/saxpy, and runs of your own kernels" in capsys.readouterr().err
