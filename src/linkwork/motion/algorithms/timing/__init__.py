"""Time-optimal path timing within limits of first, second and third order, over any scalar."""
