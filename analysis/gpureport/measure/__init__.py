"""Measuring: find devices, compile and verify kernels, time them.

Sampling is at this level: ``sweep`` measures a workload, ``rounds`` takes the samples of a sweep, ``bench`` runs one
point. ``presence`` finds and selects devices. ``measurer`` measures in a separate process (``driver_process``), so that
a driver that crashes or hangs ends only that process. ``backends`` contains what depends on a runtime or vendor;
``watch`` reads the state of device and machine.
"""

from collections.abc import Callable

Progress = Callable[[str, str, float], None]
"""Receives the workload or other part of a run, its current step, and the least share that is done, 0…1."""
