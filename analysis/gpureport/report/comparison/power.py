"""The table of performance per watt in a comparison."""

from gpureport.compare.records import Comparison
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_value

CAPTION = (
    "Measured power: rate and power of the same kernel, which ran back to back for half a second or more. Board limit: "
    "the listed rate divided by the listed power limit of the board; a kernel rarely draws all of it."
)


def per_watt_table(comparison: Comparison) -> Table:
    """List the performance per watt of all machines with a known power."""
    found = {(each.machine, each.load): each for each in comparison.per_watt}
    loads = dict.fromkeys(load for _, load in found)
    names = dict.fromkeys(machine for machine, _ in found)
    rows = []
    for name in names:
        cells = [found.get((name, load)) for load in loads]
        bases = ", ".join(dict.fromkeys(each.basis for each in cells if each))
        rows.append((name, *(format_value(each.value, each.unit) if each else UNKNOWN for each in cells), bases))
    return Table(("machine", *loads, "power"), tuple(rows), frozenset(loads))
