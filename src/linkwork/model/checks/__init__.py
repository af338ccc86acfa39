"""Checks of a robot's description: values, inertias, topology."""
