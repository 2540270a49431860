"""``scripts/mutate.py``: which changes it makes, where, and which of them it leaves out."""

import ast
from pathlib import Path

import pytest

import mutate
import mutations


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
def test_one_operator_comparison_constant_or_sign_is_changed(source: str, expected: list[str]) -> None:
    """Where it stands in the file, and nothing else."""
    found = [mutations.mutated(source, mutation) for mutation in mutations.mutations("", "", source)]

    assert sorted(found) == sorted(expected)


def test_every_mutation_of_the_package_is_python_and_another_program() -> None:
    """A mutation that does not compile, or changes nothing, would say nothing about the tests."""
    for mutation in mutate.drawn(list(mutate.AREAS), 80, 1):
        source = (mutate.ROOT / mutate.PACKAGE / mutation.file).read_text()
        changed = mutations.mutated(source, mutation)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_areas_share_the_draw_and_a_seed_repeats_it() -> None:
    """Nine mutations of two areas: five and four."""
    found = mutate.drawn(["predict", "observe"], 9, 3)

    assert [mutation.area for mutation in found] == ["predict"] * 5 + ["observe"] * 4
    assert found == mutate.drawn(["predict", "observe"], 9, 3)
    assert found != mutate.drawn(["predict", "observe"], 9, 4)


def test_every_area_has_files_and_tests() -> None:
    """A pattern that matches nothing would be taken for code without mutations."""
    for files, tests in mutate.AREAS.values():
        assert list((mutate.ROOT / mutate.PACKAGE).glob(files))
        assert all(list((mutate.ROOT / "tests").glob(pattern)) for pattern in tests.split())


def test_equivalent_mutations_are_those_of_the_code_as_it_is() -> None:
    """An entry that no longer matches is to be removed."""
    for file, code, change in mutate.EQUIVALENT:
        source = (mutate.ROOT / mutate.PACKAGE / file).read_text()
        assert any((m.code, m.change) == (code, change) for m in mutations.mutations("", file, source))


def test_a_mutation_that_no_test_notices_survives(tmp_path: Path) -> None:
    """In a tree of one function; the file is as before afterwards."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_advice.py").write_text(
        "from gpureport.findings.advice import twice\n\ndef test_twice():\n    assert twice(3) == 6\n"
    )
    file = tmp_path / mutate.PACKAGE / "findings" / "advice.py"
    file.parent.mkdir(parents=True)
    for folder in (file.parent, file.parent.parent):
        (folder / "__init__.py").touch()
    file.write_text("def twice(n):\n    return n + n if n > 0 else -n\n")
    survived = {
        mutation.before: mutate.survives(tmp_path, mutation, 60.0)
        for mutation in mutations.mutations("advice", "findings/advice.py", file.read_text())
    }

    assert survived == {"n + n": False, "n > 0": True, "0": True, "-n": True}
    assert "n + n if n > 0 else -n" in file.read_text()
