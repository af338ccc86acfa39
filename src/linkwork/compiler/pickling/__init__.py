"""Kernels as data: bytes of traced programs, recipes for other processes, and files."""
