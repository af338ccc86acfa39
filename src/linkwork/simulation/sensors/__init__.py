"""Sensors of simulated robots: one kind or family a file, each a `Sensor`."""
