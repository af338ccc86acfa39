"""What constraints rule out."""

from .rows import ROWS

__all__ = ["ROWS"]
