"""Errors, Jacobian rows and bias of a robot's constraints."""

from linkwork.mechanisms.algorithms.constraints.constraint_rows import ROWS

__all__ = ["ROWS"]
