"""Time-optimal timing along a path within limits."""
