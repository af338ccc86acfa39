"""Configurations of a robot as points of a manifold."""

from . import manifold, rates

ROWS = (*manifold.ROWS, *rates.ROWS)

__all__ = ["ROWS"]
