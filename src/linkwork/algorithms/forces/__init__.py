"""What goes through joints and bodies: wrenches, torques, impulses."""

from ..row import Row

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = ()
