"""Tracing: Python functions become programs."""
