"""Results of predictions and observations: verdicts, key figures, errors of times, advice."""
