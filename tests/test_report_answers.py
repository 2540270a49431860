"""What page one and the chapters say, exactly, on findings of known intervals."""

import pytest

from gpureport.records.features import Feature, Position
from gpureport.records.finding import Finding, Verdict
from gpureport.records.keys import SweepKey
from gpureport.records.levels import Level
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.report import Report
from gpureport.report.run import answers
from gpureport.report.run.curves import curves
from gpureport.report.run.difference import compared, value_text
from gpureport.report.run.limits import limits, limits_table
from tests.make_report import make_report

MIB = 1024.0**2
Range = tuple[float, float, float]

BASE = make_report(only=("game_of_life", "memory"))


def finding(
    position: Position,
    observed: Range | None,
    predicted: Range | None,
    verdict: Verdict = Verdict.AGREES,
    *,
    level: str | Level = "L2",
    variant: str = "memory/read",
) -> Finding:
    """Return a finding: value, low and high of what was observed and of what was predicted."""
    feature: Feature = "cliff" if position == "midpoint" else "taper"
    unit = "B" if feature == "cliff" else "work-items"
    seen, expected = observed or (None, None, None), predicted or (None, None, None)
    return Finding(
        key=SweepKey(family=variant.partition("/")[0], variant=variant.partition("/")[2], sweep="size"),
        feature=feature,
        position=position,
        level=level if feature == "cliff" else "device",
        basis="specification",
        predicted=expected[0],
        observed=seen[0],
        ci_low=seen[1],
        ci_high=seen[2],
        unit=unit,
        ratio=seen[0] / expected[0] if seen[0] and expected[0] else None,
        predicted_low=expected[1],
        predicted_high=expected[2],
        verdict=verdict,
        explanation="",
    )


def mib(value: float, low: float, high: float) -> Range:
    """Return a range in bytes."""
    return value * MIB, low * MIB, high * MIB


def report_of(*found: Finding) -> Report:
    """Return a measured report with these findings alone."""
    return BASE.model_copy(update={"findings": found})


def caches(*found: Finding) -> list[str]:
    """Return what is said of caches, by findings alone."""
    report = report_of(*found)
    return answers.caches(report, curves(report))


def work(*found: Finding) -> list[str]:
    """Return what is said of work, by findings alone."""
    report = report_of(*found)
    return answers.work(report, curves(report))


@pytest.mark.parametrize(
    ("observed", "predicted", "text"),
    [
        (mib(57, 56.8, 57.2), mib(60, 58, 62), "5 % before predicted"),
        (mib(57, 56.8, 57.2), mib(52, 50, 54), "10 % after predicted"),
        (mib(57, 55, 59), mib(60, 58, 62), "as predicted"),
        (mib(57, 56.8, 57.2), mib(60, 30, 120), "within the factor of 2 that its prediction leaves open"),
        (mib(57, 56, 58), mib(19, 18, 20), "3.00 times what was predicted"),
        (mib(40, 39, 49), mib(52, 48, 56), "23 % before predicted, within the interval"),
        (mib(57, 20, 60), mib(19, 18, 30), "3.00 times what was predicted"),
        (mib(57, 56, 58), None, "which was not predicted"),
    ],
)
def test_a_difference_is_said_only_where_intervals_do_not_meet(observed: Range, predicted: Range, text: str) -> None:
    """Where they do, it is as predicted if it is near, too; or as wide as the prediction is."""
    assert compared(finding("midpoint", observed, predicted), "before", "after") == text


def test_published_values_have_no_intervals() -> None:
    """Each is a point, as is a prediction without one."""
    single = finding("midpoint", mib(57, 57, 57), mib(60, 60, 60))
    bare = single.model_copy(update={"ci_low": None, "ci_high": None, "predicted_low": None, "predicted_high": None})

    assert compared(bare, "before", "after") == "5 % before predicted"
    assert compared(bare.model_copy(update={"predicted": 57 * MIB, "ratio": 1.0}), "", "") == "as predicted"


@pytest.mark.parametrize(
    ("observed", "text"),
    [
        (mib(57.04, 57.03, 57.05), "57 MiB"),
        (mib(57.04, 52, 61), "57 MiB"),
        (mib(44.83, 44.64, 45.2), "44.8 MiB"),
        ((63123.0, 42e3, 84e3), "63 k work-items"),
    ],
)
def test_digits_are_those_that_the_interval_supports(observed: Range, text: str) -> None:
    """And three at most."""
    position: Position = "n90" if observed[0] < MIB else "midpoint"
    assert value_text(finding(position, observed, None)) == text


