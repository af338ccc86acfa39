"""What is linear in inertial parameters: matrices that multiply them."""

from linkwork.dynamics.algorithms.regressors.inertial_regressors import ROWS

__all__ = ["ROWS"]
