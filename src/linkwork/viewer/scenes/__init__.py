"""Scene documents of robots, obstacles and results."""
