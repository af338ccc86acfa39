"""Figures with matplotlib: robots, paths, plans and simulations in space, and trees."""
