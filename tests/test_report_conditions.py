"""What a report says of the conditions of its run: made from readings of which it is known what disturbed them."""

import re
from collections.abc import Callable
from functools import cache

import pytest

from gpureport.observe.disturbance import spans
from gpureport.records.curves import Points
from gpureport.records.measurement import Conditions, MeasuredPoint, Reading
from gpureport.records.report import Report
from gpureport.report.run.conditions import AFFECTED, affected, conditions_table, disturbed, load_sentences, other_load
from gpureport.report.run.page_one import headline
from tests.fake_backend import FakeBackend
from tests.fake_run import Again, Copy, Missing, saved_reports
from tests.make_report import busy, make_report

Make = Callable[[float], Reading]


def quiet(at_s: float) -> Reading:
    return busy(at_s % 9).model_copy(update={"at_s": at_s, "occupied_total_s": 0.5 * at_s})


@cache
def small() -> Report:
    return make_report(families=5)


def with_samples(make: Make, began_s: float, samples: int = 20, every_s: float = 0.1, discarded: int = 0) -> Report:
    """A minute of readings; the sweeps of each family begin so many seconds after those of the one before it."""
    report = small()
    families = list(dict.fromkeys(m.key.family for m in report.measurements))

    def timed(point: MeasuredPoint) -> MeasuredPoint:
        taken = tuple(index * every_s for index in range(samples))
        return point.model_copy(update={"samples_s": (1e-3,) * samples, "taken_at_s": taken, "discarded": discarded})

    measurements = tuple(
        m.model_copy(
            update={"began_s": 5.0 + began_s * families.index(m.key.family), "points": Points(map(timed, m.points))}
        )
        for m in report.measurements
    )
    readings = tuple(make(index / 10) for index in range(601))
    half = len(readings) // 2
    parts = (
        Conditions(workload=name, readings=part) for name, part in (("a/b", readings[:half]), ("c/d", readings[half:]))
    )
    return report.model_copy(update={"measurements": measurements, "conditions": tuple(parts)})


@pytest.mark.parametrize(("share", "said"), [(AFFECTED - 0.05, False), (AFFECTED, True)])
def test_a_few_disturbed_samples_do_not_reach_page_one(share: float, said: bool) -> None:
    span = spans([busy(index / 10) for index in range(601)], "gpu")[0]
    every_s = (span.ended_s - span.began_s) / (100 * share)
    first = span.began_s - 5.0 - 0.001  # so that the first sample is the first one disturbed
    report = with_samples(busy, 0.0, samples=100, every_s=every_s)
    shifted = tuple(m.model_copy(update={"began_s": 5.0 + first + 0.002}) for m in report.measurements)
    report = report.model_copy(update={"measurements": shifted})

    assert {round(w.share, 2) for w in disturbed(report)} == {round(share, 2)}
    assert bool(load_sentences(report)) is said


def test_the_most_disturbed_workload_comes_first_with_its_own_share() -> None:
    report = with_samples(busy, began_s=3.0)
    found = affected(report)

    assert [each.share for each in found] == sorted((each.share for each in found), reverse=True)
    assert len({each.share for each in found}) > 1
    assert f"{found[0].name} ({100 * found[0].share:.0f} % of its samples)" in load_sentences(report)


@pytest.mark.parametrize(
    ("on_host", "reasons", "clock"),
    [(True, (), "clock of the cores"), (False, (), "clock, device not reported idle"), (False, None, "clock")],
)
def test_the_row_of_the_clock_says_which_readings_it_has(on_host: bool, reasons: tuple[()] | None, clock: str) -> None:
    report = with_samples(lambda at_s: quiet(at_s).model_copy(update={"throttle_reasons": reasons}), 0.0)
    architecture = report.device.architecture.model_copy(update={"on_host": on_host})
    device = report.device.model_copy(update={"architecture": architecture})
    rows = conditions_table(report.model_copy(update={"device": device})).rows
    assert rows[0][0] == clock
    assert all(row[-1] != "0" for row in rows)


def test_other_load_is_that_of_the_worst_second() -> None:
    loaded, calm = with_samples(busy, began_s=3.0), with_samples(quiet, began_s=3.0, discarded=2)

    assert other_load(loaded) == "Other processes used at most 90 % of the device in any second."
    assert re.search(r" 0 % of the device in any second\. No disturbed sample remains; \d+ were disc", other_load(calm))
    assert "disturbing load" not in (said := " ".join(headline(calm, ())))
    assert "disturbed samples discarded" in said
    assert other_load(with_samples(quiet, began_s=3.0)).endswith(" No sample was disturbed.")
    assert other_load(small()) == "Other load was not recorded."
    assert other_load(calm.model_copy(update={"observations": ()})) == ""


def test_a_run_keeps_readings_of_every_workload_and_when_its_sweeps_began() -> None:
    report = saved_reports(Copy(), Again(), Missing(), backend=FakeBackend(clock_s=77.0))[-1]

    assert [c.workload for c in report.conditions] == ["test/missing", "test/copy", "test/again"]
    assert all(len(c.readings) >= 2 for c in report.conditions)
    for measurement, conditions in zip(report.measurements, report.conditions[1:], strict=False):
        began, ended = measurement.began_s, (measurement.began_s or 0.0) + measurement.duration_s
        assert began is not None
        assert conditions.readings[0].at_s - 1e-6 <= began <= ended <= conditions.readings[-1].at_s + 1e-6
        occupied = conditions.readings[-1].occupied_total_s
        assert occupied is not None
        assert 0 < occupied <= conditions.readings[-1].at_s
    times = [reading.at_s for c in report.conditions for reading in c.readings]
    assert times == sorted(times)
