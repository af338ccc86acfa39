"""Regressors: matrices that map inertial parameters to forces, energies and momentum."""

from linkwork.dynamics.algorithms.regressors.inertial_regressors import ROWS

__all__ = ["ROWS"]
