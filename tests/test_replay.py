"""Kept results: the device as it was present, and the same predictions from the same model."""

import pytest

from gpureport.records.measurement import Compilation
from gpureport.records.report import Report
from gpureport.results.replay import device_of, report_result
from gpureport.spec.database import load_database
from gpureport.spec.host import ProcessorFacts
from gpureport.spec.models import DeviceMatch, EntryMatch, PresentDevice
from gpureport.validate.residuals import residuals
from tests.builders import host_of
from tests.fake_run import Again, Copy, fake_report
from tests.make_report import make_report

WORKLOADS = (Copy(), Again())
REGISTERS = 40


def report_of(match: DeviceMatch, present: PresentDevice, processor: ProcessorFacts | None = None) -> Report:
    report = make_report(families=1)
    return report.model_copy(
        update={
            "device": match.device,
            "match": EntryMatch(entry=match.entry, how=match.how),
            "machine": report.machine.model_copy(update={"opencl": present, "processor": processor}),
        }
    )


def test_a_replayed_run_predicts_and_observes_what_the_run_did() -> None:
    report = fake_report()
    predicted = {(str(p.key), p.kind, each.point.label): each.time_s for p in report.predictions for each in p.points}
    observed = {(str(o.key), each.point.label): each.time_s for o in report.observations for each in o.points}

    found = residuals(report_result(report, "fake", load_database(), WORKLOADS))
    times = [(f"{c['workload']}/{c['sweep']}", c) for c in found if c["what"] == "times"]

    assert {(key, c["kind"], c["label"]): c["predicted"] for key, c in times} == predicted
    assert {c["kind"] for _, c in times} == {"specification", "calibrated"}
    assert {(key, c["label"]): c["observed"] for key, c in times} == observed


def test_times_alone_are_the_same_times() -> None:
    result = report_result(fake_report(), "fake", load_database(), WORKLOADS)

    everything, times = residuals(result), residuals(result, features=False)

    slow = [c for c in everything if c["what"] == "times"]
    other = ("predicted", "expected", "ceilings_s")
    assert [{key: c[key] for key in c if key not in other} for c in times] == [
        {key: c[key] for key in c if key not in other} for c in slow
    ]
    assert [c["predicted"] for c in times] == pytest.approx([c["predicted"] for c in slow], rel=1e-8)
    assert len(times) < len(everything)


def test_workloads_that_are_not_compared_calibrate_all_the_same() -> None:
    result = report_result(fake_report(), "fake", load_database(), WORKLOADS)

    chosen = residuals(result, workloads=["test/again"])

    assert {c["workload"] for c in chosen} == {"test/again"}
    assert chosen == [c for c in residuals(result) if c["workload"] == "test/again"]


def test_what_todays_workloads_do_not_know_is_named() -> None:
    report = fake_report()
    older = report.model_dump(mode="json")
    for part in (older["predictions"][0], older["measurements"][0]):
        for number, point in enumerate(part["points"], 1):
            point["point"]["parameters"] = {"words": number}

    result = report_result(Report.model_validate(older), "fake", load_database(), [Copy()])

    assert result.series == ()
    skipped = {str(key): reason for key, reason in result.skipped.items()}
    assert skipped.keys() == {"test/copy/size", "test/again/size"}
    assert "'" in skipped["test/copy/size"]  # the missing parameter
    assert "no such workload" in skipped["test/again/size"]


def test_registers_are_those_of_the_build_that_has_the_points_options() -> None:
    report = fake_report()
    facts = {"local_memory_bytes": 128, "kernel": "copy"}
    compilations = (
        Compilation(options="-DLOCAL=2 -cl-verbose", registers_per_work_item=1, **facts),
        Compilation(options="-DLOCAL=1 -cl-verbose", registers_per_work_item=REGISTERS, **facts),
    )
    measured = tuple(m.model_copy(update={"compilation": compilations}) for m in report.measurements)

    result = report_result(report.model_copy(update={"measurements": measured}), "fake", load_database(), WORKLOADS)

    known = {"registers": REGISTERS, "local_memory_bytes": 128, "compiled": True}
    assert all(resources == known for series in result.series for resources in series.resources["calibrated"])


def test_a_slice_of_a_device_stays_one_with_the_values_of_a_changed_entry() -> None:
    database, present = load_database(), make_report(families=1).machine.opencl
    sliced = present.model_copy(update={"compute_units": 60, "global_memory_bytes": 60 * 10**9})
    report = report_of(database.match(sliced), sliced)
    older = report.model_copy(update={"device": report.device.model_copy(update={"clock_hz": 1.0})})

    device = device_of(older, database)

    assert (device.compute_units, device.memory.size_bytes) == (60, 60e9)
    assert device == report.device


def test_a_device_without_an_entry_stays_as_stored() -> None:
    report = fake_report()

    assert device_of(report, load_database()) == report.device
    gone = report.model_copy(update={"match": EntryMatch(entry="nvidia/gone", how="")})
    assert device_of(gone, load_database()) == report.device


def test_a_processor_keeps_the_sizes_of_its_own_machine() -> None:
    there, here = load_database(), load_database()
    there.host = host_of(32, name="Some CPU", l1=(48 << 10, 16), l2=(2 << 20, 16), l3=(16 << 20, 4))
    here.host = host_of(2, name="Another CPU")
    fields = {"kind": "cpu", "name": "cpu-some", "compute_units": 32, "clock_hz": 3e9, "pci_id": None}
    present = make_report(families=1).machine.opencl.model_copy(update=fields)
    report = report_of(there.match(present), present, there.host.facts)

    device = device_of(report, here)

    assert device_of(report_of(there.match(present), present), here) == report.device  # its own sizes are not known
    unclocked = present.model_copy(update={"clock_hz": None})
    there.host = host_of(32, name="Some CPU", clock_hz=2e9)
    former = report_of(there.match(unclocked), unclocked, host_of(32, name="Some CPU").facts)
    assert (former.device.clock_hz, device_of(former, here).clock_hz) == (2e9, 2e9)
    assert device.name == "Some CPU"
    sized = {cache.name: (cache.capacity_bytes, cache.partitions) for cache in device.caches}
    assert sized == {"L1": (24 << 10, 1), "L2": (1 << 20, 1), "L3": (64 << 20, 4)}
    assert device.model_dump(exclude={"provenance"}) == report.device.model_dump(exclude={"provenance"})