def test_caches_are_told_from_the_inside_out_by_what_is_known_best() -> None:
    """A kernel that only reads and writes before others, then the narrowest interval."""
    told = caches(
        finding("midpoint", mib(57, 56.8, 57.2), mib(60, 58, 62)),
        finding("midpoint", mib(0.2, 0.19, 0.21), mib(0.21, 0.2, 0.22), level="L1"),
        finding("midpoint", mib(40, 39.99, 40.01), mib(60, 58, 62), Verdict.OFF, variant="game_of_life/naive"),
        finding("midpoint", None, mib(60, 58, 62), Verdict.NOT_OBSERVED, variant="game_of_life/packed64"),
        finding("midpoint", mib(400, 395, 405), None, Verdict.NOT_PREDICTED, level=Level.unexplained(400 * 2**20)),
        finding("midpoint", mib(36.1, 36, 36.2), None, Verdict.NOT_PREDICTED, level=Level.unexplained(36.1 * 2**20)),
    )

    assert told == [
        (
            "The L1 gives out at 205 KiB (Read bandwidth), as predicted; "
            "and the L2 at 57 MiB (Read bandwidth), 5 % before predicted (but 3 of 3 sweeps disagree)."
        ),
        (
            "For one kernel or another the L2 gives out at "
            "40 MiB (Game of Life, one byte a cell) to 57 MiB (Read bandwidth)."
        ),
        "One sweep that should show where the L2 gives out did not.",
        "No cache explains the transition at 400 MiB (Read bandwidth).",
        (
            "Not predicted, but within the transition range of the L2, which may cause it: "
            "transition at 36.1 MiB (Read bandwidth)."
        ),
    ]


def test_a_cache_that_was_not_seen_to_give_out_is_said_so() -> None:
    """With where it should; a device whose caches show nowhere has one sentence."""
    missing = finding("midpoint", None, mib(60, 58, 62), Verdict.NOT_OBSERVED)

    assert caches(missing) == ["The L2 was not seen to give out (predicted at 60 MiB)."]
    assert caches() == ["No cache was seen to give out."]


def test_work_is_told_from_the_least_to_the_most() -> None:
    """The farthest that is off is named, however wide the intervals: beyond a factor of two these excuse nothing."""
    small = finding("n90", (1e5, 0.9e5, 1.1e5), (1e5, 0.8e5, 1.2e5))
    wide = finding("n90", (4e6, 3.9e6, 4.1e6), (1e6, 0.2e6, 5e6), Verdict.OFF, variant="game_of_life/naive")
    far = finding("n90", (2e6, 1.9e6, 2.1e6), (1e6, 0.8e6, 1.2e6), Verdict.OFF, variant="game_of_life/packed64")
    ends = "100 k (Read bandwidth) to 4 M (Game of Life, one byte a cell) work-items"
    full = f"Fitted curves reach 90 % of the plateau that comes first with {ends}"

    assert work(small, wide) == [
        f"{full}; 1 of 2 agree with their predictions.",
        "Farthest off is Game of Life, one byte a cell (size): 4.00 times what was predicted.",
    ]
    assert work(small, wide, far) == [f"{full}; 1 of 3 agree with their predictions.", work(small, wide)[1]]
    assert work(small) == [
        "It takes 100 k work-items to bring Read bandwidth to 90 % of the plateau that it reaches first, as predicted."
    ]
    assert work(finding("n90", None, (1e6, 8e5, 2e6), Verdict.NOT_OBSERVED)) == [
        "No kernel was seen to fill the device within its sweep."
    ]


def test_the_verdict_counts_what_agrees() -> None:
    """In words by the share; an error comes before all."""
    agrees = finding("midpoint", mib(57, 56, 58), mib(57, 56, 58))
    off = agrees.model_copy(update={"verdict": Verdict.OFF, "level": Level(name="L1")})
    within = agrees.model_copy(update={"verdict": Verdict.WITHIN, "level": Level(name="L1")})
    near = "features lie within a factor of 1.2 of their prediction"
    wrong = agrees.model_copy(update={"verdict": Verdict.ERROR, "level": Level(name="L0")})

    assert answers.verdict(report_of(agrees)) == f"As predicted: 1 of 1 {near}."
    assert answers.verdict(report_of(agrees, off)) == f"Partly as predicted: 1 of 2 {near} (1 off)."
    assert answers.verdict(report_of(agrees, off, wrong)) == f"With errors: 1 of 3 {near} (1 off, 1 in error)."
    assert answers.verdict(report_of(off)) == f"Not as predicted: 0 of 1 {near} (1 off)."
    assert answers.verdict(report_of(agrees, within)) == (
        f"Partly as predicted: 1 of 2 {near} (1 only within the interval)."
    )
    assert answers.verdict(report_of()) == "Measured, with no prediction to compare with."


def test_the_verdict_says_what_was_not_measured() -> None:
    """By a run, or by anybody."""
    skipped = BASE.model_copy(update={"observations": (), "findings": ()})
    predicted = skipped.model_copy(update={"machine": None})
    empty = skipped.model_copy(update={"workloads": {}, "measurements": (), "predictions": ()})

    assert answers.verdict(skipped) == "Nothing was measured: every workload was skipped."
    assert answers.verdict(empty) == "Nothing was measured: none was run."
    assert answers.verdict(predicted) == "Predicted from the database entry alone; nothing was measured."


