"""Signed distances compared with coal, and their accuracy: `python -m benchmarks.distance`."""
