"""Mechanisms with closed loops: `python -m benchmarks.mechanisms`, and their energy."""
