"""The regressor of inverse dynamics: what joint forces are linear in.

Each body's wrench is linear in its ten parameters, f_i = A_i π_i, and a joint feels what of it lies along its motion:
τ = Σ J_iᵀ A_i π_i, with J_i the Jacobian of body i in its own coordinates.  Motions are carried outward to the bodies
rather than ten wrenches inward to the joints, and A_i is mostly zeros.

Sources: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, Int. J. Robotics
Research 5, 1986; Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 12.4.

The regressors of energies: what kinetic and potential energy are linear in.

T = Σ ½ V_i · I_i V_i and U = −Σ g · (m_i p_i + R_i h_i) are linear in the ten parameters of each body; armature adds
½ v² to T, and springs ½ φ² to U.

Source: Gautier and Khalil, On the identification of the inertial parameters of robots, IEEE CDC 1988 (the energy
model).

The regressor of momentum: the six numbers of the robot's momentum are linear in the bodies' parameters.

Source: Ayusawa, Venture and Nakamura, Identifiability and identification of inertial parameters using the underactuated
base-link dynamics for legged multibody systems, Int. J. Robotics Research 33, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.regressors.joint_parameter_regressors import (
    PARAMETERS,
    force_columns,
    kinetic_columns,
    potential_columns,
)
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, RigidMotion, by_rows
from linkwork.spatial.inertia_vector import unit_energies, unit_momenta, unit_wrenches

__all__ = ["ROWS", "inverse_dynamics_regressor", "kinetic_energy_regressor", "potential_energy_regressor"]


Scalars = Sequence[Any]


def inverse_dynamics_regressor(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, passive: bool = False, friction: str | FrictionLaw = DEFAULT
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
    FunctionSpec.of(
        inverse_dynamics_regressor,
        "q v a",
        Output(("nv", "npi"), "N·m, N by π"),
        "Matrix that maps inertial parameters to joint forces.",
        optional=("gravity",),
        options=(PARAMETERS, FRICTION),
    ),
    FunctionSpec.of(
        kinetic_energy_regressor,
        "q v",
        Output(("npi",), "J by π"),
        "What multiplies inertial parameters in the kinetic energy.",
        options=(PARAMETERS,),
    ),
    FunctionSpec.of(
        potential_energy_regressor,
        "q",
        Output(("npi",), "J by π"),
        "What multiplies inertial parameters in the potential energy.",
        optional=("gravity",),
        options=(PARAMETERS,),
    ),
    FunctionSpec.of(
        momentum_regressor,
        "q v",
        Output((6, "npi"), "kg·m²/s, kg·m/s by π"),
        "Matrix that maps inertial parameters to the momentum about the world's origin.",
    ),
)
