"""What constraints rule out."""

from linkwork.mechanisms.algorithms.constraints.constraint_rows import ROWS

__all__ = ["ROWS"]
