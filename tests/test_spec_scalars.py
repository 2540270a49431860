"""A number of an architecture is declared once; everything else follows from the declaration."""
# ruff: noqa: D103 - the names of the tests say what they check

from gpureport.predict.uncertainty.sensitivity import uncertain
from gpureport.spec.database import Database
from gpureport.spec.files import ArchitectureFile, architecture_schema
from gpureport.spec.models import Architecture, listed


def test_a_declared_number_is_in_files_and_their_schema_and_has_an_uncertainty(database: Database) -> None:
    keys = {key for key, _ in listed(Architecture).values()}
    assert keys <= architecture_schema()["properties"].keys() & ArchitectureFile.model_fields.keys()
    assert architecture_schema()["properties"]["wave_size"]["description"].startswith("Lanes of a wave ")
    assert not Architecture.model_fields["turnover_cycles"].is_required()
    assert Architecture.model_fields["loaded_latency_factor"].is_required()
    assert {fact.path for fact in uncertain(database.device("nvidia/a40"))[1]} & keys
