"""``scripts/mutate.py``: which changes it makes, where, and which of them it leaves out."""

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    """The modules of the script."""
    sys.path.insert(0, str(SCRIPTS))
    yield SimpleNamespace(run=import_module("mutate"), core=import_module("mutations"))
    sys.path.remove(str(SCRIPTS))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("é = a + b * c", ["é = (a - b * c)", "é = a + (b / c)"]),
        ("x -= y", ["x += y"]),
        ("x = a < b == c", ["x = (a <= b == c)", "x = (a < b != c)"]),
        (
            "x = -a if not b else True",
            ["x = (a) if not b else True", "x = -a if (b) else True", "x = -a if not b else (False)"],
        ),
        ("x: Literal[1] = f(3, 0.0)", ["x: Literal[1] = f((6), 0.0)", "x: Literal[1] = f(3, (1.0))"]),
        ('x = f"{a + 1:.3g}" "text"', []),
        ("x = zip(a, b, strict=True)", []),
        ("x = (\n    a\n    and b\n)", ["x = (\n    (a or b)\n)"]),
    ],
)
def test_one_operator_comparison_constant_or_sign_is_changed(script: Any, source: str, expected: list[str]) -> None:
    """Where it stands in the file, and nothing else."""
    found = [script.core.mutated(source, mutation) for mutation in script.core.mutations("", "", source)]

    assert sorted(found) == sorted(expected)


def test_every_mutation_of_the_package_is_python_and_another_program(script: Any) -> None:
    """A mutation that does not compile, or changes nothing, would say nothing about the tests."""
    for mutation in script.run.drawn(list(script.run.AREAS), 80, 1):
        source = (script.run.ROOT / script.run.PACKAGE / mutation.file).read_text()
        changed = script.core.mutated(source, mutation)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_areas_share_the_draw_and_a_seed_repeats_it(script: Any) -> None:
    """Nine mutations of two areas: five and four."""
    found = script.run.drawn(["predict", "observe"], 9, 3)

    assert [mutation.area for mutation in found] == ["predict"] * 5 + ["observe"] * 4
    assert found == script.run.drawn(["predict", "observe"], 9, 3)
    assert found != script.run.drawn(["predict", "observe"], 9, 4)


def test_every_area_has_files_and_tests(script: Any) -> None:
    """A pattern that matches nothing would be taken for code without mutations."""
    for files, tests in script.run.AREAS.values():
        assert list((script.run.ROOT / script.run.PACKAGE).glob(files))
        assert all(list((script.run.ROOT / "tests").glob(pattern)) for pattern in tests.split())


def test_equivalent_mutations_are_those_of_the_code_as_it_is(script: Any) -> None:
    """An entry that no longer matches is to be removed."""
    for file, code, change in script.run.EQUIVALENT:
        source = (script.run.ROOT / script.run.PACKAGE / file).read_text()
        assert any((m.code, m.change) == (code, change) for m in script.core.mutations("", file, source))


def test_a_mutation_that_no_test_notices_survives(script: Any, tmp_path: Path) -> None:
    """In a tree of one function; the file is as before afterwards."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_advice.py").write_text(
        "from gpureport.findings.advice import twice\n\ndef test_twice():\n    assert twice(3) == 6\n"
    )
    file = tmp_path / script.run.PACKAGE / "findings" / "advice.py"
    file.parent.mkdir(parents=True)
    for folder in (file.parent, file.parent.parent):
        (folder / "__init__.py").touch()
    file.write_text("def twice(n):\n    return n + n if n > 0 else -n\n")
    survived = {
        mutation.before: script.run.survives(tmp_path, mutation, 60.0)
        for mutation in script.core.mutations("advice", "findings/advice.py", file.read_text())
    }

    assert survived == {"n + n": False, "n > 0": True, "0": True, "-n": True}
    assert "n + n if n > 0 else -n" in file.read_text()
