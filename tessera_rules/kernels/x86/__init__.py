"""Kernels for x86 CPUs: NumPy and its BLAS, and the pieces that C kernels need from Python."""
