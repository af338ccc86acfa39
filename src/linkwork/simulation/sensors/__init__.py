"""Sensors of simulated robots: a kind or family a file, each a `Sensor`."""
