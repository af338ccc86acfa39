"""Derivatives of kernels: programs are replayed on symbols, differentiated and compiled as kernels again."""
