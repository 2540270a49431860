"""The report of a prediction: the same document as of a run, with nothing observed in it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.records.prediction import Prediction
from gpureport.records.report import EntryMatch, Report, RunSettings, workload_info
from gpureport.spec.models import Device
from gpureport.workloads.model import Workload


def prediction_report(
    device: Device, workloads: Sequence[Workload], predictions: Sequence[Prediction], *, quick: bool
) -> Report:
    """Return the report of what is predicted of *device*.

    It has no machine, no measurements and no findings. Traces of frames, of which a prediction says no more than of
    single dispatches, are left out.

    Args:
        device: an entry of the database.
        workloads: those predicted.
        predictions: from the specification.
        quick: whether they are for the shorter sweeps.
    """
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=device.id, how="named on the command line; no such device was looked for."),
        machine=None,
        settings=RunSettings(quick=quick),
        workloads={workload.name: workload_info(workload) for workload in workloads},
        predictions=tuple(p for p in predictions if p.key.sweep != "frames"),
    )
