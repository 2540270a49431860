"""Runtimes and vendors: the protocol of an open device, OpenCL, PoCL, NVIDIA's management library, PCI."""
