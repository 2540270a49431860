"""Runtimes and vendors: OpenCL, PoCL, NVIDIA's management library, and the protocol of an open device."""
