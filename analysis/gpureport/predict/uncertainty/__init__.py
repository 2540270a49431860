"""How sure predictions are: what the uncertainties of values make of times and features."""