def test_without_any_measurement_predictions_are_told() -> None:
    """As predictions; of a report without any, nothing is."""
    skipped = BASE.model_copy(update={"observations": (), "findings": ()})
    bare = skipped.model_copy(update={"predictions": ()})

    cliffs, full, limit = answers.sentences(skipped, curves(skipped))
    assert cliffs == "The L2 is predicted to give out at 52 MiB."
    assert full.startswith("The device is predicted to be 90 % full with 610 k (")
    assert full.endswith(") work-items.")
    assert limit.startswith("At their largest sizes kernels are predicted to run at ")
    assert limit.endswith("; by the model, 3 of 3 are bound by memory bandwidth.")
    assert answers.sentences(bare, curves(bare)) == []


def one_kernel(share: float, width: float) -> Report:
    """Return a report of a kernel that takes 1 / *share* of its limit's time, with an interval of *width*."""
    prediction = next(p for p in BASE.predictions if p.key.variant == "read")
    key = prediction.points[-1].point
    point = prediction.points[-1].model_copy(
        update={"ceilings_s": {"DRAM": 1.0, "L2": 0.5}, "time_s": 1.25, "bottleneck": "DRAM"}
    )
    seen = ObservedPoint(
        point=key, time_s=1 / share, value=share, ci_low=share * (1 - width), ci_high=share * (1 + width), samples=9
    )
    sweep = {"key": prediction.key, "metric": prediction.metric, "axis": prediction.axis}
    observation = Observation(**sweep, points=(seen,), features=())
    isolated = prediction.model_copy(update={"points": (point,), "features": ()})
    return BASE.model_copy(
        update={"predictions": (isolated,), "observations": (observation,), "measurements": (), "findings": ()}
    )


@pytest.mark.parametrize(
    ("share", "width", "passed"),
    [(0.93, 0.01, False), (1.04, 0.001, False), (1.2, 0.2, False), (1.2, 0.05, True)],
)
def test_a_limit_is_passed_only_if_the_whole_interval_says_so(share: float, width: float, passed: bool) -> None:
    """By more than clocks may lie above the listed one."""
    report = one_kernel(share, width)
    (limit,) = limits(curves(report))

    assert limit.share == pytest.approx(share)
    assert limit.predicted_share == pytest.approx(0.8)
    assert limit.passed is passed
    first, *others = answers.near_limits(report, curves(report))
    assert first == f"Read bandwidth runs at {100 * share:.0f} % of its limit, memory bandwidth."
    told = (
        "Read bandwidth runs more than 5 % faster than its limit: "
        "the limit is higher than the model assumes, or it needs less of it."
    )
    assert others == [told] * passed


def test_a_kernel_is_judged_at_the_largest_size_of_all_its_sweeps() -> None:
    """A second sweep reaches further; one that was not observed does not count."""
    report = one_kernel(0.9, 0.01)
    (prediction,), (observation,) = report.predictions, report.observations
    key = prediction.key.model_copy(update={"sweep": "once"})
    point = prediction.points[0].point
    larger = point.model_copy(update={"working_set_bytes": 2 * point.working_set_bytes, "label": "larger"})
    predicted = prediction.points[0].model_copy(update={"point": larger})
    further = prediction.model_copy(update={"key": key, "points": (predicted,)})
    seen = observation.points[0].model_copy(update={"point": larger, "time_s": 2.0, "value": 0.5})
    observed = observation.model_copy(update={"key": key, "points": (seen,)})
    both = report.model_copy(update={"predictions": (prediction, further)})
    (limit,) = limits(curves(both))
    assert limit.key.sweep == prediction.key.sweep
    (limit,) = limits(curves(both.model_copy(update={"observations": (observation, observed)})))
    assert (limit.key.sweep, limit.share) == ("once", pytest.approx(0.5))


def test_the_table_of_limits_says_what_binds() -> None:
    """A row a kernel, with the share that was observed, and the occupancy of the largest size's work-groups."""
    report = one_kernel(0.93, 0.01)
    table = limits_table(limits(curves(report)), observed=True)

    assert table.columns == ("kernel", "at", "observed (95 %)", "predicted", "bound by", "of limit", "full")
    assert (table.rows[0][0], *table.rows[0][4:]) == ("read", "memory bandwidth", "93 %", "100 %")


def test_nothing_is_said_of_limits_where_there_is_no_prediction() -> None:
    """Curves that were only measured have none."""
    bare = BASE.model_copy(update={"predictions": (), "findings": ()})

    assert limits(curves(bare)) == ()
    assert answers.near_limits(bare, curves(bare)) == []
