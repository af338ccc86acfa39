"""Tracing of Python functions to programs."""
