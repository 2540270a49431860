"""Results that others published: compact YAML records, turned into the records that measurements are kept in.

A record (``reports/published/<name>.yaml``) cites its source and holds series; a series is one curve of a workload of
this project, as medians. So the model is held against data that no one here made, by the same code.
"""

from gpureport.results.published.reading import load, load_all
from gpureport.results.published.record import Published, Series

__all__ = ["Published", "Series", "load", "load_all"]
