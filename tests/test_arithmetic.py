"""The arithmetic behind a predicted time: the printed numbers give the predicted time."""

import math
import re

import pytest

from gpureport.predict import limits_of, model_inputs, predict
from gpureport.predict.arithmetic import arithmetic
from gpureport.predict.execution import smooth_maximum
from gpureport.predict.expressions import given, number
from gpureport.predict.model import point_time
from gpureport.predict.propagation import Uncertain, clamped, exp, log, note
from gpureport.records.prediction import Arithmetic
from gpureport.workloads import all_workloads, select
from gpureport.workloads.model import Workload
from tests.toy import TOY

LIMITS = limits_of(TOY)
KNOWN = {"ln": math.log, "exp": math.exp, "clamp": lambda x: min(1.0, max(0.0, x))}


def evaluated(text: str) -> float:
    """Return the result of a line of arithmetic, from the printed text only."""
    python = text.replace("\N{MULTIPLICATION SIGN}", "*").replace("\N{MINUS SIGN}", "-").replace("^", "**")
    assert not set(re.findall(r"[a-zA-Z_]\w*", re.sub(r"\de-?\d", "0", python))) - KNOWN.keys()
    return float(eval(python, {"__builtins__": {}}, KNOWN))  # noqa: S307 - our own text


def names_in(text: str) -> set[str]:
    return set(re.findall(r"t\([\w ]+\)|\b[a-z]\b|\bwork_groups\b", text))


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda workload: workload.name)
def test_the_printed_numbers_give_the_predicted_time(workload: Workload) -> None:
    """Each line gives its value to the printed digits, and the last one the model's prediction."""
    for sweep in workload.sweeps(TOY, LIMITS):
        for parameters in (sweep.points[0], sweep.points[len(sweep.points) // 2], sweep.points[-1]):
            inputs = model_inputs(TOY, workload, sweep, parameters)
            steps = arithmetic(*inputs, workload.point(parameters, sweep)).steps
            for line in steps:
                assert evaluated(line.numbers) == pytest.approx(line.value, rel=2e-3), line
            assert steps[-1].name == "time"
            assert steps[-1].value == pytest.approx(point_time(*inputs).time_s, rel=1e-8)


@pytest.mark.parametrize("name", ["particles/arrays", "memory/read", "bit_transpose/local"])
def test_a_formula_uses_only_earlier_steps(name: str) -> None:
    (workload,) = select((name,))
    sweep = workload.sweeps(TOY, LIMITS)[0]
    parameters = sweep.points[len(sweep.points) // 2]
    steps = arithmetic(*model_inputs(TOY, workload, sweep, parameters), workload.point(parameters, sweep)).steps
    above: set[str] = set()
    for line in steps:
        assert names_in(line.formula) <= above, line
        assert line.name not in above
        above.add(line.name)
    used = {name for line in steps for name in names_in(line.formula)}
    assert used == above - {"time"}


def test_examples_are_those_of_essential_workloads() -> None:
    (copy,), (write,) = select(("memory/copy",)), select(("memory/write",))
    found = predict(TOY, copy, LIMITS)
    assert isinstance(found[0].arithmetic, Arithmetic)
    largest = max(found[0].points, key=lambda point: point.point.work)
    assert found[0].arithmetic.point == largest.point.label
    assert found[0].arithmetic.steps[-1].value == pytest.approx(largest.time_s)
    assert copy.essential
    assert not write.essential
    assert predict(TOY, write, LIMITS)[0].arithmetic is None


def test_factors_of_one_and_terms_of_zero_are_left_out() -> None:
    x, y, zero = (Uncertain(n, note=given(n, name)) for name, n in {"x": 3.0, "y": 5.0, "none": 0.0}.items())

    def text(value: float) -> str:
        return note(value).written({}, values=False)

    assert text(x * 1.0 + zero * y) == "x"
    assert text(exp(log(x) + 1.0 * (log(y) - log(x)))) == "y"
    assert text((x + y) * (x / x) / 1.0) == "x + y"
    assert text(2.0 - (x - y)) == "2 \N{MINUS SIGN} (x \N{MINUS SIGN} y)"
    assert text(smooth_maximum((x, y, zero), 4.0)) == "(x^4 + y^4)^(1 / 4)"
    assert text((x + y) ** 2.0 / (x * y)) == "(x + y)^2 / (x \N{MULTIPLICATION SIGN} y)"
    assert text(clamped(x / y, 0.0, 1.0)) == "clamp(x / y)"
    assert note(x / y) is note(x / y)


@pytest.mark.parametrize(
    ("value", "text"), [(132, "132"), (1.98e9, "1.98e9"), (4.35e-6, "4.35e-6"), (0.92, "0.92"), (1 / 3, "0.3333333")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
