"""The samples of a run, as differences between runs are found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from gpureport.compare.excerpt import Measurement
from gpureport.observe.statistics import Floats, medians, sampling_noise


@dataclass(frozen=True)
class Sampled:
    """The samples of one sweep, compact: of hundreds of runs, all are kept at once.

    Attributes:
        labels: of its points with samples.
        counts: number of samples of each.
        times_s: for a unit of work, all points in a row: versions differ in how often a kernel repeats its work.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    times_s: Floats

    def of(self, labels: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the logarithms of the medians of some points, and the standard errors of these."""
        if labels == self.labels:
            return self._log_medians, self._noise
        places = [self.labels.index(label) for label in labels]
        points = self._points()
        return self._log_medians[places], sampling_noise([points[place] for place in places])

    def _points(self) -> list[Floats]:
        return [self.times_s[start:end] for start, end in pairwise(accumulate(self.counts, initial=0))]

    @cached_property
    def _log_medians(self) -> Floats:
        return np.log(medians(self.times_s, np.array(self.counts)))

    @cached_property
    def _noise(self) -> Floats:
        return sampling_noise(self._points())


def sampled(measurements: Sequence[Measurement]) -> dict[str, Sampled]:
    """Return the samples of each sweep that has any."""
    found = {str(measurement.key): _sampled(measurement) for measurement in measurements}
    return {name: sweep for name, sweep in found.items() if sweep.labels}


def _sampled(measurement: Measurement) -> Sampled:
    points = {point.point.label: point for point in measurement.points if point.samples_s}
    times = [np.array(point.samples_s) / point.point.work for point in points.values()]
    return Sampled(tuple(points), tuple(map(len, times)), np.concatenate(times) if times else np.zeros(0))
