"""Splines through configurations."""
