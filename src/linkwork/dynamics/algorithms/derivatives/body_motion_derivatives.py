"""Derivatives of the motions of bodies and frames, and of the wrenches on bodies, with respect to q, v and a.

Along a column J of the joint that carries body k, all bodies behind it move together.  In axes that move with them,
their twists vary by one Ψ̇ and their accelerations by Ψ̇ × V + Ψ̈, with p the parent and V_J, A_J the joint's own
motion:

    by q:    Ψ̇ = V_p × J + ∂V_J,      Ψ̈ = V_p × Ψ̇ + A_p × J + V_k × ∂V_J + ∂A_J
    by v:    Ψ̇ = J,                   Ψ̈ = (V_p + V_k) × J + ∂A_J
    by a:    Ψ̇ = 0,                   Ψ̈ = J

All quantities are in the axes of the first body of the branch, relative to an inertial frame at its moving origin.
So terms of a branch's joints combine without transformation, and distances are no larger than the robot.

Frames: in the world, at a point p of the frame's own body, each joint in between contributes once.  Along its column J
the body's twist (ω; v) varies by J × V + Ψ̇, its spatial acceleration (ω̇; v̇) by J × A + Ψ̇ × V + Ψ̈, and the point
by J; so the velocity and the acceleration of the point itself,

    v_p = v + ω × p,      a_p = v̇ + ω̇ × p + ω × v_p,

vary by the product rule.  A pose varies by the Jacobian.  Derivatives relative to other frames follow by automatic
differentiation (`tangent_rates`).

Sources: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Carpentier and Mansard, Analytical derivatives of rigid body
dynamics algorithms, RSS 2018; Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import Matrix, derivatives
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.forward_kinematics import VIEW, acceleration, ancestors, pose, rotated, twist
from linkwork.kinematics.algorithms.jacobians import jacobian
from linkwork.model.body import WORLD, Body
from linkwork.model.function_spec import FunctionSpec, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, Rotation, Vec3, by_rows, cross

__all__ = [
    "ROWS",
    "Carrier",
    "Varying",
    "bias_by_q",
    "bias_by_v",
    "carriers",
    "joint_force_of_wrench",
    "turned_wrenches",
    "varying",
]


Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Varying:
    """One velocity component of a joint: its Jacobian column J, and derivatives of the body's motion by q and v.

    A change along J varies the twists of all bodies behind the joint by Ψ̇, and their accelerations by Ψ̇ × V + Ψ̈.
    """

    number: int  # index in v
    J: Motion
    turning: Motion  # Ψ̇ by q
    speeding: Motion  # Ψ̈ by q
    swinging: Motion  # Ψ̈ by v
    local_rates: tuple[Motion, ...]  # derivatives of the joint's columns by q in its own axes


@dataclass(frozen=True, slots=True)
class Carrier:
    """Pose Y, twist V and acceleration A of a body, and a `Varying` for each velocity component of its joint.

    They are in the axes of the first body of the branch of the tree, relative to an inertial frame at its origin.
    """

    root: Rotation  # axes of the branch in the world
    Y: Pose
    V: Motion
    A: Motion
    columns: list[Varying]


def carriers(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> dict[int, Carrier]:
    """Return the motion and the derivatives of motion, a `Carrier`, of every body; q, v and a are split by body."""
    result: dict[int, Carrier] = {}
    for i, p, body in tree.outward():
        result[i] = _carrier(tree, body, i, result.get(p), q[i], v[i], a[i])
    return result


def _carrier(tree: Tree, body: Body, i: int, parent: Carrier | None, q: Scalars, v: Scalars, a: Scalars) -> Carrier:
    X, S = body.X(q), body.S(q)
    if parent is None:
        root, Y = X.rotation, Pose.identity()
        V_p, A_p = Motion(Vec3.zero(), -(S @ v).linear), Motion(Vec3.zero(), root.inv_act(-tree.gravity))
    else:
        root, Y, V_p, A_p = parent.root, parent.Y @ X, parent.V, parent.A
    J = Y @ S
    V_J = J @ v
    V = V_p + V_J
    columns = varying(body, range(tree.nv)[tree.v_slices[i]], q, v, a, Y, V_p, A_p)
    return Carrier(root, Y, V, A_p + J @ a + Y @ body.bias(q, v) + cross(V, V_J), columns)


def varying(
    body: Body, indices: range, q: Scalars, v: Scalars, a: Scalars, Y: Pose, V_p: Motion, A_p: Motion
) -> list[Varying]:
    """Return the derivatives of a body's motion, a `Varying` for each velocity component of its joint.

    Y is the body's pose, and V_p and A_p are the twist and acceleration of its parent.
    """
    J = Y @ body.S(q)
    V = V_p + J @ v
    columns = []
    for k, along, column in zip(indices, unit_vectors(body.joint.nv), J.columns, strict=True):
        local_derivative = Y @ body.S_dot(q, along)
        V_rate, A_rate = local_derivative @ v, local_derivative @ a + Y @ bias_by_q(body, q, v, along)
        turning = cross(V_p, column) + V_rate
        speeding = cross(V_p, turning) + cross(A_p, column) + cross(V, V_rate) + A_rate
        swinging = cross(V_p + V, column) + Y @ bias_by_v(body, q, v, along)
        columns.append(Varying(k, column, turning, speeding, swinging, local_derivative.columns))
    return columns


def bias_by_q(body: Body, q: Scalars, v: Scalars, along: Scalars) -> Motion:
    """Return the derivative of a joint's bias acceleration along a change of q at the velocity ``along``."""
    moving = seeded(q, body.call_joint("q_dot", q, along))
    return _tangent(body.bias(moving, v), moving[0].level)


