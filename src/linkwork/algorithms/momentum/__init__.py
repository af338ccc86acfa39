"""A robot as a whole: its centre of mass, its energies, its momentum."""

from ..row import Row

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = ()
