"""What microbenchmarks say of a device, put into its values."""
