"""Measuring: discovery, compiling, verifying, timing. The only room that imports pyopencl (in ``opencl``)."""
