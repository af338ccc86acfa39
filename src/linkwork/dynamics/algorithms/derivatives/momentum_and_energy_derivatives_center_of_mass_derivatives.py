"""Derivatives of the velocity and the acceleration of the centre of mass.

Those of the whole robot's are, as the world sees them, those of the linear momentum over the mass
(`momentum_derivatives`); of a subtree's, or as another frame sees them, they come by differentiation over any scalar
(`tangents`).  That of its place is `center_of_mass_jacobian`, and those by velocities and accelerations are the same.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.momentum_and_energy_derivatives import (
    centroidal_momentum_derivatives,
    centroidal_momentum_rate_derivatives,
)
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import Matrix, derivatives
from linkwork.dynamics.algorithms.momentum.center_of_mass import (
    PART,
    center_of_mass_acceleration,
    center_of_mass_velocity,
    part_of,
)
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "center_of_mass_acceleration_derivatives", "center_of_mass_velocity_derivatives"]

Scalars = Sequence[Any]


def center_of_mass_velocity_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Matrix]:
    """∂ċ/∂q and ∂ċ/∂v, of the velocity of the centre of mass as seen from A, in E's axes."""
    asked = subtree, relative_to, expressed_in
    if asked == _WHOLE:
        mass = part_of(tree, subtree, "center_of_mass_velocity_derivatives").mass
        return _linear(centroidal_momentum_derivatives(tree, q, v), mass)
    return derivatives(tree, lambda q, v: center_of_mass_velocity(tree, q, v, *asked), q, v)


def center_of_mass_acceleration_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Matrix]:
    """∂c̈/∂q, ∂c̈/∂v and ∂c̈/∂a, of the acceleration of the centre of mass as seen from A, in E's axes."""
    asked = subtree, relative_to, expressed_in
    if asked == _WHOLE:
        mass = part_of(tree, subtree, "center_of_mass_acceleration_derivatives").mass
        return _linear(centroidal_momentum_rate_derivatives(tree, q, v, a), mass)
    return derivatives(tree, lambda q, v, a: center_of_mass_acceleration(tree, q, v, a, *asked), q, v, a)


_WHOLE = (None, "world", "world")


def _linear(matrices: Sequence[Matrix], mass: float) -> list[Matrix]:
    """The rows of linear momentum, over the mass."""
    return [[[x * (1.0 / mass) for x in row] for row in matrix[3:]] for matrix in matrices]


ROWS = (
    Row.of(
        center_of_mass_velocity_derivatives,
        "q v",
        (Output((3, "nv"), "1/s, m/s", "dc_dot_dq"), Output((3, "nv"), "1, m", "dc_dot_dv")),
        "How the velocity of the centre of mass changes with configuration and velocities.",
        options=PART,
        weighed=True,
    ),
    Row.of(
        center_of_mass_acceleration_derivatives,
        "q v a",
        (
            Output((3, "nv"), "1/s², m/s²", "dc_ddot_dq"),
            Output((3, "nv"), "1/s, m/s", "dc_ddot_dv"),
            Output((3, "nv"), "1, m", "dc_ddot_da"),
        ),
        "How the acceleration of the centre of mass changes with configuration, velocities and accelerations.",
        options=PART,
        weighed=True,
    ),
)
