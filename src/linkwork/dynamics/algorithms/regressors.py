"""Regressors: matrices that map the parameters of bodies and joints to joint forces, energies and momentum.

Inverse dynamics: each body's wrench is linear in its ten parameters, f_i = A_i π_i, and a joint's force is its
component along the joint's motion: τ = Σ J_iᵀ A_i π_i, with J_i the Jacobian of body i in its own coordinates.  The
algorithm propagates motions outward to the bodies, not ten wrenches inward to the joints, and A_i is mostly zeros.

Energies: T = Σ ½ V_i · I_i V_i and U = −Σ g · (m_i p_i + R_i h_i) are linear in the ten parameters of each body;
armature adds ½ v² to T, and springs ½ φ² to U.  The six components of momentum are linear in the bodies' parameters.

Joints: each has four parameters for each of its own velocities (armature, damping, dry friction, stiffness), and so
do joints that follow others: forces of a follower act on its master, times the ratio.  They follow the bodies' in π,
first all armatures, then all dampings, frictions and stiffnesses, each in the order of the joints.  The law of
friction, its velocities v_s and the rest positions of springs are not among the parameters; they are the robot's.

Sources: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, Int. J.
Robotics Research 5, 1986; Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 12.4;
Gautier and Khalil, On the identification of the inertial parameters of robots, IEEE CDC 1988 (energies); Ayusawa,
Venture and Nakamura, Identifiability and identification of inertial parameters using the underactuated base-link
dynamics for legged multibody systems, Int. J. Robotics Research 33, 2014 (momentum).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.passive_joint_forces import deflection, deflection_rates, gyroscopic_of
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, friction_law
from linkwork.model.function_spec import FRICTION, FunctionSpec, Option, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, RigidMotion, by_rows
from linkwork.spatial.inertia_vector import unit_energies, unit_momenta, unit_wrenches

__all__ = [
    "JOINT_PARAMETERS",
    "ROWS",
    "inverse_dynamics_regressor",
    "joint_parameters",
    "joint_velocities",
    "kinetic_energy_regressor",
    "potential_energy_regressor",
]


JOINT_PARAMETERS = ("armature", "damping", "friction", "stiffness")
PARAMETERS = Option("passive", False, (False, True), counted="npi", counts=("npi", "npi_passive"))


class _VelocityIndices(NamedTuple):
    """Indices of one velocity coordinate of a joint, which may follow another joint."""

    column: int  # among the velocities of all joints, followers included
    row: int  # in v
    body: int
    coordinate: int  # among the joint's own velocities


def joint_velocities(tree: Tree) -> Iterator[_VelocityIndices]:
    """Yield the velocities of every joint, in the order of the joints, followers included."""
    column = 0
    for i in tree.order:
        for index, row in enumerate(range(tree.nv)[tree.v_slices[i]]):
            yield _VelocityIndices(column, row, i, index)
            column += 1


def joint_parameters(tree: Tree) -> list[float]:
    """Return the joint parameters (4 nj): all armatures, dampings, dry frictions and stiffnesses.

    nj is the number of velocities of all joints, followers included.  Damping and friction that do not act are zero.
    """
    result: list[float] = []
    for kind in JOINT_PARAMETERS:
        for _, _, i, index in joint_velocities(tree):
            body = tree.bodies[i]
            acts = kind in ("armature", "stiffness") or body.dynamics != "none"
            values = getattr(body if kind in ("damping", "friction") else body.drive, kind) if acts else ()
            result.append(values[index] if values else 0.0)
    return result


def force_columns(tree: Tree, q: Scalars, v: Scalars, a: Scalars, friction: str | FrictionLaw) -> list[list[Any]]:
    """Return the matrix (nv × 4 nj) by which the joint parameters are multiplied in the joint forces τ.

    Its blocks belong to armature, diag(a) plus gyroscopic forces; damping, diag(v); dry friction, by its law; and
    stiffness, by the springs' deflection φ.
    """
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    law, velocities = friction_law(friction), [*joint_velocities(tree)]
    result = [[0.0] * (4 * len(velocities)) for _ in range(tree.nv)]
    armature, damping, dry, stiffness = (k * len(velocities) for k in range(4))
    for column, row, i, index in velocities:
        body = tree.bodies[i]
        ratio, rate = body.ratio, body.ratio * v[i][index]
        unit = [ratio * ratio if k == index else 0.0 for k in range(body.joint.nv)]
        for k, x in enumerate(gyroscopic_of(body, unit, q[i], v[i]), start=row - index):
            result[k][armature + column] = x
        result[row][armature + column] = result[row][armature + column] + ratio * ratio * a[i][index]
        result[row][damping + column] = ratio * rate
        result[row][dry + column] = ratio * law.per_friction(rate, ratio * a[i][index], body.dry_friction[index])
        phi = deflection(body, q[i])[index]
        for k, rates in enumerate(deflection_rates(body, q[i]), start=row - index):
            result[k][stiffness + column] = ratio * rates[index] * phi
    return result


def kinetic_columns(tree: Tree, v: Scalars) -> list[Any]:
    """Return the row (4 nj) by which the joint parameters are multiplied in the kinetic energy.

    Its elements are ½ v² for armature and 0 for the others.
    """
    v, velocities = tree.split_v(v), [*joint_velocities(tree)]
    rates = [tree.bodies[i].ratio * v[i][index] for _, _, i, index in velocities]
    return [*(0.5 * (x * x) for x in rates), *[0.0] * (3 * len(velocities))]


def potential_columns(tree: Tree, q: Scalars) -> list[Any]:
    """Return the row (4 nj) by which the joint parameters are multiplied in the potential energy.

    Its elements are ½ φ² for stiffness, with the springs' deflection φ, and 0 for the others.
    """
    q, velocities = tree.split_q(q), [*joint_velocities(tree)]
    phi = [deflection(tree.bodies[i], q[i])[index] for _, _, i, index in velocities]
    return [*[0.0] * (3 * len(velocities)), *(0.5 * (x * x) for x in phi)]


Scalars = Sequence[Any]


def inverse_dynamics_regressor(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, passive: bool = False, friction: str | FrictionLaw = DEFAULT.name
) -> list[list[Any]]:
    """Return Y (nv × 10 nb) with τ = Y π, where π are ten inertial parameters of each body.

    ``passive`` appends the columns of joint parameters.
    """
    felt = force_columns(tree, q, v, a, friction) if passive else [[] for _ in range(tree.nv)]
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.of_fixed_base(tree.gravity)}
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
    """Return the row y (10 nb) with kinetic energy y π, where π are ten inertial parameters of each body.

    ``passive`` appends the elements of joint parameters.
    """
    felt = kinetic_columns(tree, v) if passive else []
    q, v = tree.split_q(q), tree.split_v(v)
    V: dict[int, Motion] = {WORLD: Motion.zero()}
    row: list[Any] = []
    for i, p, body in tree.outward():
        V[i] = body.X(q[i]).inv() @ V[p] + body.S(q[i]) @ v[i]
        row += unit_energies(V[i])
    return row + felt


def potential_energy_regressor(tree: Tree, q: Scalars, passive: bool = False) -> list[Any]:
    """Return the row y (10 nb) of the potential energy y π, which is zero at the world's origin."""
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
    """Return Y (6 × 10 nb) of the momentum Y π (angular; linear) about the world's origin, in its axes."""
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
        "Row of the kinetic energy that multiplies inertial parameters.",
        options=(PARAMETERS,),
    ),
    FunctionSpec.of(
        potential_energy_regressor,
        "q",
        Output(("npi",), "J by π"),
        "Row of the potential energy that multiplies inertial parameters.",
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
