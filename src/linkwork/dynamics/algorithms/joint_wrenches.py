"""Wrenches across joints by the recursive Newton-Euler algorithm (RNEA), and static joint forces of wrenches.

w of a moving body is the wrench that its parent exerts on it through the joint: it moves the body and all bodies behind
it.  Sᵀ w is the joint's force, whatever exerts it; the joint's mounting bears the rest.  Robots with constraints have
their own functions, in `linkwork.mechanisms.algorithms.constraint_forces`, which include the constraints' forces.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 3.5 and 5.3.

Static forces: a wrench on a body propagates inward from body to body, and each joint's force is Sᵀ times the wrench.
The inverse problem Jᵀ w = τ is solved for w by the pseudoinverse: w of least norm that minimises ‖Jᵀ w − τ‖.

Sources: Craig, Introduction to Robotics, 3rd edition, 2005, sections 5.9 and 5.10 (static forces); Khatib, IEEE J. of
Robotics and Automation 3, 1987 (the wrench of joint forces).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.inverse_dynamics import carried_wrenches
from linkwork.dynamics.algorithms.passive_joint_forces import element_wrenches
from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.linalg.singular_values import Pseudoinverse
from linkwork.expr.linalg.sparse_dot import dot, is_zero, rows_of, subtract_dot
from linkwork.joints.base.from_transform import Span
from linkwork.kinematics.algorithms.jacobians import jacobian
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import (
    ACTUATORS,
    PASSIVE_BY_DEFAULT,
    SMOOTH_FRICTION,
    FunctionSpec,
    Option,
    Output,
    frame_options,
)
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Pose, Rotation

__all__ = [
    "ROWS",
    "SIDE",
    "joint_wrench_components",
    "joint_wrenches",
    "split_wrenches",
    "turned_wrench",
    "with_elements",
    "wrenches_in",
]


Scalars = Sequence[Any]


def joint_wrenches(
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
    actuators: str | Sequence[str] | None = None,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> list[Any]:
    """Return the wrench w (nb, 6) that each body receives from its parent body through the joint.

    w is at the origin of the joint's frame M, in M's axes or in the axes of ``expressed_in``. With ``on="parent"`` the
    result is the reaction −w on the parent, at the origin of the joint's frame F. ``constraint_forces``,
    ``loop_forces``, ``time``, ``actuators`` and ``friction`` only matter for robots with constraints.
    """
    w = [[F] for F in _across(tree, q, v, a, with_elements(tree, q, v, wrenches, passive))]
    return [F.elements() for (F,) in wrenches_in(tree, q, w, on, expressed_in)]


def joint_wrench_components(
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
    actuators: str | Sequence[str] | None = None,
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Return the joint force and the internal force of every joint (nb, 6 each), whose sum is the wrench w across it.

    The joint force is w projected onto the span of the motion subspace S.
    """
    acting = with_elements(tree, q, v, wrenches, passive)
    return split_wrenches(tree, q, _across(tree, q, v, a, acting), on, expressed_in)


def with_elements(tree: Tree, q: Scalars, v: Scalars, wrenches: Wrenches, passive: bool) -> Wrenches:
    """Return external wrenches, including the wrenches of force elements if ``passive``."""
    return [*wrenches, *element_wrenches(tree, q, v)] if passive and tree.force_elements else wrenches


def split_wrenches(
    tree: Tree, q: Scalars, wrenches: Sequence[Force], on: str, expressed_in: str | None
) -> tuple[list[Any], list[Any]]:
    """Return the joint force and the internal force (nb, 6 each) of each body's wrench.

    ``wrenches`` are by body, in the joint's frame M.
    """
    parts = []
    for (_, _, body), q_i, w in zip(tree.outward(), tree.split_q(q), wrenches, strict=True):
        q_joint = q_i if body.coupling is None else body.coupling.q(q_i)
        span = Span.of([column.elements() for column in body.call_joint("S", q_joint).columns])
        along = Force.of(span.projected(w.elements()))
        parts.append([along, w - along])
    result = [*wrenches_in(tree, q, parts, on, expressed_in)]
    return [along.elements() for along, _ in result], [internal.elements() for _, internal in result]


def _across(tree: Tree, q: Scalars, v: Scalars, a: Scalars, wrenches: Wrenches) -> list[Force]:
    """Return by body the wrench of its parent on it, in the joint's frame M."""
    X, _, F = carried_wrenches(tree, q, v, a, wrenches)
    for i, p, _ in tree.inward():
        if p != WORLD:
            F[p] += X[i] @ F[i]
    return [body.rotor @ F[i] for i, _, body in tree.outward()]


