"""Solvers of inverse kinematics over any scalar, one method a file."""
