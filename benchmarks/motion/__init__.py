"""Trajectories and path planning compared with other libraries: `python -m benchmarks.motion`."""
