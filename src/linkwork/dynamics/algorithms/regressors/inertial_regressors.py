"""The regressor of inverse dynamics: what joint forces are linear in.

Each body's wrench is linear in its ten parameters, f_i = A_i π_i, and a joint feels what of it lies along its motion:
τ = Σ J_iᵀ A_i π_i, with J_i the Jacobian of body i in its own coordinates.  Motions are carried outward to the bodies
rather than ten wrenches inward to the joints, and A_i is mostly zeros.

Sources: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, Int. J. Robotics
Research 5, 1986; Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 12.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.regressors.joint_parameter_regressors import PARAMETERS, force_columns
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FRICTION, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, RigidMotion
from linkwork.spatial.inertia_vector import unit_wrenches

__all__ = ["ROWS", "inverse_dynamics_regressor"]

Scalars = Sequence[Any]


def inverse_dynamics_regressor(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, passive: bool = False, friction: str = "smooth"
) -> list[list[Any]]:
    """Y (nv × 10 nb): τ = Y π, ten columns for each body; with ``passive`` the joints' parameters have theirs after."""
    felt = force_columns(tree, q, v, a, friction) if passive else [[] for _ in range(tree.nv)]
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.held_against(tree.gravity)}
    J: dict[int, dict[int, Motion]] = {WORLD: {}}
    Y: list[list[Any]] = [[0.0] * (10 * len(tree.bodies)) for _ in range(tree.nv)]
    for i, p, body in tree.outward():
        X, S = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X, S @ v[i], S @ a[i] + body.bias(q[i], v[i]))
        J[i] = {k: X.inv() @ column for k, column in J[p].items()}
        for k, column in zip(range(tree.nv)[tree.v_slices[i]], S.columns, strict=True):
            J[i][k] = J[i][k] + column if k in J[i] else column
        A = unit_wrenches(motion[i])
        for k, column in J[i].items():
            Y[k][10 * i : 10 * i + 10] = [column.dot(F) for F in A]
    return [row + more for row, more in zip(Y, felt, strict=True)]


ROWS = (
    Row.of(
        inverse_dynamics_regressor,
        "q v a",
        Output(("nv", "npi"), "N·m, N by π"),
        "Matrix that maps inertial parameters to joint forces.",
        optional=("gravity",),
        options=(PARAMETERS, FRICTION),
    ),
)
