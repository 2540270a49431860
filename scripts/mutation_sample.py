"""Draw a fixed random sample of a session of Cosmic Ray.

Run by ``scripts/mutate`` with the Python of Cosmic Ray: ``mutation_sample.py ALL.sqlite NUMBER SAMPLE.sqlite``. Each
of NUMBER random places of the package gets one random mutation. Not drawn are operators of types (``int | None``),
decorators (without a cache the program does the same), and the ``strict`` of a zip, which is only a safeguard.
"""

import random
import re
import sys
from collections import defaultdict

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkItem

_LEFT_OUT = re.compile(r".*_BitOr_|.*/RemoveDecorator")
_SEED = 36


def _counts(mutation: MutationSpec) -> bool:
    if mutation.operator_name.endswith("TrueWithFalse"):
        line = mutation.module_path.read_text().splitlines()[mutation.start_pos[0] - 1]
        return "strict=True" not in line
    return not _LEFT_OUT.match(mutation.operator_name)


def main(source: str, number: int, target: str) -> None:
    """Write the sample of *number* items of the session *source* to the session *target*."""
    places: dict[tuple[str, tuple[int, int]], list[WorkItem]] = defaultdict(list)
    with use_db(source, WorkDB.Mode.open) as session:
        for item in session.work_items:
            (mutation,) = item.mutations
            if _counts(mutation):
                places[str(mutation.module_path), mutation.start_pos].append(item)
    rng = random.Random(_SEED)  # noqa: S311 - no secret
    drawn = rng.sample(sorted(places), number)
    sample = [rng.choice(sorted(places[place], key=lambda i: i.mutations[0].operator_name)) for place in drawn]
    with use_db(target) as session:
        session.add_work_items(sample)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
