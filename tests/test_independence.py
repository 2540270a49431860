"""Sources of constants, and the independence of predictions from them."""

import ast
import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest
from pydantic import ValidationError

import gpureport
from gpureport.spec import uncertainty
from gpureport.spec.compilers import CompilerValues
from gpureport.spec.database import load_database
from gpureport.spec.uncertainty import CONSTANTS, SOURCED, Constants, sourced
from gpureport.spec.values import Provenance
from gpureport.validate.residuals import Independence, independence
from tests.builders import altered, host_of

PACKAGE = Path(gpureport.__file__).parent
DATABASE = load_database()
FILES = {
    **{entry.id: entry.file for entry in DATABASE.entries.values()},
    **{name: DATABASE.architecture(name) for name in DATABASE.architecture_paths},
}


def _is_number(value: ast.expr) -> bool:
    parts = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
    nodes = list(ast.walk(value))
    return all(isinstance(node, parts) for node in nodes) and any(
        isinstance(node, ast.Constant) and isinstance(node.value, float) for node in nodes
    )


def test_every_constant_of_the_code_names_the_devices_that_it_was_fitted_to() -> None:
    """Those with a decimal point, of modules and fields; of fields except 0 and 1."""
    of_spec = (PACKAGE / "spec" / f"{name}.py" for name in ("compilers", "cores", "uncertainty"))
    names = ("operators", "matrix_products", "software", "streams", "scoreboard")
    of_rows = (PACKAGE / "validate" / f"{name}.py" for name in names)
    for path in (*PACKAGE.glob("predict/**/*.py"), *PACKAGE.glob("workloads/**/*.py"), *of_spec, *of_rows):
        module = ast.parse(path.read_text())
        fields = (each for each in ast.walk(module) if isinstance(each, ast.AnnAssign) and each.value)
        changing = (each for each in fields if ast.unparse(each.value) not in ("0.0", "1.0", "(1.0, 1.0)"))
        nodes = (*(each for each in module.body if isinstance(each, ast.Assign)), *changing)
        undeclared = [ast.unparse(each) for each in nodes if _is_number(each.value)]
        assert not undeclared, f"{path}: declare them with spec.uncertainty.constant or sourced"


def test_fitted_constants_have_a_source_and_name_entries() -> None:
    """The same ones are known wherever ``independence`` is used."""
    known = {*DATABASE.entries, *(f"architectures/{name}" for name in DATABASE.architecture_paths)}
    devices = {entry for each in CONSTANTS for entry in each.measured_on}
    for path in (*PACKAGE.glob("predict/**/*.py"), *PACKAGE.glob("workloads/**/*.py")):
        import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))

    assert devices == {entry for each in CONSTANTS for entry in each.measured_on} <= known
    assert all(each.source for each in CONSTANTS if each.measured_on or each.held_out)


def test_every_row_of_the_table_is_a_constant_of_the_code() -> None:
    """Of its own name, unless it is a part of a record."""
    for path in (*PACKAGE.glob("validate/*.py"), *PACKAGE.glob("trace/*.py")):
        import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    declared = {id(row) for row in CONSTANTS}
    parts = re.compile(r".*\.(COMPILERS|SOFTWARE|SPREADS|_INTEGERS|_BY_\w+|_SIMPLE|_EXPANDED|_BRANCHING)\.")
    table = (Path(__file__).parents[1] / "tables" / "constants.yaml").read_text()

    assert [row for row in SOURCED if id(row) not in declared] == []
    for name, value in ((name, value) for row in SOURCED for name, value in row.values.items()):
        assert table.count(f"{name}:") == 1
        assert parts.match(name) or resolve_name(f"gpureport.{name}") == value, name


def test_a_name_in_the_table_that_is_no_field_of_the_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"made.up.launch_transfers": 1.0, "made.up.exchanges": {}, "made.up.launch_exponnt": 1.4}
    monkeypatch.setattr(uncertainty, "SOURCED", (Constants(values, "made up"),))
    monkeypatch.setattr(uncertainty, "CONSTANTS", [])

    with pytest.raises(ValidationError, match="launch_exponnt"):
        sourced("made", dict[str, CompilerValues])


def test_every_measured_value_names_the_devices_that_were_measured() -> None:
    for name, file in FILES.items():
        for key, source in file.sources.items():
            named = source.kind != "measured" or "measured_on" in source.model_fields_set
            assert named, f"{name}, {key}: add measured_on, the entries of the devices"
            assert set(source.measured_on) <= set(DATABASE.entries), (name, key)
        for path, value in file.values.items():
            origin = value.provenance
            assert origin.kind != "measured" or origin.source, f"{name}, {path}: a measured value needs a source"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("nvidia/h200_sxm", "seen"),
        ("nvidia/h100_sxm", "unseen device"),
        ("amd/rx_7900_xt", "unseen device"),
        ("nvidia/k10", "unseen device"),  # values are those of Kepler GK110, which its architecture extends
        ("amd/rx_7600", "unseen device"),
        ("arm/mali_g78_mp20", "unseen architecture"),
    ],
)
def test_predictions_are_as_independent_as_their_constants(entry: str, expected: Independence) -> None:
    assert independence(DATABASE.device(entry), DATABASE) == expected


def test_constants_of_software_count_for_its_kernels_only() -> None:
    device = DATABASE.device("nvidia/a100_pcie_40")

    assert independence(device, DATABASE) == "unseen device"
    assert independence(device, DATABASE, "PyTorch, events") == "seen"


@pytest.mark.parametrize(("model", "expected"), [(207, "seen"), (143, "unseen device")])
def test_cpus_are_as_independent_as_the_constants_of_their_type_of_core(model: int, expected: Independence) -> None:
    """An Emerald Rapids, whose runs determined constants, and a Sapphire Rapids."""
    database = load_database()
    database.host = host_of(8, vendor="GenuineIntel", family=6, model=model)

    assert independence(database.device("cpu/x86_64"), database) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("caches.L2.latency", "seen"), ("caches.L2.line", "unseen architecture")]
)
def test_whole_numbers_are_no_fitted_constants(path: str, expected: Independence) -> None:
    mali = DATABASE.device("arm/mali_g78_mp20")
    origin = Provenance(kind="measured", source="somebody", measured_on=(mali.id,))
    measured = altered(mali, provenance={**mali.provenance, path: origin})

    assert independence(measured, DATABASE) == expected
