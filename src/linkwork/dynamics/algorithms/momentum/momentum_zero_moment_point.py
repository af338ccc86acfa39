"""The zero-moment point: where on the ground a support can hold the robot with a force and a moment about the vertical.

All that moves and weighs asks for the wrench (n; f) at the world's origin, f = Σ m (c̈ − g).  In the plane through the
origin that gravity g is normal to, the moment n − p × f has no component in the plane at

    p = (g × n) / (g · f).

Source: Vukobratović and Borovac, Zero-moment point: thirty five years of its life, Int. J. Humanoid Robotics 1, 2004.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Pose, RigidMotion

__all__ = ["ROWS", "zero_moment_point"]

Scalars = Sequence[Any]


def zero_moment_point(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """p (3) in the world; infinite where what presses on the ground is less than 1e-12 of the weight."""
    tree.require_inertias("zero_moment_point")
    q, v, a, g = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.gravity
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.held_against(g)}
    X: dict[int, Pose] = {}
    F: dict[int, Force] = {WORLD: motion[WORLD].wrench(tree.fixed_inertia)}
    mass = tree.fixed_inertia.mass
    for i, p, body in tree.outward():
        X[i], S = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X[i], S @ v[i], S @ a[i] + body.bias(q[i], v[i]))
        F[i] = motion[i].wrench(body.inertia)
        mass += body.inertia.mass
    for i, p, _ in tree.inward():
        F[p] += X[i] @ F[i]
    pressed, moment = g.dot(F[WORLD].force), g.cross(F[WORLD].moment)
    held = lt(1e-12 * mass * g.dot(g), fabs(pressed))
    return [where(held, x / where(held, pressed, 1.0), math.inf) for x in moment]


ROWS = (
    Row.of(
        zero_moment_point,
        "q v a",
        Output((3,), "m"),
        "Point of the ground about which gravity and inertia have no tipping moment.",
        optional=("gravity",),
        weighed=True,
    ),
)
