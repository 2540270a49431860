"""Predict a device's cache cliffs and tapers, measure them with OpenCL, and publish the difference."""

__version__ = "0.1.0"
