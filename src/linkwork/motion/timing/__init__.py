"""Timing along a path: the fastest within limits."""
