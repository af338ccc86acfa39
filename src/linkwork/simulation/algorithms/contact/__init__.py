"""Contact with friction as a convex program in velocities."""
