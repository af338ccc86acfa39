"""Trajectories: configurations, velocities and accelerations by time."""
