"""Passive forces of joints and of force elements: springs, dampers, bushings, dry friction; armature of joints.

    τ_p = −K φ(q) − D v − F(v),      F the law of dry friction, by default f tanh(v / v_s): see `friction_laws`

Armature is inertia on a joint's own velocities v_j: the rotors have the kinetic energy ½ Σ I_k v_k².  It adds I to the
diagonal of the mass matrix, and Hamel's equations of this energy have the gyroscopic force

    g_i = Σ c_ij^k v_j I_k v_k,      [X_i, X_j] = Σ c_ij^k X_k      (`velocity_brackets`).

g is zero for joints with q̇ = v.  For a ball joint it is ω × I ω.  It does no work.

φ is the deflection of the springs from their rest (`JointType.deflection`).  Where its elements are not angles or
lengths, a spring's force is the gradient of its energy ½ φᵀ K φ along the joint's velocities.  The force of a follower
acts on its master, times the ratio.  Force elements between bodies, of `force_elements`, add to τ_p.
An element exerts a wrench F on a frame B and the opposite one on a frame A.  With the twist V = J v of B relative to A
its joint forces are Jᵀ F.

The brackets c of the fields q̇ = Σ v_i X_i(q) are zero where q̇ = v.  The velocities of a rotation or of a rigid motion
in moving axes have constant brackets, by which Euler's equations differ from Newton's.

Sources: Featherstone and Orin, Robot dynamics: equations and algorithms, ICRA 2000 (armature on the diagonal); Hamel,
Theoretische Mechanik, 1949 (equations in velocities that are not rates of coordinates); Marsden and Ratiu, Introduction
to Mechanics and Symmetry, 2nd ed. 1999 (brackets); Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.11
(power V · F).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.force_elements import ForceElement
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.joints.base.generic_rank import cached_property_of
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.kinematics.algorithms.joint_path import BetweenFrames, SplitState
from linkwork.model.body import Body
from linkwork.model.friction_laws import DEFAULT, DryFriction, FrictionLaw, friction_law
from linkwork.model.function_spec import FRICTION, FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = [
    "ROWS",
    "ResistingRow",
    "added_force",
    "added_force_of_joints",
    "armature",
    "deflection",
    "deflection_rates",
    "dissipated_power",
    "element_dissipation",
    "element_energy",
    "element_forces",
    "element_rows",
    "element_wrenches",
    "exerted",
    "force_element_wrenches",
    "gyroscopic_force",
    "gyroscopic_of",
    "has_curved_springs",
    "passive_force",
    "passive_force_of_joints",
    "resisting_force",
    "spring_energy",
    "spring_rows",
]

Scalars = Sequence[Any]


def passive_force(tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw = DEFAULT.name) -> list[Any]:
    """Return τ_p (nv), the joint forces of springs, damping and friction, and of force elements between bodies."""
    result = passive_force_of_joints(tree, q, v, friction)
    if not tree.force_elements:
        return result
    return [a if is_zero(b) else a + b for a, b in zip(result, element_forces(tree, q, v), strict=True)]


def passive_force_of_joints(
    tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw = DEFAULT.name
) -> list[Any]:
    """Return τ_p (nv) without force elements: the force of each joint depends on its own state only."""
    q, v = tree.split_q(q), tree.split_v(v)
    return tree.gathered({i: exerted(body, q[i], v[i], friction) for i, _, body in tree.outward()})


def resisting_force(tree: Tree, v: Scalars, friction: str | FrictionLaw = DEFAULT.name) -> list[Any]:
    """Return −R(v) (nv), the joint forces of damping and friction; each depends on its own element of v only."""
    split = tree.split_v(v)
    forces = {i: [body.ratio * x for x in _resisted(body, split[i], friction)] for i, _, body in tree.outward()}
    return tree.gathered(forces)


def added_force(tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw = DEFAULT.name) -> list[Any]:
    """Return the joint forces (nv) that ``passive=True`` adds, apart from the inertia of the armature.

    They are the passive forces minus the gyroscopic forces of the armature.
    """
    return _less(passive_force(tree, q, v, friction), gyroscopic_force(tree, q, v))


def added_force_of_joints(tree: Tree, q: Scalars, v: Scalars, friction: str | FrictionLaw) -> list[Any]:
    """Return the passive forces of joints minus the gyroscopic forces of their armature (nv), without force elements.

    The force of each joint depends on its own state only.
    """
    return _less(passive_force_of_joints(tree, q, v, friction), gyroscopic_force(tree, q, v))


def _less(a: Scalars, b: Scalars) -> list[Any]:
    return [x if is_zero(y) else x - y for x, y in zip(a, b, strict=True)]


def gyroscopic_force(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return g (nv), the gyroscopic force of the joints' armature."""
    q, v = tree.split_q(q), tree.split_v(v)
    return tree.gathered({i: gyroscopic_of(body, body.armature, q[i], v[i]) for i, _, body in tree.outward()})


