"""Documents of predictions without measurements: of one device, or of several side by side."""
