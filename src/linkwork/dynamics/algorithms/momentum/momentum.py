"""Momentum of the whole robot, about the world's origin and about its centre of mass.

    h = Σ X_i I_i V_i      (angular; linear),

each body's momentum in its own frame, taken inward from body to body.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.13; Orin, Goswami and Lee, Centroidal dynamics of
a humanoid robot, Autonomous Robots 35, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.momentum.composite_inertias import centers, composite_inertias, total_mass
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose

__all__ = ["ROWS", "centroidal_momentum", "momentum"]

Scalars = Sequence[Any]


def momentum(tree: Tree, q: Scalars, v: Scalars) -> Force:
    """(angular about the world's origin; linear), in the world's axes."""
    q, v = tree.split_q(q), tree.split_v(v)
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    h = _moved(tree, X, q, v)
    return sum((X[i] @ h[i] for i in h if tree.bodies[i].parent == WORLD), Force.zero())


def centroidal_momentum(tree: Tree, q: Scalars, v: Scalars) -> Force:
    """(angular about the centre of mass; linear), in the world's axes."""
    total_mass(tree, "centroidal_momentum")
    q, v = tree.split_q(q), tree.split_v(v)
    X, composite = composite_inertias(tree, q)
    c, h = centers(tree, X, composite), _moved(tree, X, q, v)
    total = Force.zero()
    for i in h:
        if tree.bodies[i].parent == WORLD:
            R = X[i].rotation
            total += Force(R @ (h[i].moment - c[i].cross(h[i].force)), R @ h[i].force)
    return total


def _moved(tree: Tree, X: dict[int, Pose], q: Scalars, v: Scalars) -> dict[int, Force]:
    """By body: the momentum of all that hangs on it, about its origin, in its axes."""
    V = {WORLD: Motion.zero()}
    h: dict[int, Force] = {}
    for i, p, body in tree.outward():
        V[i] = X[i].inv() @ V[p] + body.S(q[i]) @ v[i]
        h[i] = body.inertia @ V[i]
    for i, p, _ in tree.inward():
        if p != WORLD:
            h[p] += X[i] @ h[i]
    return h


_MOMENTUM = Output((6,), "kg·m²/s, kg·m/s")

ROWS = (
    Row.of(momentum, "q v", _MOMENTUM, "Momentum about the world's origin.", joint_space=True),
    Row.of(centroidal_momentum, "q v", _MOMENTUM, "Momentum about the centre of mass.", weighed=True),
)
