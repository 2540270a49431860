"""Values of other devices of a store, for page one of a report."""

from gpureport.findings.key_figures import OtherValue
from gpureport.fleet.reading import utc
from gpureport.fleet.store import Store
from gpureport.records.keys import SweepKey
from gpureport.records.levels import Level
from gpureport.records.report import Report

_NEAR = " near partition"
_OTHERS = """
SELECT run, family, variant, sweep, position, level, measured FROM features
WHERE measured > 0 AND feature = 'rate' AND run IN (
    SELECT arg_max(run, created_at) FROM runs
    WHERE model = ? AND device = ? AND compute_units = ? AND quick = ? AND created_at != ?
    GROUP BY node, pci_address
)
"""


def others_of(report: Report, store: Store) -> tuple[tuple[OtherValue, ...], ...]:
    """Return the rates of the last run of each other device of the same model, measured in the same way.

    Raises:
        InputError: the store contains no run, or a file cannot be read.
    """
    if report.machine is None or report.match.entry is None:
        return ()
    present = report.machine.opencl
    own = [report.match.entry, present.name, present.compute_units, report.settings.quick, utc(report.created_at)]
    with store.connect() as connection:
        rows = connection.execute(_OTHERS, own).fetchall()
    found: dict[str, list[OtherValue]] = {}
    for run, family, variant, sweep, position, level, measured in rows:
        key = SweepKey(family=family, variant=variant, sweep=sweep)
        found.setdefault(run, []).append(OtherValue(key, position, _level(level), measured))
    return tuple(map(tuple, found.values()))


def _level(text: str) -> Level:
    """Return the level with this text; of partitions and names only, which key figures have."""
    return Level(name=text.removesuffix(_NEAR), near=text.endswith(_NEAR))
