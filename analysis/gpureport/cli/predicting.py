"""``gpureport predict``: predictions for one device, also from the output of ``lscpu``, or a comparison of several."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpureport.cli.app import PredictOptions
from gpureport.cli.comparing import LIMITS, print_comparison, short_ids
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
from gpureport.cli.tables import print_document_table
from gpureport.compare import FEW, Comparison, Run, compare, excerpt
from gpureport.compare.contrast import Forecast
from gpureport.errors import InputError
from gpureport.grouping import grouped
from gpureport.inputs import read_text
from gpureport.predict.ceilings import ceilings
from gpureport.predict.uncertainty.sensitivity import ranked
from gpureport.records.report import Report, described_families
from gpureport.report.comparison.document import write_pages
from gpureport.report.forecast import (
    COPIES,
    ceilings_table,
    cliffs_table,
    facts_of,
    feature_table,
    outlook_table,
)
from gpureport.report.run.kernels import accesses_table, advice_table
from gpureport.report.run.trust import sensitivity_table
from gpureport.report.text.tables import occupancy_table
from gpureport.report.text.words import family_title
from gpureport.results.opening import predicted, predicted_run, prediction_report
from gpureport.spec.host import listed_host, parse_lscpu
from gpureport.spec.models import Device
from gpureport.text import N90

if TYPE_CHECKING:
    from gpureport.predict import Predicted
    from gpureport.workloads.model import Workload

T = TypeVar("T")
_FEW_FACTS = 5
_SENSITIVITIES = "What the predictions depend on"
_MOST_CHANGES = 8
_MOST_NAMED = 4  # devices in the name of a folder


def predict_devices(options: PredictOptions) -> int:
    """Print or write the predictions from database entries only.

    Raises:
        InputError: no device is given, or options exclude each other.
    """
    if not options.kernels and (given := options_of_sources(options)):
        raise InputError(f"{given[0]}: describes a kernel; add --kernel FILE, or omit {given[0]}")
    if not options.devices and options.lscpu is None:
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
        whole = options.as_json or options.everything or len(devices) <= FEW
        found = _each(devices, partial(predicted, workloads=workloads, quick=options.quick)) if whole else []
        reports = [
            prediction_report(d, workloads, p, quick=options.quick) for d, p in zip(devices, found, strict=whole)
        ]
        comparison = None
        if len(devices) > 1:
            predict = partial(predicted_run, workloads=workloads, quick=options.quick, contrasted=False)
            runs = map(_run, reports, found) if whole else _each(devices, predict)
            ids = [device.id for device in devices]
            comparison = compare(dict(zip(short_ids(ids, ids), runs, strict=True)))
        if options.as_json:
            print_json(_json(reports, found, comparison))
        else:
            _print(options, reports, comparison)
        if options.pdf and comparison:
            _note(written(lambda: write_pages(comparison, folder, "report", paper=options.paper)))
        elif options.pdf:
            _note(write_documents(reports[0], folder, no_pdf=False, paper=options.paper))
    return 0


def _each(devices: Sequence[Device], predict: Callable[[Device], T]) -> list[T]:
    return in_batches("predicting", predict, devices, lambda device: device.name)


def _run(report: Report, found: "tuple[Predicted, ...]") -> Run:
    return excerpt(report, (), Forecast(report.device, found))


def _print(options: PredictOptions, reports: Sequence[Report], comparison: Comparison | None) -> None:
    if comparison:
        print_comparison(comparison)
    for report in reports if options.everything else reports[: len(reports) == 1]:
        (_print_everything if options.everything else _print_summary)(report)
    if not comparison:
        print_advice(reports[0])
        if not options.everything:
            print_sentences("prediction_legend")


def _note(files: Sequence[Path]) -> None:
    note("Written: " + ", ".join(map(str, files)))


def _workloads(options: PredictOptions) -> "tuple[Workload, ...]":
    """Return the requested workloads: with kernels of the user and no other name, only these."""
    kernels = described(options.kernels, options)
    others = selected(options.workloads, quick=options.quick) if options.workloads or not kernels else ()
    return (*others, *kernels)


def _devices(options: PredictOptions) -> list[Device]:
    database = open_database(options.entries)
    names = list(options.devices)
    if options.lscpu is not None:
        database.host = listed_host(parse_lscpu(read_text(options.lscpu), options.lscpu))
        names.insert(0, f"cpu/{database.host.family}")
    devices = [database.resolve(name) for name in names]
    for number, device in enumerate(devices):
        note_override(database, device.id)
        if device.id in [other.id for other in devices[:number]]:
            raise InputError(f"{names[number]!r} is {device.id}, which is given twice; choose another device")
    note_doubts(database, devices)
    return devices


def _json(
    reports: Sequence[Report], found: "Iterable[Sequence[Predicted]]", comparison: Comparison | None
) -> dict[str, object]:
    devices = list(map(_device_json, reports, found))
    return {"devices": devices, "comparison": comparison.model_dump(mode="json")} if comparison else devices[0]


def _device_json(report: Report, found: "Iterable[Predicted]") -> dict[str, object]:
    records = {
        "ceilings": ceilings(report.device),
        "predictions": [each.prediction for each in found],
        "sensitivities": ranked(report.predictions),
    }
    plain = {name: [each.model_dump(mode="json") for each in own] for name, own in records.items()}
    return {"device": report.device.model_dump(mode="json"), **plain}


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


def _print_device(device: Device) -> None:
    print_text(f"{device.name} ({device.id}): {facts_of(device)}")
    print_line("")
    print_document_table(LIMITS, ceilings_table(device))
    print_text(COPIES)
    print_line("")


def print_advice(report: Report) -> None:
    """Print what the accesses of kernels cost, and the changes with the largest predicted gains."""
    print_document_table("Accesses by source line", accesses_table(report), ("traffic", "kernel"))
    print_document_table("Changes that would make kernels faster", advice_table(report), most=_MOST_CHANGES)
