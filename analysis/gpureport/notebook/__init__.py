"""The Python interface (``import gpureport``): functions, data frames and plots."""
