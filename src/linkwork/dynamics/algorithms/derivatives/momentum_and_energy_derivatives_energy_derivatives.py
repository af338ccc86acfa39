"""Gradients of the energies, by the momentum and the weight that each joint carries.

Let h_i be the momentum of all that body i carries.  Its joint's velocity c adds S_c to the twists of all of it, and its
coordinate c turns it along: seen from axes that turn with it, the twists change by that of the parent, V_p × S_c, and
by what the joint itself makes of v elsewhere.  So

    ∂T/∂v_c = h_i · S_c,      ∂T/∂q_c = h_i · (V_p × S_c + ∂(S v)/∂q_c),

and ∂U/∂q are the joint forces that hold the robot still.

Source: any text of mechanics; the rate of a motion vector: Featherstone, Rigid Body Dynamics Algorithms, 2008, 2.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force
from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.joints.base.from_transform import units
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, Subspace, cross

__all__ = ["ROWS", "kinetic_energy_derivatives", "potential_energy_derivatives"]

Scalars = Sequence[Any]


def kinetic_energy_derivatives(tree: Tree, q: Scalars, v: Scalars, passive: bool = False) -> list[list[Any]]:
    """∂T/∂q and ∂T/∂v = M v; with ``passive`` of the joints' armature too."""
    rotors = [m * rate for m, rate in zip(armature(tree), v, strict=True)] if passive else [0.0] * tree.nv
    q, v = tree.split_q(q), tree.split_v(v)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    V = {WORLD: Motion.zero()}  # of the parent, in the body's coordinates: below
    carried: dict[int, Motion] = {}
    h: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried[i] = X[i].inv() @ V[p]
        V[i] = carried[i] + S[i] @ v[i]
        h[i] = body.inertia @ V[i]
    by_q: dict[int, list[Any]] = {}
    by_v: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        changes = [body.S_dot(q[i], unit) @ v[i] for unit in units(len(S[i]))]
        turned = [cross(carried[i], S_c) + change for S_c, change in zip(S[i].columns, changes, strict=True)]
        by_q[i], by_v[i] = [V_c.dot(h[i]) for V_c in turned], S[i].T @ h[i]
        if p != WORLD:
            h[p] += X[i] @ h[i]
    return [tree.gathered(by_q), [x + y for x, y in zip(tree.gathered(by_v), rotors, strict=True)]]


def potential_energy_derivatives(tree: Tree, q: Scalars, passive: bool = False) -> list[Any]:
    """∂U/∂q; with ``passive`` of the springs' energy too."""
    return gravity_force(tree, q, passive=passive)


ROWS = (
    Row.of(
        kinetic_energy_derivatives,
        "q v",
        (Output(("nv",), "N·m, N", "dT_dq"), Output(("nv",), "kg·m²/s, kg·m/s", "dT_dv")),
        "How the energy of the motion changes with configuration and velocities.",
        options=(PASSIVE,),
        joint_space=True,
    ),
    Row.of(
        potential_energy_derivatives,
        "q",
        Output(("nv",), "N·m, N"),
        "How the potential energy changes with the configuration.",
        optional=("gravity",),
        options=(PASSIVE,),
        joint_space=True,
    ),
)
