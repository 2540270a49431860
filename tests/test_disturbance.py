"""Rules that find disturbed spans: over readings of which it is known what disturbed them."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gpureport.observe.disturbance import (
    CPU_SHARE,
    LOWER_CLOCK,
    OTHERS_REPORTED,
    Cause,
    Span,
    others_cpu,
    others_utilisation,
    overlapping,
    spans,
    steal,
    usual_clock,
)
from gpureport.records.measurement import Reading

FIRST, LAST = 10.0, 20.0  # the disturbed seconds of a minute


def series(until_s: float = 60.0, period_s: float = 0.1, **fields: object) -> list[Reading]:
    """Readings with these fields, which are constants or functions of the time."""
    times = [index * period_s for index in range(round(until_s / period_s) + 1)]
    return [
        Reading.model_validate({"at_s": at, **{name: f(at) if callable(f) else f for name, f in fields.items()}})
        for at in times
    ]


def disturbed(at_s: float) -> bool:
    return FIRST <= at_s < LAST


def own(at_s: float) -> float:
    """A run that has work on the device in the last 0.4 s of each second."""
    return 0.4 * (at_s // 1) + max(0.0, at_s % 1 - 0.6)


def used(at_s: float, over_s: float, load: float) -> float:
    """What a driver reports that averages over the last *over_s* seconds, if others use *load* of what is left."""
    steps = [at_s - over_s * (index + 0.5) / 50 for index in range(50)]
    return sum(1.0 if step % 1 >= 0.6 else load * disturbed(step) for step in steps) / len(steps)


def only(found: Sequence[Span], cause: Cause, slack_s: float = 2.0) -> None:
    """Check that there is one span, of the disturbed seconds, and not much longer."""
    assert [span.causes for span in found] == [{cause}]
    assert FIRST - slack_s <= found[0].began_s <= FIRST
    assert LAST - 0.3 <= found[0].ended_s <= LAST + slack_s


@pytest.mark.parametrize("over_s", [0.05, 0.17, 0.5, 1.0])
@pytest.mark.parametrize("late_s", [0.0, 0.2])
def test_own_work_is_not_taken_for_that_of_others(over_s: float, late_s: float) -> None:
    isolated = series(measuring=True, occupied_total_s=own, utilisation=lambda at_s: used(at_s - late_s, over_s, 0.0))
    assert spans(isolated, "gpu") == ()


@pytest.mark.parametrize("over_s", [0.05, 0.17, 0.5, 1.0])
def test_a_device_that_works_while_this_run_has_none_for_it_is_disturbed(over_s: float) -> None:
    beside = series(measuring=True, occupied_total_s=own, utilisation=lambda at_s: used(at_s, over_s, 1.0))
    only(spans(beside, "gpu"), Cause.PROCESSES)


def test_use_by_others_that_the_driver_counts_is_believed() -> None:
    def reported(load: float) -> list[Reading]:
        return series(occupied_total_s=float, others_utilisation=lambda at_s: load * disturbed(at_s))

    only(spans(reported(0.9), "gpu"), Cause.PROCESSES)
    assert spans(reported(OTHERS_REPORTED), "gpu") == ()  # not more than that
    only(spans(reported(OTHERS_REPORTED + 0.01), "gpu"), Cause.PROCESSES)


def test_what_is_missing_disturbs_nothing() -> None:
    assert spans(series(measuring=True), "gpu") == spans(series(measuring=True), "cpu") == spans((), "gpu") == ()
    assert spans(series(utilisation=1.0), "gpu") == ()  # of whom is not known


def test_a_missing_reading_of_use_leaves_its_second_undecided() -> None:
    holed = series(occupied_total_s=0.0, utilisation=lambda at_s: 1.0 if round(at_s * 10) % 5 else None)
    half = series(occupied_total_s=lambda at_s: None if round(at_s * 10) % 2 else 0.0, utilisation=0.9)
    assert spans(holed, "gpu") == spans(half, "gpu") == ()
    assert spans(series(occupied_total_s=0.0, utilisation=1.0), "gpu")


@pytest.mark.parametrize(
    ("reasons", "found"),
    [((), True), (("clocks set by the owner",), True), (("power cap",), False), (("idle",), False), (None, False)],
)
def test_a_clock_below_the_usual_one_needs_a_reason(reasons: tuple[str, ...] | None, found: bool) -> None:
    readings = series(
        measuring=True,
        occupied_total_s=float,
        clock_hz=lambda at_s: 1.71e9 if disturbed(at_s) else 1.98e9,
        throttle_reasons=lambda at_s: reasons if disturbed(at_s) else (),
    )
    assert usual_clock(readings) == 1.98e9
    if found:
        only(spans(readings, "gpu"), Cause.CLOCK)
    else:
        assert spans(readings, "gpu") == ()


@pytest.mark.parametrize(("share", "found"), [(1 - LOWER_CLOCK, False), (1 - LOWER_CLOCK - 0.005, True)])
def test_a_clock_may_fall_by_so_much(share: float, found: bool) -> None:
    slowed = series(measuring=True, clock_hz=lambda at_s: 2e9 * share ** disturbed(at_s), throttle_reasons=())
    assert bool(spans(slowed, "gpu")) is found


@pytest.mark.parametrize(
    "reason", ["thermal slowdown", "hardware slowdown", "hardware thermal slowdown", "power brake"]
)
def test_heat_and_power_supply_disturb(reason: str) -> None:
    hot = series(measuring=True, throttle_reasons=lambda at_s: (reason,) if disturbed(at_s) else ())
    only(spans(hot, "gpu"), Cause.SLOWDOWN)


def cores(others: float, stolen: float = 0.0) -> list[Reading]:
    def extra(at_s: float) -> float:
        return min(max(at_s - FIRST, 0.0), LAST - FIRST)

    return series(
        period_s=0.5,
        measuring=True,
        cpu_own_total_s=lambda at_s: 0.5 * at_s,
        cpu_busy_total_s=lambda at_s: 0.5 * at_s + others * extra(at_s),
        cpu_steal_total_s=lambda at_s: stolen * extra(at_s),
    )


def test_other_processes_and_virtual_machines_disturb_a_processor_only() -> None:
    only(spans(cores(0.3), "cpu"), Cause.CORES)
    assert spans(cores(CPU_SHARE - 0.001), "cpu") == ()
    only(spans(cores(CPU_SHARE + 0.001), "cpu"), Cause.CORES)
    assert spans(cores(0.5), "gpu") == ()
    only(spans(cores(0.0, stolen=0.2), "cpu"), Cause.STEAL)
    assert spans(cores(0.0, stolen=CPU_SHARE - 0.001), "cpu") == ()


def test_own_time_that_is_counted_later_is_no_load() -> None:
    """Children count once they have ended: the total of others then falls."""
    readings = [
        Reading(at_s=at_s, measuring=True, cpu_busy_total_s=0.01 * at_s, cpu_own_total_s=0.0 if at_s < 5 else 3.0)
        for at_s in (0.5 * index for index in range(20))
    ]
    assert spans(readings, "cpu") == ()


def test_spans_are_apart_in_order_and_cover_what_was_judged() -> None:
    readings = series(others_utilisation=lambda at_s: float(disturbed(at_s) or disturbed(at_s - 30)))
    found = spans(readings, "gpu")
    assert len(found) == 2
    assert all(before.ended_s < after.began_s for before, after in pairwise(found))
    assert spans(readings, "gpu", since_s=30.0) == found[1:]


def test_a_sample_is_disturbed_if_any_part_of_it_is() -> None:
    found = (Span(1.0, 2.0, frozenset({Cause.CLOCK})), Span(5.0, 6.0, frozenset({Cause.STEAL})))
    assert overlapping(0.0, 0.9, found) == frozenset()
    assert overlapping(2.1, 4.9, found) == frozenset()
    assert overlapping(1.4, 1.5, found) == {Cause.CLOCK}
    assert overlapping(0.0, 9.0, found) == {Cause.CLOCK, Cause.STEAL}


def test_shares_of_cores_are_per_second_whatever_the_time_between() -> None:
    def share(at_s: float, busy_s: float | None, own_s: float | None) -> float | None:
        first = Reading(at_s=3.0, measuring=True, cpu_busy_total_s=1.0, cpu_own_total_s=1.0)
        last = Reading(at_s=at_s, measuring=True, cpu_busy_total_s=busy_s, cpu_own_total_s=own_s)
        return others_cpu([first, last])

    assert share(7.0, 4.0, 2.0) == 0.5
    assert share(3.5, 1.5, 1.25) == 0.5
    assert share(3.4, 1.4, 1.0) is None  # too soon to say
    assert share(7.0, 4.0, None) is None
    assert share(7.0, None, 4.0) is None


def test_what_gpureport_does_between_measurements_is_no_other_load() -> None:
    """It predicts and saves for a second, in another process, and measures for two seconds before and after."""
    busy = {0: 0.0, 1: 0.9, 2: 1.8, 3: 2.8, 4: 3.7, 5: 4.6}
    own = {0: 0.0, 1: 0.9, 2: 1.8, 3: 1.8, 4: 2.7, 5: 3.6}
    readings = [
        Reading(
            at_s=at, measuring=at != 2, cpu_busy_total_s=busy[at], cpu_own_total_s=own[at], cpu_steal_total_s=at / 8
        )
        for at in busy
    ]

    assert others_cpu(readings) == pytest.approx(0.0)
    assert steal(readings) == pytest.approx(1 / 8)
    always = [r.model_copy(update={"measuring": True}) for r in readings]
    for each, found in ((readings, False), (always, True)):
        assert (Cause.CORES in {cause for span in spans(each, "cpu") for cause in span.causes}) is found


def test_use_beyond_own_work_is_exact_where_the_device_is_used_evenly() -> None:
    """The run has work on the device in 30 % of every tenth of a second, and the driver reports 80 %."""
    readings = series(until_s=5.0, occupied_total_s=lambda at_s: 0.3 * at_s, utilisation=0.8)
    assert others_utilisation(readings, readings[-11:]) == (pytest.approx(0.5), False)
    assert others_utilisation(readings, readings[5:11]) is None  # what was before is not known
    # Between readings, too: those of the past second at whole seconds only.
    sparse = [*readings[:40:10], *readings[40:]]
    assert others_utilisation(sparse, sparse[-11:]) == (pytest.approx(0.5), False)


@pytest.mark.parametrize(
    ("low_until_s", "every_s", "found"), [(0.15, 60.0, False), (0.75, 60.0, True), (0.15, 3.0, False)]
)
def test_clocks_may_rise_at_the_beginning_and_for_a_moment(low_until_s: float, every_s: float, found: bool) -> None:
    def clock(at_s: float) -> float:
        return 0.4e9 if at_s % every_s < low_until_s else 1.98e9

    assert bool(spans(series(measuring=True, clock_hz=clock, throttle_reasons=()), "gpu")) is found


def test_recorded_cores_that_others_kept_busy() -> None:
    """A virtual machine with two cores and five busy processes, beside half a core of work of the run's own."""
    path = Path(__file__).parent / "data" / "readings_busy_cores.json"
    readings = [Reading.model_validate(each) for each in json.loads(path.read_text())]
    found = spans(readings, "cpu")
    assert [span.causes for span in found] == [{Cause.CORES}]
    assert found[0].ended_s - found[0].began_s > 17
    isolated = [r.model_copy(update={"cpu_busy_total_s": r.cpu_own_total_s}) for r in readings]
    assert spans(isolated, "cpu") == ()
