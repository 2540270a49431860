"""Published results: compact YAML records, converted to the records of measurements.

A record (``reports/published/<name>.yaml``) cites its source and contains series; a series is one curve of a workload
of this project, as medians. The model is compared with them by the same code as with our own measurements.
"""

from gpureport.results.published.reading import load
from gpureport.results.published.record import Published

__all__ = ["Published", "load"]
