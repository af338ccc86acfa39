"""Iterative LQR and multiple shooting over any scalar: Riccati recursions and roll-outs."""
