"""Results of predictions and observations: verdicts, key figures, errors of times, evidence from compiled code, advice."""
