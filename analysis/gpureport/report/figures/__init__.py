"""The figures: pure functions from records to SVG text."""
