"""Which constraints' forces dynamics tells, and which it leaves open.

Where rows depend on each other, forces μ with Gᵀ μ = 0 do nothing to the robot, and may be added to λ.  A row's force
is one number if no such μ has a part there.  What C = (A + E)⁻¹ E of `linkwork.expr.linalg.semidefinite_solve` leaves
as it is are these μ, so that the diagonal of C² tells a row's share in them.

Source: Wojtyra, Joint reactions in rigid body mechanisms with dependent constraints, Mech. Mach. Theory 44, 2009.

The power of what constraints exert, λᵀ G v: part of the power balance of a robot with constraints,

    d/dt (T + U) = vᵀ τ + Σ w · V − D + λᵀ G v.

It is zero along every motion of constraints that do not depend on time, G v = 0, and −λᵀ σ of those that do.

Source: Lanczos, The Variational Principles of Mechanics, 4th ed., 1970, chapter I (scleronomic and rheonomic).

Joint wrenches (reactions) of robots with constraints: of joints of the tree, and of those that close loops.

A free joint that does not move is inserted behind a joint of the tree (`insert_free_joint`).  The wrench that it would
have to exert is the wrench across the joint.  With the rows G′ of the constraints and the wrenches F of what
closes loops in this wider tree, and w₀ the wrench that bodies and what acts on them from outside take,

    w = w₀ − G′ᵀ λ − J′ᵀ F,

of the six velocities of the wider tree that the opened joint adds.  A constraint between numbers of joints alone, as of
gears, has no such columns: its force acts in the joints, and goes through them as a motor's does.  A joint that closes
a loop transmits the wrenches W of its own rows, and what a motor, a spring or friction in it exerts: Σ λ W + S⁺ᵀ τ_J.

λ is given, or follows from inverse dynamics with the joints that are actuated.  Where rows depend on each other λ is
one of many, μ with Gᵀ μ = 0 being what may be added: the least, Σ Λ_ii λ_i² with Λ = G M⁻¹ Gᵀ.  A component g·λ of a
joint's wrench is unique if g·μ = 0 for all such μ.

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
from linkwork.expr.scalar.functions import eq, sqrt
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_forward_dynamics
from linkwork.mechanisms.algorithms.constrained_inertia import at_rest
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names, asked_for
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import (
    loop_motor_wrenches,
    loop_wrenches,
    loops_of,
    with_loop_forces,
)
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import ACTUATORS, PASSIVE, SMOOTH_FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import insert_free_joint
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
    """How much of each row's force is left open (nc): 0 where there is one force, up to 1 where it does nothing."""
    held = at_rest(tree, q, time)
    result: list[Any] = [1.0] * len(held.rates.rows)
    for k in held.factors.order:
        told = held.factors.least([1.0 if i == k else 0.0 for i in range(len(result))])
        result[k] = 1.0 - told[k]
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
    """λᵀ G v [W], with what the constraints exert under joint forces τ."""
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
    """w (6), (moment; force) [N·m, N]: what a joint's parent exerts on its child, at the origin and in the axes of M.

    ``forces`` λ (nc) [N, N·m] are those of the constraints' rows, as `constrained_forward_dynamics` has them; with
    ``passive`` springs, damping and friction of the joints that close loops count.  Raises UnknownNameError.
    """
    w = Force.of(joint_wrenches(tree, q, v, a, wrenches, passive=passive)[tree.joint_index(joint)])
    if not tree.constraints:
        return list(w.elements())
    (borne,) = _borne(tree, [joint], q, v, forces, None, time, passive, friction)
    return list((w - borne).elements())


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
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """w (nb, 6) as `joint_wrenches` has it, with what constraints exert on the bodies behind each joint."""
    given = constraint_forces, loop_forces, time, actuators, passive, friction
    result = [[w] for w in _across(tree, q, v, a, wrenches, *given)]
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
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Joint forces and internal forces (nb, 6 each) as `joint_wrench_components` has them, with constraints."""
    given = constraint_forces, loop_forces, time, actuators, passive, friction
    return split_wrenches(tree, q, _across(tree, q, v, a, wrenches, *given), on, expressed_in)


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
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """w (number of loops, 6): what F exerts on M through each joint that closes a loop, at M's origin in M's axes.

    On the parent it is the reaction −w at the origin and in the axes of F; ``expressed_in`` gives other axes.
    """
    forces = _forces(tree, q, v, a, wrenches, constraint_forces, loop_forces, time, actuators, passive, friction)
    state, held = KinematicState(tree, q, v), dict[str, Force]()
    rows = iter(zip(loop_wrenches(tree, q), forces, strict=True))
    for constraint in tree.constraints:
        found = [next(rows) for _ in constraint.component_names]
        held[constraint.name] = sum((W * force for W, force in found if not is_zero(force)), Force.zero())
    result = []
    for loop, motor in zip(loops_of(tree), loop_motor_wrenches(state, loop_forces, passive, friction), strict=True):
        w = held[loop.name] if motor is None else held[loop.name] + motor
        side = loop.frame
        if on == "parent":
            side = loop.relative_to
            w = -(state.between(loop.frame, loop.relative_to).pose @ w)
        if expressed_in is not None:
            w = turned_wrench(state.pose(side, expressed_in).rotation, w)
        result.append(w.elements())
    return result


def joint_wrench_indeterminacy(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[list[Any]]:
    """How much of each joint wrench, in the axes of M, dynamics leaves open (nb, 6): 0 where it is unique.

    Row k of λ is counted in 1/√Λ_kk, with Λ_kk as it would be without cancellation.  A component g·λ gets
    ‖(1 − T)ᵀ g‖ / ‖g‖ of that measure, T taking away the part
    of λ in the null space of Gᵀ, and ‖g‖ being that of the three components of its moment, or of its force.
    """
    held = at_rest(tree, q, time)
    count = len(held.rates.rows)
    told = [[0.0] * count for _ in range(count)]  # T by columns; rows that are zero determine no force
    for k in held.factors.order:
        told[k] = held.factors.least([1.0 if i == k else 0.0 for i in range(count)])
    unit = [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) for x in held.sizes]  # squares of the measure
    names = [body.joint_name for body in tree.bodies]
    rows = _opened_rows(tree, names, q, [0.0] * tree.nv, 0.0 if time is None else time[0])[0]
    result = []
    for i in range(len(names)):
        columns = [[row[6 * i + c] for row in rows] for c in range(6)]
        lengths = [_square(g, unit) for g in columns]
        shares = []
        for c, g in enumerate(columns):
            left = [x - dot(T, g) for x, T in zip(g, told, strict=True)]
            first = 3 * (c // 3)
            whole = lengths[first] + lengths[first + 1] + lengths[first + 2]
            share = 0.0 if is_zero(whole) else _square(left, unit) * reciprocal_or_zero(whole, eq(whole, 0.0))
            shares.append(0.0 if is_zero(share) else sqrt(share))
        result.append(shares)
    return result


def _square(g: Scalars, unit: Scalars) -> Any:
    """‖g‖² in the measure of constraint forces."""
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
    """By body: what its parent exerts on it through the joint, in the joint's frame M."""
    forces = _forces(tree, q, v, a, wrenches, constraint_forces, loop_forces, time, actuators, passive, friction)
    taken = map(Force.of, joint_wrenches(tree, q, v, a, wrenches, passive=passive))
    names = [body.joint_name for body in tree.bodies]
    borne = _borne(tree, names, q, v, forces, loop_forces, 0.0 if time is None else time[0], passive, friction)
    return [w - other for w, other in zip(taken, borne, strict=True)]


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
    """λ (nc): the forces that are given, or those of inverse dynamics with the actuators."""
    if constraint_forces is not None:
        return list(constraint_forces)
    if not tree.constraints:
        return []
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    wanted = asked_for(tree, q, v, a, wrenches, passive, loop_forces, friction)
    return Actuation.at(tree, q, rates, actuators, None).split(wanted)[1]


def _borne(
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
    """By joint: the wrench of constraints and of what acts in loops on all that hangs behind it, at M in M's axes."""
    rows, own = _opened_rows(tree, joints, q, v, time, loop_forces, passive, friction)
    total = own
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
    """G′ (nc, 6 × joints) of the tree with these joints opened, and J′ᵀ F (6 × joints) of what acts in loops."""
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
        "How much of each constraint force dynamics leaves open.",
        optional=("time",),
        joint_space=True,
        requires_regular_coordinates=True,
    ),
    FunctionSpec.of(
        constraint_power,
        "q v tau",
        Output((), "W"),
        "Power of what constraints exert.",
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
        options=(*SIDE, ACTUATORS, PASSIVE, SMOOTH_FRICTION),
        takes_wrenches=True,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        joint_wrench_indeterminacy,
        "q",
        Output(("nb", 6), "1"),
        "How much of each joint wrench dynamics leaves open.",
        optional=("time",),
        needs_body_inertia=True,
        requires_regular_coordinates=True,
    ),
)
