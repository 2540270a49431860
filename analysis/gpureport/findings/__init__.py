"""Results of predictions and observations: verdicts, evidence from compiled code, advice."""
