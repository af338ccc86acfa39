"""Constraint forces and joint reaction wrenches: uniqueness, power, and reactions of tree joints and loop joints.

Uniqueness: if rows are redundant, forces μ with Gᵀ μ = 0 have no effect on the robot and can be added to λ.  The force
of a row is unique if it is zero in all such μ.  These μ are the fixed vectors of C = (A + E)⁻¹ E of
`linkwork.expr.linalg.semidefinite_solve`, so the diagonal of C² measures how much each row takes part in them.

Source: Wojtyra, Joint reactions in rigid body mechanisms with dependent constraints, Mech. Mach. Theory 44, 2009.

Power of the constraint forces, λᵀ G v, a term of the power balance

    d/dt (T + U) = vᵀ τ + Σ w · V − D + λᵀ G v.

It is zero for constraints that do not depend on time, G v = 0, and −λᵀ σ for those that do.

Source: Lanczos, The Variational Principles of Mechanics, 4th ed., 1970, chapter I (scleronomic and rheonomic).

Joint wrenches (reactions): a free joint at rest is inserted behind a joint of the tree (`insert_free_joint`).  The
wrench that it would have to exert is the wrench across the joint.  With the rows G′ of the constraints and the wrenches
F of loop joints in the extended tree, and the wrench w₀ of inertia and external forces,

    w = w₀ − G′ᵀ λ − J′ᵀ F,

in the six velocities that the inserted joint adds.  A constraint between joint coordinates only, such as a gear, has no
such columns: its force acts in the joints, like that of a motor.  A joint that closes a loop transmits the wrenches W
of its rows, and the forces of its motor, springs and friction: Σ λ W + S⁺ᵀ τ_J.

λ is an argument, or follows from inverse dynamics with the actuated joints.  If rows are redundant, λ minimises
Σ Λ_ii λ_i² with Λ = G M⁻¹ Gᵀ.  A component g·λ of a joint wrench is unique if g·μ = 0 for all μ with Gᵀ μ = 0.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 5.3 and 8.5; Wojtyra, Joint reactions in rigid
body mechanisms with dependent constraints, Mech. Mach. Theory 44, 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.joint_wrenches import (
    SIDE,
    joint_wrenches,
    split_wrenches,
    turned_wrench,
    wrenches_in,
)
from linkwork.expr.linalg.sparse_dot import dot, is_zero, reciprocal_or_zero
from linkwork.expr.scalar.functions import eq, sqrt, where
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_forward_dynamics
from linkwork.mechanisms.algorithms.constrained_inertia import at_rest
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names, required_forces
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import (
    loop_motor_wrenches,
    loop_wrenches,
    loops_of,
    with_loop_forces,
)
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import (
    ACTUATORS,
    PASSIVE,
    PASSIVE_BY_DEFAULT,
    SMOOTH_FRICTION,
    FunctionSpec,
    Output,
)
from linkwork.model.inserted_joints import insert_free_joint
from linkwork.model.tree import Tree
from linkwork.spatial import Force

__all__ = [
    "ROWS",
    "constrained_joint_wrench",
    "constrained_joint_wrench_split",
    "constrained_joint_wrenches",
    "constraint_force_indeterminacy",
    "loop_joint_wrenches",
]


Scalars = Sequence[Any]


def constraint_force_indeterminacy(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """Return the indeterminacy of each constraint force (nc), from 0 (unique) to 1 (no effect on the robot)."""
    system = at_rest(tree, q, time)
    result: list[Any] = [1.0] * len(system.rates.rows)
    for k in system.factors.order:
        unique = system.factors.least([1.0 if i == k else 0.0 for i in range(len(result))])
        result[k] = 1.0 - unique[k]
    return result


def constraint_power(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> Any:
    """Return the power λᵀ G v [W] of the constraint forces λ under joint forces τ; G is the constraint Jacobian."""
    _, forces = constrained_forward_dynamics(tree, q, v, tau, wrenches, time, passive=passive, friction=friction)
    rows = rates_of(tree, q, v, 0.0 if time is None else time[0]).rows
    return dot(forces, [dot(row, v) for row in rows])


def constrained_joint_wrench(
    tree: Tree,
    joint: str,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    wrenches: Wrenches = (),
    time: Any = 0.0,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the wrench (6) (moment; force) [N·m, N] of a joint's parent on its child.

    It is at the origin and in the axes of the joint's moving frame M. ``forces`` λ (nc) [N, N·m] are the constraint
    forces, as from `constrained_forward_dynamics`. With ``passive`` springs, damping and friction of loop joints are
    included. Raises UnknownNameError.
    """
    w = Force.of(joint_wrenches(tree, q, v, a, wrenches, passive=passive)[tree.joint_index(joint)])
    if not tree.constraints:
        return list(w.elements())
    (carried,) = _carried(tree, [joint], q, v, forces, None, time, passive, friction)
    return list((w - carried).elements())