def gyroscopic_of(body: Body, rotors: Scalars, q: Scalars, v: Scalars) -> list[Any]:
    """Return the gyroscopic force of ``rotors``, as armature of a body's joint, at its q and v in the tree."""
    result, terms = [0.0] * body.joint.nv, dict[tuple[int, int, int], Any]()
    if all(map(is_zero, rotors)):
        return result
    brackets = velocity_brackets(body.joint, q if body.coupling is None else body.coupling.q(q))
    for (i, j, k), c in brackets.items():
        key = (i, min(j, k), max(j, k))
        terms[key] = terms.get(key, 0.0) + c * rotors[k]
    for (i, j, k), x in terms.items():
        if not is_zero(x):
            result[i] = result[i] + x * (v[j] * v[k])
    return result


def armature(tree: Tree) -> list[Any]:
    """Return the armature (nv), which adds to the diagonal of the mass matrix."""
    return tree.gathered({i: body.armature for i, _, body in tree.outward()})


def dissipated_power(body: Body, v: Scalars, friction: str | FrictionLaw) -> Any:
    """Return the power that damping and friction of a body's joint dissipate [W], never negative.

    v is the joint's velocity in the tree, its master's if it follows one.
    """
    v_joint = v if body.coupling is None else body.coupling.v(v)
    return sum((-(x * f) for x, f in zip(v_joint, _resisted(body, v, friction), strict=True)), 0.0)


def spring_energy(body: Body, q: Scalars) -> Any:
    """Return the energy ½ φᵀ K φ of the springs in a body's joint [J], at its configuration q in the tree."""
    stiffness, phi = _stretched(body, q)
    return sum((0.5 * k * x * x for k, x in zip(stiffness, phi, strict=True) if not is_zero(k)), 0.0)


def exerted(body: Body, q: Scalars, v: Scalars, friction: str | FrictionLaw) -> list[Any]:
    """Return the forces of springs, damping and friction of a body's joint, at its q and v in the tree."""
    coupling, result = body.coupling, _resisted(body, v, friction)
    stiffness, phi = _stretched(body, q)
    if stiffness:
        pull = [k * x for k, x in zip(stiffness, phi, strict=True)]
        for k, rates in enumerate(deflection_rates(body, q)):
            result[k] = result[k] - sum((a * b for a, b in zip(rates, pull, strict=True)), 0.0)
    return result if coupling is None else [x * coupling.ratio for x in result]


def deflection(body: Body, q: Scalars) -> list[Any]:
    """Return the deflection φ (nv) of the springs in a body's joint, at its configuration q in the tree."""
    result: list[Any] = body.call_joint("deflection", _rest(body), _joint_configuration(body, q))
    return result


def deflection_rates(body: Body, q: Scalars) -> list[list[Any]]:
    """Return the rate φ̇ of the springs' deflection for each unit velocity of a body's joint, at its q in the tree."""
    arguments = _rest(body), _joint_configuration(body, q)
    return [body.call_joint("deflection_rate", *arguments, unit) for unit in unit_vectors(body.joint.nv)]


