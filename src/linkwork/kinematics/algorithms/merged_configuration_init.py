"""Configurations of a robot as points of a manifold."""

from linkwork.kinematics.algorithms import configuration_manifold as manifold
from linkwork.kinematics.algorithms import configuration_manifold as rates

ROWS = (*manifold.ROWS, *rates.ROWS)

__all__ = ["ROWS"]
