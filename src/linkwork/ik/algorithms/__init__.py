"""Inverse kinematics, a method a file; over any scalar."""
