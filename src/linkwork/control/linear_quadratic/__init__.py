"""Linear-quadratic regulators and Riccati equations."""
