"""Configurations of a robot as points of a manifold."""

from .manifold import ROWS

__all__ = ["ROWS"]
