"""The report of a prediction: the document of a run without measurements."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.predict import limits_of
from gpureport.predict.advice import specified_advice
from gpureport.records.prediction import Prediction
from gpureport.records.report import EntryMatch, Report, RunSettings, workload_info
from gpureport.spec.models import Device
from gpureport.workloads.model import Workload


def prediction_report(
    device: Device, workloads: Sequence[Workload], predictions: Sequence[Prediction], *, quick: bool
) -> Report:
    """Return the report of the predictions for *device*, without machine, measurements and findings.

    Traces of frames are left out: their prediction is the same as of single dispatches.

    Args:
        device: an entry of the database.
        workloads: the predicted ones.
        predictions: from the specification.
        quick: whether the sweeps are the shorter ones.
    """
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=device.id, how="selected on the command line."),
        machine=None,
        settings=RunSettings(quick=quick),
        workloads={workload.name: workload_info(workload) for workload in workloads},
        predictions=tuple(p for p in predictions if p.key.sweep != "frames"),
        advice=specified_advice(workloads, device, limits_of(device, quick=quick)),
    )
