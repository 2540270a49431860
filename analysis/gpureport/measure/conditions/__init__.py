"""The state of device and machine before, during and after measuring: who reads it, and how often."""

from gpureport.measure.conditions.watch import Watch

__all__ = ["Watch"]
