"""Kernels of users, executed: their OpenCL C becomes LLVM's code, and sampled work-groups run it with NumPy."""
