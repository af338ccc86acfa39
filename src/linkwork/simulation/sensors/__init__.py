"""Sensors of simulated robots, each kind a `Sensor`."""
