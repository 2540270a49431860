"""Comparison of compiled instructions with the operations that the model counts, for kernels without loops. Pure.

Only PTX is compared, because its instructions are those of a single work-item. The assembler ptxas changes them: it
merges bitwise operations into instructions with three inputs, expands divisions, and turns address arithmetic into
multiply-adds. Therefore arithmetic classes are compared as one sum, and only a difference beyond :data:`FACTOR` counts.

Counts are static: they include the instructions of all branches. A kernel with more global accesses than the model
counts has alternative or guarded branches, and is not compared.

The model counts some instructions in no class: indices, addresses, bounds, branches. Arithmetic of compiled code agrees
with the classes, with or without these.
"""

from collections.abc import Mapping

from gpureport.records.measurement import MachineCode
from gpureport.workloads.model import Demand

FACTOR = 2.0
"""Ratio beyond which counts differ. On an H200, kernels whose accesses agree have 0.7 to 1.9 times the arithmetic
instructions of the model, except one with integer divisions (0.5) and one with eight loads (2.2)."""
_ACCESSES = "global access"
_ARITHMETIC = "arithmetic"
_SAME_ACCESSES = 1.25
"""Ratio of global accesses, compiled to modelled, beyond which the counts of branches are not comparable."""

_PARTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    _ARITHMETIC: (
        frozenset({"fp32", "int", "int multiply", "int divide", "logic", "shift", "bit", "compare"}),
        frozenset({"fp32", "fp32_three", "int32", "int32_mul", "add", "ternary", "shift"}),
    ),
    _ACCESSES: (frozenset({"global load", "global store"}), frozenset({"memory"})),
    "local access": (frozenset({"shared load", "shared store"}), frozenset({"local"})),
    "exchange": (frozenset({"shuffle", "vote"}), frozenset({"shuffle", "ballot"})),
    "barrier": (frozenset({"barrier"}), frozenset({"barrier"})),
}
"""Instruction classes of compiled code and of the model, by the name of their sum."""


def instruction_counts(code: MachineCode, demand: Demand) -> dict[str, tuple[int, float]]:
    """Return compiled instructions and the model's operations per work-item, for each class that the model counts.

    The result is empty for code with loops or calls, and for CPUs.
    """
    if code.form != "PTX" or code.loops or code.calls:
        return {}
    items = demand.work_items - demand.idle_items
    found = {
        name: (
            sum(count for kind, count in code.counts.items() if kind in compiled),
            sum(count for kind, count in demand.operations.items() if kind in model) / items,
        )
        for name, (compiled, model) in _PARTS.items()
    }
    return {name: counts for name, counts in found.items() if counts[1]}


def unclassified(demand: Demand) -> float:
    """Return the instructions of a work-item that the model counts in no class."""
    classes = sum(count for kind, count in demand.operations.items() if kind != "instruction")
    return max(0.0, demand.operations.get("instruction", 0.0) - classes) / (demand.work_items - demand.idle_items)


def differences(counts: Mapping[str, tuple[int, float]], others: float) -> tuple[str, ...] | None:
    """Return a sentence for each class whose counts differ by more than :data:`FACTOR`; ``None``: not comparable.

    *others* is the model's number of instructions in no class, any of which may be arithmetic.
    """
    if not counts or (_ACCESSES in counts and _differ(*counts[_ACCESSES], 0.0, _SAME_ACCESSES)):
        return None
    more = {_ARITHMETIC: others}
    return tuple(
        f"A work-item has {compiled} {name} instructions in PTX (before the assembler); the model counts {model:.4g}"
        f"{f', and {more[name]:.4g} for indices, addresses and branches' if more.get(name) else ''}."
        for name, (compiled, model) in counts.items()
        if _differ(compiled, model, more.get(name, 0.0), FACTOR)
    )


def _differ(compiled: int, model: float, others: float, factor: float) -> bool:
    return not model / factor <= compiled <= (model + others) * factor
