"""Architectures: numbers are declared once, and files extend others."""

from pathlib import Path

import pytest

from gpureport.errors import InputError
from gpureport.predict.sensitivity import uncertain
from gpureport.spec.database import Database, load_database
from gpureport.spec.files import ArchitectureFile, DeviceFile, file_schema
from gpureport.spec.models import Architecture, Device, listed
from gpureport.spec.reading import read_file

OWN = """
name: My core
vendor: CPU
kind: cpu
extends: x86_64
sources: {manual: "The manual"}
source: manual
latencies: {int32: 2 cycles}
core: {l2: 4 MiB}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "architectures" / "mine.yaml"
    path.parent.mkdir()
    path.write_text(OWN)
    return path


def test_own_values_come_first_and_others_keep_their_source(mine: Path) -> None:
    values = read_file(mine, ArchitectureFile).get().values
    base = load_database().architecture("x86_64").values

    assert values["latencies.int32"].value == 2
    assert values["latencies.int32"].provenance.source == "The manual"
    assert values["core.l2"].value == 4 << 20
    others = values.keys() - {"latencies.int32", "core.l2"}
    assert {path: values[path] for path in others} == {path: base[path] for path in others}
    assert values.keys() == base.keys()


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("x86_64", "nothing", "5: extends", "no architecture 'nothing'"),
        ("x86_64", "mine", "5: extends", "extends: mine extends another architecture; extend one that does not$"),
        ("x86_64", "zen3", "5: extends", "extends: zen3 extends another architecture; extend one that does not$"),
        ("x86_64", "../mine", "5: extends", "must match pattern"),
        ("x86_64", "other", "5: extends", r"other\.yaml: vendor: is missing"),
        ("x86_64", "damaged", "5: extends", r"damaged\.yaml:2: is not valid YAML"),
    ],
)
def test_what_cannot_be_extended_is_refused(old: str, new: str, where: str, words: str, mine: Path) -> None:
    (mine.parent / "other.yaml").write_text("name: Other\n")
    (mine.parent / "damaged.yaml").write_text("name: [")
    mine.write_text(OWN.replace(old, new))
    with pytest.raises(InputError, match=words) as error:
        read_file(mine, ArchitectureFile).get()

    assert str(error.value).startswith(f"{mine}:{where}: ")


def test_a_value_can_be_left_out_again(mine: Path) -> None:
    mine.write_text(f"{OWN}memory: {{efficiency: null}}\n")
    assert "memory.efficiency" not in read_file(mine, ArchitectureFile).get().values
    mine.write_text(f"{OWN}wave_size: null\n")
    with pytest.raises(InputError, match="wave_size: is missing"):
        read_file(mine, ArchitectureFile).get()


def test_a_declared_number_is_in_files_and_their_schema_and_has_an_uncertainty(database: Database) -> None:
    keys, of_devices = ({key for key, _ in listed(record).values()} for record in (Architecture, Device))
    schema = file_schema(ArchitectureFile)["properties"]
    assert keys <= schema.keys()
    assert of_devices <= file_schema(DeviceFile)["properties"].keys()
    assert schema["wave_size"]["description"].startswith("Lanes of a wave ")
    assert not Architecture.model_fields["turnover_cycles"].is_required()
    assert Architecture.model_fields["loaded_latency_factor"].is_required()
    assert {fact.path for fact in uncertain(database.device("nvidia/a40"))[1]} & keys
