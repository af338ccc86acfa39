"""Splines through points of a configuration's manifold, over any scalar."""
