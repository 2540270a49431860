"""Which other way of working would make a curve as it was observed: hypotheses, tested on it."""
