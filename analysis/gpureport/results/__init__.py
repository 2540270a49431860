"""Kept and published results: found, opened, and ready to be predicted again."""
