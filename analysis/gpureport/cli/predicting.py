"""``gpureport predict``: predictions for one device, or for several side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.cli.console import note, print_json
from gpureport.cli.database import note_doubts, note_override, open_database
from gpureport.cli.options import described, selected, slug, writing
from gpureport.cli.prediction_tables import print_contrasts, print_everything, print_prediction
from gpureport.cli.progress import ProgressBar
from gpureport.cli.summary import print_advice
from gpureport.errors import InputError
from gpureport.predict import Predicted, limits_of, predict_with_deviations
from gpureport.predict.advice import specified_advice
from gpureport.predict.ceilings import ceilings
from gpureport.predict.contrast import contrasts, not_comparable
from gpureport.predict.outlook import outlooks
from gpureport.predict.uncertainty.sensitivity import ranked
from gpureport.records.prediction import Prediction
from gpureport.records.report import described_families, workload_info
from gpureport.report import Paper
from gpureport.report.prediction.side_by_side import DeviceComparison, DevicePredictions
from gpureport.spec.models import Device

if TYPE_CHECKING:
    from gpureport.workloads.model import Workload


@dataclass(frozen=True)
class PredictionRequest:
    """The options of ``gpureport predict``, as typed; :mod:`gpureport.cli.app` describes them."""

    devices: tuple[str, ...]
    lscpu: Path | None = None
    workloads: tuple[str, ...] = ()
    quick: bool = False
    as_json: bool = False
    everything: bool = False
    pdf: bool = False
    output: Path | None = None
    force: bool = False
    entries: tuple[Path, ...] = ()
    paper: Paper = "a4"
    kernels: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """A device and its predictions."""

    device: Device
    predicted: tuple[Predicted, ...]
    families: Mapping[str, str]
    """Titles of the families of users' kernels, by identifier."""

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """The predictions without the contributions to their intervals."""
        return tuple(each.prediction for each in self.predicted)


def predict_devices(request: PredictionRequest) -> int:
    """Print or write the predictions from database entries only.

    Raises:
        InputError: no device is given, or options exclude each other.
    """
    if request.lscpu is not None:
        return _predict_listed(request, request.lscpu)
    if not request.devices:
        raise InputError("the argument DEVICE is missing; add it, or give --lscpu FILE (--help shows examples)")
    if request.output and not request.pdf:
        raise InputError("-o: has no effect without --pdf; add --pdf, or omit -o")
    workloads = _workloads(request)
    devices = _devices(request)
    directory = _directory(request, devices)
    with writing(_files(directory) if request.pdf else (), force=request.force):
        forecasts = [_forecast(device, workloads, quick=request.quick) for device in devices]
        beside = [_beside(number, forecasts) for number in range(1, len(forecasts))]
        if request.as_json:
            print_json(_json(forecasts, beside))
        else:
            _print(forecasts, beside, everything=request.everything)
            if not beside:
                print_advice(specified_advice(workloads, devices[0], limits_of(devices[0], quick=request.quick)))
        if request.pdf:
            _write(request, directory, workloads, forecasts, beside)
    return 0


def _predict_listed(request: PredictionRequest, path: Path) -> int:
    """Print the prediction from the output of ``lscpu``."""
    from gpureport.cli.processor import predict_processor

    others = {
        "DEVICE": request.devices,
        "-w": request.workloads,
        "--kernel": request.kernels,
        "--quick": request.quick,
        "--pdf": request.pdf,
    }
    if given := [
        name for name, value in {**others, "--all": request.everything, "-o": request.output}.items() if value
    ]:
        raise InputError(f"--lscpu: cannot be combined with {' or '.join(given)}")
    return predict_processor(path, request.entries, as_json=request.as_json)


def _workloads(request: PredictionRequest) -> "tuple[Workload, ...]":
    """Return the requested workloads: with kernels of the user and no other name, only these."""
    kernels = described(request.kernels)
    others = selected(request.workloads, quick=request.quick) if request.workloads or not kernels else ()
    return (*others, *kernels)


