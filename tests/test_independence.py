"""Sources of constants, the independence of predictions from them, and the first day of an architecture."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import gpureport
from gpureport.errors import InputError
from gpureport.spec.database import Database, load_database
from gpureport.spec.drafts import GENERIC, documented, first_day, predecessors
from gpureport.spec.host import HostProcessor, ProcessorFacts
from gpureport.spec.resolve import Value, layer
from gpureport.spec.uncertainty import CONSTANTS
from gpureport.spec.values import Provenance
from gpureport.validate.residuals import Independence, independence
from tests.builders import altered

PACKAGE = Path(gpureport.__file__).parent
DATABASE = load_database()
FILES = {
    **{entry.id: entry.file for entry in DATABASE.entries.values()},
    **{name: DATABASE.architecture(name) for name in DATABASE.architecture_paths},
}
GPUS = [name for name in DATABASE.architecture_paths if DATABASE.architecture(name).kind == "gpu" and name != GENERIC]


def _is_number(value: ast.expr) -> bool:
    parts = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
    nodes = list(ast.walk(value))
    return all(isinstance(node, parts) for node in nodes) and any(
        isinstance(node, ast.Constant) and isinstance(node.value, float) for node in nodes
    )


def test_every_constant_of_the_code_names_the_devices_that_it_was_fitted_to() -> None:
    """Those with a decimal point, of modules and fields; of fields except 0 and 1."""
    of_spec = (PACKAGE / "spec" / f"{name}.py" for name in ("compilers", "cores", "uncertainty"))
    for path in (*PACKAGE.glob("predict/**/*.py"), *PACKAGE.glob("workloads/**/*.py"), *of_spec):
        module = ast.parse(path.read_text())
        fields = (each for each in ast.walk(module) if isinstance(each, ast.AnnAssign) and each.value)
        changing = (each for each in fields if ast.unparse(each.value) not in ("0.0", "1.0", "(1.0, 1.0)"))
        nodes = (*(each for each in module.body if isinstance(each, ast.Assign)), *changing)
        undeclared = [ast.unparse(each) for each in nodes if _is_number(each.value)]
        assert not undeclared, f"{path}: declare them with spec.uncertainty.constant, with the devices of the data"


def test_fitted_constants_have_a_source_and_name_entries() -> None:
    """The same ones are known wherever ``independence`` is used."""
    known = {*DATABASE.entries, *(f"architectures/{name}" for name in DATABASE.architecture_paths)}
    devices = {entry for each in CONSTANTS for entry in each.measured_on}
    for path in (*PACKAGE.glob("predict/**/*.py"), *PACKAGE.glob("workloads/**/*.py")):
        import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))

    assert devices == {entry for each in CONSTANTS for entry in each.measured_on} <= known
    assert all(each.source for each in CONSTANTS if each.measured_on or each.held_out)


def test_every_measured_value_names_the_devices_that_were_measured() -> None:
    for name, file in FILES.items():
        for key, source in file.sources.items():
            named = source.kind != "measured" or "measured_on" in source.model_fields_set
            assert named, f"{name}, {key}: add measured_on, the entries of the devices"
            assert set(source.measured_on) <= set(DATABASE.entries), (name, key)
        for path, leaf in file.leaves().items():
            assert leaf.kind != "measured" or leaf.source, f"{name}, {path}: a measured value needs a source"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("nvidia/h200_sxm", "seen"),
        ("nvidia/h100_sxm", "unseen device"),
        ("amd/rx_7900_xt", "unseen device"),
        ("arm/mali_g78_mp20", "unseen architecture"),
    ],
)
def test_predictions_are_as_independent_as_their_constants(entry: str, expected: Independence) -> None:
    assert independence(DATABASE.device(entry), DATABASE) == expected


@pytest.mark.parametrize(("model", "expected"), [(207, "seen"), (143, "unseen device")])
def test_cpus_are_as_independent_as_the_constants_of_their_type_of_core(model: int, expected: Independence) -> None:
    """An Emerald Rapids, whose runs determined constants, and a Sapphire Rapids."""
    database = load_database()
    facts = ProcessorFacts(vendor="GenuineIntel", family=6, model=model, processors=8)
    database.host = HostProcessor("Some CPU", 8, 1 << 34, 2e9, facts=facts)

    assert independence(database.device("cpu/x86_64"), database) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("caches.L2.latency", "seen"), ("caches.L2.line", "unseen architecture")]
)
def test_whole_numbers_are_no_fitted_constants(path: str, expected: Independence) -> None:
    mali = DATABASE.device("arm/mali_g78_mp20")
    origin = Provenance(kind="measured", source="somebody", measured_on=(mali.id,))
    measured = altered(mali, provenance={**mali.provenance, path: origin})

    assert independence(measured, DATABASE) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (Provenance(kind="spec", source="guide"), True),
        (Provenance(kind="derived", source="guide"), True),
        (Provenance(kind="queried", source=""), True),
        (Provenance(kind="assumed", source=""), False),
        (Provenance(kind="measured", source="somebody", measured_on=("nvidia/a40",)), False),
        (Provenance(kind="derived", source="somebody", measured_on=("nvidia/a40",)), False),
    ],
)
def test_documented_values_come_from_documents(origin: Provenance, expected: bool) -> None:
    assert documented(Value(1.0, origin)) is expected


@pytest.mark.parametrize("name", GPUS)
def test_on_its_first_day_an_architecture_has_no_value_that_was_measured_on_it(name: str) -> None:
    early = first_day(DATABASE, name)
    own = {entry.id for entry in DATABASE.entries.values() if entry.file.architecture == name}
    required = {path for path in layer(DATABASE.architecture(name)) if path.startswith(("caches.", "occupancy."))}

    for entry in own:
        now, then = DATABASE.device(entry), early.device(entry)
        of_device = set(DATABASE.entries[entry].file.leaves())
        for path, origin in then.provenance.items():
            if path not in of_device | required:
                assert own.isdisjoint(origin.measured_on), path
        assert then.architecture.occupancy == now.architecture.occupancy
        assert [cache.name for cache in then.caches] == [cache.name for cache in now.caches]


def test_the_first_day_of_hopper_has_the_documents_of_hopper_and_the_measurements_of_ampere() -> None:
    now, ampere = (DATABASE.device(entry) for entry in ("nvidia/h100_sxm", "nvidia/a100_sxm_80"))
    then = first_day(DATABASE, "hopper_90").device("nvidia/h100_sxm")

    assert then.architecture.rates_per_cycle["fp32"] == now.architecture.rates_per_cycle["fp32"] == 128
    assert then.memory.latency_cycles == ampere.memory.latency_cycles != now.memory.latency_cycles
    assert then.architecture.sector_writes_per_cycle is None
    assert then.architecture.barrier_cycles == 0.0
    assert now.architecture.barrier_cycles > 0.0
    assert then.caches[1].capacity_bytes == now.caches[1].capacity_bytes


def test_the_first_day_changes_one_architecture_and_not_the_database() -> None:
    before = DATABASE.device("nvidia/h100_sxm")
    early = first_day(DATABASE, "hopper_90")

    assert early.device("nvidia/a100_sxm_80") == DATABASE.device("nvidia/a100_sxm_80")
    assert DATABASE.device("nvidia/h100_sxm") == before != early.device("nvidia/h100_sxm")


def test_predecessors_lead_to_the_unknown_gpu_and_do_not_come_from_other_vendors() -> None:
    assert list(predecessors(DATABASE, "ampere_80"))[:2] == ["volta_70", "pascal_60"]
    for name in GPUS:
        chain = list(predecessors(DATABASE, name))
        assert chain[-1] == GENERIC
        assert len(set(chain)) == len(chain)
        assert {DATABASE.architecture(each).vendor for each in chain[:-1]} <= {DATABASE.architecture(name).vendor}


def test_an_architecture_that_follows_itself_is_refused(tmp_path: Path) -> None:
    text = DATABASE.architecture_paths["hopper_90"].read_text().replace("predecessor: ampere_80", "predecessor: mine")
    (tmp_path / "mine.yaml").write_text(text)
    database = Database(DATABASE.entries, {**DATABASE.architecture_paths, "mine": tmp_path / "mine.yaml"})

    with pytest.raises(InputError, match="follows itself"):
        first_day(database, "mine")
