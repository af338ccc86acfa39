"""Where points and directions fixed to bodies are, and how they move."""

from ..row import Row

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = ()
