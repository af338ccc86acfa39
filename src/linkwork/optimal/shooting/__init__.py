"""Optimal motion by shooting (iterative LQR)."""
