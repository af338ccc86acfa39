"""Inverse kinematics compared with other libraries: `python -m benchmarks.ik`."""
