"""Trajectories: configurations, velocities and accelerations as functions of time."""
