"""Mechanisms with loops: assembly, mobility, integrability, equilibrium and constrained dynamics."""
