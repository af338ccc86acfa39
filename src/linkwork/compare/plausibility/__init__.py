"""Plausibility checks of a robot: masses, inertias, shapes, limits, and joints that move without mass."""
