"""``gpureport predict``: predictions for one device, or for several side by side, or from the output of ``lscpu``."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from gpureport.cli.app import PredictOptions
from gpureport.cli.comparing import print_comparison, short_ids
from gpureport.cli.console import note, print_json, print_line, print_sentences, print_text
from gpureport.cli.options import (
    described,
    in_batches,
    note_doubts,
    note_override,
    open_database,
    options_of_sources,
    selected,
    slug,
    writing,
)
from gpureport.cli.rendering import write_documents, written
from gpureport.cli.tables import print_document_table, print_table
from gpureport.compare import FEW, Run, compare, excerpt
from gpureport.errors import InputError
from gpureport.grouping import grouped
from gpureport.predict import Predicted, limits_of, predict_sweeps
from gpureport.predict.ceilings import ceilings
from gpureport.predict.contrast import INTERVAL, capacity_difference, contrasts, not_comparable
from gpureport.predict.outlook import outlooks
from gpureport.predict.uncertainty.sensitivity import ranked
from gpureport.records.report import Report, described_families, workload_info
from gpureport.report.comparison.document import write_pages
from gpureport.report.prediction import side_by_side
from gpureport.report.prediction.forecast import (
    COPIES,
    ceilings_table,
    cliffs_table,
    facts_of,
    feature_table,
    outlook_table,
)
from gpureport.report.prediction.side_by_side import DevicePredictions, write_devices
from gpureport.report.run.kernels import accesses_table, advice_table
from gpureport.report.run.trust import sensitivity_table
from gpureport.report.text.tables import occupancy_table
from gpureport.report.text.words import family_title
from gpureport.results.opening import predicted_run, prediction_report
from gpureport.spec.models import Device
from gpureport.text import N90, shorten
from gpureport.units import format_bytes, format_interval

if TYPE_CHECKING:
    from gpureport.predict.cpu_memory import Curve, ProcessorForecast
    from gpureport.workloads.model import Workload

_FEW_FACTS = 5
_SENSITIVITIES = "What the predictions depend on"
_LIMITS = "Limits of the hardware from the specification, with 95 % intervals"
_MOST_CHANGES = 8
_MOST_NAMED = 4  # devices in the name of a folder


def predict_devices(options: PredictOptions) -> int:
    """Print or write the predictions from database entries only.

    Raises:
        InputError: no device is given, or options exclude each other.
    """
    if not options.kernels and (given := options_of_sources(options)):
        raise InputError(f"{given[0]}: describes a kernel; add --kernel FILE, or omit {given[0]}")
    if options.lscpu is not None:
        return _predict_listed(options, options.lscpu)
    if not options.devices:
        raise InputError("the argument DEVICE is missing; add it, or give --lscpu FILE (--help shows examples)")
    if options.output and not options.pdf:
        raise InputError("-o: has no effect without --pdf; add --pdf, or omit -o")
    from gpureport.report.render import documents

    workloads, devices = _workloads(options), _devices(options)
    names = [slug(device.name) for device in devices]
    if len(names) > _MOST_NAMED:
        names[1:] = [f"{len(names) - 1}-others"]
    today = datetime.now(UTC).date().isoformat()
    folder = options.output or Path("reports") / f"{'-and-'.join(names)}-predicted-{today}"
    with writing(documents(folder, appendix=True) if options.pdf else (), force=options.force):
        many = len(devices) > FEW
        sides = _sides(options, workloads, devices) if options.as_json or options.everything or not many else []
        reports = [prediction_report(side.device, workloads, side.predictions, quick=options.quick) for side in sides]
        if many and (options.pdf or not options.as_json):
            runs = list(map(excerpt, reports)) or _runs(options, workloads, devices)
            _show_many(options, folder, [device.id for device in devices], runs)
        if options.as_json:
            print_json(_json(sides))
        if sides:
            _show(options, folder, sides, reports)
    return 0


def _runs(options: PredictOptions, workloads: "Sequence[Workload]", devices: Sequence[Device]) -> list[Run]:
    predict = partial(predicted_run, workloads=workloads, quick=options.quick)
    return in_batches("predicting", predict, devices, lambda device: device.name)


def _show_many(options: PredictOptions, folder: Path, ids: Sequence[str], runs: Sequence[Run]) -> None:
    """Print and write a comparison of devices as of machines: side by side, many would fill hundreds of pages."""
    comparison = compare(dict(zip(short_ids(ids, ids), runs, strict=True)))
    if not options.as_json:
        print_comparison(comparison)
    if options.pdf:
        _note(written(lambda: write_pages(comparison, folder, "report", paper=options.paper)))


def _sides(
    options: PredictOptions, workloads: "Sequence[Workload]", devices: Sequence[Device]
) -> list[DevicePredictions]:
    predict = partial(_predicted, workloads=workloads, quick=options.quick)
    predicted = in_batches("predicting", predict, devices, lambda device: device.name)
    families = described_families(map(workload_info, workloads))
    sides: list[DevicePredictions] = []
    for letter, device, own in zip(cycle(ascii_uppercase), devices, predicted, strict=False):
        pair, both = (devices[0], device), (predicted[0], own)
        found = (contrasts(pair, *both), not_comparable(pair, *both)) if sides else ((), ())
        sides.append(DevicePredictions(letter, device, tuple(each.prediction for each in own), families, *found))
    return sides


def _show(options: PredictOptions, folder: Path, sides: Sequence[DevicePredictions], reports: Sequence[Report]) -> None:
    if not options.as_json:
        if 1 < len(sides) <= FEW:
            _print_contrasts(sides)
        for report in reports if options.everything else reports[: len(sides) == 1]:
            (_print_everything if options.everything else _print_summary)(report)
        if len(sides) == 1:
            print_advice(reports[0])
            if not options.everything:
                print_sentences("prediction_legend")
    if options.pdf and len(sides) == 1:
        _note(write_documents(reports[0], folder, no_pdf=False, paper=options.paper))
    elif options.pdf and len(sides) <= FEW:
        _note(written(lambda: write_devices(sides, folder, options.paper)))


def _note(files: Sequence[Path]) -> None:
    note("Written: " + ", ".join(map(str, files)))


def _predict_listed(options: PredictOptions, path: Path) -> int:
    from gpureport.predict.cpu_memory import processor_forecast
    from gpureport.spec.host import read_lscpu

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
    forecast = processor_forecast(read_lscpu(path), open_database(options.entries))
    if options.as_json:
        print_json(_processor_json(forecast))
    else:
        _print_processor(forecast)
    return 0


def _workloads(options: PredictOptions) -> "tuple[Workload, ...]":
    """Return the requested workloads: with kernels of the user and no other name, only these."""
    kernels = described(options.kernels, options)
    others = selected(options.workloads, quick=options.quick) if options.workloads or not kernels else ()
    return (*others, *kernels)


def _devices(options: PredictOptions) -> list[Device]:
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
    return tuple(p for w in workloads for p in predict_sweeps(device, w, w.sweeps(device, limits)))


def _json(sides: Sequence[DevicePredictions]) -> dict[str, object]:
    first, *others = sides
    if not others:
        return _device_json(first)
    pairs = [
        {
            "first": first.device.id,
            "other": other.device.id,
            "sweeps": [contrast.model_dump(mode="json") for contrast in other.contrasts],
        }
        for other in others
    ]
    return {"devices": list(map(_device_json, sides)), "contrasts": pairs}


def _device_json(side: DevicePredictions) -> dict[str, object]:
    records = {
        "ceilings": ceilings(side.device),
        "outlooks": outlooks(side.predictions),
        "predictions": side.predictions,
        "sensitivities": ranked(side.predictions),
    }
    plain = {name: [each.model_dump(mode="json") for each in found] for name, found in records.items()}
    return {"device": side.device.model_dump(mode="json"), **plain}


def _print_summary(report: Report) -> None:
    _print_device(report.device)
    title = "Specification predictions: cliffs (capacity transitions), as working sets"
    print_document_table(title, cliffs_table(report))
    title = f"Specification predictions: best of each workload ({N90})"
    print_document_table(title, outlook_table(report.predictions), optional=["occupancy"])
    print_document_table(_SENSITIVITIES, sensitivity_table(report), most=_FEW_FACTS)


def _print_everything(report: Report) -> None:
    from gpureport.report.curves import curves

    _print_device(report.device)
    titles = described_families(report.workloads.values())
    print_text(f"Specification predictions, with 95 % intervals ({N90}):")
    print_line("")
    by_sweep = grouped(((p.key.family, p.key.sweep_name), p) for p in report.predictions)
    for (family, sweep), own in by_sweep.items():
        print_document_table(f"{family_title(family, titles)}, {sweep}", feature_table(own))
    print_document_table(_SENSITIVITIES, sensitivity_table(report))
    for family, found in grouped((each.key.family, each) for each in curves(report)).items():
        title = f"{family_title(family, titles)}: occupancy, with the register count estimated before compilation"
        print_document_table(title, occupancy_table(found))


def _print_contrasts(sides: Sequence[DevicePredictions]) -> None:
    first, *others = sides
    found = [side_by_side.limit_effects(first, other) for other in others]
    for other, effects in zip(others, found, strict=True):
        print_text(side_by_side.conclusion(first, other, effects), style="bold")
    print_line("")
    for side in sides:
        print_text(f"{side.letter}: {side.device.name} ({side.device.id}): {facts_of(side.device)}")
    for other in others:
        if sentence := capacity_difference((first.device, other.device)):
            print_text(sentence)
    print_line("")
    print_document_table("What buyers compare, with 95 % intervals", side_by_side.key_table(sides))
    for other, effects in zip(others, found, strict=True):
        a, b = first.letter, other.letter
        title = f"Speed of {b} / speed of {a}, by what limits the kernels on {a}"
        table = side_by_side.effects_table(first, other, effects)
        print_document_table(f"{title} (ratio of the median kernel; range over kernels)", table)
    print_document_table(f"{_LIMITS}, and ratios of speeds (inverse for times)", side_by_side.ceilings_table(sides))
    print_text(COPIES)
    print_line("")
    print_document_table(f"Specification predictions: cliffs and tapers ({N90})", side_by_side.features_table(sides))
    for other in others:
        a, b = first.letter, other.letter
        title = f"Specification predictions: speed of {b} / speed of {a} (above 1, {b} is faster)"
        best = tuple(f"best {letter}" for letter in (a, b))
        print_document_table(title, side_by_side.ratio_table(first, other), best)
        print_document_table("Ranges of nearly constant ratio", side_by_side.stretch_table(first, other))
        if other.left:
            print_text(f"Not compared (a different part of the compute units on each device): {', '.join(other.left)}.")
    print_text(f"{INTERVAL} Best rates may occur at different sizes; ratios by size compare equal sizes.")


def _print_device(device: Device) -> None:
    print_text(f"{device.name} ({device.id}): {facts_of(device)}")
    print_line("")
    print_document_table(_LIMITS, ceilings_table(device))
    print_text(COPIES)
    print_line("")


def print_advice(report: Report) -> None:
    """Print what the accesses of kernels cost, and the changes with the largest predicted gains."""
    print_document_table("Accesses by source line", accesses_table(report), ("traffic", "kernel"))
    print_document_table("Changes that would make kernels faster", advice_table(report), most=_MOST_CHANGES)


def _print_processor(forecast: "ProcessorForecast") -> None:
    facts, place = forecast.facts, forecast.topology
    print_text(shorten(facts.name) or "Unnamed processor", style="bold")
    print_sentences(
        "processor",
        name=forecast.architecture_name,
        known=forecast.known,
        place=place,
        hypervisor=shorten(facts.hypervisor),
        usable=format_interval(*forecast.usable_l3_bytes, "B"),
    )
    print_text("")
    sizes = [format_bytes(float(size)) for size in forecast.working_sets_bytes]
    cells = [format_interval(*each, "s") for each in _intervals(forecast.latency)]
    title = "Latency of a dependent load (95 % interval)"
    print_table(title, ("working set", "latency"), list(zip(sizes, cells, strict=True)), right=(1,))
    for title, first, names, curves in (
        ("Bandwidth of all threads", "of each", sizes, forecast.bandwidth),
        ("Vectorised kernels on all cores of a socket", "level", forecast.levels, forecast.streams),
    ):
        columns = ([format_interval(*each, "B/s") for each in _intervals(curve)] for curve in curves.values())
        rows = list(zip(names, *columns, strict=True)) if curves else []
        print_table(f"{title} (95 % interval)", (first, *curves), rows, right=range(1, len(curves) + 1))


def _intervals(curve: "Curve") -> list[tuple[float, float, float]]:
    return list(zip(curve.values.tolist(), curve.low.tolist(), curve.high.tolist(), strict=True))


def _processor_json(forecast: "ProcessorForecast") -> dict[str, object]:
    place, sizes = forecast.topology, forecast.working_sets_bytes.tolist()
    counts = ("processors", "cores", "sockets", "part", "l3_bytes", "l3_instances")

    def points(name: str, curve: "Curve") -> list[dict[str, float]]:
        return [{name: size} | _named(each) for size, each in zip(sizes, _intervals(curve), strict=True)]

    return {
        "architecture": forecast.architecture,
        "known": forecast.known,
        "facts": forecast.facts.model_dump(mode="json", exclude={"flags"}),
        "topology": {"listing": place.listing} | {name: float(getattr(place, name)) for name in counts},
        "usable_l3_bytes": _named(forecast.usable_l3_bytes),
        "latency_s": points("working_set_bytes", forecast.latency),
        "bandwidth_bytes_per_s": {name: points("buffer_bytes", curve) for name, curve in forecast.bandwidth.items()},
        "streams_bytes_per_s": {
            level: {kernel: _named(_intervals(curve)[i]) for kernel, curve in forecast.streams.items()}
            for i, level in enumerate(forecast.levels)
            if forecast.streams
        },
    }


def _named(interval: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), interval, strict=True))
