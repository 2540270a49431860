"""The tables of ``gpureport predict A B``: devices side by side."""

from collections.abc import Sequence

from gpureport.cli.console import print_line, print_text
from gpureport.cli.prediction_tables import print_report_table
from gpureport.predict.contrast import INTERVAL, capacity_difference
from gpureport.report.prediction.forecast import facts_of
from gpureport.report.prediction.side_by_side import Beside, Side, ceilings_table, features_table, ratio_table


def print_contrasts(first: Side, others: Sequence[Beside]) -> None:
    """Print devices side by side, and the predicted speed of each relative to the first."""
    sides = [first, *(other.side for other in others)]
    for side in sides:
        print_text(f"{side.letter}: {side.device.name} ({side.device.id}): {facts_of(side.device)}")
    for other in others:
        sentence = capacity_difference((first.device, other.side.device))
        if sentence:
            print_text(sentence)
    print_line("")
    print_report_table("Ceilings, with 95 % intervals", ceilings_table(sides))
    print_report_table("Cliffs and tapers (n90: work-items for 90 % of the plateau)", features_table(sides))
    for other in others:
        title = f"Speed of {other.side.letter} / speed of {first.letter}, from the specifications only"
        print_report_table(title, ratio_table(first, other, sizes=True))
    print_text(f"{INTERVAL} Best rates may occur at different sizes; ratios by size compare equal sizes.")
