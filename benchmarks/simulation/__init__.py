"""Simulation compared with MuJoCo: `python -m benchmarks.simulation`."""
