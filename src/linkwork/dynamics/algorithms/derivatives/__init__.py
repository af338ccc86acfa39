"""Derivatives of a robot's functions with respect to configuration, velocity and force."""