def bias_by_v(body: Body, q: Scalars, v: Scalars, along: Scalars) -> Motion:
    """Return the derivative of a joint's bias acceleration along a change ``along`` of v."""
    moving = seeded(v, along)
    return _tangent(body.bias(q, moving), moving[0].level)


def _tangent(motion: Motion, level: int) -> Motion:
    return Motion.of([parts(x, level)[1] for x in motion.elements()])


def joint_force_of_wrench(
    tree: Tree, q: Scalars, at: dict[int, Carrier], frame: str, expressed_in: str, count: int = 6
) -> list[list[Any]]:
    """Return Jᵀ (nv × count): column c has the joint forces of a unit wrench on a frame.

    The unit wrenches are the last ``count`` of (moment; force), in the axes of ``expressed_in``: all six, or the three
    forces.
    """
    result = [[0.0] * count for _ in range(tree.nv)]
    for component, unit in enumerate(unit_vectors(6)[6 - count :]):
        for body, F in external_forces(tree, q, [(frame, expressed_in, unit)]).items():
            for c in _columns_to(tree, at, body):
                result[c.number][component] += c.J.dot(at[body].Y @ F)
    return result


def turned_wrenches(
    tree: Tree, q: Scalars, at: dict[int, Carrier], wrenches: Wrenches
) -> Iterator[tuple[int, int, Any]]:
    """Yield elements (row, column, value) of ∂τ/∂q that arise because wrenches rotate relative to their bodies.

    A wrench is constant in the axes that it is expressed in. It rotates relative to its body if a joint carries the
    body but not the axes, or the axes but not the body. A wrench (n; f) at r that rotates by ω varies by (ω × n; ω ×
    f) at r.
    """
    for name, expressed_in, components in wrenches:
        body, axes = tree.frame(name).body, tree.frame(expressed_in).body
        F = at[body].Y @ external_forces(tree, q, [(name, expressed_in, components)])[body]
        r = at[body].Y.point(tree.frame(name).placement.translation)
        n, f = F.moment - r.cross(F.force), F.force
        of_body, of_axes = ancestors(tree, body), ancestors(tree, axes)
        turns = [(c, c.J.angular) for i in of_body if i not in of_axes for c in at[i].columns]
        for i in of_axes:
            if i not in of_body:
                turns += [(c, -_in_branch(at[i].root, at[body].root, c.J.angular)) for c in at[i].columns]
        for c, w in turns:
            moment, force = w.cross(n), w.cross(f)
            varied = Force(moment + r.cross(force), force)
            for row in _columns_to(tree, at, body):
                yield row.number, c.number, row.J.dot(varied)


def _columns_to(tree: Tree, at: dict[int, Carrier], body: int) -> list[Varying]:
    return [c for i in ancestors(tree, body) for c in at[i].columns]