def _devices(request: PredictionRequest) -> list[Device]:
    """Return the requested devices; raise if one is unknown, or given twice."""
    database = open_database(request.entries)
    devices = [database.resolve(name) for name in request.devices]
    for number, device in enumerate(devices):
        note_override(database, device.id)
        if device.id in [other.id for other in devices[:number]]:
            raise InputError(f"{request.devices[number]!r} is {device.id}, which is given twice; choose another device")
    note_doubts(database, devices)
    return devices


def _forecast(device: Device, workloads: "Sequence[Workload]", *, quick: bool) -> Forecast:
    limits = limits_of(device, quick=quick)
    with ProgressBar(f"predicting {device.name}"):
        predicted = tuple(p for w in workloads for p in predict_with_deviations(device, w, limits))
    return Forecast(device, predicted, described_families(map(workload_info, workloads)))


def _beside(number: int, forecasts: Sequence[Forecast]) -> DeviceComparison:
    first, other = forecasts[0], forecasts[number]
    devices = first.device, other.device
    found = contrasts(devices, first.predicted, other.predicted)
    return DeviceComparison(_side(number, other), found, not_comparable(devices, first.predicted, other.predicted))


def _side(number: int, forecast: Forecast) -> DevicePredictions:
    return DevicePredictions(chr(ord("A") + number), forecast.device, forecast.predictions, forecast.families)


def _print(forecasts: Sequence[Forecast], beside: Sequence[DeviceComparison], *, everything: bool) -> None:
    if beside:
        print_contrasts(_side(0, forecasts[0]), beside)
    for forecast in forecasts:
        if everything:
            print_everything(forecast.device, forecast.predictions)
        elif not beside:
            print_prediction(forecast.device, forecast.predictions)


def _json(forecasts: Sequence[Forecast], beside: Sequence[DeviceComparison]) -> dict[str, object]:
    """Return the forecast of one device, or the forecasts and contrasts of several, as plain data."""
    each = [_forecast_json(forecast) for forecast in forecasts]
    if len(each) == 1:
        return each[0]
    pairs = [
        {
            "first": forecasts[0].device.id,
            "other": other.predicted.device.id,
            "sweeps": [contrast.model_dump(mode="json") for contrast in other.contrasts],
        }
        for other in beside
    ]
    return {"devices": each, "contrasts": pairs}


def _forecast_json(forecast: Forecast) -> dict[str, object]:
    predictions = forecast.predictions
    return {
        "device": forecast.device.model_dump(mode="json"),
        "ceilings": [ceiling.model_dump(mode="json") for ceiling in ceilings(forecast.device)],
        "outlooks": [outlook.model_dump(mode="json") for outlook in outlooks(predictions)],
        "predictions": [prediction.model_dump(mode="json") for prediction in predictions],
        "sensitivities": [sensitivity.model_dump(mode="json") for sensitivity in ranked(predictions)],
    }


def _directory(request: PredictionRequest, devices: Sequence[Device]) -> Path:
    names = "-and-".join(slug(device.name) for device in devices)
    return request.output or Path("reports") / f"{names}-predicted-{datetime.now(UTC).date().isoformat()}"


def _files(directory: Path) -> tuple[Path, ...]:
    from gpureport.report.render import documents

    return documents(directory, appendix=True)


def _write(
    request: PredictionRequest,
    directory: Path,
    workloads: "Sequence[Workload]",
    forecasts: Sequence[Forecast],
    beside: Sequence[DeviceComparison],
) -> None:
    """Write HTML and PDF of one device or of several side by side, and print their paths on stderr."""
    from gpureport.cli.rendering import write_documents, write_side_by_side
    from gpureport.report.prediction.document import prediction_report

    if beside:
        written = write_side_by_side(_side(0, forecasts[0]), beside, directory, request.paper)
    else:
        report = prediction_report(forecasts[0].device, workloads, forecasts[0].predictions, quick=request.quick)
        written = write_documents(report, directory, no_pdf=False, paper=request.paper)
    note("Written: " + ", ".join(map(str, written)))
