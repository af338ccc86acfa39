"""How the Jacobian of a frame B relative to A changes, and what that makes of B's acceleration.

Let axes that are A's go along with the point P of B.  Relative to them the body i that a joint carries has the twist
U_i: it turns by what the joints from A to i contribute, and P stays behind by what those from i to B do.  A motion that
is fixed in a body moves with it, so the joint's column C = X_i S, with X_i the body's pose in E's axes seen from P,
changes by U_i × C + X_i Ṡ.

Source: the rate of a motion vector, Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.10.

The kinematic Hessian: how the Jacobian of a frame B relative to A changes along each velocity.

Along the velocity of one joint, everything behind it on the way from A to B turns, and P moves away from what is before
it.  So for a column C = (ω; v) and a column C' = (ω'; v') behind it, C' changes along C by (ω × ω'; ω × v'), and C
along C' by (0; ω × v'): the linear part is symmetric.  A joint's own columns change as those of the body that carries
them, and by ∂S.

Source: Haviland and Corke, Manipulator differential kinematics, part 2: acceleration and advanced applications,
IEEE Robotics and Automation Magazine 31, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from linkwork.joints.base.from_transform import units
from linkwork.kinematics.algorithms.forward_kinematics import VIEW, acceleration
from linkwork.kinematics.algorithms.jacobians.joint_path import PathJoint, way
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3, by_rows, cross

__all__ = ["ROWS", "bias_acceleration", "changes", "jacobian_derivative"]


Scalars = Sequence[Any]


def jacobian_derivative(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J̇ (6 × nv), as an observer in A sees it and E's axes have it, for the point of B at P: J a + J̇ v is the
    acceleration."""
    q, v = tree.split_q(q), tree.split_v(v)
    steps = way(tree, q, frame, relative_to, expressed_in, point)
    rates = [Motion.zero()] * tree.nv
    for step, U in zip(steps, _twists(steps, v), strict=True):
        i = step.body
        turned = [cross(U, C) for C in step.columns]
        changed = step.seen(tree.bodies[i].S_dot(q[i], v[i]))
        for k, *parts in zip(range(tree.nv)[tree.v_slices[i]], turned, changed, strict=True):
            rates[k] += parts[0] + parts[1]
    return by_rows(rates)


def _twists(steps: Sequence[PathJoint], v: Scalars) -> list[Motion]:
    """U_i of the body that each joint carries."""
    moving = [step.moving(v) for step in steps]
    turned = list(accumulate((V.angular for V in moving), initial=Vec3.zero()))
    left = list(accumulate((V.linear for V in reversed(moving)), initial=Vec3.zero()))[::-1]
    return [Motion(turned[k], -left[k]) for k in (j + step.outward for j, step in enumerate(steps))]


def bias_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> Motion:
    """J̇ v: (ω̇; v̇) of frame B relative to A at a = 0, without the matrix."""
    return acceleration(tree, q, v, [0.0] * tree.nv, frame, relative_to, expressed_in, point)


def jacobian_hessian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[list[Any]]]:
    """H (6 × nv × nv): H[:, j, k] is what J̇[:, j] is at the unit velocity k."""
    q = tree.split_q(q)
    found = changes(tree, q, way(tree, q, frame, relative_to, expressed_in, point))
    elements = [[H.elements() for H in column] for column in found]
    return [[[H[row] for H in column] for column in elements] for row in range(6)]


def changes(tree: Tree, q: Scalars, steps: Sequence[PathJoint]) -> list[list[Motion]]:
    """H[j][k]: how column j changes along the unit velocity k.  q is split, body by body."""
    H = [[Motion.zero()] * tree.nv for _ in range(tree.nv)]
    before: list[tuple[int, Motion]] = []
    for step in steps:
        place = range(tree.nv)[tree.v_slices[step.body]]
        own = list(zip(place, step.columns, strict=True))
        for k, C in before:
            for j, D in own:
                H[j][k] += _turned(C, D)
                H[k][j] += _shifted(C, D)
        for k, unit in zip(place, units(len(place)), strict=True):
            moving = step.seen(tree.bodies[step.body].S_dot(q[step.body], unit))
            for (j, C), C_dot in zip(own, moving, strict=True):
                D = step.columns[k - place.start]
                H[j][k] += (_turned(D, C) if step.outward else _shifted(C, D)) + C_dot
        before += own
    return H


def _turned(C: Motion, behind: Motion) -> Motion:
    """How a motion changes while what has it turns along C."""
    return Motion(C.angular.cross(behind.angular), C.angular.cross(behind.linear))


def _shifted(C: Motion, behind: Motion) -> Motion:
    """How C changes while P moves along a motion behind it."""
    return Motion(Vec3.zero(), C.angular.cross(behind.linear))


ROWS = (
    FunctionSpec.of(
        jacobian_derivative,
        "q v",
        Output((6, "nv"), "1/s, m/s"),
        "Rate of the matrix that maps velocities to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        bias_acceleration,
        "q v",
        Output((6,), "rad/s², m/s²"),
        "Acceleration (ω̇; v̇) of a frame while the joints' velocities stay the same.",
        options=VIEW,
    ),
    FunctionSpec.of(
        jacobian_hessian,
        "q",
        Output((6, "nv", "nv"), "1, m"),
        "How the matrix that maps velocities to a frame's twist changes along each of them.",
        options=VIEW,
    ),
)
