"""Trajectory optimisation over any scalar."""
