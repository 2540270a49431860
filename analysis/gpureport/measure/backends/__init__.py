"""Runtimes and vendors: an open device of OpenCL, PoCL, NVIDIA's management library, PCI."""
