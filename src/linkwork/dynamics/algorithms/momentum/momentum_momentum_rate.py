"""The rate of the centroidal momentum: the sum of the wrenches that move all bodies, about the centre of mass.

    ḣ = Σ X_i F_i = A(q) a + Ȧ(q, v) v,

the wrench F_i = I_i A_i + V_i ×* I_i V_i that body i takes; what acts from outside, weight included, sums to the same.

Source: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, Autonomous Robots 35, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.inverse_dynamics import carried_wrenches
from linkwork.dynamics.algorithms.momentum.composite_inertias import centers, composite_inertias, total_mass
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Vec3

__all__ = ["ROWS", "centroidal_momentum_rate"]

Scalars = Sequence[Any]


def centroidal_momentum_rate(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> Force:
    """ḣ = (angular about the centre of mass; linear), in the world's axes."""
    total_mass(tree, "centroidal_momentum_rate")
    X, _, F = carried_wrenches(tree.under(Vec3.zero()), q, v, a)
    c = centers(tree, *composite_inertias(tree, tree.split_q(q)))
    total = Force.zero()
    for i, p, _ in tree.inward():
        if p == WORLD:
            R = X[i].rotation
            total += Force(R @ (F[i].moment - c[i].cross(F[i].force)), R @ F[i].force)
        else:
            F[p] += X[i] @ F[i]
    return total


ROWS = (
    Row.of(
        centroidal_momentum_rate,
        "q v a",
        Output((6,), "N·m, N"),
        "Rate of the momentum about the centre of mass.",
        weighed=True,
    ),
)
