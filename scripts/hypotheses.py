"""How often each hypothesis is the best explanation of a curve, in all kept and published results.

Run as ``python scripts/hypotheses.py [PATH ...] [--curves]``. The current model predicts the results again. Without
paths, they are the kept ones of ``reports/``. A hypothesis that never counts can be removed; one that explains a curve
of every device belongs in the model.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gpureport.cli.console import Row, print_table, print_text
from gpureport.explain.hypotheses import HYPOTHESES, single_names
from gpureport.explain.trials import explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import ModelInput, predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.finding import Explanation
from gpureport.results.opening import is_record, measured_report, short_name
from gpureport.results.published import load, published_report
from gpureport.results.replay import Series, report_result
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from gpureport.units import off_by
from gpureport.workloads import all_workloads

REPORTS = Path(__file__).parents[1] / "reports"


def explained_again(file: Path, database: Database) -> Iterator[Explanation]:
    """Yield the explanations of a result under the current model."""
    if is_record(file):
        yield from published_report(load(file, database)).explanations
        return
    report = measured_report(file)
    result = report_result(report, short_name(file), database, all_workloads())
    used = [each for each in result.series if each.workload.microbenchmark]
    predictions = [predict_sweep(result.device, each.workload, each.sweep, "specification") for each in used]
    observations = [observed for each in used if (observed := observe(each.measurement))]
    device = calibrated(result.device, predictions, observations)
    for series in result.series:
        yield from _explained(result.device, device, series)


def _explained(device: Device, calibrated_device: Device, series: Series) -> Iterator[Explanation]:
    observation = observe(series.measurement)
    if observation is None or series.measurement.missing_share:
        return
    prediction = predict_sweep(device, series.workload, series.sweep, "specification")
    found = find(device, (prediction,), (series.measurement,), (observation,))
    inputs = {"specification": ModelInput(device)}
    if not series.workload.microbenchmark:
        inputs["calibrated"] = ModelInput(calibrated_device, {series.sweep.name: series.resources["calibrated"]})
    yield from explanations(series.workload, (series.sweep,), inputs, found, (observation,))


def main(paths: Annotated[list[Path] | None, typer.Argument()] = None, *, curves: bool = False) -> None:
    """List the hypotheses; with --curves also each curve that differs from its prediction."""
    database = load_database()
    files = paths or sorted((*REPORTS.glob("*/report.json.xz"), *REPORTS.glob("published/*.yaml")))
    found = {short_name(file): list(explained_again(file, database)) for file in files}
    explained = [each for own in found.values() for each in own if each.outcome != "unexplained"]
    best = Counter(name for each in explained for name in single_names(each.hypothesis))
    alone = Counter(each.hypothesis for each in explained if each.outcome == "explained")
    where = {
        hypothesis.name: ", ".join(
            name
            for name, own in found.items()
            if any(e.outcome != "unexplained" and hypothesis.name in single_names(e.hypothesis) for e in own)
        )
        for hypothesis in HYPOTHESES
    }
    names = sorted(where, key=lambda name: -best[name])
    rows: list[Row] = [(name, str(best[name]), str(alone[name]), where[name]) for name in names]
    print_table("Hypotheses", ("hypothesis", "best", "alone", "results"), rows, right=(1, 2))
    results = [(name, str(len(own)), str(sum(e.outcome != "unexplained" for e in own))) for name, own in found.items()]
    print_table("Curves that differ from their prediction", ("result", "curves", "explained"), results, right=(1, 2))
    print_text("best: alone or together with another it leaves at most half of the error, and less than others.")
    print_text("alone: no other and no pair does so, too.")
    if curves:
        for name, own in found.items():
            columns = ("curve", "outcome", "error", "hypothesis", "remaining")
            print_table(name, columns, list(map(_row, own)), right=(2, 4))


def _row(each: Explanation) -> Row:
    left = "" if each.error is None else off_by(each.error)
    return str(each.key), each.outcome, off_by(each.base_error), each.hypothesis or "", left


if __name__ == "__main__":
    typer.run(main)
