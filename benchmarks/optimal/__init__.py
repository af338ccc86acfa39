"""Optimal motion and quadratic programs compared with other libraries: `python -m benchmarks.optimal`."""
