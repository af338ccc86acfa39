"""Comparison of robots: of two robots with each other, and of one with the model that another library reads."""
