"""Derivatives of the velocity and the acceleration of the centre of mass, by differentiation over any scalar.

That of its place is `center_of_mass_jacobian`, and those by velocities and accelerations are the same matrix.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.tree import Tree
from ..momentum.center_of_mass import PART, center_of_mass_acceleration, center_of_mass_velocity
from ..row import Output, Row
from .tangents import Matrix, derivatives

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
    return derivatives(tree, lambda q, v, a: center_of_mass_acceleration(tree, q, v, a, *asked), q, v, a)


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
