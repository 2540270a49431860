"""How independent a prediction is of measurements on the predicted device. Pure functions."""

from typing import Literal

from gpureport.predict.fitted import FITTED_TO
from gpureport.records.keys import Record
from gpureport.spec.database import Database
from gpureport.spec.models import CORE_TYPE, Cache, Device, Memory, listed

Independence = Literal["seen", "unseen device", "unseen architecture", "first day"]
FIRST_DAY: Independence = "first day"
"""The values that were measured on the architecture are replaced (:mod:`gpureport.spec.first_day`)."""


def _exact(record: type[Record]) -> set[str]:
    """Return the keys of whole numbers, such as the size of a line: a measurement of these has no error."""
    return {key for name, (key, _) in listed(record).items() if record.model_fields[name].annotation is int}


_EXACT = _exact(Cache) | _exact(Memory)


def independence(device: Device, database: Database) -> Independence:
    """Return whether constants that predict *device* were measured on such a device or fitted to one.

    Returns:
        ``seen``: at least one was. ``unseen device``: none was, but one comes from another device of its architecture.
        ``unseen architecture``: all come from documents and from other architectures.
    """
    origins = (origin for path, origin in device.provenance.items() if path.rpartition(".")[2] not in _EXACT)
    measured = {entry for origin in origins for entry in origin.measured_on}
    sources = measured.union(*FITTED_TO.values())
    name = device.architecture.id
    if sources & {device.id, f"architectures/{name}"}:
        return "seen"
    known = {database.entries[entry].file.architecture for entry in sources if entry in database.entries}
    # The values of a type of core come from other machines with such cores.
    has_core_type = any(origin.source == f"{CORE_TYPE} {name}" for origin in device.provenance.values())
    return "unseen device" if has_core_type or name in known else "unseen architecture"
