"""What follows from predictions and observations: verdicts, evidence from compiled code, advice."""
