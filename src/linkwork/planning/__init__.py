"""Paths among obstacles, as people ask for them."""
