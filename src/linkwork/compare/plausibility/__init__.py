"""Checks of a robot's values against physics: masses, inertias, shapes, limits, and what moves without mass."""
