"""Loop joints: configurations, velocities and forces of the joints that close loops.

The pose of M in F determines q_J, and the twist V of M relative to F determines v_J = S⁺ V.  Joint forces τ_J of a loop
joint are the wrench F = S⁺ᵀ τ_J on M, and the opposite wrench on the other frame; it is the smallest F with Sᵀ F = τ_J.
The generalized force on the robot is Jᵀ F, with V = J v; any other such F differs by constraint forces of the loop.
Damping, friction and springs act as in a joint of the tree, at q_J and v_J.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 8.9 (loop-closure joints with active forces).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.constraints import LoopJoint
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import (
    force_derivatives,
    inverse_dynamics_derivatives,
)
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.passive_joint_forces import ResistingRow, exerted, has_curved_springs, spring_rows
from linkwork.expr.linalg.sparse_dot import add_matrices, negated
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.body import Drive
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import FRICTION, FunctionSpec, Output
from linkwork.model.loop_joints import body_of, loops_of, spring_configuration
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion

__all__ = [
    "ROWS",
    "body_of",
    "loop_force_derivatives",
    "loop_motor_wrenches",
    "loop_rows",
    "loop_wrenches",
    "loops_of",
    "required_force_derivatives",
    "with_loop_forces",
]

Scalars = Sequence[Any]


def _state_of(state: KinematicState, loop: LoopJoint) -> tuple[list[Any], list[Any]]:
    """Return the configuration q_J and the velocity v_J of a joint that closes a loop."""
    between = state.between(loop.frame, loop.relative_to)
    q = loop.joint.configuration_from_pose(between.pose)
    return q, loop.joint.velocity_from_twist(q, between.twist)


def loop_configuration(tree: Tree, q: Scalars) -> list[Any]:
    """Return the configurations q_J of the joints that close loops, concatenated."""
    state = KinematicState(tree, q)
    poses = ((loop.joint, state.between(loop.frame, loop.relative_to).pose) for loop in loops_of(tree))
    return [x for joint, X in poses for x in joint.configuration_from_pose(X)]


def loop_velocity(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return the velocities v_J of the joints that close loops, concatenated."""
    state = KinematicState(tree, q, v)
    return [x for loop in loops_of(tree) for x in _state_of(state, loop)[1]]


def loop_wrenches(tree: Tree, q: Scalars) -> list[Force]:
    """Return, for each row of the constraint Jacobian, the wrench that a unit constraint force exerts on a frame M.

    M is the moving frame of the loop joint to which the row belongs. The wrench is in coordinates of M, and zero for
    rows of constraints that are not loop joints.
    """
    state = KinematicState(tree, q)
    result: list[Force] = []
    for constraint in tree.constraints:
        if isinstance(constraint, LoopJoint):
            result.extend(constraint.wrenches(state))
        else:
            result.extend(Force.zero() for _ in constraint.component_names)
    return result


def loop_passive_force(tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw = DEFAULT.name) -> list[Any]:
    """Return the forces of springs, damping and friction of the joints that close loops, concatenated."""
    state, result = KinematicState(tree, q, v), list[Any]()
    for loop in loops_of(tree):
        q_spring = spring_configuration(loop, state.between(loop.frame, loop.relative_to).pose)
        result += exerted(body_of(loop), q_spring, _state_of(state, loop)[1], friction)
    return result


