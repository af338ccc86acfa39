"""The regressors of energies: what kinetic and potential energy are linear in.

T = Σ ½ V_i · I_i V_i and U = −Σ g · (m_i p_i + R_i h_i) are linear in the ten parameters of each body; armature adds
½ v² to T, and springs ½ φ² to U.

Source: Gautier and Khalil, On the identification of the inertial parameters of robots, IEEE CDC 1988 (the energy
model).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.regressors.joint_parameter_regressors import (
    PARAMETERS,
    kinetic_columns,
    potential_columns,
)
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose
from linkwork.spatial.inertia_vector import unit_energies

__all__ = ["ROWS", "kinetic_energy_regressor", "potential_energy_regressor"]

Scalars = Sequence[Any]


def kinetic_energy_regressor(tree: Tree, q: Scalars, v: Scalars, passive: bool = False) -> list[Any]:
    """(10 nb): the kinetic energy is its product with π; with ``passive`` the joints' parameters come after them."""
    felt = kinetic_columns(tree, v) if passive else []
    q, v = tree.split_q(q), tree.split_v(v)
    V: dict[int, Motion] = {WORLD: Motion.zero()}
    row: list[Any] = []
    for i, p, body in tree.outward():
        V[i] = body.X(q[i]).inv() @ V[p] + body.S(q[i]) @ v[i]
        row += unit_energies(V[i])
    return row + felt


def potential_energy_regressor(tree: Tree, q: Scalars, passive: bool = False) -> list[Any]:
    """(10 nb): the potential energy, zero at the world's origin, is its product with π."""
    felt = potential_columns(tree, q) if passive else []
    q = tree.split_q(q)
    X: dict[int, Pose] = {WORLD: Pose.identity()}
    row: list[Any] = []
    for i, p, body in tree.outward():
        X[i] = X[p] @ body.X(q[i])
        up = -tree.gravity
        row += [up.dot(X[i].translation), *X[i].rotation.inv_act(up), *[0.0] * 6]
    return row + felt


ROWS = (
    Row.of(
        kinetic_energy_regressor,
        "q v",
        Output(("npi",), "J by π"),
        "What multiplies inertial parameters in the kinetic energy.",
        options=(PARAMETERS,),
    ),
    Row.of(
        potential_energy_regressor,
        "q",
        Output(("npi",), "J by π"),
        "What multiplies inertial parameters in the potential energy.",
        optional=("gravity",),
        options=(PARAMETERS,),
    ),
)
