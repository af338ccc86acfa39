"""Compiled code at run time: calls from NumPy, buffers, threads, interrupts."""
