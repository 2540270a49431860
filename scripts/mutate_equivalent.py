"""Mutations that no test can notice, since the program does the same: left out by ``scripts/mutate.py``."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""File, expression before and after; and why it makes no difference."""
