"""Derivatives of a frame's pose, twist and acceleration.

As the world sees it, at a point p of the frame's own body, each joint on the way counts once.  Along a column J of it
the body's twist (ω; v) varies by J × V + Ψ̇, its spatial acceleration (ω̇; v̇) by J × A + Ψ̇ × V + Ψ̈ (`variations`), and
the point by J; so what the point itself does,

    v_p = v + ω × p,      a_p = v̇ + ω̇ × p + ω × v_p,

varies by the rule of products.  A pose varies by the Jacobian, whatever it is relative to.  What else other frames see
comes by differentiation over any scalar (`tangents`).

Source: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import Matrix, derivatives
from linkwork.kinematics.algorithms.forward_kinematics import VIEW, acceleration, pose, twist
from linkwork.kinematics.algorithms.jacobians.jacobian import jacobian
from linkwork.kinematics.algorithms.relative_kinematics import ancestors, rotated
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FunctionSpec, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3, by_rows, cross

__all__ = ["ROWS", "acceleration_derivatives", "pose_derivatives", "twist_derivatives"]

Scalars = Sequence[Any]


def pose_derivatives(tree: Tree, q: Scalars, frame: str, relative_to: str = "world") -> list[list[list[Any]]]:
    """∂X/∂q of the pose X_AB (4 × 4 × nv): the columns of R turn, ω × R, and its origin moves at v, by the Jacobian."""
    X = pose(tree, q, frame, relative_to)
    columns = [X.rotation.T.x, X.rotation.T.y, X.rotation.T.z]
    found = [[[0.0] * tree.nv for _ in range(4)] for _ in range(4)]
    for k, J in enumerate(zip(*jacobian(tree, q, frame, relative_to, relative_to), strict=True)):
        w, v = Vec3.of(J[:3]), Vec3.of(J[3:])
        for j, column in enumerate([*map(w.cross, columns), v]):
            for i, x in enumerate(column):
                found[i][j][k] = x
    return found


def twist_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[Matrix]:
    """∂V/∂q and ∂V/∂v of the twist V of frame B relative to A, expressed in E, at P."""
    view = frame, relative_to, expressed_in, point
    if _seen_from_the_world(tree, *view):
        return _of_point(tree, q, v, [0.0] * tree.nv, frame, expressed_in, point)[:2]
    return derivatives(tree, lambda q, v: twist(tree, q, v, *view).elements(), q, v)


def acceleration_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[Matrix]:
    """∂A/∂q, ∂A/∂v and ∂A/∂a of the acceleration A = (ω̇; v̇) of frame B relative to A, expressed in E, at P."""
    view = frame, relative_to, expressed_in, point
    if _seen_from_the_world(tree, *view):
        return _of_point(tree, q, v, a, frame, expressed_in, point)[2:]
    return derivatives(tree, lambda q, v, a: acceleration(tree, q, v, a, *view).elements(), q, v, a)


def _seen_from_the_world(tree: Tree, frame: str, relative_to: str, expressed_in: str, at: str | None) -> bool:
    """Whether A and E are fixed to the world, and P to the body that B is fixed to, which is not the world."""
    B, A, E, P = (tree.frame(name).body for name in (frame, relative_to, expressed_in, at or frame))
    return A == E == WORLD and P == B != WORLD


def _of_point(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, frame: str, expressed_in: str, at: str | None
) -> list[Matrix]:
    """∂V/∂q, ∂V/∂v, ∂A/∂q, ∂A/∂v and ∂A/∂a."""
    body, P, E = tree.frame(frame).body, tree.frame(at or frame), tree.frame(expressed_in)
    carried = carriers(tree.under(Vec3.zero()), tree.split_q(q), tree.split_v(v), tree.split_v(a))
    B = carried[body]
    V, A, p = B.V, B.A, B.Y.point(P.placement.translation)
    v_p = V.linear + V.angular.cross(p)
    R = E.placement.inv().rotation @ B.root
    found = [[Motion.zero()] * tree.nv for _ in range(5)]

    def at_point(dV: Motion, dA: Motion, dp: Vec3) -> tuple[Motion, Motion]:
        velocity = dV.linear + dV.angular.cross(p) + V.angular.cross(dp)
        curved = dV.angular.cross(v_p) + V.angular.cross(velocity)
        linear = dA.linear + dA.angular.cross(p) + A.angular.cross(dp) + curved
        return Motion(dV.angular, velocity), Motion(dA.angular, linear)

    for c in (c for i in ancestors(tree, body) for c in carried[i].columns):
        of_p = c.J.linear + c.J.angular.cross(p)
        turned = cross(c.J, A) + cross(c.turning, V) + c.speeding
        by_q = at_point(cross(c.J, V) + c.turning, turned, of_p)
        by_v = at_point(c.J, cross(c.J, V) + c.swinging, Vec3.zero())
        by_a = Motion(c.J.angular, of_p)
        for columns, change in zip(found, (by_q[0], by_a, by_q[1], by_v[1], by_a), strict=True):
            columns[c.number] += rotated(R, change)
    return [by_rows(columns) for columns in found]


ROWS = (
    FunctionSpec.of(
        pose_derivatives,
        "q",
        Output((4, 4, "nv"), "1, m"),
        "How the pose of a frame changes with the configuration.",
        options=frame_options("frame", "relative_to"),
    ),
    FunctionSpec.of(
        twist_derivatives,
        "q v",
        (Output((6, "nv"), "1/s, m/s", "dV_dq"), Output((6, "nv"), "1, m", "dV_dv")),
        "How the twist of a frame changes with configuration and velocities.",
        options=VIEW,
    ),
    FunctionSpec.of(
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
