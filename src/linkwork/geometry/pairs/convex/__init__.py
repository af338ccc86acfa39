"""Distances of convex shapes by search."""