def wrenches_in(
    tree: Tree, q: Scalars, wrenches: Sequence[Sequence[Force]], on: str, expressed_in: str | None
) -> Iterable[list[Force]]:
    """Yield, for each body, its wrenches on the side ``on`` of the joint and in the axes of ``expressed_in``.

    ``wrenches`` are on the body, in the joint's frame M.
    """
    q = tree.split_q(q)
    R: dict[int, Rotation] = {WORLD: Rotation.identity()}  # rotations of bodies in the world
    for i, p, body in tree.outward():
        R[i] = R[p] @ body.X(q[i]).rotation
    E = None if expressed_in is None else tree.frame(expressed_in)
    for i, p, body in tree.outward():
        result, axes = list(wrenches[i]), R[i] @ body.rotor.rotation.T
        if on == "parent":
            q_joint = q[i] if body.coupling is None else body.coupling.q(q[i])
            X_FM: Pose = body.call_joint("X", q_joint)
            result, axes = [-(X_FM @ w) for w in result], R[p] @ body.placement.rotation
        if E is not None:
            result = [
                turned_wrench(E.placement.rotation.T, turned_wrench(R[E.body].T, turned_wrench(axes, w)))
                for w in result
            ]
        yield result


def turned_wrench(R: Rotation, w: Force) -> Force:
    """Return a wrench with its moment and its force rotated by R; the point to which it refers is the same."""
    return Force(R @ w.moment, R @ w.force)


_WRENCH = "N·m, N"
SIDE = (Option("on", "child", ("child", "parent")), Option("expressed_in", None))
_COMMON_FIELDS: dict[str, Any] = {
    "optional": ("gravity", "constraint_forces", "loop_forces", "time"),
    "options": (*SIDE, ACTUATORS, PASSIVE_BY_DEFAULT, SMOOTH_FRICTION),
    "takes_wrenches": True,
    "needs_body_inertia": True,
}


_NONE = 1e-5  # relative size up to which a singular value counts as zero; float32 rounds by 1e-6


def static_torque(tree: Tree, q: Scalars, wrenches: Wrenches = ()) -> list[Any]:
    """Return the joint forces u = Σ Jᵀ w (nv) of wrenches; −u balances them."""
    q = tree.split_q(q)
    F = external_forces(tree, q, wrenches)
    u: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        if i not in F:
            u[i] = [0.0] * body.joint.nv
            continue
        u[i] = body.S(q[i]).T @ F[i]
        if p != WORLD:
            F[p] = F.get(p, Force.zero()) + body.X(q[i]) @ F[i]
    return tree.gathered(u)


def wrench_from_torque(
    tree: Tree, q: Scalars, tau: Scalars, frame: str, expressed_in: str = "world"
) -> tuple[list[Any], list[Any]]:
    """Return the wrench w (6) of least norm on the frame that minimises ‖τ − Jᵀ w‖, and the residual τ − Jᵀ w (nv)."""
    columns = [*zip(*jacobian(tree, q, frame, expressed_in=expressed_in), strict=True)]
    felt = [k for k, column in enumerate(columns) if not all(map(is_zero, column))]
    rows = [columns[k] for k in felt]  # of Jᵀ
    if not felt:  # no joint moves the frame
        return [0.0] * 6, list(tau)
    inverse = rows_of(apply_rule(Pseudoinverse(len(rows), 6, _NONE), [x for row in rows for x in row]), len(rows), 6)
    w = [dot(row, [tau[k] for k in felt]) for row in inverse]
    return w, [subtract_dot(x, column, w) for x, column in zip(tau, columns, strict=True)]


ROWS = (
    FunctionSpec.of(
        joint_wrenches,
        "q v a",
        Output(("nb", 6), _WRENCH),
        "Wrenches across the joints.",
        **_COMMON_FIELDS,
    ),
    FunctionSpec.of(
        joint_wrench_components,
        "q v a",
        (Output(("nb", 6), _WRENCH, "joint_force"), Output(("nb", 6), _WRENCH, "internal_force")),
        "Wrenches across the joints, split into joint forces and internal forces.",
        **_COMMON_FIELDS,
    ),
    FunctionSpec.of(
        static_torque,
        "q",
        Output(("nv",), "N·m, N"),
        "Joint forces of external wrenches.",
        takes_wrenches=True,
    ),
    FunctionSpec.of(
        wrench_from_torque,
        "q tau",
        (Output((6,), "N·m, N", "wrench"), Output(("nv",), "N·m, N", "residual")),
        "Wrench on a frame that has given joint forces, and the residual.",
        options=frame_options("frame", "expressed_in"),
    ),
)
