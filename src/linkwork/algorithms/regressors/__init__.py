"""What is linear in inertial parameters: matrices that multiply them."""

from ..row import Row

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = ()
