"""Documents of predictions alone: of one device, of several side by side."""