def constrained_joint_wrenches(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    constraint_forces: Scalars | None = None,
    loop_forces: Scalars | None = None,
    time: Scalars | None = None,
    on: str = "child",
    expressed_in: str | None = None,
    actuators: Names = None,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the wrenches (nb, 6) for `joint_wrenches`, including constraint forces on the bodies behind each joint."""
    options = constraint_forces, loop_forces, time, actuators, passive, friction
    result = [[w] for w in _across(tree, q, v, a, wrenches, *options)]
    return [w.elements() for (w,) in wrenches_in(tree, q, result, on, expressed_in)]


def constrained_joint_wrench_split(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    constraint_forces: Scalars | None = None,
    loop_forces: Scalars | None = None,
    time: Scalars | None = None,
    on: str = "child",
    expressed_in: str | None = None,
    actuators: Names = None,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Return joint forces and internal forces (nb, 6 each) for `joint_wrench_components`, with constraints."""
    options = constraint_forces, loop_forces, time, actuators, passive, friction
    return split_wrenches(tree, q, _across(tree, q, v, a, wrenches, *options), on, expressed_in)


def loop_joint_wrenches(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    constraint_forces: Scalars | None = None,
    loop_forces: Scalars | None = None,
    time: Scalars | None = None,
    on: str = "child",
    expressed_in: str | None = None,
    actuators: Names = None,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the wrench (nloops, 6) that acts through each loop joint from its frame F on its frame M.

    It is at the origin and in the axes of M. For ``on="parent"`` it is the reaction −w at the origin and in the axes
    of F; ``expressed_in`` selects other axes.
    """
    forces = _forces(tree, q, v, a, wrenches, constraint_forces, loop_forces, time, actuators, passive, friction)
    state, transmitted = KinematicState(tree, q, v), dict[str, Force]()
    rows = iter(zip(loop_wrenches(tree, q), forces, strict=True))
    for constraint in tree.constraints:
        components = [next(rows) for _ in constraint.component_names]
        transmitted[constraint.name] = sum((W * force for W, force in components if not is_zero(force)), Force.zero())
    result = []
    for loop, motor in zip(loops_of(tree), loop_motor_wrenches(state, loop_forces, passive, friction), strict=True):
        w = transmitted[loop.name] if motor is None else transmitted[loop.name] + motor
        side = loop.frame
        if on == "parent":
            side = loop.relative_to
            w = -(state.between(loop.frame, loop.relative_to).pose @ w)
        if expressed_in is not None:
            w = turned_wrench(state.pose(side, expressed_in).rotation, w)
        result.append(w.elements())
    return result


def joint_wrench_indeterminacy(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[list[Any]]:
    """Return the indeterminacy of each component of the joint wrenches (nb, 6) in the axes of M: 0 if it is unique.

    A component of a wrench is g·λ, a linear function of the constraint forces λ. Each λ_k is measured in units of
    1/√Λ_kk, with the Delassus matrix Λ, whose diagonal is computed without cancellation. The indeterminacy is ‖(1 −
    T)ᵀ g‖ / ‖g‖ in this measure. T removes the part of λ in the null space of Gᵀ, with the constraint Jacobian G, and
    ‖g‖ is the norm over all three components of the moment, or of the force.
    """
    system = at_rest(tree, q, time)
    count = len(system.rates.rows)
    T_columns = [[0.0] * count for _ in range(count)]  # columns of T; zero rows determine no force
    for k in system.factors.order:
        T_columns[k] = system.factors.least([1.0 if i == k else 0.0 for i in range(count)])
    unit = [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) for x in system.sizes]  # squared units
    names = [body.joint_name for body in tree.bodies]
    rows = _opened_rows(tree, names, q, [0.0] * tree.nv, 0.0 if time is None else time[0])[0]
    result = []
    for i in range(len(names)):
        columns = [[row[6 * i + c] for row in rows] for c in range(6)]
        lengths = [_square(g, unit) for g in columns]
        shares = []
        for c, g in enumerate(columns):
            left = [x - dot(T, g) for x, T in zip(g, T_columns, strict=True)]
            first = 3 * (c // 3)
            whole = lengths[first] + lengths[first + 1] + lengths[first + 2]
            share = 0.0 if is_zero(whole) else _square(left, unit) * reciprocal_or_zero(whole, eq(whole, 0.0))
            unique = eq(share, 0.0)  # where the derivative of the root is 0
            shares.append(0.0 if is_zero(share) else where(unique, 0.0, sqrt(where(unique, 1.0, share))))
        result.append(shares)
    return result


def _square(g: Scalars, unit: Scalars) -> Any:
    """Return Σ g_k² u_k, with g_k the derivative of a wrench component by the constraint force λ_k, and u = ``unit``.

    It is ‖g‖² when each constraint force λ_k is measured in units of √u_k.
    """
    return sum((x * x * u for x, u in zip(g, unit, strict=True) if not (is_zero(x) or is_zero(u))), 0.0)


def _across(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    constraint_forces: Scalars | None,
    loop_forces: Scalars | None,
    time: Scalars | None,
    actuators: Names,
    passive: bool,
    friction: str | FrictionLaw,
) -> list[Force]:
    """Return, for each body, the wrench of its parent on it through the joint between them, in the joint's frame M."""
    forces = _forces(tree, q, v, a, wrenches, constraint_forces, loop_forces, time, actuators, passive, friction)
    total = map(Force.of, joint_wrenches(tree, q, v, a, wrenches, passive=passive))
    names = [body.joint_name for body in tree.bodies]
    carried = _carried(tree, names, q, v, forces, loop_forces, 0.0 if time is None else time[0], passive, friction)
    return [w - wrench for w, wrench in zip(total, carried, strict=True)]


def _forces(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    constraint_forces: Scalars | None,
    loop_forces: Scalars | None,
    time: Scalars | None,
    actuators: Names,
    passive: bool,
    friction: str | FrictionLaw,
) -> list[Any]:
    """Return the constraint forces λ (nc): ``constraint_forces``, or if None the forces of inverse dynamics.

    Inverse dynamics uses the joints ``actuators``.
    """
    if constraint_forces is not None:
        return list(constraint_forces)
    if not tree.constraints:
        return []
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    total = required_forces(tree, q, v, a, wrenches, passive, loop_forces, friction)
    return Actuation.at(tree, q, rates, actuators, None).split(total)[1]


def _carried(
    tree: Tree,
    joints: Sequence[str],
    q: Scalars,
    v: Scalars,
    forces: Scalars,
    loop_forces: Scalars | None,
    time: Any,
    passive: bool,
    friction: str | FrictionLaw,
) -> list[Force]:
    """Return, by joint, the wrench of constraints and loop joints on the subtree behind it, at M in the axes of M."""
    rows, opened = _opened_rows(tree, joints, q, v, time, loop_forces, passive, friction)
    total = opened
    for row, force in zip(rows, forces, strict=True):
        if not is_zero(force):
            total = [x if is_zero(g) else x + g * force for x, g in zip(total, row, strict=True)]
    return [Force.of(total[6 * k : 6 * k + 6]) for k in range(len(joints))]


def _opened_rows(
    tree: Tree,
    joints: Sequence[str],
    q: Scalars,
    v: Scalars,
    time: Any,
    loop_forces: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[list[Any]], list[Any]]:
    """Return the constraint Jacobian G′ (nc, 6 × joints) for motions of six free joints, one behind each named joint.

    The second result is J′ᵀ F (6 × joints): the effect of the forces of loop joints on these motions.
    """
    wide, wide_q, wide_v = tree, list(q), list(v)
    for joint in joints:
        wide = insert_free_joint(wide, joint)
        wide_q += wide.bodies[wide.joint_index(joint) + 1].joint.zero()
        wide_v += [0.0] * 6
    rows = [row[tree.nv :] for row in rates_of(wide, wide_q, wide_v, time).rows]
    return rows, with_loop_forces(wide, wide_q, wide_v, [0.0] * wide.nv, loop_forces, passive, friction)[tree.nv :]


ROWS = (
    FunctionSpec.of(
        constraint_force_indeterminacy,
        "q",
        Output(("nc",), "1"),
        "Indeterminacy of each constraint force.",
        optional=("time",),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        constraint_power,
        "q v tau",
        Output((), "W"),
        "Power of the constraint forces.",
        optional=("gravity", "time"),
        options=(PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        loop_joint_wrenches,
        "q v a",
        Output(("nloops", 6), "N·m, N"),
        "Wrenches across the joints that close loops.",
        optional=("gravity", "constraint_forces", "loop_forces", "time"),
        options=(*SIDE, ACTUATORS, PASSIVE_BY_DEFAULT, SMOOTH_FRICTION),
        takes_wrenches=True,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        joint_wrench_indeterminacy,
        "q",
        Output(("nb", 6), "1"),
        "Indeterminacy of each joint wrench.",
        optional=("time",),
        needs_body_inertia=True,
        requires_regular_coordinates=True,
    ),
)
