"""Memory microbenchmarks: streams, reads, latency and access patterns."""
