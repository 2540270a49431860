"""The state of device and machine before, during and after measuring: its sources, and the thread that reads them."""

from gpureport.measure.conditions.watch import Watch

__all__ = ["Watch"]
