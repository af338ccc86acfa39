"""Derivatives of a frame's pose, twist and acceleration, by differentiation over any scalar (see `tangents`).

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.tree import Tree
from ..kinematics.frame_kinematics import VIEW, acceleration, pose, twist
from ..row import Output, Row, frame_options
from .tangents import Matrix, derivatives

__all__ = ["ROWS", "acceleration_derivatives", "pose_derivatives", "twist_derivatives"]

Scalars = Sequence[Any]


def pose_derivatives(tree: Tree, q: Scalars, frame: str, relative_to: str = "world") -> Matrix:
    """∂X/∂q: of each element of the pose X_AB, row by row."""
    return derivatives(tree, lambda q: pose(tree, q, frame, relative_to).elements(), q)[0]


def twist_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[Matrix]:
    """∂V/∂q and ∂V/∂v of the twist V of frame B relative to A, expressed in E, at P."""
    view = frame, relative_to, expressed_in, at
    return derivatives(tree, lambda q, v: twist(tree, q, v, *view).elements(), q, v)


def acceleration_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[Matrix]:
    """∂A/∂q, ∂A/∂v and ∂A/∂a of the acceleration A = (ω̇; v̇) of frame B relative to A, expressed in E, at P."""
    view = frame, relative_to, expressed_in, at
    return derivatives(tree, lambda q, v, a: acceleration(tree, q, v, a, *view).elements(), q, v, a)


ROWS = (
    Row.of(
        pose_derivatives,
        "q",
        Output((4, 4, "nv"), "1, m"),
        "How the pose of a frame changes with the configuration.",
        options=frame_options("frame", "relative_to"),
    ),
    Row.of(
        twist_derivatives,
        "q v",
        (Output((6, "nv"), "1/s, m/s", "dV_dq"), Output((6, "nv"), "1, m", "dV_dv")),
        "How the twist of a frame changes with configuration and velocities.",
        options=VIEW,
    ),
    Row.of(
        acceleration_derivatives,
        "q v a",
        (
            Output((6, "nv"), "1/s², m/s²", "dA_dq"),
            Output((6, "nv"), "1/s, m/s", "dA_dv"),
            Output((6, "nv"), "1, m", "dA_da"),
        ),
        "How the acceleration of a frame changes with configuration, velocities and accelerations.",
        options=VIEW,
    ),
)
