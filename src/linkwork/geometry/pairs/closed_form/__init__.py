"""Signed distances of pairs of cores in closed form."""
