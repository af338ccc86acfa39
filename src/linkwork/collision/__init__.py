"""Distances of shapes and robots, collision checks, and checks of motions between configurations."""