def has_curved_springs(body: Body) -> bool:
    """Return True if a body's joint has springs whose deflections φ have rates φ̇ other than its velocities."""
    return body.joint.nv > 1 and not all(map(is_zero, body.drive.stiffness)) and not is_plain(body.joint)


def spring_rows(body: Body, q: Scalars, rows: Sequence[Scalars]) -> list[ResistingRow]:
    """Return a `ResistingRow` for each spring of a joint: the rate φ̇ of its deflection by the robot's v (nv).

    q is the joint's own configuration. ``rows`` map the robot's velocities to those of the joint.
    """
    columns, result = [*zip(*rows, strict=True)], []
    for k, rates in enumerate(zip(*deflection_rates(body, q), strict=True)):
        row = [dot(rates, column) for column in columns]
        result.append(ResistingRow(row, body.joint_name, k, body.drive.stiffness[k], 0.0))
    return result


def _resisted(body: Body, v: Scalars, friction: str | FrictionLaw) -> list[Any]:
    """Return the forces of damping and friction along the joint's own velocities."""
    v_joint = v if body.coupling is None else body.coupling.v(v)
    result = [0.0] * body.joint.nv
    if body.dynamics != "none":
        law = friction_law(friction)
        for k, (x, dry) in enumerate(zip(v_joint, body.dry_friction, strict=True)):
            if not is_zero(body.damping[k]):
                result[k] = result[k] - x * body.damping[k]
            if not law.vanishes(dry):
                result[k] = result[k] - law.resistance(x, dry)
    return result


def _stretched(body: Body, q: Scalars) -> tuple[tuple[Any, ...], list[Any]]:
    """Return the stiffness of a joint's springs and their deflection φ; () and [] without springs."""
    stiffness = body.drive.stiffness
    return ((), []) if all(map(is_zero, stiffness)) else (stiffness, deflection(body, q))


def _joint_configuration(body: Body, q: Scalars) -> Scalars:
    """Return the joint's own configuration, from that of its master if it follows another joint."""
    return q if body.coupling is None else body.coupling.q(q)


def _rest(body: Body) -> list[Any]:
    return [*body.drive.rest] or body.call_joint("zero")


Brackets = Mapping[tuple[int, int, int], Any]  # c_ij^k by (i, j, k), without zeros

_SAMPLES = 4
_SAME = 1e-9  # accepted difference between configurations of brackets that count as constant


def velocity_brackets(joint: JointType, q: Sequence[Any]) -> Brackets:
    """Return the structure coefficients c_ij^k of the Lie brackets of a joint's velocity fields at q.

    They are defined by [X_i, X_j] = Σ c_ij^k X_k for q̇ = Σ v_i X_i(q). If they are the same at every q, they are
    floats.
    """
    constant: Brackets | None = cached_property_of(joint, _constant) if joint.nv > 1 else {}
    return _brackets(joint, q) if constant is None else constant


def _constant(joint: JointType) -> Brackets | None:
    """Return the structure coefficients of a joint's velocities if equal at random configurations, else None."""
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
    each = [_brackets(joint, q) for q in drawn]
    keys = sorted({key for row in each for key in row})
    values = np.array([[float(row.get(key, 0.0)) for key in keys] for row in each])
    if values.size and np.ptp(values, axis=0).max() > _SAME * max(1.0, float(np.abs(values).max())):
        return None
    mean = values.mean(axis=0).round(12).tolist()
    return {key: c for key, c in zip(keys, mean, strict=True) if c}


def _brackets(joint: JointType, q: Sequence[Any]) -> Brackets:
    fields = [joint.q_dot(q, unit) for unit in unit_vectors(joint.nv)]
    result: dict[tuple[int, int, int], Any] = {}
    for i, field in enumerate(fields):
        moving = seeded(q, field)
        for j, unit in enumerate(unit_vectors(joint.nv)):
            along = [parts(x, moving[0].level)[1] for x in joint.q_dot(moving, unit)]  # the derivative of X_j along X_i
            for k, x in enumerate(joint.velocity_from_rate(q, along) if i != j else ()):
                for key, c in (((i, j, k), x), ((j, i, k), -x)):
                    result[key] = result[key] + c if key in result else c
    return result


