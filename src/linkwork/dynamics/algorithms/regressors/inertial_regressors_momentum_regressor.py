"""The regressor of momentum: the six numbers of the robot's momentum are linear in the bodies' parameters.

Source: Ayusawa, Venture and Nakamura, Identifiability and identification of inertial parameters using the underactuated
base-link dynamics for legged multibody systems, Int. J. Robotics Research 33, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, by_rows
from linkwork.spatial.inertia_vector import unit_momenta

__all__ = ["ROWS", "momentum_regressor"]

Scalars = Sequence[Any]


def momentum_regressor(tree: Tree, q: Scalars, v: Scalars) -> list[list[Any]]:
    """(6 × 10 nb): what multiplies π in the momentum about the world's origin (angular; linear), in its axes."""
    q, v = tree.split_q(q), tree.split_v(v)
    X: dict[int, Pose] = {WORLD: Pose.identity()}
    V: dict[int, Motion] = {WORLD: Motion.zero()}
    columns: list[Force] = []
    for i, p, body in tree.outward():
        X_pi = body.X(q[i])
        X[i] = X[p] @ X_pi
        V[i] = X_pi.inv() @ V[p] + body.S(q[i]) @ v[i]
        columns += [X[i] @ h for h in unit_momenta(V[i])]
    return by_rows(columns)


ROWS = (
    Row.of(
        momentum_regressor,
        "q v",
        Output((6, "npi"), "kg·m²/s, kg·m/s by π"),
        "Matrix that maps inertial parameters to the momentum about the world's origin.",
    ),
)
