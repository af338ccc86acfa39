"""Kinetic and potential energy, the Lagrangian, and the power balance.

    T = ½ Σ V · I V  (= ½ vᵀ M v),      U = −g · Σ m c + Σ ½ φᵀ K φ,      L = T − U

summed over bodies with twists V and inertias I, masses m at c in the world, and the springs in joints and
force elements.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.13; any text of mechanics.

Power balance:

    d/dt (T + U) = vᵀ τ + Σ w · V − D:      joints, external wrenches on frames with twists V, and D = −vᵀ τ_d ≥ 0

with the forces τ_d of damping and dry friction; the energies are as in `energy`, with the same ``passive``.

Source: the work-energy theorem; Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.11 (power V · F).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.momentum.center_of_mass import composite_inertias
from linkwork.dynamics.algorithms.passive_joint_forces import (
    armature,
    dissipated_power,
    element_dissipation,
    element_energy,
    spring_energy,
)
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kinematics.algorithms.joint_path import BetweenFrames, SplitState
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import FRICTION, PASSIVE, FunctionSpec, Output
from linkwork.model.loop_joints import body_of, loops_of, spring_configuration
from linkwork.model.tree import Tree
from linkwork.spatial import Motion

__all__ = ["ROWS", "kinetic_energy", "lagrangian", "loop_energy", "potential_energy", "power"]


Scalars = Sequence[Any]


def kinetic_energy(tree: Tree, q: Scalars, v: Scalars, passive: bool = False) -> Any:
    """Return the kinetic energy T(q, v) [J]; ``passive`` adds ½ vᵀ diag(armature) v."""
    alone = zip(armature(tree), v, strict=True) if passive else ()
    rotors = [0.5 * m * rate * rate for m, rate in alone if not is_zero(m)]
    q, v = tree.split_q(q), tree.split_v(v)
    V = {WORLD: Motion.zero()}
    T: Any = 0.0
    for i, p, body in tree.outward():
        V[i] = body.X(q[i]).inv() @ V[p] + body.S(q[i]) @ v[i]
        T += V[i].dot(body.inertia @ V[i])
    return sum(rotors, 0.5 * T)


def potential_energy(tree: Tree, q: Scalars, passive: bool = False) -> Any:
    """Return the potential energy U(q) [J], zero at the world's origin; ``passive`` adds the energy of springs."""
    tree.require_inertias("potential_energy")
    elements = [element_energy(tree, q)] if passive and tree.force_elements else []
    elements += [loop_energy(tree, q)] if passive and tree.constraints else []
    q = tree.split_q(q)
    _, composite = composite_inertias(tree, q)
    springs = [spring_energy(body, q[i]) for i, _, body in tree.outward()] if passive else []
    return sum([*springs, *elements], -tree.gravity.dot(composite[WORLD].moment))


def loop_energy(tree: Tree, q: Scalars) -> Any:
    """Return the energy of the springs of joints that close loops [J]."""
    state, total = SplitState.of(tree, q, None), 0.0
    for loop in loops_of(tree):
        if loop.resists:
            pose = BetweenFrames(state, loop.frame, loop.relative_to).pose
            total = total + spring_energy(body_of(loop), spring_configuration(loop, pose))
    return total


def lagrangian(tree: Tree, q: Scalars, v: Scalars, passive: bool = False) -> Any:
    """Return the Lagrangian L = T − U [J]."""
    return kinetic_energy(tree, q, v, passive) - potential_energy(tree, q, passive)


_ENERGY = Output((), "J")


def power(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Any, Any, Any]:
    """Return three powers [W]: of joint forces τ, of external wrenches, and dissipated by damping and friction.

    The last is 0 unless ``passive``.
    """
    joints = sum((rate * torque for rate, torque in zip(v, tau, strict=True)), 0.0)
    dissipated: Any = element_dissipation(tree, q, v) if passive else 0.0
    state = SplitState.of(tree, q, v)
    for loop in loops_of(tree) if passive else ():
        if loop.resists:
            between = BetweenFrames(state, loop.frame, loop.relative_to)
            rates = loop.joint.velocity_from_twist(loop.joint.configuration_from_pose(between.pose), between.twist)
            dissipated = dissipated + dissipated_power(body_of(loop), rates, friction)
    q, v = tree.split_q(q), tree.split_v(v)
    outside = external_forces(tree, q, wrenches)
    V = {WORLD: Motion.zero()}
    supplied: Any = 0.0
    for i, p, body in tree.outward():
        if outside:
            V[i] = body.X(q[i]).inv() @ V[p] + body.S(q[i]) @ v[i]
        if i in outside:
            supplied += V[i].dot(outside[i])
        if passive:
            dissipated += dissipated_power(body, v[i], friction)
    return joints, supplied, dissipated


ROWS = (
    FunctionSpec.of(kinetic_energy, "q v", _ENERGY, "Kinetic energy.", options=(PASSIVE,), joint_space=True),
    FunctionSpec.of(
        potential_energy,
        "q",
        _ENERGY,
        "Potential energy of gravity and springs.",
        optional=("gravity",),
        options=(PASSIVE,),
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        lagrangian,
        "q v",
        _ENERGY,
        "Kinetic energy minus potential energy.",
        optional=("gravity",),
        options=(PASSIVE,),
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        power,
        "q v tau",
        (Output((), "W", "joints"), Output((), "W", "wrenches"), Output((), "W", "dissipated")),
        "Power of joint forces and external wrenches, and power that damping and friction dissipate.",
        options=(PASSIVE, FRICTION),
        takes_wrenches=True,
    ),
)
