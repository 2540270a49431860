"""Records put together, summed up in words and tables."""

from gpureport.records.report import Report
from gpureport.report.run.appendix import compilation_table, written_values
from gpureport.report.text.words import with_names
from gpureport.spec.database import load_database
from tests.make_report import EVIDENCE


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


def test_of_several_builds_the_row_tells_of_one_that_was_compared(report: Report) -> None:
    first = report.measurements[0]
    update = {"workload": first.key.workload, "kernel": first.compilation[0].kernel}
    shown = EVIDENCE.model_copy(update={**update, "agrees": None, "loads_bytes_compiled": None})
    right = shown.model_copy(update={"agrees": True, "loads_bytes_compiled": 4})
    wrong = shown.model_copy(update={"agrees": False, "loads_bytes_compiled": 3})

    for builds, loaded in (
        ((shown, right, shown), "4 B / 4 B"),
        ((shown, wrong, right), "△ 3 B / 4 B"),
        ((shown,), "— / 4 B"),
    ):
        table = compilation_table(report.model_copy(update={"evidence": builds}))
        assert table.rows[0][-2] == loaded
