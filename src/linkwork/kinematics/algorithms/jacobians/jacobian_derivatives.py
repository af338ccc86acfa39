"""How the Jacobian of a frame B relative to A changes, and what that makes of B's acceleration.

Let axes that are A's go along with the point P of B.  Relative to them the body i that a joint carries has the twist
U_i: it turns by what the joints from A to i contribute, and P stays behind by what those from i to B do.  A motion that
is fixed in a body moves with it, so the joint's column C = X_i S, with X_i the body's pose in E's axes seen from P,
changes by U_i × C + X_i Ṡ.

Source: the rate of a motion vector, Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from linkwork.kinematics.algorithms.forward_kinematics_frame_kinematics import VIEW, acceleration
from linkwork.kinematics.algorithms.jacobians.joint_path import WayStep, way
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3, by_rows, cross

__all__ = ["ROWS", "bias_acceleration", "jacobian_derivative"]

Scalars = Sequence[Any]


def jacobian_derivative(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[list[Any]]:
    """J̇ (6 × nv), as an observer in A sees it and E's axes have it, for the point of B at P: J a + J̇ v is the
    acceleration."""
    q, v = tree.split_q(q), tree.split_v(v)
    steps = way(tree, q, frame, relative_to, expressed_in, at)
    rates = [Motion.zero()] * tree.nv
    for step, U in zip(steps, _twists(steps, v), strict=True):
        i = step.body
        turned = [cross(U, C) for C in step.columns]
        changed = step.seen(tree.bodies[i].S_dot(q[i], v[i]))
        for k, *parts in zip(range(tree.nv)[tree.v_slices[i]], turned, changed, strict=True):
            rates[k] += parts[0] + parts[1]
    return by_rows(rates)


def _twists(steps: Sequence[WayStep], v: Scalars) -> list[Motion]:
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
    at: str | None = None,
) -> Motion:
    """J̇ v: (ω̇; v̇) of frame B relative to A at a = 0, without the matrix."""
    return acceleration(tree, q, v, [0.0] * tree.nv, frame, relative_to, expressed_in, at)


ROWS = (
    Row.of(
        jacobian_derivative,
        "q v",
        Output((6, "nv"), "1/s, m/s"),
        "Rate of the matrix that maps velocities to a frame's twist.",
        options=VIEW,
    ),
    Row.of(
        bias_acceleration,
        "q v",
        Output((6,), "rad/s², m/s²"),
        "Acceleration (ω̇; v̇) of a frame while the joints' velocities stay the same.",
        options=VIEW,
    ),
)
