"""Derivatives of the centroidal momentum and its rate, by differentiation over any scalar (see `tangents`).

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.tree import Tree
from ..momentum.momentum import centroidal_momentum
from ..momentum.momentum_rate import centroidal_momentum_rate
from ..row import Output, Row
from .tangents import Matrix, derivatives

__all__ = ["ROWS", "centroidal_momentum_derivatives", "centroidal_momentum_rate_derivatives"]

Scalars = Sequence[Any]


def centroidal_momentum_derivatives(tree: Tree, q: Scalars, v: Scalars) -> list[Matrix]:
    """∂h/∂q and ∂h/∂v = A, the centroidal momentum matrix."""
    return derivatives(tree, lambda q, v: centroidal_momentum(tree, q, v).elements(), q, v)


def centroidal_momentum_rate_derivatives(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Matrix]:
    """∂ḣ/∂q, ∂ḣ/∂v and ∂ḣ/∂a = A, of ḣ = A a + Ȧ v."""
    return derivatives(tree, lambda q, v, a: centroidal_momentum_rate(tree, q, v, a).elements(), q, v, a)


_FORCES, _RATES, _MATRIX = "N·m, N, N/m", "kg·m²/s, kg·m/s, kg/s", "kg·m², kg·m, kg"

ROWS = (
    Row.of(
        centroidal_momentum_derivatives,
        "q v",
        (Output((6, "nv"), _RATES, "dh_dq"), Output((6, "nv"), _MATRIX, "dh_dv")),
        "How the momentum about the centre of mass changes with configuration and velocities.",
        weighed=True,
    ),
    Row.of(
        centroidal_momentum_rate_derivatives,
        "q v a",
        (
            Output((6, "nv"), _FORCES, "dh_dot_dq"),
            Output((6, "nv"), _RATES, "dh_dot_dv"),
            Output((6, "nv"), _MATRIX, "dh_dot_da"),
        ),
        "How the rate of the centroidal momentum changes with configuration, velocities and accelerations.",
        weighed=True,
    ),
)
