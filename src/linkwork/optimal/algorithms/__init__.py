"""Optimal motion, over any scalar: paths of configurations that minimise what features say, a piece a file."""
