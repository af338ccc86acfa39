"""Distances of pairs of shapes in closed form."""
