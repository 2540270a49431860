"""Instruction microbenchmarks: rate and latency by instruction class."""
