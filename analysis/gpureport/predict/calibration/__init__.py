"""Values of a device from its microbenchmarks."""
