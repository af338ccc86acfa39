"""Optimal control by forward dynamics: Riccati recursions, roll-outs and their loops."""