def with_loop_forces(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    forces: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the joint forces τ plus those that the forces in loop joints exert on the tree (nv).

    These are the joint forces ``forces``, and with ``passive`` the forces of springs, damping and friction.
    """
    total, state = list(tau), KinematicState(tree, q, v)
    for loop, F in zip(loops_of(tree), loop_motor_wrenches(state, forces, passive, friction), strict=True):
        if F is not None:
            columns = state.between(loop.frame, loop.relative_to).columns
            total = [a + column.dot(F) for a, column in zip(total, columns, strict=True)]
    return total


def loop_motor_wrenches(
    state: KinematicState, forces: Scalars | None, passive: bool, friction: str | FrictionLaw
) -> list[Force | None]:
    """Return, for each joint that closes a loop, the wrench F = S⁺ᵀ τ_J on its frame M, in coordinates of M.

    τ_J are the joint's ``forces`` (nl), and with ``passive`` those of springs, damping and friction. The result is
    None for a joint without such forces.
    """
    result: list[Force | None] = []
    start = 0
    for loop in loops_of(state.tree):
        joint = loop.joint
        torques = [0.0] * joint.nv if forces is None else list(forces[start : start + joint.nv])
        start += joint.nv
        acts = passive and loop.resists
        if joint.nv == 0 or not (acts or forces is not None):
            result.append(None)
            continue
        between = state.between(loop.frame, loop.relative_to)
        q_J = joint.configuration_from_pose(between.pose)
        if acts:
            v_J = joint.velocity_from_twist(q_J, between.twist)
            q_spring = spring_configuration(loop, between.pose)
            torques = [a + b for a, b in zip(torques, exerted(body_of(loop), q_spring, v_J, friction), strict=True)]
        twists = _twist_columns(loop, q_J)
        result.append(Force.of([sum((a * b for a, b in zip(twist, torques, strict=True)), 0.0) for twist in twists]))
    return result


def loop_rows(tree: Tree, q: Scalars, every: bool = False) -> list[ResistingRow]:
    """Return the directions in which springs, dampers and friction of loop joints resist, as rows S⁺ J (nv).

    J is the Jacobian of the joint's frame M relative to F, and S⁺ maps twists to the joint's velocities. A spring
    whose deflection is no integral of these velocities (`has_curved_springs`) has a further row. With ``every``,
    joints that do not resist have rows too, and such springs have none.
    """
    state, result = KinematicState(tree, q), list[ResistingRow]()
    for loop in loops_of(tree):
        if not (every or loop.resists):
            continue
        body, between = body_of(loop), state.between(loop.frame, loop.relative_to)
        nv = loop.joint.nv
        q_J, curved = loop.joint.configuration_from_pose(between.pose), has_curved_springs(body)
        twists = _twist_columns(loop, q_J)
        wrenches = [Force.of([twist[k] for twist in twists]) for k in range(nv)]
        rows = [[column.dot(wrench) for column in between.columns] for wrench in wrenches]
        stiffness = [0.0] * nv if curved else Drive.full(body.drive.stiffness, nv, 0.0)
        each = zip(rows, stiffness, body.damping, body.dry_friction, strict=True)
        result += [ResistingRow(row, loop.name, k, K, D, dry) for k, (row, K, D, dry) in enumerate(each)]
        if curved and not every:
            result += spring_rows(body, q_J, rows)
    return result


def _twist_columns(loop: LoopJoint, q: Scalars) -> list[list[Any]]:
    """Return the six columns of S⁺, the joint's velocities by unit twists, at its configuration q."""
    return [loop.joint.velocity_from_twist(q, Motion.of(unit)) for unit in unit_vectors(6)]


def loop_force_derivatives(
    tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the derivatives of the passive forces of loop joints with respect to q (in the tangent space) and v."""
    zeros = [0.0] * tree.nv
    return force_derivatives(tree, q, v, lambda q, v: with_loop_forces(tree, q, v, zeros, None, True, friction))


def required_force_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    passive: bool,
    friction: str | FrictionLaw,
) -> tuple[list[list[Any]], list[list[Any]], list[list[Any]]]:
    """Return the derivatives of the joint forces that an acceleration a requires, with respect to q, v and a.

    They are derivatives of inverse dynamics, M a + h with the bias force h. Those by q are in the tangent space. The
    passive forces of loop joints are subtracted if ``passive``.
    """
    by_q, by_v, by_a = inverse_dynamics_derivatives(tree, q, v, a, wrenches, passive, friction)
    if passive and any(loop.resists for loop in loops_of(tree)):
        loops_by_q, loops_by_v = loop_force_derivatives(tree, q, v, friction)
        by_q, by_v = add_matrices(by_q, negated(loops_by_q)), add_matrices(by_v, negated(loops_by_v))
    return by_q, by_v, by_a


ROWS = (
    FunctionSpec.of(
        loop_configuration, "q", Output(("nlq",), "rad, m"), "Configurations of the joints that close loops."
    ),
    FunctionSpec.of(loop_velocity, "q v", Output(("nl",), "rad/s, m/s"), "Velocities of the joints that close loops."),
    FunctionSpec.of(
        loop_wrenches,
        "q",
        Output(("nc", 6), "m, 1"),
        "Wrenches of the rows of joints that close loops.",
    ),
    FunctionSpec.of(
        loop_passive_force,
        "q v",
        Output(("nl",), "N·m, N"),
        "Forces of springs, damping and friction of the joints that close loops.",
        options=(FRICTION,),
        needs_passive_forces=True,
    ),
)
