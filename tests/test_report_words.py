"""Records put together, summed up in words and tables."""

from gpureport.report.run.appendix import written_values
from gpureport.report.text.words import with_names
from gpureport.spec.database import load_database


def test_every_value_of_every_entry_can_be_written() -> None:
    database = load_database()
    devices = [database.device(entry_id) for entry_id in database.entries]

    assert [(d.id, path) for d in devices for path in d.provenance if written_values(d).get(path, "—") == "—"] == []
    rdna = written_values(database.device("amd/rx_7900_xt"))
    assert rdna["opencl.compute_units"] == "42"
    assert rdna["occupancy.registers"] == "196608"


def test_of_many_names_only_the_first_are_listed() -> None:
    assert with_names(("abcdefg"[i], "same") for i in range(7)) == ("a; b; c; d; 3 more: same",)
    assert with_names(("abcdef"[i], "same") for i in range(6)) == ("a; b; c; d; e; f: same",)
