"""Kernels and workspace maps on several processes."""
