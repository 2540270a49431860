"""Errors of predicted times: their definition, and their statistics. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction


@dataclass(frozen=True)
class ErrorStatistics:
    """Statistics of relative errors.

    Attributes:
        n: number of errors.
        median: of the errors.
        mean: of the errors.
        p90: 90th percentile of the errors.
    """

    n: int
    median: float
    mean: float
    p90: float


def time_error(predicted_s: float, observed_s: float) -> float:
    """Return the relative error of a predicted time, ``|predicted / observed - 1|``."""
    return abs(predicted_s / observed_s - 1)


def error_statistics(errors: Sequence[float]) -> ErrorStatistics | None:
    """Return the statistics of *errors*; ``None`` if there are none."""
    if not errors:
        return None
    middle, p90 = (float(quantile) for quantile in np.quantile(errors, [0.5, 0.9]))
    return ErrorStatistics(len(errors), middle, float(np.mean(errors)), p90)


def time_errors(predictions: Iterable[Prediction], observations: Iterable[Observation]) -> Iterator[float]:
    """Yield the error of the median time of every observed point that one of *predictions* contains."""
    observed = {observation.key: observation.points for observation in observations}
    for prediction in predictions:
        predicted_s = {point.point.label: point.time_s for point in prediction.points}
        for point in observed.get(prediction.key, ()):
            if point.point.label in predicted_s:
                yield time_error(predicted_s[point.point.label], point.time_s)
