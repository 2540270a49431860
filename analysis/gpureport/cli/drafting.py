"""``gpureport devices new``: a first version of a device file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.cli.console import note, out
from gpureport.cli.database import open_database
from gpureport.cli.options import writing
from gpureport.cli.progress import ProgressBar
from gpureport.errors import DeviceError, InputError
from gpureport.files import write_file
from gpureport.spec import new_entry
from gpureport.spec.database import Database, wrong_ending
from gpureport.spec.writing import Draft, write_entry
from gpureport.text import sentence

if TYPE_CHECKING:
    from gpureport.measure.measurer import Measurer


@dataclass(frozen=True)
class Wanted:
    """What was asked for.

    Attributes:
        device: that is present, as typed; ``None``: the best, unless *relative* or *empty* say that none is needed.
        relative: a device of the database to start from, as typed.
        empty: nothing is known.
        measure: whether to measure on a device that is present.
        seed: of random data and orders.
        entries: folders of device entries besides the usual ones.
    """

    device: str | None
    relative: str | None
    empty: bool
    measure: bool
    seed: int
    entries: tuple[Path, ...]


def draft_entry(wanted: Wanted, output: Path | None, force: bool) -> int:
    """Write a draft to a file or to standard output."""
    if wanted.empty and (wanted.device or wanted.relative):
        raise InputError("--empty: starts from nothing; leave out --device and --from, or --empty")
    if output is not None:
        misnamed = "" if output.is_dir() else wrong_ending(output)
        if misnamed:
            raise InputError(f"{output}: {misnamed}")
    with writing(() if output is None else (output,), force=force):
        draft = new_entry.empty() if wanted.empty else _drafted(wanted)
        beside = output is not None and (output.parent.parent / "device.schema.json").exists()
        text = write_entry(draft, schema=beside)
        if output is None:
            out().out(text, end="")
            return 0
        write_file(output, text)
    note(f"Written: {output}. `gpureport devices check {output}` checks it after you edit.")
    return 0


def _drafted(wanted: Wanted) -> Draft:
    database = open_database(wanted.entries)
    relative = database.entries[database.resolve(wanted.relative).id] if wanted.relative is not None else None
    if relative and wanted.device is None:
        return new_entry.of_relative(relative)
    with _present(wanted.device or "auto") as measurer:
        draft = new_entry.of_present(measurer.device, database, relative)
        known = database.match(measurer.device).entry_id
        if known and not relative and not database.entries[known].file.host:
            path = database.entries[known].path
            note(f"Note: {path} describes this device already; `--from {known}` starts from it.")
        return _measured(draft, measurer, database, wanted.seed) if wanted.measure else draft


def _present(text: str) -> "Measurer":
    """Return the device that *text* means, open.

    Raises:
        DeviceError: there is none that works; says what can be done without.
    """
    from gpureport.cli.choosing import working_device

    try:
        return working_device(text)
    except DeviceError as error:
        raise DeviceError(
            f"{error}; without a device, --from NAME starts an entry from a relative, and --empty from nothing"
        ) from None


def _measured(draft: Draft, measurer: "Measurer", database: Database, seed: int) -> Draft:
    """Measure primitives on the device, and put what they show into the draft."""
    from gpureport.measure.limits import SweepSettings, run_limits
    from gpureport.measure.machine import free_memory_bytes
    from gpureport.run.drafting import SWEEP_S, get_to_know

    present = measurer.device
    limits = run_limits(present, free_memory_bytes(present), quick=False)
    settings = SweepSettings(limits, budget_s=SWEEP_S[present.kind], seed=seed)
    note(f"Measuring {present.name}, a minute or so; --no-measure leaves that out.")
    with ProgressBar("measuring", lines=True) as bar:
        found = get_to_know(measurer, new_entry.drafted_device(draft, database), settings, bar)
    for remark in found.remarks:
        note(sentence(remark))
    return new_entry.with_measured(draft, found.values, found.remarks)
