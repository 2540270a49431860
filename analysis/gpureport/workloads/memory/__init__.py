"""Memory primitives: streams, reads, latency and access patterns, against the working set."""
