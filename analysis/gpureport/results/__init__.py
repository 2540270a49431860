"""Stored and published results: search, reading, and conversion for new predictions."""
