"""Compact samples of a run, from which differences between runs are computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from gpureport.observe.statistics import Floats, medians, sampling_noise
from gpureport.records.measurement import Measurement


@dataclass(frozen=True)
class SweepSamples:
    """The samples of one sweep in one array: a comparison keeps those of hundreds of runs in memory.

    Attributes:
        labels: one for each point with samples.
        counts: number of samples of each point.
        times_s: time per unit of work, point after point. Versions repeat a kernel's work different numbers of times.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    times_s: Floats

    def log_medians(self, labels: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the logarithms of the medians of the points with these *labels*, and their standard errors."""
        if labels == self.labels:
            return self._log_medians, self._noise
        indices = [self.labels.index(label) for label in labels]
        points = self._points()
        return self._log_medians[indices], sampling_noise([points[index] for index in indices])

    def _points(self) -> list[Floats]:
        return [self.times_s[start:end] for start, end in pairwise(accumulate(self.counts, initial=0))]

    @cached_property
    def _log_medians(self) -> Floats:
        return np.log(medians(self.times_s, np.array(self.counts)))

    @cached_property
    def _noise(self) -> Floats:
        return sampling_noise(self._points())


def samples_by_sweep(measurements: Sequence[Measurement]) -> dict[str, SweepSamples]:
    """Return the samples of each sweep that has any."""
    samples = {str(measurement.key): _sweep_samples(measurement) for measurement in measurements}
    return {name: sweep for name, sweep in samples.items() if sweep.labels}


def _sweep_samples(measurement: Measurement) -> SweepSamples:
    points = {point.point.label: point for point in measurement.points if point.samples_s}
    times = [np.array(point.samples_s) / point.point.work for point in points.values()]
    return SweepSamples(tuple(points), tuple(map(len, times)), np.concatenate(times) if times else np.zeros(0))
