"""Signed distances of convex cores by iterative methods."""
