"""Compiled instructions beside the operations of the model."""

import pytest

from gpureport.findings.evidence import differences, instruction_counts, unclassified
from gpureport.records.measurement import MachineCode
from gpureport.workloads.model import Demand
from tests.builders import altered

CODE = MachineCode(
    form="PTX",
    counts={"logic": 12, "int": 5, "int multiply": 3, "global load": 2, "shared store": 1, "branch": 1, "move": 9},
    global_loads={4: 2},
    global_stores={},
    loops=False,
)


def demand(**operations: float) -> Demand:
    return Demand(work_items=12, work_group=(4,), operations=operations, idle_items=2)


def test_operations_are_those_of_a_work_item_that_works() -> None:
    """Ten of twelve; classes that the model does not count are left out."""
    counts = instruction_counts(CODE, demand(int32=120.0, int32_mul=30.0, memory=20.0, instruction=400.0))

    assert counts == {"arithmetic": (20, 15.0), "global access": (2, 2.0)}
    assert differences(counts, 0.0) == ()


@pytest.mark.parametrize(("int32", "differs"), [(90.0, True), (100.0, False), (400.0, False), (410.0, True)])
def test_a_difference_beyond_a_factor_of_two_is_reported(int32: float, differs: bool) -> None:
    found = differences(instruction_counts(CODE, demand(int32=int32, memory=20.0)), 0.0) or ()

    texts = ("20 arithmetic instructions in PTX", f"counts {int32 / 10:g}")
    assert [all(text in sentence for text in texts) for sentence in found] == [True] * differs


def test_counts_of_several_branches_are_not_judged() -> None:
    """Three loads in the code, of which a work-item executes two."""
    more = altered(CODE, counts={**CODE.counts, "global load": 3})

    assert differences(instruction_counts(more, demand(int32=1.0, memory=20.0)), 0.0) is None


@pytest.mark.parametrize("changes", [{"loops": True}, {"calls": ("helper",)}, {"form": "x86-64"}])
def test_only_straight_ptx_is_compared(changes: dict[str, object]) -> None:
    counts = instruction_counts(CODE.model_copy(update=changes), demand(int32=120.0))

    assert counts == {}
    assert differences(counts, 0.0) is None


def test_instructions_for_indices_count_once() -> None:
    """They are arithmetic in compiled code, and in no class of the model."""
    declared = demand(fp32=10.0, memory=20.0, instruction=220.0)
    counts = instruction_counts(CODE, declared)

    assert unclassified(declared) == 19
    assert unclassified(demand(int32=10.0)) == 0
    assert differences(counts, unclassified(declared)) == ()
    (sentence,) = differences(counts, 8.0) or ()
    assert "the model counts 1, and 8 for indices" in sentence