def element_forces(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return the joint forces Σ Jᵀ F (nv) of all force elements."""
    total: list[Any] = [0.0] * tree.nv
    for element, between in _placed(tree, q, v):
        F = _exerted(tree, element, between)
        total = [a + column.dot(F) for a, column in zip(total, between.columns, strict=True)]
    return total


class ResistingRow(NamedTuple):
    """Direction in which springs, dampers and dry friction resist, as a row r (nv) of joint velocities.

    ``owner`` is the name of the force element, or of the joint that closes a loop, and ``component`` counts its rows.
    """

    row: list[Any]
    owner: str
    component: int
    stiffness: Any
    damping: Any
    friction: DryFriction | None = None


def element_rows(tree: Tree, q: Scalars) -> list[ResistingRow]:
    """Return the directions in which force elements resist motion, as rows Jᵀ w (nv) of joint velocities.

    w is the wrench of an element along one direction, and J the Jacobian of its frame B relative to its frame A.
    """
    result = []
    for element, between in _placed(tree, q, None):
        for k, (wrench, stiffness, damping) in enumerate(element.resistances(tree, between.pose)):
            result.append(ResistingRow([x.dot(wrench) for x in between.columns], element.name, k, stiffness, damping))
    return result


def element_wrenches(tree: Tree, q: Scalars, v: Scalars) -> Wrenches:
    """Return the wrenches of all force elements on the frames at their ends.

    They have the form of external wrenches: (frame, axes, components).  Ends fixed to the world are left out.
    """
    result = []
    for element, between in _placed(tree, q, v):
        (B, A), F = element.ends(tree), _exerted(tree, element, between)
        result += [(B, B, [*F.elements()]), (A, A, [*(-(between.pose @ F)).elements()])]
    return [wrench for wrench in result if tree.frame(wrench[0]).body >= 0]


def force_element_wrenches(tree: Tree, q: Scalars, v: Scalars) -> list[Force]:
    """Return the wrench F of each force element on its frame B, at B's origin in B's axes (number of elements, 6)."""
    return [_exerted(tree, element, between) for element, between in _placed(tree, q, v)]


def element_energy(tree: Tree, q: Scalars) -> Any:
    """Return the energy of the springs of all force elements [J]."""
    return sum((element.energy(tree, between.pose) for element, between in _placed(tree, q, None)), 0.0)


def element_dissipation(tree: Tree, q: Scalars, v: Scalars) -> Any:
    """Return the power that the dampers of all force elements dissipate [W], never negative."""
    result: Any = 0.0
    for element, between in _placed(tree, q, v):
        result = result - between.twist.dot(element.damper_wrench(tree, between.pose, between.twist))
    return result


def _placed(tree: Tree, q: Scalars, v: Scalars | None) -> Iterator[tuple[ForceElement, BetweenFrames]]:
    state = SplitState.of(tree, q, v)
    for element in tree.force_elements:
        yield element, BetweenFrames(state, *element.ends(tree))


def _exerted(tree: Tree, element: ForceElement, between: BetweenFrames) -> Force:
    X, V = between.pose, between.twist
    return element.spring_wrench(tree, X) + element.damper_wrench(tree, X, V)


ROWS = (
    FunctionSpec.of(
        passive_force,
        "q v",
        Output(("nv",), "N·m, N"),
        "Joint forces of springs, damping and dry friction.",
        options=(FRICTION,),
        needs_passive_forces=True,
    ),
    FunctionSpec.of(
        force_element_wrenches,
        "q v",
        Output(("nfe", 6), "N·m, N"),
        "Wrenches of the force elements.",
    ),
)
