"""``gpureport predict``: predictions for one device, or for several side by side."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.cli.app import PredictOptions
from gpureport.cli.console import ProgressBar, note, print_json
from gpureport.cli.database import note_doubts, note_override, open_database
from gpureport.cli.options import described, selected, slug, writing
from gpureport.cli.prediction_tables import print_contrasts, print_everything, print_prediction
from gpureport.cli.summary import print_advice
from gpureport.errors import InputError
from gpureport.predict import Predicted, limits_of, predict_with_deviations
from gpureport.predict.ceilings import ceilings
from gpureport.predict.contrast import contrasts, not_comparable
from gpureport.predict.outlook import outlooks
from gpureport.predict.uncertainty.sensitivity import ranked
from gpureport.records.report import Report, described_families, workload_info
from gpureport.report.prediction.side_by_side import DeviceComparison, DevicePredictions
from gpureport.results.opening import prediction_report
from gpureport.spec.models import Device

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload


def predict_devices(options: PredictOptions) -> int:
    """Print or write the predictions from database entries only.

    Raises:
        InputError: no device is given, or options exclude each other.
    """
    if options.lscpu is not None:
        return _predict_listed(options, options.lscpu)
    if not options.devices:
        raise InputError("the argument DEVICE is missing; add it, or give --lscpu FILE (--help shows examples)")
    if options.output and not options.pdf:
        raise InputError("-o: has no effect without --pdf; add --pdf, or omit -o")
    workloads = _workloads(options)
    devices = _devices(options)
    names = "-and-".join(slug(device.name) for device in devices)
    folder = options.output or Path("reports") / f"{names}-predicted-{datetime.now(UTC).date().isoformat()}"
    with writing(_files(folder) if options.pdf else (), force=options.force):
        predicted = [_predicted(device, workloads, quick=options.quick) for device in devices]
        families = described_families(map(workload_info, workloads))
        first, *others = [
            DevicePredictions(chr(ord("A") + number), device, tuple(each.prediction for each in own), families)
            for number, (device, own) in enumerate(zip(devices, predicted, strict=True))
        ]
        beside = [_beside(first, predicted[0], *other) for other in zip(others, predicted[1:], strict=True)]
        shown = () if options.as_json and not options.pdf else (first, *others)
        reports = [prediction_report(side.device, workloads, side.predictions, quick=options.quick) for side in shown]
        if options.as_json:
            print_json(_json(first, beside))
        else:
            whole = [r.model_copy(update={"predictions": s.predictions}) for r, s in zip(reports, shown, strict=True)]
            _print(whole, first, beside, everything=options.everything)
        if options.pdf:
            _write(options, folder, reports[0], first, beside)
    return 0


def _predict_listed(options: PredictOptions, path: Path) -> int:
    """Print the prediction from the output of ``lscpu``."""
    from gpureport.cli.processor import predict_processor

    others = {
        "DEVICE": options.devices,
        "-w": options.workloads,
        "--kernel": options.kernels,
        "--quick": options.quick,
        "--pdf": options.pdf,
        "--all": options.everything,
        "-o": options.output,
    }
    if given := [name for name, value in others.items() if value]:
        raise InputError(f"--lscpu: cannot be combined with {' or '.join(given)}")
    return predict_processor(path, options.entries, as_json=options.as_json)


def _workloads(options: PredictOptions) -> "tuple[Workload, ...]":
    """Return the requested workloads: with kernels of the user and no other name, only these."""
    kernels = described(options.kernels)
    others = selected(options.workloads, quick=options.quick) if options.workloads or not kernels else ()
    return (*others, *kernels)


def _devices(options: PredictOptions) -> list[Device]:
    """Return the requested devices; raise if one is unknown, or given twice."""
    database = open_database(options.entries)
    devices = [database.resolve(name) for name in options.devices]
    for number, device in enumerate(devices):
        note_override(database, device.id)
        if device.id in [other.id for other in devices[:number]]:
            raise InputError(f"{options.devices[number]!r} is {device.id}, which is given twice; choose another device")
    note_doubts(database, devices)
    return devices


def _predicted(device: Device, workloads: "Sequence[Workload]", *, quick: bool) -> tuple[Predicted, ...]:
    limits = limits_of(device, quick=quick)
    with ProgressBar(f"predicting {device.name}"):
        return tuple(p for w in workloads for p in predict_with_deviations(device, w, limits))


def _beside(
    first: DevicePredictions, predicted: Sequence[Predicted], other: DevicePredictions, theirs: Sequence[Predicted]
) -> DeviceComparison:
    devices = first.device, other.device
    return DeviceComparison(other, contrasts(devices, predicted, theirs), not_comparable(devices, predicted, theirs))


def _print(
    reports: Sequence[Report], first: DevicePredictions, beside: Sequence[DeviceComparison], *, everything: bool
) -> None:
    if beside:
        print_contrasts(first, beside)
    for report in reports:
        if everything:
            print_everything(report)
        elif not beside:
            print_prediction(report)
    if not beside:
        print_advice(reports[0].advice)


def _json(first: DevicePredictions, beside: Sequence[DeviceComparison]) -> dict[str, object]:
    """Return the forecast of one device, or the forecasts and contrasts of several, as plain data."""
    if not beside:
        return _device_json(first)
    pairs = [
        {
            "first": first.device.id,
            "other": other.predicted.device.id,
            "sweeps": [contrast.model_dump(mode="json") for contrast in other.contrasts],
        }
        for other in beside
    ]
    return {"devices": [_device_json(first), *(_device_json(other.predicted) for other in beside)], "contrasts": pairs}


def _device_json(side: DevicePredictions) -> dict[str, object]:
    records = {
        "ceilings": ceilings(side.device),
        "outlooks": outlooks(side.predictions),
        "predictions": side.predictions,
        "sensitivities": ranked(side.predictions),
    }
    plain = {name: [each.model_dump(mode="json") for each in found] for name, found in records.items()}
    return {"device": side.device.model_dump(mode="json"), **plain}


def _files(folder: Path) -> tuple[Path, ...]:
    from gpureport.report.render import documents

    return documents(folder, appendix=True)


def _write(
    options: PredictOptions,
    folder: Path,
    report: Report,
    first: DevicePredictions,
    beside: Sequence[DeviceComparison],
) -> None:
    """Write HTML and PDF of one device or of several side by side, and print their paths on stderr."""
    from gpureport.cli.rendering import write_documents, written
    from gpureport.report.prediction.devices import write_devices

    if beside:
        files = written(lambda: write_devices(first, beside, folder, options.paper))
    else:
        files = write_documents(report, folder, no_pdf=False, paper=options.paper)
    note("Written: " + ", ".join(map(str, files)))