def _in_branch(theirs: Rotation, ours: Rotation, w: Vec3) -> Vec3:
    """Return a vector w in the axes of one branch of the tree, from the axes of another one."""
    return w if theirs is ours else ours.inv_act(theirs @ w)


def pose_derivatives(tree: Tree, q: Scalars, frame: str, relative_to: str = "world") -> list[list[list[Any]]]:
    """Return ∂X/∂q of the pose X_AB of B (``frame``) in A (4 × 4 × nv), from the Jacobian (ω; v) of B relative to A.

    The derivative of the rotation R is ω × R, and the derivative of the origin is v, for each column (ω; v) in the axes
    of A.
    """
    X = pose(tree, q, frame, relative_to)
    columns = [X.rotation.T.x, X.rotation.T.y, X.rotation.T.z]
    result = [[[0.0] * tree.nv for _ in range(4)] for _ in range(4)]
    for k, J in enumerate(zip(*jacobian(tree, q, frame, relative_to, relative_to), strict=True)):
        w, v = Vec3.of(J[:3]), Vec3.of(J[3:])
        for j, column in enumerate([*map(w.cross, columns), v]):
            for i, x in enumerate(column):
                result[i][j][k] = x
    return result


def twist_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[Matrix]:
    """Return ∂V/∂q and ∂V/∂v of the twist V of a frame relative to another, at a point (6 × nv each).

    The other frame is ``relative_to``, and V is in the axes of ``expressed_in``.
    """
    view = frame, relative_to, expressed_in, point
    if _is_in_world(tree, *view):
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
    """Return ∂A/∂q, ∂A/∂v and ∂A/∂a of the acceleration A = (ω̇; v̇) of a frame relative to another (6 × nv each).

    The other frame is ``relative_to``; A is at ``point`` and in the axes of ``expressed_in``.
    """
    view = frame, relative_to, expressed_in, point
    if _is_in_world(tree, *view):
        return _of_point(tree, q, v, a, frame, expressed_in, point)[2:]
    return derivatives(tree, lambda q, v, a: acceleration(tree, q, v, a, *view).elements(), q, v, a)


def _is_in_world(tree: Tree, frame: str, relative_to: str, expressed_in: str, at: str | None) -> bool:
    """Return True if ``relative_to`` and ``expressed_in`` are fixed to the world, and the point to the frame's body.

    That body is not the world itself.
    """
    B, A, E, P = (tree.frame(name).body for name in (frame, relative_to, expressed_in, at or frame))
    return A == E == WORLD and P == B != WORLD


def _of_point(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, frame: str, expressed_in: str, at: str | None
) -> list[Matrix]:
    """Return ∂V/∂q, ∂V/∂v, ∂A/∂q, ∂A/∂v and ∂A/∂a of a frame's twist V and acceleration A in the world.

    V and A are at a point of the frame's body, the origin of ``at``, and in the axes of ``expressed_in``.
    """
    body, P, E = tree.frame(frame).body, tree.frame(at or frame), tree.frame(expressed_in)
    carried = carriers(tree.with_gravity(Vec3.zero()), tree.split_q(q), tree.split_v(v), tree.split_v(a))
    B = carried[body]
    V, A, p = B.V, B.A, B.Y.point(P.placement.translation)
    v_p = V.linear + V.angular.cross(p)
    R = E.placement.rotation.T @ B.root
    result = [[Motion.zero()] * tree.nv for _ in range(5)]

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
        for columns, change in zip(result, (by_q[0], by_a, by_q[1], by_v[1], by_a), strict=True):
            columns[c.number] += rotated(R, change)
    return [by_rows(columns) for columns in result]


ROWS = (
    FunctionSpec.of(
        pose_derivatives,
        "q",
        Output((4, 4, "nv"), "1, m"),
        "Derivative of the pose of a frame by the configuration.",
        options=frame_options("frame", "relative_to"),
    ),
    FunctionSpec.of(
        twist_derivatives,
        "q v",
        (Output((6, "nv"), "1/s, m/s", "dV_dq"), Output((6, "nv"), "1, m", "dV_dv")),
        "Derivatives of the twist of a frame by configuration and velocities.",
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
        "Derivatives of the acceleration of a frame by configuration, velocities and accelerations.",
        options=VIEW,
    ),
)
