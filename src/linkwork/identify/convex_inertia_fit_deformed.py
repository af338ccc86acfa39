"""Inertias as deformations of the robot's own: Cholesky factors, and how far bodies are from what they were.

A body's pseudo-inertia P_0 = U_0 U_0ᵀ becomes P = U Uᵀ with U = U_0 L, L upper triangular with a positive diagonal, as
in log-Cholesky's coordinates: all P that are positive definite are reached, and no others.  L = 1 is the robot's own
body; else its mass is moved by the affine map U U_0⁻¹ and scaled.  What is welded to the body is moved with it, so that
each of its links stays a body too.

The divergence of P from P_0 is Bregman's for −log det, which depends on no frame and no units:

    D(P, P_0) = tr(P_0⁻¹ P) − log det(P_0⁻¹ P) − 4 = |L|² − 2 Σ log L_ii − 4

A small step from P is P = U (1 + S) Uᵀ, with ten numbers s: those of S's diagonal, and √2 times those above.  Then
D = tr((LᵀL − 1) S) + ½ |s|² + O(|s|³).

Sources: Rucker and Wensing, Smooth parameterization of rigid-body inertia, IEEE RA-L 7, 2022 (log-Cholesky); Lee,
Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36, 2020 (the
divergence).
"""

from __future__ import annotations

import numpy as np

from linkwork.dynamics import inertial_parameters as inertial

__all__ = ["divergences", "factors", "gradients", "has_extent", "moved", "rates", "stepped", "symmetric"]

_ROWS = np.array([0, 1, 2, 3, 0, 1, 0, 0, 1, 2])
_COLUMNS = np.array([0, 1, 2, 3, 1, 2, 2, 3, 3, 3])
_HALF = np.array([1.0] * 4 + [np.sqrt(0.5)] * 6)


def has_extent(pi: np.ndarray) -> np.ndarray:
    """Whether bodies (..., 10) have mass, and extent in all directions: those that have a factor."""
    return inertial.is_physical(pi, definite=True, tolerance=1e-12)


def factors(pi: np.ndarray) -> np.ndarray:
    """U (n, 4, 4) of parameters (n, 10)."""
    return _upper(inertial.pseudo_inertia(pi))


def moved(U: np.ndarray) -> np.ndarray:
    """The parameters (n, 10) with these factors."""
    found: np.ndarray = inertial.from_pseudo_inertia(U @ U.swapaxes(-1, -2))
    return found


def symmetric(s: np.ndarray) -> np.ndarray:
    """S (n, 4, 4) of steps (n, 10)."""
    S = np.zeros((len(s), 4, 4))
    S[:, _ROWS, _COLUMNS] = S[:, _COLUMNS, _ROWS] = s * _HALF
    return S


def rates(U: np.ndarray) -> np.ndarray:
    """(n, 10, 10): how the parameters change by the numbers of a step."""
    units = symmetric(np.eye(10))
    P = U[:, None] @ units @ U[:, None].swapaxes(-1, -2)
    found: np.ndarray = inertial.from_pseudo_inertia(P).swapaxes(-1, -2)
    return found


def stepped(L: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The L (n, 4, 4) after a step.  Raises LinAlgError where the step leaves what bodies can have."""
    found: np.ndarray = L @ _upper(np.eye(4) + S)
    return found


def gradients(L: np.ndarray) -> np.ndarray:
    """(n, 10): the divergence's, by the numbers of a step."""
    G = L.swapaxes(-1, -2) @ L - np.eye(4)
    found: np.ndarray = G[:, _ROWS, _COLUMNS] * _HALF * np.where(_ROWS == _COLUMNS, 1.0, 2.0)
    return found


def divergences(L: np.ndarray) -> np.ndarray:
    """D (n,) of each body."""
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    above = (L * L).sum(axis=(-2, -1)) - (diagonal * diagonal).sum(axis=-1)
    found: np.ndarray = above + ((diagonal - 1.0) * (diagonal + 1.0) - 2.0 * np.log(diagonal)).sum(axis=-1)
    return found


def _upper(P: np.ndarray) -> np.ndarray:
    """U with U Uᵀ = P."""
    found: np.ndarray = np.linalg.cholesky(P[..., ::-1, ::-1])[..., ::-1, ::-1]
    return found
