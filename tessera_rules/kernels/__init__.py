"""Kernels that the shipped rules bind to, a folder a target; none calls a reference."""
